//! Judges one write of a controller by the plan that its process had last read.

use serde_json::Value;
use vela_apiserver::store::{Event, EventKind};

use super::checker::{Pod, Read, RolloutChecker};
use super::object::{
    between, claims, goes_back, is_changed, is_leaving, is_over, number, partition, size, template_of, text,
    way,
};
use super::plan::Plan;
use super::state::State;
use super::{Kind, ROLLOUTS};
use crate::network::Performed;
use crate::violation::Violation;

/// Is it the workload of a revision that the rollout went to before, and gave up?
fn given_up(kind: Kind, rollout: &Value, workload: &str) -> bool {
    let revisions = rollout["status"]["givenUpRevisions"].as_array();
    revisions.into_iter().flatten().filter_map(Value::as_str).any(|name| kind.workload(name) == workload)
}

/// Does the next reconcile look for the target's workload? One that was turned round after its end does so at once.
fn begins(rollout: &Value) -> bool {
    text(rollout, "/status/rollingState") == "locatingTargetApp" || is_over(rollout) && is_changed(rollout)
}

/// Does it only let go: of what it went between before, or of everything?
fn is_let_go(rollout: &Value) -> bool {
    is_changed(rollout) || is_leaving(rollout) && !goes_back(rollout)
}

impl RolloutChecker {
    fn pods_of(&self, workload: &str, is: impl Fn(&Pod) -> bool) -> i64 {
        // Those of a workload that is gone go with it, also where it is made again.
        let there = self.workloads.contains_key(workload);
        let pods = self.pods.iter().filter(|(name, _)| there && !self.orphans.contains(*name));
        let count = pods.filter(|(_, pod)| pod.workload == workload && is(pod)).count();
        i64::try_from(count).unwrap_or(i64::MAX)
    }

