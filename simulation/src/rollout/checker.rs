//! Remembers rollouts, workloads and pods, and finds the first broken promise about them, by the simulation's own reading.
//!
//! Each write is judged by the plan that its process had last read before it sent it. Pods that failed by themselves count
//! as if they were there: a rollout promises not to take away more than its plan says, not that pods do not fail.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use http::{Method, StatusCode};
use serde_json::Value;
use vela_apiserver::store::{Entry, Event, EventKind};

use super::object::{between, claims, is_leaving, is_over, partition, size, template_of, text};
use super::{APPLICATIONS, COMPONENT, FAIL, Kind, REVISIONS, ROLLOUTS};
use crate::model::NAMESPACE;
use crate::network::{Performed, Process};
use crate::violation::Violation;

/// The application, by whose name its revisions are named.
const APPLICATION: &str = "shop";
/// Reads remembered of each process: a write is sent soon after the read that decided it.
const READS_AT_MOST: usize = 64;

/// A pod, as far as a promise is about it.
#[derive(Clone, Debug, Default)]
pub(super) struct Pod {
    pub(super) workload: String,
    /// The uid of what made it.
    owner: String,
    /// Was ready, and is so or failed by itself.
    pub(super) serves: bool,
    /// Failed by itself.
    pub(super) lost: bool,
    /// Made from which template.
    pub(super) template: String,
}

/// One rollout as a process read it.
#[derive(Clone, Debug)]
pub(super) struct Read {
    pub(super) at: u64,
    pub(super) rollout: Arc<Entry>,
}

/// The known state of one schedule's rollouts, so that each change can be judged.
pub(crate) struct RolloutChecker {
    pub(super) kind: Kind,
    rollouts: BTreeMap<String, Arc<Entry>>,
    application: Option<Arc<Entry>>,
    pub(super) reads: BTreeMap<(Process, String), Vec<Read>>,
    pub(super) workloads: BTreeMap<String, Arc<Entry>>,
    pub(super) pods: BTreeMap<String, Pod>,
    /// Pods of each workload that serve, at the last check.
    serving: BTreeMap<String, i64>,
    /// Pods of deleted workloads: they go with their workload, even when a new one has its name.
    pub(super) orphans: BTreeSet<String>,
    /// Revisions and workloads that people deleted themselves.
    deleted: BTreeSet<String>,
    /// Pods that served in a workload when people deleted it: a controller that has not heard of it counts with them.
    pub(super) taken: BTreeMap<String, i64>,
}

/// Kinds whose states are remembered.
const REMEMBERED: [&str; 5] = [ROLLOUTS, APPLICATIONS, "deployments.apps", "statefulsets.apps", "pods"];

impl RolloutChecker {
    /// A checker that knows what is there.
    pub(crate) fn new(server: &vela_apiserver::ApiServer, kind: Kind) -> Self {
        let mut checker = Self {
            kind,
            rollouts: BTreeMap::new(),
            application: None,
            reads: BTreeMap::new(),
            workloads: BTreeMap::new(),
            pods: BTreeMap::new(),
            serving: BTreeMap::new(),
            orphans: BTreeSet::new(),
            deleted: BTreeSet::new(),
            taken: BTreeMap::new(),
        };
        for resource in REMEMBERED {
            for entry in server.store().list(resource, Some(NAMESPACE)).0 {
                checker.record(resource, text(&entry, "/metadata/name"), &entry, false);
            }
        }
        checker.serving = checker.serve();
        checker
    }

    /// People deleted this themselves.
    pub(crate) fn deleted_by_people(&mut self, name: &str) {
        self.deleted.insert(name.to_owned());
        if let Some(serving) = self.serving.get(name) {
            self.taken.insert(name.to_owned(), *serving);
        }
    }

    /// Did people delete this themselves?
    pub(super) fn is_deleted(&self, name: &str) -> bool {
        self.deleted.contains(name)
    }

