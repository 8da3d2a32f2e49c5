//! Rolls from one Deployment to another: pods of the source are replaced by pods of the target, batch by batch.
//!
//! A batch ends with at least its goal on the target and at most the rest on the source. IncreaseFirst shrinks the source
//! only when the target's pods are ready; DecreaseFirst grows the target only when the source's pods are gone.
//!
//! Pods that a rollout had given another target before it was turned round count as a part of the source, the first to
//! go.

use serde_json::{Value as Json, json};
use vela_kinds::readiness::is_observed;

use super::object::{claim, foreign_controller, named, number, patch, release, size, template_hash};
use super::{Record, View, Workload, WorkloadStep, Write};
use crate::rollout::plan::{DECREASE_FIRST, INCREASE_FIRST};
use crate::rollout::size::Sizes;

/// From one Deployment to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Replace;

/// Both sides as they are. A source that is gone has no pods, and the rollout brings the target to its size.
struct Sides<'a> {
    source: Option<&'a Json>,
    leftovers: &'a [Json],
    target: &'a Json,
    sizes: Sizes<'a>,
    goal: i64,
    rest: i64,
    unavailable: i64,
}

impl<'a> Sides<'a> {
    fn of(view: &View<'a>) -> Result<Self, WorkloadStep> {
        let total = view.target_size()?;
        let target = view.target.ok_or_else(|| WorkloadStep::wait("the target Deployment is not there"))?;
        let sizes = Sizes::rollout(view.plan, total);
        let goal = sizes.goal(view.batch());
        let unavailable = sizes.max_unavailable(view.batch());
        Ok(Self {
            source: view.source,
            leftovers: view.leftovers,
            target,
            sizes,
            goal,
            rest: total - goal,
            unavailable,
        })
    }

    /// Everything that pods come from; what has to go last stands first.
    fn sources(&self) -> impl Iterator<Item = &'a Json> {
        self.source.into_iter().chain(self.leftovers)
    }

    fn source_size(&self) -> i64 {
        self.sources().map(size).sum()
    }

    fn source_pods(&self) -> i64 {
        self.sources().map(|source| number(source, "/status/replicas")).sum()
    }

    /// So many pods stay on the source.
    fn shrink_to(&self, rest: i64) -> Vec<Write> {
        shrink(self.sources(), rest)
    }

    fn target_ready(&self) -> i64 {
        number(self.target, "/status/readyReplicas")
    }

    fn is_ready(&self) -> bool {
        self.target_ready() + self.unavailable >= self.goal
    }

    fn resize_target(&self, replicas: i64, why: &str) -> WorkloadStep {
        let (object, before) = (named(self.target), size(self.target));
        let message = format!("{object} goes from {before} to {replicas} pods");
        WorkloadStep::wait(why).write([resize(self.target, replicas)]).note("Batch Rollout", message)
    }
}

/// Writes after which `rest` pods are left; the first ones keep theirs longest.
fn shrink<'a>(sources: impl Iterator<Item = &'a Json>, mut rest: i64) -> Vec<Write> {
    let mut writes = Vec::new();
    for source in sources {
        let kept = size(source).min(rest.max(0));
        rest -= kept;
        if kept < size(source) {
            writes.push(resize(source, kept));
        }
    }
    writes
}

fn resize(object: &Json, replicas: i64) -> Write {
    patch(object, json!({"spec": {"replicas": replicas}}))
}

/// Fields of a spec, and that it is not paused.
fn started(mut spec: Json) -> Json {
    spec["paused"] = json!(false);
    json!({ "spec": spec })
}

/// Pods of the target that run before its rollout began: those of a rollout that was given up half-way.
fn running(target: &Json) -> i64 {
    number(target, "/status/replicas").min(size(target))
}

/// Pods of the source that there are, or are being made: one that waits for its rollout has none, whatever it says.
fn standing(source: &Json) -> i64 {
    if source["spec"]["paused"] == true { running(source) } else { size(source) }
}

