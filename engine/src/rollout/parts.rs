//! Steps the components of a rollout together: the step is done when each is done, and fails when one fails.

use jiff::Timestamp;
use serde_json::Value as Json;
use vela_crds::{ComponentRollout, RolloutPlan, RolloutStatus};

use super::pods;
use super::state;
use super::workload::{self, Note, Outcome, Owner, Record, View, Workload, WorkloadStep, Write};
use crate::observed::ObjectKey;

/// One component that is rolled out.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// Its name.
    pub component: &'a str,
    /// The kind that is rolled out: `apps/v1`.
    pub api_version: &'a str,
    /// The kind that is rolled out: `Deployment`.
    pub kind: &'a str,
    /// Is there a revision to come from? Otherwise the target is scaled.
    pub has_source: bool,
    /// Where pods come from; nothing when it is not there. In place, and in a scale, it means nothing.
    pub source: Option<&'a Json>,
    /// Deployments that this rollout left with pods when it was turned to another target.
    pub leftovers: &'a [Json],
    /// Where pods go to, or the workload that is changed in place; nothing when it is not there.
    pub target: Option<&'a Json>,
    /// The pods of the target.
    pub pods: &'a [Json],
    /// The objects that the target made to make its pods (ReplicaSets); they may say why there are none.
    pub makers: &'a [Json],
}

/// One step of all components, and the status that remembers it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JointStep {
    pub(super) outcome: Outcome,
    pub(super) writes: Vec<Write>,
    pub(super) notes: Vec<Note>,
    pub(super) recorded: RolloutStatus,
}

/// Everything that a step looks at.
///
/// Caches will do, since every write is bound to the version it was decided on; only where the workloads are let go
/// ([`State::is_releasing`](super::State::is_releasing)) they must be read from the server: a claim that is not seen would never be taken back.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    /// The plan as it is now.
    pub plan: &'a RolloutPlan,
    /// The status as it was stored.
    pub status: &'a RolloutStatus,
    /// The owner of the rollout.
    pub owner: &'a Owner,
    /// The components that are rolled out together; none where nothing of them changed.
    pub parts: &'a [Part<'a>],
    /// Did it stop half-way on the way to another target? Then the sizes it began with are meant, not those it left.
    pub is_turned: bool,
    /// The generation of the object that holds the plan: a metric that failed holds the rollout until it changes.
    pub generation: i64,
    /// The time of this look.
    pub now: Timestamp,
}

/// All components with the way each is rolled out.
pub(super) struct Parts<'a> {
    situation: &'a Situation<'a>,
    each: Vec<(&'a Part<'a>, Box<dyn Workload>)>,
}

impl<'a> Parts<'a> {
    /// The error names a kind that no rollout supports.
    pub(super) fn of(situation: &'a Situation<'a>) -> Result<Self, String> {
        let strategy = |part: &'a Part<'a>| {
            let found = workload::strategy(part.api_version, part.kind, part.has_source);
            found.map(|strategy| (part, strategy)).map_err(|why| named(situation, part, why))
        };
        Ok(Self { situation, each: situation.parts.iter().map(strategy).collect::<Result<_, _>>()? })
    }

    /// Does the plan fit all of them?
    pub(super) fn verify(&self) -> JointStep {
        let Situation { plan, status, .. } = *self.situation;
        if let (Some(size), [_, _, ..]) = (plan.target_size, self.each.as_slice()) {
            let names: Vec<&str> = self.each.iter().map(|(part, _)| part.component).collect();
            return JointStep {
                outcome: Outcome::Fail(format!(
                    "rolloutPlan.targetSize is {size}, and there are several components: {}; leave it out, so that each keeps \
                     its size, or give each a rollout of its own",
                    names.join(", ")
                )),
                writes: Vec::new(),
                notes: Vec::new(),
                recorded: status.clone(),
            };
        }
        self.step(status, |part, view| part.verify(view))
    }