    /// A process has read, or was told as the answer to its write, how a rollout is.
    pub(crate) fn note_read(&mut self, request: &Performed) {
        let path = request.path.split('?').next().unwrap_or_default();
        let Some((_, rest)) = path.split_once("/approllouts/") else { return };
        let name = rest.trim_end_matches("/status");
        if !matches!(request.method, Method::GET | Method::PATCH) || request.code != StatusCode::OK {
            return;
        }
        let Some(rollout) = self.rollouts.get(name).cloned() else { return };
        let reads = self.reads.entry((request.process, name.to_owned())).or_default();
        if reads.len() >= READS_AT_MOST {
            reads.remove(0);
        }
        reads.push(Read { at: request.revisions.1, rollout });
    }

    /// Records what is true from this event on; the cluster and people are judged, too.
    pub(crate) fn apply(&mut self, event: &Event) -> Result<(), Violation> {
        let (resource, name) = (event.key.resource.as_ref(), event.key.name.as_str());
        let gone = event.kind == EventKind::Deleted;
        match resource {
            "deployments.apps" | "statefulsets.apps" => self.workload(name, event, gone)?,
            ROLLOUTS => self.rollout(event, gone)?,
            "pods" if self.kind == Kind::StatefulSet => self.replaced(name, event)?,
            REVISIONS if gone => self.revision(name)?,
            _ => {}
        }
        self.record(resource, name, &event.entry, gone);
        Ok(())
    }

    fn record(&mut self, resource: &str, name: &str, entry: &Arc<Entry>, gone: bool) {
        match resource {
            APPLICATIONS => self.application = (!gone).then(|| entry.clone()),
            "deployments.apps" | "statefulsets.apps" if gone => {
                self.workloads.remove(name);
                let its = self.pods.iter().filter(|(_, pod)| pod.workload == name);
                self.orphans.extend(its.map(|(pod, _)| pod.clone()));
            }
            "deployments.apps" | "statefulsets.apps" => {
                self.workloads.insert(name.to_owned(), entry.clone());
            }
            ROLLOUTS if gone => {
                self.rollouts.remove(name);
            }
            ROLLOUTS => {
                self.rollouts.insert(name.to_owned(), entry.clone());
            }
            "pods" if gone || is_leaving(entry) => {
                self.pods.remove(name);
                // The pods of a set that is made again have the names of the former ones.
                if gone {
                    self.orphans.remove(name);
                }
            }
            "pods" => {
                let before = self.pods.remove(name).unwrap_or_default();
                self.pods.insert(name.to_owned(), pod(self.kind, entry, &before));
            }
            _ => {}
        }
    }

    /// Was it a Deployment without pods and without a holder, of a revision that people deleted? No rollout can go back
    /// to it.
    pub(crate) fn is_retired(&self, event: &Event) -> bool {
        let number = event.key.name.strip_prefix(COMPONENT);
        let revision = number.map(|number| format!("{APPLICATION}{number}"));
        self.kind == Kind::Deployment
            && event.key.resource.as_ref() == "deployments.apps"
            && size(&event.entry) == 0
            && claims(&event.entry).next().is_none()
            && revision.is_some_and(|revision| self.deleted.contains(&revision))
    }

    fn lives(&self) -> bool {
        self.application.as_ref().is_some_and(|application| !is_leaving(application))
    }

    /// A workload changed or went.
    fn workload(&self, name: &str, event: &Event, gone: bool) -> Result<(), Violation> {
        if gone {
            if self.lives() && !self.deleted.contains(name) && !self.is_retired(event) {
                let what = format!("{} {name} is deleted, and no user wanted that", event.key.resource);
                return Err(Violation::new("lost workload", what));
            }
            return Ok(());
        }
        let before: Vec<&str> = event.previous.iter().flat_map(|before| claims(before)).collect();
        for uid in claims(&event.entry).filter(|uid| !before.contains(uid)) {
            let holder = self.rollouts.values().find(|rollout| text(rollout, "/metadata/uid") == uid);
            let why = match holder {
                None => "that is gone",
                Some(holder) if is_over(holder) => "that is over",
                Some(_) => continue,
            };
            return Err(Violation::new("claim", format!("{name} is claimed by a rollout {why}")));
        }
        Ok(())
    }

