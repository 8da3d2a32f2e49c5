//! A small cluster for tests: workloads whose pods come, get ready and go in any order while a rollout is reconciled.

mod properties;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Value as Json, json};
use vela_crds::{Condition, Conditioned, RolloutPlan, RolloutStatus};
use vela_testkit::program::Random;

use super::next_step::{Ended, PlannedStep, Situation, next_step};
use super::parts::Part;
use super::state::{BATCH_PROGRESSING, Effect, Event, Input, State, next};
use super::workload::Write;
use super::workload::tests::owner;

/// A pod as far as a rollout cares.
#[derive(Clone, Debug)]
struct Pod {
    name: String,
    new: bool,
    ready: bool,
    /// Was it ready before, and failed by itself?
    lost: bool,
}

/// A workload, its pods, and how stale its status is.
#[derive(Clone, Debug)]
struct Set {
    object: Json,
    pods: Vec<Pod>,
    made: usize,
}

/// The cluster and one rollout.
struct Cluster {
    kind: (&'static str, &'static str),
    has_source: bool,
    plan: RolloutPlan,
    status: RolloutStatus,
    sets: BTreeMap<&'static str, Set>,
    is_turned: bool,
    /// The objects in the caches of the controller.
    seen: BTreeMap<&'static str, Set>,
    now: Timestamp,
    version: i64,
    writes: usize,
}

const SOURCE: &str = "source";
const TARGET: &str = "target";
/// The pods that the rollout had given another target before it was turned round.
const LEFTOVER: &str = "leftover";
const NAMES: [&str; 3] = [SOURCE, LEFTOVER, TARGET];

impl Set {
    fn new(kind: (&str, &str), name: &str, size: i64, spec: Json) -> Self {
        let object = json!({
            "apiVersion": kind.0, "kind": kind.1,
            "metadata": {
                "name": name, "namespace": "space", "resourceVersion": "0", "generation": 1,
                "annotations": {"deprecated.daemonset.template.generation": "2"},
            },
            "spec": spec, "status": {},
        });
        let mut set = Self { object, pods: Vec::new(), made: 0 };
        for _ in 0..size {
            set.make(false, true);
        }
        set
    }

    fn make(&mut self, new: bool, ready: bool) {
        self.made += 1;
        self.pods.push(Pod { name: format!("p{}", self.made), new, ready, lost: false });
    }

    fn wanted(&self) -> usize {
        let spec = &self.object["spec"];
        let size = match self.object["kind"].as_str() {
            Some("DaemonSet") => spec["nodes"].as_i64(),
            _ => spec["replicas"].as_i64(),
        };
        usize::try_from(size.unwrap_or(1)).unwrap()
    }

    fn ready(&self) -> usize {
        self.pods.iter().filter(|pod| pod.ready).count()
    }

    /// One step of the controller that keeps the pods.
    fn control(&mut self, random: &mut Random) {
        let paused = ["/spec/paused", "/spec/updateStrategy/paused"]
            .iter()
            .any(|pointer| self.object.pointer(pointer).is_some_and(|paused| *paused == true));
        let in_place = self.object["kind"] != "Deployment";
        if self.pods.len() < self.wanted() {
            // A Deployment that was never unpaused has no ReplicaSet.
            if !(paused && self.made == 0) {
                let partition = self.partition();
                let old = self.pods.iter().filter(|pod| !pod.new).count();
                self.make(!in_place || old >= partition, false);
            }
        } else if self.pods.len() > self.wanted() {
            let not_ready = self.pods.iter().position(|pod| !pod.ready);
            self.pods.remove(not_ready.unwrap_or_else(|| random.below(self.pods.len())));
        } else if in_place && !paused && self.object["kind"] != "DaemonSet" {
            self.replace_one();
        }
    }

    fn partition(&self) -> usize {
        let strategy = &self.object["spec"]["updateStrategy"];
        let partition =
            strategy["partition"].as_i64().or_else(|| strategy["rollingUpdate"]["partition"].as_i64());
        match self.object["kind"].as_str() {
            Some("DaemonSet") => 0,
            _ => usize::try_from(partition.unwrap_or(0)).unwrap(),
        }
    }

