//! What happens to rollouts, workloads and pods → the first broken promise, by the simulation's own reading of the plan.
//!
//! Each write is judged by the plan that its process had last read before it sent it. Pods that failed by themselves count
//! as if they were there: a rollout promises not to take away more than its plan says, not that pods do not fail.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use http::{Method, StatusCode};
use serde_json::Value;
use vela_apiserver::store::{Entry, Event, EventKind};

use super::super::check::Violation;
use super::super::gate::{Performed, Process};
use super::plan::Plan;
use super::{APPLICATIONS, FAIL, Kind, REVISIONS, ROLLOUTS};

/// Looks remembered of each process: a write is sent soon after the look that decided it.
const LOOKS_AT_MOST: usize = 64;

/// A pod, as far as a promise is about it.
#[derive(Clone, Debug, Default)]
struct Pod {
    workload: String,
    /// Was ready, and is so or failed by itself.
    serves: bool,
    /// Failed by itself.
    lost: bool,
    /// Made from which template.
    template: String,
}

/// One rollout as a process read it.
#[derive(Clone, Debug)]
struct Look {
    at: u64,
    rollout: Arc<Entry>,
}

/// The books of one schedule.
pub(crate) struct Books {
    kind: Kind,
    rollouts: BTreeMap<String, Arc<Entry>>,
    application: Option<Arc<Entry>>,
    looks: BTreeMap<(Process, String), Vec<Look>>,
    workloads: BTreeMap<String, Arc<Entry>>,
    pods: BTreeMap<String, Pod>,
    /// Pods of each workload that serve, at the last look.
    serving: BTreeMap<String, i64>,
    /// Revisions and workloads that people deleted themselves.
    deleted: BTreeSet<String>,
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn number(value: &Value, pointer: &str) -> i64 {
    value.pointer(pointer).and_then(Value::as_i64).unwrap_or(0)
}

/// Wanted pods of a workload.
fn size(workload: &Value) -> i64 {
    workload["spec"]["replicas"].as_i64().unwrap_or(1)
}

fn partition(workload: &Value) -> i64 {
    number(workload, "/spec/updateStrategy/rollingUpdate/partition")
}

/// Uids of the rollouts that a workload names as owners.
fn claims(workload: &Value) -> impl Iterator<Item = &str> {
    let owners = workload["metadata"]["ownerReferences"].as_array();
    owners.into_iter().flatten().filter(|owner| owner["kind"] == "AppRollout").map(|owner| text(owner, "/uid"))
}

fn is_leaving(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

pub(super) fn is_over(rollout: &Value) -> bool {
    matches!(text(rollout, "/status/rollingState"), "rolloutSucceed" | "rolloutFailed")
}

/// Between which revisions a rollout says that it goes, and between which it went last.
fn between(rollout: &Value) -> [(&str, &str); 2] {
    let says = (text(rollout, "/spec/targetAppRevisionName"), text(rollout, "/spec/sourceAppRevisionName"));
    let last = (text(rollout, "/status/lastTargetAppRevision"), text(rollout, "/status/LastSourceAppRevision"));
    [says, last]
}

/// Does the rollout say something else than what it works on?
fn is_changed(rollout: &Value) -> bool {
    let [says, last] = between(rollout);
    !last.0.is_empty() && (last.0 != says.0 || !last.1.is_empty() && last.1 != says.1)
}

/// Kinds of which the books keep states.
const KEPT: [&str; 5] = [ROLLOUTS, APPLICATIONS, "deployments.apps", "statefulsets.apps", "pods"];

impl Books {
    /// Books that know what is there.
    pub(crate) fn new(server: &vela_apiserver::ApiServer, kind: Kind) -> Self {
        let mut books = Self {
            kind,
            rollouts: BTreeMap::new(),
            application: None,
            looks: BTreeMap::new(),
            workloads: BTreeMap::new(),
            pods: BTreeMap::new(),
            serving: BTreeMap::new(),
            deleted: BTreeSet::new(),
        };
        for resource in KEPT {
            for entry in server.store().list(resource, Some(super::super::model::NAMESPACE)).0 {
                books.enter(resource, text(&entry, "/metadata/name"), &entry, false);
            }
        }
        books.serving = books.serve();
        books
    }

    /// People deleted this themselves.
    pub(crate) fn deleted_by_people(&mut self, name: &str) {
        self.deleted.insert(name.to_owned());
    }

    /// A process has read, or was told as the answer to its write, how a rollout is.
    pub(crate) fn looked(&mut self, request: &Performed) {
        let path = request.path.split('?').next().unwrap_or_default();
        let Some((_, rest)) = path.split_once("/approllouts/") else { return };
        let name = rest.trim_end_matches("/status");
        if !matches!(request.method, Method::GET | Method::PATCH) || request.code != StatusCode::OK {
            return;
        }
        let Some(rollout) = self.rollouts.get(name).cloned() else { return };
        let looks = self.looks.entry((request.process, name.to_owned())).or_default();
        if looks.len() >= LOOKS_AT_MOST {
            looks.remove(0);
        }
        looks.push(Look { at: request.revisions.1, rollout });
    }

    /// Enter what is true from this event on; the cluster and people are judged, too.
    pub(crate) fn keep(&mut self, event: &Event) -> Result<(), Violation> {
        let (resource, name) = (event.key.resource.as_ref(), event.key.name.as_str());
        let gone = event.kind == EventKind::Deleted;
        match resource {
            "deployments.apps" | "statefulsets.apps" => self.workload(name, event, gone)?,
            ROLLOUTS => self.rollout(event, gone)?,
            "pods" if self.kind == Kind::StatefulSet => self.replaced(name, event)?,
            REVISIONS if gone => self.revision(name)?,
            _ => {}
        }
        self.enter(resource, name, &event.entry, gone);
        Ok(())
    }

    fn enter(&mut self, resource: &str, name: &str, entry: &Arc<Entry>, gone: bool) {
        match resource {
            APPLICATIONS => self.application = (!gone).then(|| entry.clone()),
            "deployments.apps" | "statefulsets.apps" if gone => {
                self.workloads.remove(name);
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
            }
            "pods" => {
                let before = self.pods.remove(name).unwrap_or_default();
                self.pods.insert(name.to_owned(), pod(self.kind, entry, &before));
            }
            _ => {}
        }
    }

    fn lives(&self) -> bool {
        self.application.as_ref().is_some_and(|application| !is_leaving(application))
    }

    /// A workload changed or went.
    fn workload(&self, name: &str, event: &Event, gone: bool) -> Result<(), Violation> {
        if gone {
            if self.lives() && !self.deleted.contains(name) {
                let what = format!("{} {name} is deleted, and nobody wanted that", event.key.resource);
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
            Some((name, _)) if ends => {
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
        let Some(set) = self.pods.get(name).and_then(|pod| self.workloads.get(&pod.workload)) else {
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
        if self.kind == Kind::Deployment {
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
        for pod in self.pods.values().filter(|pod| pod.serves) {
            *serving.entry(pod.workload.clone()).or_insert(0) += 1;
        }
        serving
    }

    fn pods_of(&self, workload: &str, is: impl Fn(&Pod) -> bool) -> i64 {
        let count = self.pods.values().filter(|pod| pod.workload == workload && is(pod)).count();
        i64::try_from(count).unwrap_or(i64::MAX)
    }

    /// The rollout as this process had read it when it sent the request, of those that may write this workload.
    fn look(&self, request: &Performed, workload: Option<&str>, name: Option<&str>) -> Option<&Look> {
        let of = |look: &&Look| {
            workload.is_none_or(|workload| {
                let names = between(&look.rollout).into_iter().flat_map(|(target, source)| [target, source]);
                names.filter(|name| !name.is_empty()).any(|name| self.kind.workload(name) == workload)
            })
        };
        let looks = self.looks.iter().filter(|((process, rollout), _)| {
            *process == request.process && name.is_none_or(|name| name == rollout)
        });
        let last = looks.filter_map(|(_, looks)| looks.iter().rev().find(|look| look.at <= request.sent));
        last.filter(of).max_by_key(|look| look.at)
    }

    /// One change that a controller made.
    pub(crate) fn judge(&self, request: &Performed, event: &Event) -> Result<(), Violation> {
        let name = event.key.name.as_str();
        match event.key.resource.as_ref() {
            ROLLOUTS if event.kind == EventKind::Modified => self.judge_state(request, event),
            resource if resource == self.kind.resource() && event.kind == EventKind::Modified => {
                let Some(before) = &event.previous else { return Ok(()) };
                let judged = match self.kind {
                    Kind::Deployment => self.judge_size(request, name, size(before), size(&event.entry)),
                    Kind::StatefulSet => self.judge_set(request, name, before, &event.entry),
                };
                judged.map_err(|why| Violation::new("bounds", format!("{name}: {why}")))
            }
            resource if resource == self.kind.resource() && event.kind == EventKind::Added => {
                let held = match self.kind {
                    Kind::Deployment => event.entry["spec"]["paused"] == true,
                    Kind::StatefulSet => partition(&event.entry) >= size(&event.entry),
                };
                if held {
                    return Ok(());
                }
                Err(Violation::new("bounds", format!("{name} is made and does not wait for its rollout")))
            }
            _ => Ok(()),
        }
    }

    /// A Deployment goes from one size to another.
    fn judge_size(&self, request: &Performed, name: &str, from: i64, to: i64) -> Result<(), String> {
        if from == to {
            return Ok(());
        }
        let look = self.look(request, Some(name), None).ok_or("nobody looked at a rollout")?;
        let rollout = &look.rollout;
        let plan = Plan::read(&rollout["spec"]["rolloutPlan"]);
        let (state, batch) = (text(rollout, "/status/rollingState"), number(rollout, "/status/currentBatch"));
        let told = format!("it goes from {from} to {to} pods in {state}, batch {batch}, by {plan:?}");
        let [(target, source), _] = between(rollout);
        let (target, total) = (self.kind.workload(target), number(rollout, "/status/rolloutTargetSize"));
        let running = self.pods_of(&target, |_| true);
        if is_changed(rollout) || is_leaving(rollout) {
            return Err(format!("what is let go keeps its size, and {told}"));
        }
        if source.is_empty() {
            let original = number(rollout, "/status/rolloutOriginalSize");
            let goal = plan.goal(original, total, batch);
            let may = state == "rollingInBatches" && !plan.paused && to == goal;
            return if may { Ok(()) } else { Err(format!("the batch leads to {goal}, and {told}")) };
        }
        let source = self.kind.workload(source);
        let source_size = self.workloads.get(&source).map_or(0, |source| size(source));
        if state == "initializing" && name == target {
            // Pods that run already stay, and what the target is larger by comes at once.
            let fits = to >= running.min(from) && to <= (total - source_size).max(running).max(0);
            return if fits { Ok(()) } else { Err(format!("{running} of its pods run, and {told}")) };
        }
        if state != "rollingInBatches" || plan.paused {
            return Err(format!("nothing rolls, and {told}"));
        }
        let goal = plan.goal(0, total, batch);
        let (rest, unavailable) = (total - goal, plan.unavailable(0, total, batch));
        let told = format!("{told}, of {total} shall be {goal} new");
        if name == target {
            return self.judge_target(&plan, (from, to), (goal, rest), batch, &source).map_err(|why| format!("{why}: {told}"));
        }
        let there = self.pods_of(&target, |pod| pod.serves);
        if to != rest || to > from {
            return Err(format!("the source shall keep {rest}: {told}"));
        }
        if !plan.decreases_first && there + unavailable < goal {
            return Err(format!("{there} pods of the target serve, {unavailable} may be missing: {told}"));
        }
        Ok(())
    }

    fn judge_target(
        &self,
        plan: &Plan,
        (from, to): (i64, i64),
        (goal, rest): (i64, i64),
        batch: i64,
        source: &str,
    ) -> Result<(), String> {
        let source_pods = self.pods_of(source, |_| true);
        let source_size = self.workloads.get(source).map_or(0, |source| size(source));
        if to != goal {
            return Err("the target shall have its goal".to_owned());
        }
        if to < from && !(plan.is_last(batch) && source_size <= rest) {
            return Err("pods of the target go".to_owned());
        }
        if to > from && plan.decreases_first && source_pods > rest {
            return Err(format!("the source has still {source_pods} pods, and {rest} shall stay"));
        }
        Ok(())
    }

    /// A set changes its partition, its size or its template.
    fn judge_set(&self, request: &Performed, name: &str, before: &Value, after: &Value) -> Result<(), String> {
        if before["spec"] == after["spec"] {
            return Ok(());
        }
        let look = self.look(request, Some(name), None).ok_or("nobody looked at a rollout")?;
        let rollout = &look.rollout;
        let plan = Plan::read(&rollout["spec"]["rolloutPlan"]);
        let (state, batch) = (text(rollout, "/status/rollingState"), number(rollout, "/status/currentBatch"));
        let rolls = state == "rollingInBatches" && !plan.paused && !is_changed(rollout) && !is_leaving(rollout);
        let told = format!("in {state}, batch {batch}, by {plan:?}");
        if before["spec"]["template"] != after["spec"]["template"]
            && !(state == "locatingTargetApp" && partition(after) >= size(after))
        {
            return Err(format!("another template, and the set is not held, {told}"));
        }
        let total = number(rollout, "/status/rolloutTargetSize");
        if size(before) != size(after) {
            let goal = plan.goal(number(rollout, "/status/rolloutOriginalSize"), total, batch);
            let scales = between(rollout)[0].1.is_empty();
            if !(rolls && scales && size(after) == goal) {
                return Err(format!("it goes from {} to {} pods {told}", size(before), size(after)));
            }
        }
        if partition(after) < partition(before) && partition(after) < size(after) {
            let keep = size(after) - plan.goal(0, size(after), batch);
            if !(rolls && partition(after) >= keep) {
                return Err(format!("its partition goes to {}, not to {keep} {told}", partition(after)));
            }
        }
        Ok(())
    }

    /// A rollout goes from one state to another.
    fn judge_state(&self, request: &Performed, event: &Event) -> Result<(), Violation> {
        let Some(before) = event.previous.as_ref().filter(|before| before["status"] != event.entry["status"])
        else {
            return Ok(());
        };
        let wrong = |why: String| Err(Violation::new("states", format!("{}: {why}", event.key.name)));
        let Some(look) = self.look(request, None, Some(&event.key.name)) else {
            return wrong("its status is stored, and nobody looked at it".to_owned());
        };
        let (from, to) = (State::of(before), State::of(&event.entry));
        if from == to {
            return Ok(());
        }
        let plan = Plan::read(&look.rollout["spec"]["rolloutPlan"]);
        if !from.may_become(&to, before, &plan) {
            return wrong(format!("from {from:?} to {to:?} by {plan:?}"));
        }
        if to.batch_state != "batchFinalizing" || from.batch_state == to.batch_state {
            return Ok(());
        }
        match self.missing(&look.rollout, &plan, to.batch) {
            None => Ok(()),
            Some(why) => wrong(format!("batch {} is told to be there, and {why}", to.batch)),
        }
    }

    /// What a batch that is told to be there lacks.
    fn missing(&self, rollout: &Value, plan: &Plan, batch: i64) -> Option<String> {
        let (target, source) = between(rollout)[0];
        let name = self.kind.workload(target);
        let total = number(rollout, "/status/rolloutTargetSize");
        let scales = source.is_empty();
        let original = if scales { number(rollout, "/status/rolloutOriginalSize") } else { 0 };
        let (goal, unavailable) = (plan.goal(original, total, batch), plan.unavailable(original, total, batch));
        let newest = self.workloads.get(&name).map(|set| template_of(set)).unwrap_or_default();
        let there = self.pods_of(&name, |pod| {
            pod.serves && (scales || self.kind == Kind::Deployment || pod.template == newest)
        });
        let short = if scales && total < original { there > goal } else { there + unavailable < goal };
        short.then(|| format!("{there} of {goal} pods of {name} serve, {unavailable} may be missing"))
    }
}

/// What tells the templates of pods apart.
fn template_of(object: &Value) -> String {
    let spec = if object["kind"] == "Pod" { "/spec" } else { "/spec/template/spec" };
    text(object, &format!("{spec}/containers/0/image")).to_owned()
}

fn pod(kind: Kind, pod: &Value, before: &Pod) -> Pod {
    let owner = text(pod, "/metadata/ownerReferences/0/name");
    let workload = match kind {
        // A ReplicaSet has the name of its Deployment and a hash.
        Kind::Deployment => owner.rsplit_once('-').map_or(owner, |(name, _)| name),
        Kind::StatefulSet => owner,
    };
    let conditions = pod["status"]["conditions"].as_array();
    let ready =
        conditions.into_iter().flatten().any(|each| each["type"] == "Ready" && each["status"] == "True");
    let fails = !pod["metadata"]["annotations"][FAIL].is_null();
    let lost = (before.lost || before.serves && fails) && !(ready && !fails);
    Pod { workload: workload.to_owned(), serves: ready || lost, lost, template: template_of(pod) }
}

/// Where a rollout stands.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    rolling: String,
    batch_state: String,
    batch: i64,
}

impl State {
    fn of(rollout: &Value) -> Self {
        let rolling = text(rollout, "/status/rollingState").to_owned();
        let rolls = rolling == "rollingInBatches";
        let batch_state = if rolls { text(rollout, "/status/batchRollingState") } else { "" };
        let batch = if rolls { number(rollout, "/status/currentBatch") } else { 0 };
        Self { rolling, batch_state: batch_state.to_owned(), batch }
    }

    /// The table of the specification, and what a lap does at once: it lets go in the lap that hears of a change.
    fn may_become(&self, next: &Self, before: &Value, plan: &Plan) -> bool {
        let over = matches!(self.rolling.as_str(), "rolloutSucceed" | "rolloutFailed");
        let to = next.rolling.as_str();
        if is_leaving(before) && !over {
            return matches!(to, "RolloutDeletingState" | "rolloutFailed");
        }
        if self.rolling == "RolloutDeletingState" {
            return to == "rolloutFailed";
        }
        if self.rolling == "rolloutAbandoning" {
            return to == "locatingTargetApp";
        }
        if is_changed(before) {
            return matches!(to, "rolloutAbandoning" | "locatingTargetApp") || over && to == "verifyingSpec";
        }
        match self.rolling.as_str() {
            "" => to == "locatingTargetApp",
            "locatingTargetApp" => to == "verifyingSpec",
            "verifyingSpec" => matches!(to, "initializing" | "rolloutFailed"),
            "initializing" => {
                to == "rolloutFailing"
                    || (to == "rollingInBatches" && next.batch == 0 && next.batch_state == "batchInitializing")
            }
            "finalising" => to == "rolloutSucceed",
            "rolloutFailing" => to == "rolloutFailed",
            "rollingInBatches" if to == "rolloutFailing" => true,
            "rollingInBatches" => !plan.paused && self.batch_may_become(next, plan),
            _ => false,
        }
    }

    fn batch_may_become(&self, next: &Self, plan: &Plan) -> bool {
        let (to, rolling) = (next.batch_state.as_str(), next.rolling.as_str());
        let same = next.batch == self.batch;
        match self.batch_state.as_str() {
            "batchInitializing" => same && to == "batchInRolling",
            "batchInRolling" => same && to == "batchVerifying",
            "batchVerifying" => same && to == "batchFinalizing",
            "batchFinalizing" if plan.is_last(self.batch) => rolling == "finalising",
            "batchFinalizing" => same && to == "batchReady",
            "batchReady" => {
                next.batch == self.batch + 1
                    && to == "batchInitializing"
                    && plan.partition.is_none_or(|partition| partition > self.batch)
            }
            _ => false,
        }
    }
}
