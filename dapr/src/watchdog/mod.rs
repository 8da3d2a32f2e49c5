//! The watchdog: restarts annotated pods that run without a sidecar, by deleting them, so that their controller makes them anew and the
//! injector adds the sidecar. It never deletes a pod that would not come back.
//!
//! Flow: a round lists the pods without a mark → `judgement` of each → what is to be done waits in a queue → one restart after another, at
//! the rate that is allowed. Each pod is judged again when its turn comes. Only the leader has rounds.

mod judgement;
mod restarts;

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::time::Duration;

use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams};
use serde_json::json;
use tokio::sync::Mutex;
use tokio::time::Instant;
use vela_runtime::events::{self, EventRecorder};
use vela_runtime::{Action, Api, Applier, Controller, Discovery, Failure, Key, Reconciler, apply, clock};

use crate::admission::INJECTOR_SERVICE;
use crate::controller::FIELD_MANAGER;
use judgement::{Judgement, PATCHED, UNMARKED, judge};
use restarts::Restarts;

/// Restarts in a minute, unless told otherwise: as of Dapr's own.
pub const RESTARTS_PER_MINUTE: u32 = 20;
/// The injector's Deployment, by its label.
const INJECTOR: &str = "app=dapr-sidecar-injector";
/// Deployments of that label that are looked at.
const INJECTORS_AT_MOST: u32 = 20;
/// How often it is looked whether there is an injector.
const INJECTOR_EVERY: Duration = Duration::from_secs(5);
/// The same where this process is the injector: it registers itself soon after its start.
const REGISTERED_EVERY: Duration = Duration::from_secs(1);
/// Pods in one answer of the API server, and pages in one round.
const PAGE: u32 = 500;
const PAGES_AT_MOST: usize = 1000;
/// What one round finds to do; the rest is found by the next.
const WAITING_AT_MOST: usize = 1000;
/// Labels written in one reconcile, which has a deadline.
const STEPS_AT_MOST: usize = 50;
/// Between two reconciles with work left.
const BREATH: Duration = Duration::from_millis(10);
/// A pod was deleted for its sidecar.
const RESTARTED: &str = "RestartedForSidecar";
/// A pod has none, and cannot be helped.
const MISSING: &str = "MissingDaprSidecar";

/// How the watchdog works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watchdog {
    /// From the beginning of one round to that of the next; nothing: one round after the start.
    pub every: Option<Duration>,
    /// Restarts in a minute; nothing: without a limit.
    pub restarts_per_minute: Option<NonZeroU32>,
    /// Label the pods whose sidecar was found, so that later rounds pass over them.
    pub label_pods: bool,
    /// Namespace of the control plane, whose pods are left alone.
    pub control_plane: String,
}

impl Watchdog {
    /// Its controller. `injects` says that this process is an injector itself.
    pub(crate) fn controller(
        self,
        client: &kube::Client,
        namespace: Option<String>,
        injects: bool,
        events: EventRecorder,
    ) -> Controller {
        let key = Key::new("", "round");
        let applier = Applier::new(client.clone(), Discovery::new(client.clone()), FIELD_MANAGER);
        let rounds = Rounds {
            client: client.clone(),
            settings: self,
            namespace,
            injects,
            applier,
            events,
            state: Mutex::default(),
        };
        let controller = Controller::new("dapr-watchdog", rounds);
        controller.queue().add(key);
        controller
    }

    /// From one restart to the next.
    fn pause(&self) -> Duration {
        const MINUTE: Duration = Duration::from_secs(60);
        self.restarts_per_minute.map_or(Duration::ZERO, |count| MINUTE / count.get())
    }
}

/// A pod that waits for its turn.
struct Waiting {
    key: Key,
    uid: String,
    restart: bool,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    next_round: Option<Instant>,
    next_restart: Option<Instant>,
    rounds: u64,
    restarts: Restarts,
    /// The injector of this process was registered when it was last looked.
    registered: bool,
}