impl Replace {
    fn verified(view: &View<'_>) -> Result<WorkloadStep, WorkloadStep> {
        let (Some(source), Some(target)) = (view.source, view.target) else {
            let which = if view.source.is_none() { "source" } else { "target" };
            return Err(WorkloadStep::wait(format!("the {which} Deployment is not there")));
        };
        let total = total(view, source, target);
        if total < standing(source) {
            let message = format!(
                "target size less than source size: targetSize is {total}, and {} has {} pods; scale it first",
                named(source),
                standing(source)
            );
            return Err(WorkloadStep::misfit(message));
        }
        let hash = template_hash(target);
        if view.status.last_applied_pod_template_identifier.as_ref() == Some(&hash) {
            return Err(WorkloadStep::fail("there is no difference between the source and target"));
        }
        let record = Record {
            original_size: Some(total),
            target_size: Some(total),
            target_generation: Some(hash),
            ..Record::default()
        };
        let sizes = Sizes::rollout(view.plan, total);
        sizes.check_rollout().map_err(|mismatch| {
            let record = Record { target_generation: None, ..record.clone() };
            WorkloadStep::misfit(mismatch.to_string()).record(record)
        })?;
        let all = || [source, target].into_iter().chain(view.leftovers);
        for side in all() {
            let (wanted, pods) = (size(side), number(side, "/status/replicas"));
            // One that waits makes no pods, but until those that go are gone, its status counts them as ready ones.
            let is_settled = wanted == pods || side["spec"]["paused"] == true && pods < wanted;
            if !is_settled || !is_observed(side) {
                let message =
                    format!("{} is still being reconciled: it has {pods} of {wanted} pods", named(side));
                return Err(WorkloadStep::wait(message));
            }
        }
        for side in all() {
            if let Some(why) = foreign_controller(side, view.owner) {
                return Err(WorkloadStep::fail(why));
            }
        }
        let message = format!("{total} pods go from {} to {}", named(source), named(target));
        Ok(WorkloadStep::done().note("Rollout Verified", message).record(record))
    }

    fn initialized(view: &View<'_>) -> Result<WorkloadStep, WorkloadStep> {
        let total = view.target_size()?;
        let (Some(source), Some(target)) = (view.source, view.target) else {
            return Err(WorkloadStep::wait("source and target Deployment must both be there to begin"));
        };
        let mut writes = Vec::new();
        let there = standing(source);
        let fields = if there < size(source) { json!({"replicas": there}) } else { json!({}) };
        writes.extend(claim(source, view.owner, started(fields))?);
        // Beyond the wanted size they are of no use where the source is all there.
        let is_whole = number(source, "/status/readyReplicas") >= there;
        let mut room = if is_whole { (total - there).max(0) } else { i64::MAX };
        let mut left = 0;
        for each in view.leftovers {
            let kept = standing(each).min(room);
            (room, left) = (room - kept, left + kept);
            writes.extend(claim(each, view.owner, started(json!({"replicas": kept})))?);
        }
        // Running pods of the target stay: a rollout that is turned round must not cost pods.
        let replicas = (total - there - left).max(running(target)).max(0);
        writes.extend(claim(target, view.owner, started(json!({"replicas": replicas})))?);
        let step =
            WorkloadStep::done().note("Rollout Initialized", "source and target belong to the rollout");
        Ok(step.write(writes))
    }

    fn rolled(view: &View<'_>) -> Result<WorkloadStep, WorkloadStep> {
        let sides = Sides::of(view)?;
        let strategy = view.plan.rollout_strategy.as_deref().unwrap_or_default();
        let step = match strategy {
            "" | INCREASE_FIRST => increase_first(view, &sides),
            DECREASE_FIRST => decrease_first(view, &sides),
            other => {
                let message =
                    format!("{other:?} is no rolloutStrategy; write {INCREASE_FIRST} or {DECREASE_FIRST}");
                return Err(WorkloadStep::fail(message));
            }
        };
        Ok(step)
    }
}

/// How many pods there shall be in the end.
fn total(view: &View<'_>, source: &Json, target: &Json) -> i64 {
    if let Some(size) = view.plan.target_size {
        return i64::from(size);
    }
    let beside = running(target) + view.leftovers.iter().map(standing).sum::<i64>();
    let both = standing(source) + beside;
    match view.status.rollout_original_size.map(i64::from) {
        Some(before) if view.is_turned => before.max(standing(source)),
        // Both sides have pods where an earlier rollout stopped half-way; its size is the one that is meant.
        Some(before) if beside > 0 => both.min(before).max(standing(source)),
        _ => both,
    }
}

fn increase_first(view: &View<'_>, sides: &Sides<'_>) -> WorkloadStep {
    let Sides { target, goal, rest, .. } = *sides;
    if size(target) < goal {
        return sides.resize_target(goal, "the target grows first");
    }
    if sides.source_size() > rest {
        if !sides.is_ready() {
            return WorkloadStep::wait(format!(
                "batch {} is not ready yet with {} target pods ready: {} needs {goal}, of which {} may be missing",
                view.batch_number(),
                sides.target_ready(),
                named(target),
                sides.unavailable
            ));
        }
        return rolled_out(sides).write(sides.shrink_to(rest));
    }
    last_touch(view, sides)
}