    /// The rollout as this process had read it when it sent the request, of those that may write this workload.
    fn last_read(&self, request: &Performed, workload: Option<&str>, name: Option<&str>) -> Option<&Read> {
        let of = |read: &&Read| {
            workload.is_none_or(|workload| {
                let names = between(&read.rollout).into_iter().flat_map(|(target, source)| [target, source]);
                names.filter(|name| !name.is_empty()).any(|name| self.kind.workload(name) == workload)
                    || given_up(self.kind, &read.rollout, workload)
            })
        };
        let reads = self.reads.iter().filter(|((process, rollout), _)| {
            *process == request.process && name.is_none_or(|name| name == rollout)
        });
        let last = reads.filter_map(|(_, reads)| reads.iter().rev().find(|read| read.at <= request.sent));
        last.filter(of).max_by_key(|read| read.at)
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
                    Kind::Configured => self
                        .judge_size(request, name, size(before), size(&event.entry))
                        .and_then(|()| self.judge_start(name, before, &event.entry)),
                    Kind::StatefulSet => self.judge_set(request, name, before, &event.entry),
                };
                judged.map_err(|why| Violation::new("bounds", format!("{name}: {why}")))
            }
            resource if resource == self.kind.resource() && event.kind == EventKind::Added => {
                let held = match self.kind {
                    Kind::Deployment => event.entry["spec"]["paused"] == true,
                    Kind::Configured => event.entry["spec"]["paused"] == true || self.is_first(name),
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

    /// May a workload be made that waits for no rollout? Only where nothing of the component runs, and where people took
    /// away what ran.
    fn is_first(&self, name: &str) -> bool {
        let others = self.workloads.iter().filter(|(other, workload)| {
            other.as_str() != name && !is_leaving(workload) && workload["spec"]["paused"] != true
        });
        self.is_deleted(name) || others.map(|(_, workload)| size(workload)).sum::<i64>() == 0
    }

    /// A workload that waited starts only with a rollout that holds it, or after people took away the one that a rollout
    /// had brought to its end.
    fn judge_start(&self, name: &str, before: &Value, after: &Value) -> Result<(), String> {
        let starts = before["spec"]["paused"] == true && after["spec"]["paused"] != true && size(after) > 0;
        let is_held = claims(after).next().is_some();
        if !starts || is_held || self.is_deleted(name) || self.pods_of(name, |_| true) >= size(after) {
            return Ok(());
        }
        Err(format!("it starts {} pods, and no rollout holds it", size(after)))
    }

    /// A Deployment goes from one size to another.
    fn judge_size(&self, request: &Performed, name: &str, from: i64, to: i64) -> Result<(), String> {
        if from == to {
            return Ok(());
        }
        let read = self.last_read(request, Some(name), None).ok_or("no rollout was read")?;
        let rollout = &read.rollout;
        let plan = Plan::of(rollout);
        let (state, batch) = (text(rollout, "/status/rollingState"), number(rollout, "/status/currentBatch"));
        let context = format!("it goes from {from} to {to} pods in {state}, batch {batch}, by {plan:?}");
        let (target, source) = way(rollout);
        let (target, total) = (self.kind.workload(target), number(rollout, "/status/rolloutTargetSize"));
        if is_let_go(rollout) {
            return Err(format!("what is let go keeps its size, and {context}"));
        }
        if source.is_empty() {
            let original = number(rollout, "/status/rolloutOriginalSize");
            let goal = plan.goal(original, total, batch);
            let may = state == "rollingInBatches" && !plan.paused && to == goal;
            return if may { Ok(()) } else { Err(format!("the batch leads to {goal}, and {context}")) };
        }
        let sources = self.sources(rollout);
        let left: i64 =
            sources.iter().filter_map(|name| self.workloads.get(*name)).map(|each| size(each)).sum();
        if state == "initializing" {
            return self.judge_beginning((name, from, to), (&target, total), (&sources, left), &context);
        }
        if state != "rollingInBatches" || plan.paused {
            return Err(format!("nothing rolls, and {context}"));
        }
        let goal = plan.goal(0, total, batch);
        let (rest, unavailable) = (total - goal, plan.unavailable(0, total, batch));
        let context = format!("{context}, of {total} shall be {goal} new");
        if name == target {
            let last = plan.is_last(batch) && left <= rest;
            let stands: i64 = sources.iter().map(|source| self.pods_of(source, |_| true)).sum();
            return match () {
                () if to != goal => Err(format!("the target shall have its goal: {context}")),
                () if to < from && !last => Err(format!("pods of the target go: {context}")),
                () if to > from && plan.decreases_first && stands > rest => {
                    Err(format!("the source has still {stands} pods, and {rest} shall stay: {context}"))
                }
                () => Ok(()),
            };
        }
        let there = self.pods_of(&target, |pod| pod.serves) + self.taken.get(&target).unwrap_or(&0);
        if to > from || left - from + to < rest {
            return Err(format!("the source shall keep {rest}: {context}"));
        }
        if !plan.decreases_first && there + unavailable < goal {
            return Err(format!("{there} pods of the target serve, {unavailable} may be missing: {context}"));
        }
        Ok(())
    }

    /// Where pods come from: the source, and what earlier targets left and this rollout holds.
    fn sources(&self, rollout: &Value) -> Vec<&str> {
        let (target, source) = way(rollout);
        let (target, source) = (self.kind.workload(target), self.kind.workload(source));
        let uid = text(rollout, "/metadata/uid");
        let held = |workload: &Value| claims(workload).any(|claim| claim == uid);
        let all = self.workloads.iter().filter(|(name, workload)| {
            **name == source || **name != target && given_up(self.kind, rollout, name) && held(workload)
        });
        all.map(|(name, _)| name.as_str()).collect()
    }

    /// Before the first batch: pods that run stay, but for those beyond what is wanted, and the target gets what is missing.
    fn judge_beginning(
        &self,
        (name, from, to): (&str, i64, i64),
        (target, total): (&str, i64),
        (sources, left): (&[&str], i64),
        context: &str,
    ) -> Result<(), String> {
        let running = self.pods_of(name, |_| true).min(from);
        let others = if sources.contains(&name) { left - from } else { left };
        let most = if name == target { (total - left).max(running).max(0) } else { from };
        let spare = name != target && others + to >= total;
        if to <= most && (to >= running || spare) {
            return Ok(());
        }
        Err(format!("{running} of its pods run, the others are {others} of {total}, and {context}"))
    }

    /// A set changes its partition, its size or its template.
    fn judge_set(
        &self,
        request: &Performed,
        name: &str,
        before: &Value,
        after: &Value,
    ) -> Result<(), String> {
        if before["spec"] == after["spec"] {
            return Ok(());
        }
        let read = self.last_read(request, Some(name), None).ok_or("no rollout was read")?;
        let rollout = &read.rollout;
        let plan = Plan::of(rollout);
        let (state, batch) = (text(rollout, "/status/rollingState"), number(rollout, "/status/currentBatch"));
        let rolls = state == "rollingInBatches" && !plan.paused && !is_let_go(rollout);
        let context = format!("in {state}, batch {batch}, by {plan:?}");
        if before["spec"]["template"] != after["spec"]["template"]
            && !(begins(rollout) && partition(after) >= size(after))
        {
            return Err(format!("another template, and the set is not held, {context}"));
        }
        let total = number(rollout, "/status/rolloutTargetSize");
        if size(before) != size(after) {
            let goal = plan.goal(number(rollout, "/status/rolloutOriginalSize"), total, batch);
            let scales = way(rollout).1.is_empty();
            if !(rolls && scales && size(after) == goal) {
                return Err(format!("it goes from {} to {} pods {context}", size(before), size(after)));
            }
        }
        if partition(after) < partition(before) && partition(after) < size(after) {
            let keep = size(after) - plan.goal(0, size(after), batch);
            if !(rolls && partition(after) >= keep) {
                return Err(format!("its partition goes to {}, not to {keep} {context}", partition(after)));
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
        let Some(read) = self.last_read(request, None, Some(&event.key.name)) else {
            return wrong("its status is stored, and it was not read".to_owned());
        };
        let (from, to) = (State::of(before), State::of(&event.entry));
        if from == to {
            return Ok(());
        }
        let plan = Plan::of(&read.rollout);
        if !from.may_become(&to, before, &plan) {
            return wrong(format!("from {from:?} to {to:?} by {plan:?}"));
        }
        if to.batch_state != "batchFinalizing" || from.batch_state == to.batch_state {
            return Ok(());
        }
        match self.missing(&read.rollout, &plan, to.batch) {
            None => Ok(()),
            Some(why) => wrong(format!("batch {} is told to be there, and {why}", to.batch)),
        }
    }

    /// What a batch that is told to be there lacks.
    fn missing(&self, rollout: &Value, plan: &Plan, batch: i64) -> Option<String> {
        let (target, source) = way(rollout);
        let name = self.kind.workload(target);
        let total = number(rollout, "/status/rolloutTargetSize");
        let scales = source.is_empty();
        let original = if scales { number(rollout, "/status/rolloutOriginalSize") } else { 0 };
        let (goal, unavailable) =
            (plan.goal(original, total, batch), plan.unavailable(original, total, batch));
        let newest = self.workloads.get(&name).map(|set| template_of(set)).unwrap_or_default();
        let there = self.pods_of(&name, |pod| {
            pod.serves && (scales || self.kind.is_deployment() || pod.template == newest)
        });
        let taken = self.taken.get(&name).unwrap_or(&0);
        let short = match scales && total < original {
            true => self.pods_of(&name, |pod| pod.serves && !pod.lost) > goal,
            false => there + taken + unavailable < goal,
        };
        short.then(|| format!("{there} of {goal} pods of {name} serve, {unavailable} may be missing"))
    }
}
