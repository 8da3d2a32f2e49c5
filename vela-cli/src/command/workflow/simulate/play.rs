//! Applies one application after the other in a simulated cluster, and follows each until it runs, has failed, or waits for a
//! person who does not come.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use vela_crds::labels;
use vela_engine::Document;
use vela_engine::workflow::{Order, RunStatus};
use vela_runtime::clock;

use super::super::steer::steer;
use super::outside::Outside;
use super::report::{Ended, Event, Outcome, Report};
use crate::args::WorkflowSimulate as Args;
use crate::command::up::place;
use crate::error::Result;
use crate::pointer::text;
use crate::simulated_cluster::SimulatedCluster;
use crate::steps;
use crate::wait::{self, Awaited, Verdict};

/// Where Applications are stored.
const APPLICATIONS: &str = "applications.core.oam.dev";

/// A simulation under way.
pub(super) struct Play<'a> {
    simulated: SimulatedCluster,
    args: &'a Args,
    outside: Arc<Outside>,
    began: Duration,
    report: Report,
    /// What was shown last of each step, by its id.
    shown: BTreeMap<String, String>,
    /// Which revision's run was shown last.
    revision: String,
    /// Pods that know what becomes of them, by uid.
    pods: BTreeSet<String>,
}

impl<'a> Play<'a> {
    pub(super) fn new(simulated: SimulatedCluster, args: &'a Args, outside: Arc<Outside>) -> Self {
        let began = simulated.now();
        Self {
            simulated,
            args,
            outside,
            began,
            report: Report::default(),
            shown: BTreeMap::new(),
            revision: String::new(),
            pods: BTreeSet::new(),
        }
    }

    /// One after the other.
    pub(super) async fn run(mut self, applications: &[Document]) -> Result<Report> {
        for application in applications {
            let began = self.simulated.now();
            let awaited = self.apply(application).await?;
            let outcome = self.follow(&awaited).await?;
            let after = self.simulated.now() - began;
            self.report.ended.push(Ended { application: application.name().to_owned(), outcome, after });
        }
        Ok(self.report)
    }

    async fn apply(&mut self, application: &Document) -> Result<Awaited> {
        let cluster = self.simulated.cluster();
        let (api_version, kind) = (application.api_version(), application.kind());
        let namespace = Some(application.namespace());
        let before = cluster.get(api_version, kind, namespace, application.name()).await?;
        let applied = cluster.apply(application.value(), true, false).await;
        let (_, object) = applied.map_err(|error| error.at(place(application)))?;
        let word = if before.is_some() { "changed" } else { "applied" };
        self.event("", format!("{} is {word}", application.title()));
        Ok(Awaited::published(&object, before.as_ref()))
    }

    async fn follow(&mut self, awaited: &Awaited) -> Result<Outcome> {
        let end = self.simulated.now() + self.args.until;
        let mut waits_since: Option<Duration> = None;
        // Every round passes time, and the steps of a simulation are limited.
        loop {
            let due = self.simulated.turn();
            self.settle_pods(&awaited.namespace).await?;
            let live = self.live(awaited);
            self.observe(&live);
            let now = self.simulated.now();
            let mut limit = end;
            let why = match wait::verdict(awaited, &live) {
                Verdict::Running => return Ok(Outcome::Succeeded),
                Verdict::Failed(why) => return Ok(Outcome::Failed(why)),
                Verdict::Waiting(why) => {
                    waits_since = None;
                    why
                }
                Verdict::Rests(what) => {
                    let Some(patience) = self.args.resume_after else { return Ok(Outcome::Waits(what)) };
                    let resumed_at = *waits_since.get_or_insert(now) + patience;
                    limit = limit.min(resumed_at);
                    if now >= resumed_at {
                        waits_since = None;
                        self.resume(&awaited.name).await?;
                    }
                    what
                }
            };
            if now >= end {
                return Ok(Outcome::Unfinished(why));
            }
            self.simulated.pass(due, limit.max(now)).await?;
        }
    }

    /// The application as it is stored.
    fn live(&self, awaited: &Awaited) -> Value {
        let found = self.simulated.store().find(APPLICATIONS, &awaited.namespace, &awaited.name);
        found.map_or(Value::Null, |found| found.value().clone())
    }

    /// Shows what is new of the run.
    fn observe(&mut self, live: &Value) {
        for asked in self.outside.take() {
            self.event("", asked);
        }
        let written = live.pointer("/status/workflow").unwrap_or(&Value::Null);
        let Some(run) = RunStatus::read(written, clock::now()) else { return };
        if run.revision != self.revision {
            self.event("", format!("the workflow begins for {}", run.revision));
            self.revision.clone_from(&run.revision);
            self.shown.clear();
        }
        for step in run.all() {
            let words = steps::words(step);
            if self.shown.get(&step.id) != Some(&words) {
                self.event(&step.name, words.clone());
                self.shown.insert(step.id.clone(), words);
            }
        }
    }

    /// A person lets it go on.
    async fn resume(&mut self, name: &str) -> Result<()> {
        let cluster = self.simulated.cluster();
        steer(cluster, name, Order::Resume(None)).await?;
        self.event("", "a user resumes it, as asked".to_owned());
        Ok(())
    }

    /// Tells each new pod how long it takes to get ready, or that it never does.
    async fn settle_pods(&mut self, namespace: &str) -> Result<()> {
        let pods = self.simulated.store().list("pods", Some(namespace)).0;
        for pod in pods {
            let pod = pod.shared();
            if !self.pods.insert(text(&pod, "/metadata/uid").to_owned()) {
                continue;
            }
            let component = pod["metadata"]["labels"][labels::APP_COMPONENT].as_str().unwrap_or_default();
            let fails = self.args.fails.iter().any(|name| name == component);
            let annotations = json!({
                "simulate.vela.dev/start-seconds": self.args.latency.as_secs().to_string(),
                "simulate.vela.dev/fail": if fails { json!("crash") } else { Value::Null },
            });
            let cluster = self.simulated.cluster();
            let api = cluster.api("v1", "Pod", Some(namespace)).await?;
            let patch = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
            let written = api.patch(text(&pod, "/metadata/name"), &PatchParams::default(), &patch).await;
            written.map_err(|error| cluster.failure("take what becomes of a pod", &error))?;
        }
        Ok(())
    }

    fn event(&mut self, step: &str, what: String) {
        let at = self.simulated.now() - self.began;
        self.report.events.push(Event { at, step: step.to_owned(), what });
    }
}