struct Rounds {
    client: kube::Client,
    settings: Watchdog,
    /// Only pods of this namespace.
    namespace: Option<String>,
    injects: bool,
    applier: Applier,
    events: EventRecorder,
    state: Mutex<State>,
}

impl Reconciler for Rounds {
    /// The one key stands for the work of the watchdog: the next step of a round, or the next round.
    async fn reconcile(&self, _: Key) -> Result<Action, Failure> {
        let mut state = self.state.lock().await;
        if state.waiting.is_empty() {
            if state.rounds > 0 && self.settings.every.is_none() {
                return Ok(Action::Done);
            }
            if let Some(left) = left(state.next_round) {
                return Ok(Action::RequeueAfter(left));
            }
            if !self.is_injected(&mut state).await? {
                tracing::debug!("no injector is ready; the watchdog waits for one");
                return Ok(Action::RequeueAfter(if self.injects {
                    REGISTERED_EVERY
                } else {
                    INJECTOR_EVERY
                }));
            }
            let begun = Instant::now();
            self.round(&mut state).await?;
            state.rounds += 1;
            state.next_round = self.settings.every.map(|every| begun + every);
        }
        for _ in 0..STEPS_AT_MOST {
            let Some(next) = state.waiting.front() else { break };
            if let Some(left) = left(state.next_restart).filter(|_| next.restart) {
                return Ok(Action::RequeueAfter(left));
            }
            let Some(next) = state.waiting.pop_front() else { break };
            if next.restart {
                self.restart(&next, &mut state).await?;
            } else {
                self.label(&next).await?;
            }
        }
        if !state.waiting.is_empty() {
            return Ok(Action::RequeueAfter(BREATH));
        }
        Ok(state.next_round.map_or(Action::Done, |_| {
            Action::RequeueAfter(left(state.next_round).unwrap_or_default().max(BREATH))
        }))
    }
}

/// How long until then; nothing, where that is over.
fn left(until: Option<Instant>) -> Option<Duration> {
    until.map(|until| until.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero())
}

