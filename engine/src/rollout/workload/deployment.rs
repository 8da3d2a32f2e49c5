//! Two Deployments and a plan → pods of the source are replaced by pods of the target, batch by batch.
//!
//! A batch ends with at least its goal on the target and at most the rest on the source. IncreaseFirst shrinks the source
//! only when the target's pods are ready; DecreaseFirst grows the target only when the source's pods are gone.

use serde_json::{Value as Json, json};

use super::object::{
    claim, foreign_controller, is_observed, named, number, patch, release, size, template_hash,
};
use super::{Look, Record, Turn, Workload, Write};
use crate::rollout::plan::{DECREASE_FIRST, INCREASE_FIRST};
use crate::rollout::size::Sizes;

/// From one Deployment to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Replace;

/// Both sides as they are. A source that is gone has no pods, and the rollout brings the target to its size.
struct Sides<'a> {
    source: Option<&'a Json>,
    target: &'a Json,
    sizes: Sizes<'a>,
    goal: i64,
    rest: i64,
    unavailable: i64,
}

impl<'a> Sides<'a> {
    fn of(look: &Look<'a>) -> Result<Self, Turn> {
        let total = look.target_size()?;
        let target = look.target.ok_or_else(|| Turn::wait("the target Deployment is not there"))?;
        let sizes = Sizes::rollout(look.plan, total);
        let goal = sizes.goal(look.batch());
        let unavailable = sizes.max_unavailable(look.batch());
        Ok(Self { source: look.source, target, sizes, goal, rest: total - goal, unavailable })
    }

    fn source_size(&self) -> i64 {
        self.source.map_or(0, size)
    }

    fn source_pods(&self) -> i64 {
        self.source.map_or(0, |source| number(source, "/status/replicas"))
    }

    fn target_ready(&self) -> i64 {
        number(self.target, "/status/readyReplicas")
    }

    fn is_ready(&self) -> bool {
        self.target_ready() + self.unavailable >= self.goal
    }

    fn resize_target(&self, replicas: i64, why: &str) -> Turn {
        let (object, before) = (named(self.target), size(self.target));
        let message = format!("{object} goes from {before} to {replicas} pods");
        Turn::wait(why).write([resize(self.target, replicas)]).note("Batch Rollout", message)
    }
}

fn resize(object: &Json, replicas: i64) -> Write {
    patch(object, json!({"spec": {"replicas": replicas}}))
}

/// Pods of the target that run before its rollout began: those of a rollout that was given up half-way.
fn running(target: &Json) -> i64 {
    number(target, "/status/replicas").min(size(target))
}

impl Replace {
    fn verified(look: &Look<'_>) -> Result<Turn, Turn> {
        let (Some(source), Some(target)) = (look.source, look.target) else {
            let which = if look.source.is_none() { "source" } else { "target" };
            return Err(Turn::wait(format!("the {which} Deployment is not there")));
        };
        let total = total(look, source, target);
        if total < size(source) {
            let message = format!(
                "target size less than source size: targetSize is {total}, and {} has {} pods; scale it first",
                named(source),
                size(source)
            );
            return Err(Turn::misfit(message));
        }
        let hash = template_hash(target);
        if look.status.last_applied_pod_template_identifier.as_ref() == Some(&hash) {
            return Err(Turn::fail("there is no difference between the source and target"));
        }
        let record = Record {
            original_size: Some(total),
            target_size: Some(total),
            target_generation: Some(hash),
            ..Record::default()
        };
        let sizes = Sizes::rollout(look.plan, total);
        sizes.check_rollout().map_err(|mismatch| {
            let record = Record { target_generation: None, ..record.clone() };
            Turn::misfit(mismatch.to_string()).record(record)
        })?;
        for side in [source, target] {
            let (wanted, pods) = (size(side), number(side, "/status/replicas"));
            if side["spec"]["paused"] != true && (wanted != pods || !is_observed(side)) {
                let message =
                    format!("{} is still being reconciled: it has {pods} of {wanted} pods", named(side));
                return Err(Turn::wait(message));
            }
        }
        for side in [source, target] {
            if let Some(why) = foreign_controller(side, look.owner) {
                return Err(Turn::fail(why));
            }
        }
        let message = format!("{total} pods go from {} to {}", named(source), named(target));
        Ok(Turn::done().note("Rollout Verified", message).record(record))
    }

    fn initialized(look: &Look<'_>) -> Result<Turn, Turn> {
        let total = look.target_size()?;
        let (Some(source), Some(target)) = (look.source, look.target) else {
            return Err(Turn::wait("source and target Deployment must both be there to begin"));
        };
        let first = claim(source, look.owner, json!({"spec": {"paused": false}}))?;
        // What runs on the target already stays: a rollout that is turned round must not cost pods.
        let replicas = (total - size(source)).max(running(target)).max(0);
        let second = claim(target, look.owner, json!({"spec": {"paused": false, "replicas": replicas}}))?;
        let turn = Turn::done().note("Rollout Initialized", "source and target belong to the rollout");
        Ok(turn.write(first.into_iter().chain(second)))
    }

    fn rolled(look: &Look<'_>) -> Result<Turn, Turn> {
        let sides = Sides::of(look)?;
        let strategy = look.plan.rollout_strategy.as_deref().unwrap_or_default();
        let turn = match strategy {
            "" | INCREASE_FIRST => increase_first(look, &sides),
            DECREASE_FIRST => decrease_first(look, &sides),
            other => {
                let message =
                    format!("{other:?} is no rolloutStrategy; write {INCREASE_FIRST} or {DECREASE_FIRST}");
                return Err(Turn::fail(message));
            }
        };
        Ok(turn)
    }
}