    /// Pods in place become new ones as far as the partition and the set's own bound allow.
    fn replace_one(&mut self) {
        let unavailable = usize::try_from(self.object["spec"]["own"].as_i64().unwrap_or(1)).unwrap();
        let old = self.pods.iter().filter(|pod| !pod.new).count();
        if old <= self.partition() || self.pods.len() - self.ready() >= unavailable {
            return;
        }
        if let Some(at) = self.pods.iter().rposition(|pod| !pod.new) {
            let name = format!("p{}", self.made);
            self.made += 1;
            self.pods[at] = Pod { name, new: true, ready: false, lost: false };
        }
    }

    /// Writes the status as its controller would.
    fn sync(&mut self) {
        let count = |is: &dyn Fn(&Pod) -> bool| self.pods.iter().filter(|pod| is(pod)).count();
        let deployment = self.object["kind"] == "Deployment";
        let status = json!({
            "observedGeneration": self.object["metadata"]["generation"],
            "replicas": self.pods.len(), "readyReplicas": self.ready(),
            "updatedReplicas": count(&|pod| deployment || pod.new),
            "updatedReadyReplicas": count(&|pod| pod.new && pod.ready),
            "updateRevision": "r2",
            "desiredNumberScheduled": self.wanted(), "currentNumberScheduled": self.pods.len(),
        });
        self.object["status"] = status;
        if self.object["kind"] == "StatefulSet" {
            self.object["status"].as_object_mut().unwrap().remove("updatedReadyReplicas");
        }
    }

    fn pods(&self) -> Vec<Json> {
        let pod = |pod: &Pod| {
            json!({
                "metadata": {
                    "name": pod.name, "namespace": "space", "uid": pod.name,
                    "labels": {"pod-template-generation": if pod.new { "2" } else { "1" }},
                },
                "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": if pod.ready { "True" } else { "False" }}]},
            })
        };
        self.pods.iter().map(pod).collect()
    }
}

impl Cluster {
    fn new(kind: (&'static str, &'static str), plan: RolloutPlan, sets: BTreeMap<&'static str, Set>) -> Self {
        let has_source = kind.1 != "Deployment" || sets.contains_key(SOURCE);
        let status = next(&RolloutStatus::default(), &Input::Event(Event::AppLocated)).0;
        let now = Timestamp::UNIX_EPOCH;
        let mut cluster = Self {
            kind,
            has_source,
            plan,
            status,
            is_turned: false,
            seen: sets.clone(),
            sets,
            now,
            version: 0,
            writes: 0,
        };
        for name in NAMES {
            cluster.sync(name);
            cluster.watch(name);
        }
        cluster
    }

    fn sync(&mut self, name: &str) {
        let Some(set) = self.sets.get_mut(name) else { return };
        self.version += 1;
        set.sync();
        set.object["metadata"]["resourceVersion"] = json!(self.version.to_string());
    }

    fn watch(&mut self, name: &'static str) {
        if let Some(set) = self.sets.get(name) {
            self.seen.insert(name, set.clone());
        }
    }

    fn available(&self) -> i64 {
        self.sets.values().map(|set| i64::try_from(set.ready()).unwrap()).sum()
    }

    fn lost(&self) -> i64 {
        let lost = |set: &Set| set.pods.iter().filter(|pod| pod.lost).count();
        self.sets.values().map(|set| i64::try_from(lost(set)).unwrap()).sum()
    }

    fn pods(&self) -> i64 {
        self.sets.values().map(|set| i64::try_from(set.pods.len()).unwrap()).sum()
    }

    fn decide(&self) -> PlannedStep {
        let (source, target) = (self.seen.get(SOURCE), self.seen.get(TARGET));
        let owner = owner();
        let pods = target.map(Set::pods).unwrap_or_default();
        let leftovers: Vec<Json> =
            self.seen.get(LEFTOVER).map(|set| set.object.clone()).into_iter().collect();
        let part = Part {
            component: "web",
            api_version: self.kind.0,
            kind: self.kind.1,
            has_source: self.has_source,
            source: source.map(|set| &set.object),
            leftovers: &leftovers,
            target: target.map(|set| &set.object),
            pods: &pods,
            makers: &[],
        };
        next_step(&Situation {
            plan: &self.plan,
            status: &self.status,
            owner: &owner,
            parts: &[part],
            is_turned: self.is_turned,
            generation: 1,
            now: self.now,
        })
    }

