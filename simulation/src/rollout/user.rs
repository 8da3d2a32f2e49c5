//! The actions of people on rollouts: begin, turn round, edit, hold, abandon, give up; and pods that fail under them.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::checker::RolloutChecker;
use super::manifests::{application, object};
use super::object::ABANDON;
use super::plan::Plan;
use super::{APPLICATIONS, FAIL, Kind, REVISIONS, ROLLOUTS, SIZE};
use crate::cluster::SimulatedCluster;
use crate::draws::Draws;
use crate::model::{NAMESPACE, path};

/// The rollout of every schedule.
pub(super) const ROLLOUT: &str = "release";

/// Who rolls out.
#[derive(Clone, Debug)]
pub(crate) struct RolloutUser {
    pub(super) kind: Kind,
    /// They only begin and hold rollouts: then the end is that of a run without faults.
    pub(super) steady: bool,
    /// What they began with, where that was one rollout of their own.
    pub(super) began: Option<Value>,
}

impl RolloutUser {
    pub(crate) fn new(draws: &mut Draws, kind: Kind) -> Self {
        Self { kind, steady: draws.once_in(3), began: None }
    }

    /// Do one thing; tells what it was.
    pub(crate) fn act(
        &mut self,
        draws: &mut Draws,
        cluster: &SimulatedCluster,
        checker: &mut RolloutChecker,
    ) -> String {
        let Some(rollout) = find(cluster, ROLLOUTS, ROLLOUT) else {
            if find(cluster, APPLICATIONS, "shop").is_none() {
                return self.apply(cluster);
            }
            return self.begin(draws, cluster);
        };
        let steady: &[u32] = &[0, 0, 0, 5, 6, 0, 0, 0, 0, 8, 0, 3];
        let weights: &[u32] = &[6, 4, 5, 4, 5, 4, 2, 2, 1, 8, 2, 3];
        match draws.weighted(if self.steady { steady } else { weights }) {
            0 => self.turn(draws, cluster, &rollout),
            1 => self.back(cluster, &rollout),
            2 => {
                let plan = Plan::draw(draws, SIZE);
                change(cluster, "edits the plan of", &json!({"spec": {"rolloutPlan": plan.write()}}))
            }
            3 => {
                let paused = rollout["spec"]["rolloutPlan"]["paused"] != true;
                let what = if paused { "pauses" } else { "resumes" };
                change(cluster, what, &json!({"spec": {"rolloutPlan": {"paused": paused}}}))
            }
            4 => {
                let now = rollout["spec"]["rolloutPlan"]["batchPartition"].as_i64();
                let next = now.filter(|now| *now == 0).map(|now| now + 1);
                change(
                    cluster,
                    "raises the partition of",
                    &json!({"spec": {"rolloutPlan": {"batchPartition": next}}}),
                )
            }
            5 => {
                if draws.once_in(3) {
                    change(cluster, "asks for the way back of", &json!({"spec": {"revertOnDelete": true}}));
                }
                delete(cluster, ROLLOUTS, ROLLOUT)
            }
            // With a configuration its workload goes: a turn of the cluster, and not of a rollout.
            6 if self.kind == Kind::Configured => fail(draws, cluster),
            6 => {
                let name = format!("shop-v{}", 1 + draws.below(3));
                checker.deleted_by_people(&name);
                delete(cluster, REVISIONS, &name)
            }
            7 => {
                let name = self.kind.workload(&format!("shop-v{}", 1 + draws.below(3)));
                checker.deleted_by_people(&name);
                delete(cluster, self.kind.resource(), &name)
            }
            8 => {
                if self.kind == Kind::Configured {
                    // The cluster deletes what configurations had, in its time; the next ones find it or not.
                    (1..=4)
                        .for_each(|n| checker.deleted_by_people(&self.kind.workload(&format!("shop-v{n}"))));
                }
                delete(cluster, APPLICATIONS, "shop")
            }
            9 => fail(draws, cluster),
            10 => change(cluster, "abandons", &json!({"metadata": {"annotations": {ABANDON: "true"}}})),
            _ => {
                cluster.egress.refuse(!cluster.egress.refuses());
                format!("hooks are told {}", if cluster.egress.refuses() { "no" } else { "yes" })
            }
        }
    }

    /// The application again; while the old one goes the server refuses.
    pub(super) fn apply(&self, cluster: &SimulatedCluster) -> String {
        let body = application(self.kind, 1);
        let (code, _) = cluster.user(Method::POST, &path(APPLICATIONS, ""), Some(&body));
        format!("user creates the application: {code}")
    }