fn decrease_first(view: &View<'_>, sides: &Sides<'_>) -> WorkloadStep {
    let Sides { target, goal, rest, .. } = *sides;
    if sides.source_size() > rest {
        let source = sides.source.map_or_else(|| "what an earlier target left".to_owned(), named);
        let message = format!("{source} goes from {} to {rest} pods", sides.source_size());
        let step = WorkloadStep::wait("the source shrinks first").write(sides.shrink_to(rest));
        return step.note("Batch Rollout", message);
    }
    if size(target) < goal {
        if sides.source_pods() > rest {
            let message = format!(
                "batch {} waits for the source to shrink: it has {} pods, and {rest} shall stay",
                view.batch_number(),
                sides.source_pods()
            );
            return WorkloadStep::wait(message);
        }
        return rolled_out(sides).write([resize(target, goal)]);
    }
    last_touch(view, sides)
}

/// In the end the target has exactly its size, also where an earlier rollout had left more.
fn last_touch(view: &View<'_>, sides: &Sides<'_>) -> WorkloadStep {
    if sides.sizes.is_last(view.batch()) && size(sides.target) > sides.goal {
        return sides.resize_target(sides.goal, "the target shrinks to its size");
    }
    WorkloadStep::done().record(Record { upgraded: Some(sides.goal), ..Record::default() })
}

fn rolled_out(sides: &Sides<'_>) -> WorkloadStep {
    let record = Record { upgraded: Some(sides.goal), ..Record::default() };
    let message =
        format!("the batch is written: {} pods of the target, {} of the source", sides.goal, sides.rest);
    WorkloadStep::done().note("Batch Rollout", message).record(record)
}

impl Workload for Replace {
    fn verify(&self, view: &View<'_>) -> WorkloadStep {
        Self::verified(view).unwrap_or_else(|step| step)
    }

    fn initialize(&self, view: &View<'_>) -> WorkloadStep {
        Self::initialized(view).unwrap_or_else(|step| step)
    }

    fn roll_batch(&self, view: &View<'_>) -> WorkloadStep {
        Self::rolled(view).unwrap_or_else(|step| step)
    }

    fn check_batch(&self, view: &View<'_>) -> WorkloadStep {
        let sides = match Sides::of(view) {
            Ok(sides) => sides,
            Err(step) => return step,
        };
        let record = Record { upgraded_ready: Some(sides.target_ready()), ..Record::default() };
        let Sides { goal, rest, .. } = sides;
        if sides.source_pods() > rest {
            let message = format!(
                "batch {} waits for the source to shrink: it has {} pods, and {rest} shall stay",
                view.batch_number(),
                sides.source_pods()
            );
            return WorkloadStep::wait(message).record(record);
        }
        if !sides.is_ready() {
            let message = format!(
                "batch {} is not ready yet with {} target pods ready: {goal} are needed, of which {} may be missing",
                view.batch_number(),
                sides.target_ready(),
                sides.unavailable
            );
            return WorkloadStep::wait(message).record(record);
        }
        let message = format!(
            "batch {} is there: {} of {goal} pods are ready",
            view.batch_number(),
            sides.target_ready()
        );
        WorkloadStep::done().note("Batch Available", message).record(record)
    }

    fn finalize_batch(&self, view: &View<'_>) -> WorkloadStep {
        let sides = match Sides::of(view) {
            Ok(sides) => sides,
            Err(step) => return step,
        };
        let (from, to) = (sides.source_size(), size(sides.target));
        let total = sides.goal + sides.rest;
        if from > sides.rest || to < sides.goal || (sides.source.is_some() && from + to < total) {
            return WorkloadStep::fail(format!(
                "the sizes were changed by another client: source and target have {from} and {to} pods after batch {}, and \
                 {} and {} were written",
                view.batch_number(),
                sides.rest,
                sides.goal
            ));
        }
        WorkloadStep::done()
    }

    fn finalize(&self, view: &View<'_>, succeeded: bool) -> WorkloadStep {
        let sides = view.source.into_iter().chain(view.leftovers).chain(view.target);
        let writes: Vec<Write> = sides.filter_map(|side| release(side, view.owner, json!({}))).collect();
        let record = Record { last_applied: view.status.target_generation.clone(), ..Record::default() };
        let message = format!("the workloads are released, succeeded: {succeeded}");
        WorkloadStep::done().write(writes).note("Rollout Finalized", message).record(record)
    }
}