impl Rounds {
    fn api(&self, group: &str, kind: &str) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &resource(group, kind))
    }

    /// Whether new pods get sidecars: without an injector, a restart would only be an outage.
    async fn is_injected(&self, state: &mut State) -> Result<bool, Failure> {
        if self.injects {
            // API servers know a registration a moment after it was written: the second look counts.
            let before = std::mem::replace(&mut state.registered, self.is_registered().await?);
            return Ok(before && state.registered);
        }
        let params = ListParams::default().labels(INJECTOR).limit(INJECTORS_AT_MOST);
        let found = self.api("apps", "Deployment").list(&params).await?;
        let is_ready = |one: &DynamicObject| one.data["status"]["readyReplicas"].as_u64().unwrap_or(0) > 0;
        Ok(found.items.iter().any(is_ready))
    }

    /// Whether API servers are told of the injector of this process, and whom to trust there.
    async fn is_registered(&self) -> Result<bool, Failure> {
        let api = self.api("admissionregistration.k8s.io", "MutatingWebhookConfiguration");
        let Some(found) = api.get_opt(INJECTOR_SERVICE).await? else { return Ok(false) };
        let webhooks = found.data["webhooks"].as_array();
        Ok(webhooks.is_some_and(|all| {
            !all.is_empty() && all.iter().all(|one| one["clientConfig"]["caBundle"].is_string())
        }))
    }

    /// Looks at every pod once. What is only said is said at once; what is to be done waits: labels before restarts, which take time.
    async fn round(&self, state: &mut State) -> Result<(), Failure> {
        let api = match &self.namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource("", "Pod")),
            None => self.api("", "Pod"),
        };
        let now = clock::now();
        state.restarts.forget(now);
        let (mut labels, mut restarts) = (Vec::new(), Vec::new());
        let mut params = ListParams::default().labels(UNMARKED).limit(PAGE);
        for _ in 0..PAGES_AT_MOST {
            let page = api.list(&params).await?;
            for pod in &page.items {
                match judge(pod, &self.settings.control_plane, &state.restarts, now) {
                    Judgement::Pass => {}
                    Judgement::Present if !self.settings.label_pods => {}
                    Judgement::Present => labels.push(Waiting::of(pod, false)),
                    Judgement::InVain(why) => self.say(pod, MISSING, &why).await,
                    Judgement::Restart(_) => restarts.push(Waiting::of(pod, true)),
                }
            }
            labels.truncate(WAITING_AT_MOST);
            restarts.truncate(WAITING_AT_MOST);
            match page.metadata.continue_ {
                Some(next) if !next.is_empty() => params.continue_token = Some(next),
                _ => break,
            }
        }
        state.waiting = labels.into_iter().chain(restarts).collect();
        Ok(())
    }

    /// Deletes the pod that was found, if it is still what it was: neither a namesake nor one that got its sidecar meanwhile.
    async fn restart(&self, waiting: &Waiting, state: &mut State) -> Result<(), Failure> {
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), &waiting.key.namespace, &resource("", "Pod"));
        let Some(live) = api.get_opt(&waiting.key.name).await? else { return Ok(()) };
        let now = clock::now();
        // Whether it came back was judged by its round: restarts of siblings since then say nothing about it.
        let none = Restarts::default();
        let judged = |pod: &DynamicObject| match pod.metadata.uid.as_deref() == Some(waiting.uid.as_str()) {
            true => judge(pod, &self.settings.control_plane, &none, now),
            false => Judgement::Pass,
        };
        let Judgement::Restart(maker) = judged(&live) else { return Ok(()) };
        let guard = |pod: &DynamicObject| match judged(pod) {
            Judgement::Restart(_) => Ok(()),
            _ => Err("it needs no restart any more".to_owned()),
        };
        let pod = live.clone();
        match self.applier.delete("v1", "Pod", &waiting.key, Some(live.into()), &guard).await {
            Ok(_) => {}
            Err(apply::Error::Foreign { .. }) => return Ok(()),
            Err(error) => {
                // A pod that cannot be deleted, as where a webhook refuses it, does not hold up the others.
                tracing::warn!(pod = %waiting.key, %error, "the pod without a sidecar cannot be deleted");
                return Ok(());
            }
        }
        tracing::warn!(pod = %waiting.key, maker = maker.title, "deleted the pod: it had no sidecar");
        state.restarts.note(&maker.uid, now);
        state.next_restart = Some(Instant::now() + self.settings.pause());
        let why = format!("it ran without its sidecar; {} makes it anew", maker.title);
        self.say(&pod, RESTARTED, &why).await;
        Ok(())
    }

    async fn label(&self, waiting: &Waiting) -> Result<(), Failure> {
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), &waiting.key.namespace, &resource("", "Pod"));
        let patch = json!({"metadata": {"uid": waiting.uid, "labels": {PATCHED: "true"}}});
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        match api.patch(&waiting.key.name, &params, &Patch::Merge(&patch)).await {
            // A namesake, or none: the next round looks again.
            Err(kube::Error::Api(status)) if [404, 409].contains(&status.code) => Ok(()),
            Err(kube::Error::Api(status)) if status.code == 403 => {
                tracing::warn!(pod = %waiting.key, message = status.message, "the pod cannot be labelled");
                Ok(())
            }
            written => written.map(|_| ()).map_err(Failure::retry),
        }
    }

    async fn say(&self, pod: &DynamicObject, reason: &str, note: &str) {
        let mut reference = events::reference(pod);
        reference.kind = Some("Pod".to_owned());
        reference.api_version = Some("v1".to_owned());
        self.events.warning(&reference, reason, note).await;
    }
}

impl Waiting {
    fn of(pod: &DynamicObject, restart: bool) -> Self {
        Self { key: Key::of(pod), uid: pod.metadata.uid.clone().unwrap_or_default(), restart }
    }
}

fn resource(group: &str, kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind))
}