    /// A step that is only taken on workloads that say that they belong to this rollout. Where it waits, the pods' own
    /// reasons are told.
    pub(super) fn claimed(
        &self,
        status: &RolloutStatus,
        step: impl Fn(&dyn Workload, &View<'_>) -> WorkloadStep,
    ) -> JointStep {
        self.joined(status, |part, strategy, view| {
            let mut step = match unclaimed(part, self.situation.owner) {
                None => step(strategy, view),
                Some(why) => WorkloadStep::wait(why),
            };
            explain(part, &mut step);
            step
        })
    }

    /// One step of each.
    pub(super) fn step(
        &self,
        status: &RolloutStatus,
        step: impl Fn(&dyn Workload, &View<'_>) -> WorkloadStep,
    ) -> JointStep {
        self.joined(status, |_, strategy, view| step(strategy, view))
    }

    /// After how many seconds a batch fails: as the plan says, or else the workload that gives its pods most time.
    pub(super) fn deadline_seconds(&self) -> u64 {
        let planned = self.situation.plan.progress_deadline_seconds;
        if let Some(seconds) = planned.and_then(|seconds| u64::try_from(seconds).ok()) {
            return seconds;
        }
        let seconds = self.each.iter().map(|(part, _)| pods::deadline_seconds(part.target));
        seconds.max().unwrap_or(pods::DEFAULT_DEADLINE_SECONDS)
    }

    fn joined(
        &self,
        status: &RolloutStatus,
        step: impl Fn(&Part<'_>, &dyn Workload, &View<'_>) -> WorkloadStep,
    ) -> JointStep {
        let Situation { plan, owner, is_turned, .. } = *self.situation;
        let mut joint = JointStep {
            outcome: Outcome::Done,
            writes: Vec::new(),
            notes: Vec::new(),
            recorded: status.clone(),
        };
        let (mut waits, mut fails) = (Vec::new(), Vec::new());
        for (part, strategy) in &self.each {
            let known = self.known(status, part.component);
            let view = View {
                plan,
                status: &known,
                source: part.source,
                leftovers: part.leftovers,
                is_turned,
                target: part.target,
                pods: part.pods,
                owner,
            };
            let WorkloadStep { outcome, writes, notes, record } = step(part, strategy.as_ref(), &view);
            self.record(&mut joint.recorded, part.component, record);
            joint.writes.extend(writes);
            joint.notes.extend(notes);
            match outcome {
                Outcome::Done => {}
                Outcome::Wait(why) => waits.push(named(self.situation, part, why)),
                Outcome::Fail(why) => fails.push(named(self.situation, part, why)),
            }
        }
        if !fails.is_empty() {
            // The writes of the others would continue a rollout that has ended.
            if self.each.len() > 1 {
                joint.writes.clear();
            }
            joint.outcome = Outcome::Fail(fails.join("; "));
        } else if !waits.is_empty() {
            joint.outcome = Outcome::Wait(waits.join("; "));
        }
        joint
    }

    /// The status as one of them sees it.
    fn known(&self, status: &RolloutStatus, component: &str) -> RolloutStatus {
        if self.each.len() < 2 {
            return status.clone();
        }
        let found = status.components.iter().find(|known| known.name == component);
        seen_by(status, found.unwrap_or(&ComponentRollout::named(component)))
    }

    /// The memory of one of them; of several, the status shows the sums.
    fn record(&self, status: &mut RolloutStatus, component: &str, record: Record) {
        if self.each.len() < 2 {
            status.components.clear();
            record.apply(status);
            return;
        }
        let mut own = self.known(status, component);
        record.apply(&mut own);
        let own = ComponentRollout {
            name: component.to_owned(),
            rollout_original_size: own.rollout_original_size,
            rollout_target_size: own.rollout_target_size,
            target_generation: own.target_generation,
            last_applied_pod_template_identifier: own.last_applied_pod_template_identifier,
            upgraded_replicas: own.upgraded_replicas,
            upgraded_ready_replicas: own.upgraded_ready_replicas,
        };
        let is_part = |name: &str| self.each.iter().any(|(part, _)| part.component == name);
        status.components.retain(|known| known.name != component && is_part(&known.name));
        status.components.push(own);
        status.components.sort_by(|one, other| one.name.cmp(&other.name));
        let all = &status.components;
        let sum = |of: fn(&ComponentRollout) -> Option<i32>| {
            all.iter()
                .map(of)
                .try_fold(0_i32, |sum, size| Some(sum.saturating_add(size.filter(|s| *s >= 0)?)))
        };
        let complete = all.len() == self.each.len();
        status.rollout_original_size = sum(|each| each.rollout_original_size).filter(|_| complete);
        status.rollout_target_size =
            sum(|each| each.rollout_target_size).filter(|_| complete).or(Some(state::UNKNOWN_SIZE));
        status.upgraded_replicas = sum(|each| Some(each.upgraded_replicas)).unwrap_or(0);
        status.upgraded_ready_replicas = sum(|each| Some(each.upgraded_ready_replicas)).unwrap_or(0);
    }
}

/// The status as one of several components sees it: with its own numbers.
pub(super) fn seen_by(status: &RolloutStatus, component: &ComponentRollout) -> RolloutStatus {
    let own = component.clone();
    RolloutStatus {
        rollout_original_size: own.rollout_original_size,
        rollout_target_size: own.rollout_target_size.or(Some(state::UNKNOWN_SIZE)),
        target_generation: own.target_generation,
        last_applied_pod_template_identifier: own.last_applied_pod_template_identifier,
        upgraded_replicas: own.upgraded_replicas,
        upgraded_ready_replicas: own.upgraded_ready_replicas,
        ..status.clone()
    }
}

/// Of several, it is told which one is meant.
fn named(situation: &Situation<'_>, part: &Part<'_>, why: String) -> String {
    if situation.parts.len() < 2 { why } else { format!("component {}: {why}", part.component) }
}

/// A workload without the mark of the claim is older than the claim, as a cache may show it for a while, or a client
/// removed the mark: the rollout decides on neither.
fn unclaimed(part: &Part<'_>, owner: &Owner) -> Option<String> {
    // Only Deployments come from another object.
    let source = part.source.filter(|_| part.kind == "Deployment" && part.has_source);
    let all = source.into_iter().chain(part.leftovers).chain(part.target);
    let free = all.into_iter().find(|each| !workload::is_controlled_by(each, owner))?;
    let Owner { kind, name, .. } = owner;
    Some(format!("{} does not say that {kind} {name} is its controller (yet)", ObjectKey::of(free)))
}

/// The reason of a batch's wait, with the pods' own reasons.
fn explain(part: &Part<'_>, step: &mut WorkloadStep) {
    let Outcome::Wait(why) = &mut step.outcome else { return };
    let makers: Vec<&Json> = part.target.into_iter().chain(part.makers).collect();
    let reasons = pods::explain(&pods::problems(part.pods, &makers));
    if !reasons.is_empty() {
        why.push_str("; ");
        why.push_str(&reasons);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use vela_crds::RolloutPlan;

    use super::super::workload::tests::owner;
    use super::*;

    fn deployment(name: &str, replicas: i64) -> Json {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name, "namespace": "space", "resourceVersion": "7"},
            "spec": {"replicas": replicas, "paused": false, "template": {"image": name}},
            "status": {"replicas": replicas, "readyReplicas": replicas, "updatedReplicas": replicas},
        })
    }