    /// One reconcile as a controller carries it out; one that crashes has written so much, and stores nothing.
    fn reconcile(&mut self, crash_after: Option<usize>) {
        if State::of(&self.status).is_releasing() {
            NAMES.into_iter().for_each(|name| self.watch(name));
        }
        let step = self.decide();
        let mut failed = None;
        for (index, write) in step.writes.iter().enumerate() {
            if crash_after == Some(index) {
                return;
            }
            if let Err(why) = self.write(write) {
                failed = Some((write.clone(), why));
                break;
            }
        }
        if crash_after.is_some() {
            return;
        }
        let ended = match failed {
            Some((Write::Patch { object, .. } | Write::Delete { object, .. }, why)) => {
                step.write_failed(&object, why)
            }
            None => step.succeeded(),
        };
        self.store(ended);
    }

    fn store(&mut self, Ended { status, effects, .. }: Ended) {
        let conditions = std::mem::take(&mut self.status.conditions);
        self.status = RolloutStatus { conditions, ..status };
        let now = k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(self.now);
        for effect in effects {
            let condition = match effect {
                Effect::Condition { type_, holds: true, .. } => Condition::is_true(type_, "", now.clone()),
                Effect::Condition { type_, message, .. } => {
                    Condition::is_false(type_, "", message.unwrap_or_default(), now.clone())
                }
                Effect::BatchBegan(_) => Condition::is_true(BATCH_PROGRESSING, "", now.clone()),
            };
            self.status.conditions.retain(|each| each.condition_type != condition.condition_type);
            self.status.set_condition(condition);
        }
    }

    fn write(&mut self, write: &Write) -> Result<(), &'static str> {
        self.writes += 1;
        match write {
            Write::Delete { object, uid } => {
                let set = self.sets.get_mut(TARGET).unwrap();
                let at = set.pods.iter().position(|pod| pod.name == object.name && pod.name == *uid);
                at.map(|at| set.pods.remove(at)).map(|_| ()).ok_or("not found")
            }
            Write::Patch { object, patch } => {
                let set =
                    self.sets.values_mut().find(|set| set.object["metadata"]["name"] == object.name).unwrap();
                if patch["metadata"]["resourceVersion"] != set.object["metadata"]["resourceVersion"] {
                    return Err("conflict");
                }
                let before = set.object["spec"].clone();
                json_patch::merge(&mut set.object, patch);
                self.version += 1;
                set.object["metadata"]["resourceVersion"] = json!(self.version.to_string());
                if set.object["spec"] != before {
                    let generation = set.object["metadata"]["generation"].as_i64().unwrap();
                    set.object["metadata"]["generation"] = json!(generation + 1);
                }
                Ok(())
            }
        }
    }

    /// One event, by chance. Pods fail by themselves only in a cluster where they do.
    fn happen(&mut self, random: &mut Random, pods_fail: bool) {
        let name = *random.pick(&NAMES).unwrap();
        match random.below(12) {
            0..=2 => self.sets.get_mut(name).into_iter().for_each(|set| set.control(random)),
            3 | 4 => self.turn_ready(name, random),
            5 | 6 => self.sync(name),
            7 | 8 => self.watch(name),
            9 if pods_fail && random.chance(20) => self.lose(name, random),
            10 if random.chance(20) => self.reconcile(Some(random.below(3))),
            _ => self.reconcile(None),
        }
    }

    fn turn_ready(&mut self, name: &str, random: &mut Random) {
        let Some(set) = self.sets.get_mut(name) else { return };
        let waiting: Vec<usize> = (0..set.pods.len()).filter(|at| !set.pods[*at].ready).collect();
        if let Some(at) = random.pick(&waiting) {
            set.pods[*at].ready = true;
            set.pods[*at].lost = false;
        }
    }

    fn lose(&mut self, name: &str, random: &mut Random) {
        let Some(set) = self.sets.get_mut(name) else { return };
        let at = random.below(set.pods.len());
        if let Some(pod) = set.pods.get_mut(at).filter(|pod| pod.ready) {
            pod.ready = false;
            pod.lost = true;
        }
    }

    /// Everybody gets a turn until the rollout ends, every moment of it judged; says whether it did.
    fn settle(&mut self, random: &mut Random, judge: &dyn Fn(&Self)) -> bool {
        /// Far more rounds than any rollout of these tests needs.
        const ROUNDS: usize = 3000;
        for _ in 0..ROUNDS {
            for name in NAMES {
                if let Some(set) = self.sets.get_mut(name) {
                    set.control(random);
                }
                judge(self);
                self.turn_ready(name, random);
                self.sync(name);
                self.watch(name);
            }
            self.reconcile(None);
            if State::of(&self.status).is_terminal() {
                return true;
            }
        }
        false
    }
}