    /// A rollout between what is there: most go from what runs to the second or third revision.
    fn begin(&mut self, draws: &mut Draws, cluster: &SimulatedCluster) -> String {
        let source = self.running(cluster).unwrap_or_else(|| "shop-v1".to_owned());
        let size = self.size(cluster, &source);
        let object = match draws.weighted(&[10, 3, 1, 1]) {
            1 => {
                let target = Plan { size: Some(1 + draws.below(6) as i64), ..Plan::draw(draws, size) };
                object(self.kind, ROLLOUT, &source, None, &target)
            }
            2 if !self.steady => {
                object(self.kind, ROLLOUT, "shop-v9", Some(&source), &Plan::draw(draws, size))
            }
            3 if !self.steady => {
                object(self.kind, ROLLOUT, "shop-v4", Some(&source), &Plan::draw(draws, size))
            }
            _ => {
                let target = ["shop-v2", "shop-v3", "shop-v1"];
                let target = target.into_iter().find(|target| *target != source && !draws.once_in(4));
                object(
                    self.kind,
                    ROLLOUT,
                    target.unwrap_or("shop-v2"),
                    Some(&source),
                    &Plan::draw(draws, size),
                )
            }
        };
        let (code, _) = cluster.user(Method::POST, &path(ROLLOUTS, ""), Some(&object));
        if code == StatusCode::CREATED {
            self.began = Some(object.clone());
        }
        format!("user begins a rollout: {code}: {}", object["spec"])
    }

    /// The revision with the most pods.
    pub(super) fn running(&self, cluster: &SimulatedCluster) -> Option<String> {
        let names = ["shop-v1", "shop-v2", "shop-v3", "shop-v4"];
        let names = names.into_iter().filter(|name| find(cluster, self.kind.revisions(), name).is_some());
        names.max_by_key(|name| (self.size(cluster, name), std::cmp::Reverse(*name))).map(str::to_owned)
    }

    /// Wanted pods of a revision; one where there are none, so that a plan can be made.
    pub(super) fn size(&self, cluster: &SimulatedCluster, revision: &str) -> i64 {
        let found = find(cluster, self.kind.resource(), &self.kind.workload(revision));
        found.and_then(|found| found["spec"]["replicas"].as_i64()).unwrap_or(0).max(1)
    }

    /// Another target; the source is what was on its way, or stays.
    fn turn(&self, draws: &mut Draws, cluster: &SimulatedCluster, rollout: &Value) -> String {
        let target = ["shop-v3", "shop-v2", "shop-v4", "shop-v1"][draws.weighted(&[4, 3, 1, 2])];
        let [to, from] = self.kind.fields();
        let old = rollout["spec"][to].clone();
        let mut spec = json!({to: target});
        if draws.once_in(2) && old != target {
            spec[from] = old;
        }
        if draws.once_in(2) {
            spec["rolloutPlan"] = Plan::draw(draws, SIZE).write();
        }
        change(cluster, "turns", &json!({"spec": spec}))
    }

    /// Source and target exchanged.
    fn back(&self, cluster: &SimulatedCluster, rollout: &Value) -> String {
        let spec = &rollout["spec"];
        let [to, from] = self.kind.fields();
        if spec[from].as_str().is_none_or(str::is_empty) {
            return "user cannot go back".to_owned();
        }
        let body = json!({"spec": {
            to: spec[from],
            from: spec[to],
        }});
        change(cluster, "goes back in", &body)
    }

    /// Is there a pod that is never ready?
    pub(super) fn pods_fail(cluster: &SimulatedCluster) -> bool {
        let pods = cluster.store().list("pods", Some(NAMESPACE)).0;
        let image = |pod: &Value| pod["spec"]["containers"][0]["image"].to_string();
        pods.iter().any(|pod| image(pod).contains("simulate-fail"))
    }

    /// Pods are well again, and hooks say yes.
    pub(super) fn heal(cluster: &SimulatedCluster) {
        cluster.egress.refuse(false);
        for entry in cluster.store().list("pods", Some(NAMESPACE)).0 {
            if !entry["metadata"]["annotations"][FAIL].is_null() {
                let name = entry["metadata"]["name"].as_str().unwrap_or_default();
                let body = json!({"metadata": {"annotations": {FAIL: null}}});
                cluster.user(Method::PATCH, &path("pods", name), Some(&body));
            }
        }
    }
}

/// An object of the namespace.
pub(super) fn find(cluster: &SimulatedCluster, resource: &str, name: &str) -> Option<Value> {
    cluster.store().find(resource, NAMESPACE, name).map(|entry| entry.value().clone())
}

pub(super) fn change(cluster: &SimulatedCluster, what: &str, body: &Value) -> String {
    let (code, _) = cluster.user(Method::PATCH, &path(ROLLOUTS, ROLLOUT), Some(body));
    format!("user {what} the rollout: {code}: {}", body["spec"])
}

pub(super) fn delete(cluster: &SimulatedCluster, resource: &str, name: &str) -> String {
    let (code, _) = cluster.user(Method::DELETE, &path(resource, name), None);
    format!("user deletes {resource} {name}: {code}")
}

/// A pod fails, or one that failed is well again.
fn fail(draws: &mut Draws, cluster: &SimulatedCluster) -> String {
    let pods = cluster.store().list("pods", Some(NAMESPACE)).0;
    let Some(entry) = pods.get(draws.below(pods.len())) else { return "there is no pod to fail".to_owned() };
    let name = entry["metadata"]["name"].as_str().unwrap_or_default();
    let fails = entry["metadata"]["annotations"][FAIL].is_null();
    let how = ["crash", "not-ready"][draws.below(2)];
    let body = json!({"metadata": {"annotations": {FAIL: fails.then_some(how)}}});
    let (code, _) = cluster.user(Method::PATCH, &path("pods", name), Some(&body));
    let what = if fails { "fails" } else { "is well again" };
    format!("pod {name} {what}: {code}")
}