    /// A rollout changed or went: what it holds must be let go before.
    fn rollout(&self, event: &Event, gone: bool) -> Result<(), Violation> {
        let uid = text(&event.entry, "/metadata/uid");
        let ends = gone || is_over(&event.entry);
        let held = self.workloads.iter().find(|(_, workload)| claims(workload).any(|claim| claim == uid));
        match held {
            // Between its end and its going the server is asked once more what a deleted one holds.
            Some((name, _)) if ends && (gone || !is_leaving(&event.entry)) => {
                let how = if gone { "goes" } else { "ends" };
                Err(Violation::new("claim", format!("{} {how} and still holds {name}", event.key.name)))
            }
            _ => Ok(()),
        }
    }

    /// Pods of a set change in place only beyond its partition.
    fn replaced(&self, name: &str, event: &Event) -> Result<(), Violation> {
        let was_leaving = event.previous.as_ref().is_some_and(|before| is_leaving(before));
        let goes = event.kind == EventKind::Deleted || is_leaving(&event.entry);
        let pod = self.pods.get(name);
        let set = pod.and_then(|pod| Some((pod, self.workloads.get(&pod.workload)?)));
        let Some((_, set)) = set.filter(|(pod, set)| text(set, "/metadata/uid") == pod.owner) else {
            return Ok(());
        };
        let ordinal = name.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or(i64::MAX);
        if !goes || was_leaving || ordinal >= size(set) || ordinal >= partition(set) || is_leaving(set) {
            return Ok(());
        }
        Err(Violation::new("pods", format!("{name} goes, and the partition is {}", partition(set))))
    }

    /// A revision that a rollout goes between must stay.
    fn revision(&self, name: &str) -> Result<(), Violation> {
        let used = self.rollouts.values().find(|rollout| {
            between(rollout).iter().any(|(target, source)| *target == name || *source == name)
        });
        match used {
            Some(_) if self.lives() && !self.deleted.contains(name) => {
                Err(Violation::new("lost revision", format!("{name} is deleted, and a rollout names it")))
            }
            _ => Ok(()),
        }
    }

    /// After everything that happened in a step: pods go only with the sizes.
    pub(crate) fn judge_pods(&mut self) -> Result<(), Violation> {
        let now = self.serve();
        if self.kind.is_deployment() {
            for (name, before) in &self.serving {
                let Some(workload) = self.workloads.get(name).filter(|workload| !is_leaving(workload)) else {
                    continue;
                };
                let (found, wanted) = (now.get(name).copied().unwrap_or(0), size(workload));
                if found < wanted.min(*before) {
                    let what = format!("{name} had {before} pods that serve and has {found} of {wanted}");
                    return Err(Violation::new("pods", what));
                }
            }
        }
        self.serving = now;
        Ok(())
    }

    fn serve(&self) -> BTreeMap<String, i64> {
        let mut serving = BTreeMap::new();
        for (_, pod) in self.pods.iter().filter(|(name, pod)| pod.serves && !self.orphans.contains(*name)) {
            *serving.entry(pod.workload.clone()).or_insert(0) += 1;
        }
        serving
    }
}

fn pod(kind: Kind, pod: &Value, before: &Pod) -> Pod {
    let owner = text(pod, "/metadata/ownerReferences/0/name");
    let workload = match kind {
        // A ReplicaSet has the name of its Deployment and a hash.
        Kind::Deployment | Kind::Configured => owner.rsplit_once('-').map_or(owner, |(name, _)| name),
        Kind::StatefulSet => owner,
    };
    let conditions = pod["status"]["conditions"].as_array();
    let ready =
        conditions.into_iter().flatten().any(|each| each["type"] == "Ready" && each["status"] == "True");
    let fails = !pod["metadata"]["annotations"][FAIL].is_null();
    let lost = (before.lost || before.serves && fails) && (fails || !ready);
    let owner = text(pod, "/metadata/ownerReferences/0/uid").to_owned();
    Pod { workload: workload.to_owned(), owner, serves: ready || lost, lost, template: template_of(pod) }
}