    /// One step of the components `api` (4 pods) and `web` (as many as given).
    fn step(
        plan: &RolloutPlan,
        status: &RolloutStatus,
        web: i64,
        mut step: impl FnMut(&Parts<'_>, &RolloutStatus) -> JointStep,
    ) -> JointStep {
        let objects = [("api", 4), ("web", web)].map(|(name, pods)| {
            (deployment(&format!("{name}-v1"), pods), deployment(&format!("{name}-v2"), 0))
        });
        let part = |component: &'static str, at: usize| Part {
            component,
            api_version: "apps/v1",
            kind: "Deployment",
            has_source: true,
            source: Some(&objects[at].0),
            leftovers: &[],
            target: Some(&objects[at].1),
            pods: &[],
            makers: &[],
        };
        let (parts, owner) = ([part("api", 0), part("web", 1)], owner());
        let now = jiff::Timestamp::UNIX_EPOCH;
        let situation =
            Situation { plan, status, owner: &owner, parts: &parts, is_turned: false, generation: 1, now };
        step(&Parts::of(&situation).unwrap(), status)
    }

    fn halves() -> RolloutPlan {
        let plan = json!({"rolloutBatches": [{"replicas": "50%"}, {"replicas": "100%"}]});
        serde_json::from_value(plan).unwrap()
    }