/// How many pods there shall be in the end.
fn total(look: &Look<'_>, source: &Json, target: &Json) -> i64 {
    if let Some(size) = look.plan.target_size {
        return i64::from(size);
    }
    let both = size(source) + running(target);
    // Both sides have pods where an earlier rollout stopped half-way; its size is the one that is meant.
    match look.status.rollout_original_size.map(i64::from) {
        Some(before) if running(target) > 0 => both.min(before).max(size(source)),
        _ => both,
    }
}

fn increase_first(look: &Look<'_>, sides: &Sides<'_>) -> Turn {
    let Sides { target, goal, rest, .. } = *sides;
    if size(target) < goal {
        return sides.resize_target(goal, "the target grows first");
    }
    if let Some(source) = sides.source.filter(|source| size(source) > rest) {
        if !sides.is_ready() {
            return Turn::wait(format!(
                "batch {} is not ready yet with {} target pods ready: {} needs {goal}, of which {} may be missing",
                look.batch(),
                sides.target_ready(),
                named(target),
                sides.unavailable
            ));
        }
        return rolled_out(sides).write([resize(source, rest)]);
    }
    last_touch(look, sides)
}

fn decrease_first(look: &Look<'_>, sides: &Sides<'_>) -> Turn {
    let Sides { target, goal, rest, .. } = *sides;
    if let Some(source) = sides.source.filter(|source| size(source) > rest) {
        let message = format!("{} goes from {} to {rest} pods", named(source), size(source));
        let turn = Turn::wait("the source shrinks first").write([resize(source, rest)]);
        return turn.note("Batch Rollout", message);
    }
    if size(target) < goal {
        if sides.source_pods() > rest {
            let message = format!(
                "batch {} waits for the source to shrink: it has {} pods, and {rest} shall stay",
                look.batch(),
                sides.source_pods()
            );
            return Turn::wait(message);
        }
        return rolled_out(sides).write([resize(target, goal)]);
    }
    last_touch(look, sides)
}

/// In the end the target has exactly its size, also where an earlier rollout had left more.
fn last_touch(look: &Look<'_>, sides: &Sides<'_>) -> Turn {
    if sides.sizes.is_last(look.batch()) && size(sides.target) > sides.goal {
        return sides.resize_target(sides.goal, "the target shrinks to its size");
    }
    Turn::done().record(Record { upgraded: Some(sides.goal), ..Record::default() })
}

fn rolled_out(sides: &Sides<'_>) -> Turn {
    let record = Record { upgraded: Some(sides.goal), ..Record::default() };
    let message =
        format!("the batch is written: {} pods of the target, {} of the source", sides.goal, sides.rest);
    Turn::done().note("Batch Rollout", message).record(record)
}

impl Workload for Replace {
    fn verify(&self, look: &Look<'_>) -> Turn {
        Self::verified(look).unwrap_or_else(|turn| turn)
    }

    fn initialize(&self, look: &Look<'_>) -> Turn {
        Self::initialized(look).unwrap_or_else(|turn| turn)
    }

    fn roll_batch(&self, look: &Look<'_>) -> Turn {
        Self::rolled(look).unwrap_or_else(|turn| turn)
    }

    fn check_batch(&self, look: &Look<'_>) -> Turn {
        let sides = match Sides::of(look) {
            Ok(sides) => sides,
            Err(turn) => return turn,
        };
        let record = Record { upgraded_ready: Some(sides.target_ready()), ..Record::default() };
        let Sides { goal, rest, .. } = sides;
        if sides.source_pods() > rest {
            let message = format!(
                "batch {} waits for the source to shrink: it has {} pods, and {rest} shall stay",
                look.batch(),
                sides.source_pods()
            );
            return Turn::wait(message).record(record);
        }
        if !sides.is_ready() {
            let message = format!(
                "batch {} is not ready yet with {} target pods ready: {goal} are needed, of which {} may be missing",
                look.batch(),
                sides.target_ready(),
                sides.unavailable
            );
            return Turn::wait(message).record(record);
        }
        let message =
            format!("batch {} is there: {} of {goal} pods are ready", look.batch(), sides.target_ready());
        Turn::done().note("Batch Available", message).record(record)
    }

    fn finalize_batch(&self, look: &Look<'_>) -> Turn {
        let sides = match Sides::of(look) {
            Ok(sides) => sides,
            Err(turn) => return turn,
        };
        let (from, to) = (sides.source_size(), size(sides.target));
        let total = sides.goal + sides.rest;
        if from > sides.rest || to < sides.goal || (sides.source.is_some() && from + to < total) {
            return Turn::fail(format!(
                "the sizes were changed by somebody else: source and target have {from} and {to} pods after batch {}, and \
                 {} and {} were written",
                look.batch(),
                sides.rest,
                sides.goal
            ));
        }
        Turn::done()
    }

    fn finalize(&self, look: &Look<'_>, succeeded: bool) -> Turn {
        let sides = look.source.into_iter().chain(look.target);
        let writes: Vec<Write> = sides.filter_map(|side| release(side, look.owner, json!({}))).collect();
        let record = Record { last_applied: look.status.target_generation.clone(), ..Record::default() };
        let message = format!("the workloads are released, succeeded: {succeeded}");
        Turn::done().write(writes).note("Rollout Finalized", message).record(record)
    }
}