    #[test]
    fn components_keep_their_numbers_and_the_status_shows_the_sums() {
        let verified = step(&halves(), &RolloutStatus::default(), 6, |parts, _| parts.verify());
        assert_eq!(verified.outcome, Outcome::Done);
        let status = verified.recorded;
        let sizes: Vec<_> =
            status.components.iter().map(|each| (each.name.as_str(), each.rollout_target_size)).collect();
        assert_eq!(sizes, [("api", Some(4)), ("web", Some(6))]);
        assert_eq!((status.rollout_target_size, status.rollout_original_size), (Some(10), Some(10)));
        let rolled = step(&halves(), &status, 6, |parts, status| {
            parts.step(status, |part, view| part.roll_batch(view))
        });
        let written = rolled.writes.iter().map(|write| match write {
            Write::Patch { object, patch } => (object.name.as_str(), patch["spec"]["replicas"].as_i64()),
            Write::Delete { .. } => ("", None),
        });
        assert_eq!(written.collect::<Vec<_>>(), [("api-v2", Some(2)), ("web-v2", Some(3))]);
        let Outcome::Wait(why) = rolled.outcome else { unreachable!("{:?}", rolled.outcome) };
        assert!(why.contains("component api: ") && why.contains("component web: "), "{why}");
    }

    #[test]
    fn where_one_component_does_not_fit_nothing_is_begun() {
        let verified = step(&halves(), &RolloutStatus::default(), 1, |parts, _| parts.verify());
        let Outcome::Fail(why) = &verified.outcome else { unreachable!("{:?}", verified.outcome) };
        assert!(why.starts_with("component web: batch size mismatch"), "{why}");
        assert!(verified.writes.is_empty());
        let sized = RolloutPlan { target_size: Some(4), ..halves() };
        let verified = step(&sized, &RolloutStatus::default(), 6, |parts, _| parts.verify());
        assert!(
            matches!(&verified.outcome, Outcome::Fail(why) if why.contains("several components: api, web"))
        );
    }

    #[test]
    fn the_plan_says_how_long_a_batch_may_take() {
        let seconds = |plan: &RolloutPlan| {
            let mut seconds = 0;
            let _ = step(plan, &RolloutStatus::default(), 6, |parts, _| {
                seconds = parts.deadline_seconds();
                parts.verify()
            });
            seconds
        };
        assert_eq!(seconds(&halves()), pods::DEFAULT_DEADLINE_SECONDS);
        assert_eq!(seconds(&RolloutPlan { progress_deadline_seconds: Some(30), ..halves() }), 30);
    }

    #[test]
    fn unclaimed_workloads_are_not_written() {
        let status = step(&halves(), &RolloutStatus::default(), 6, |parts, _| parts.verify()).recorded;
        let rolled = step(&halves(), &status, 6, |parts, status| {
            parts.claimed(status, |part, view| part.roll_batch(view))
        });
        assert!(rolled.writes.is_empty(), "{rolled:?}");
        assert!(
            matches!(&rolled.outcome, Outcome::Wait(why) if why.contains("does not say that AppRollout rolling"))
        );
    }
}
