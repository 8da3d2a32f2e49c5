//! Scales one workload batch by batch.

use serde_json::{Value as Json, json};
use vela_crds::RolloutPlan;
use vela_crds::annotations::ROLLING_COMPONENTS;
use vela_kinds::readiness::is_observed;

use super::object::{InPlaceKind, begin, field, foreign_controller, named, number, patch, release, size};
use super::{Record, View, Workload, WorkloadStep};
use crate::rollout::size::Sizes;

/// Scales a Deployment (none) or one of the kinds that are changed in place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale(pub(super) Option<InPlaceKind>);

impl Scale {
    fn paused(self) -> Option<&'static str> {
        match self.0 {
            None => Some("/spec/paused"),
            Some(kind) => kind.paused(),
        }
    }

    fn is_paused(self, object: &Json) -> bool {
        self.paused().and_then(|pointer| object.pointer(pointer)).is_some_and(|paused| *paused == true)
    }

    /// Is the workload still busy with what was wanted before? A Deployment that is paused may be.
    fn unsettled(self, object: &Json) -> Option<String> {
        let (wanted, pods) = (size(object), number(object, "/status/replicas"));
        let paused = self.is_paused(object);
        let is_deployment = self.0.is_none();
        if (!is_deployment || !paused) && (wanted != pods || !is_observed(object)) {
            return Some(format!("{} is still being scaled: it has {pods} of {wanted} pods", named(object)));
        }
        let updated = number(object, "/status/updatedReplicas");
        let is_held = matches!(self.0, Some(InPlaceKind::StatefulSet | InPlaceKind::AdvancedStatefulSet));
        (!paused && !is_held && updated != wanted)
            .then(|| format!("{} is still being updated: {updated} of {wanted} pods are new", named(object)))
    }

    /// How many pods there are before the first batch. The first rollout of an application that lists its rolling components
    /// makes the Deployment itself, paused: the pods that are its default size do not run yet, and a plan whose batches
    /// add up to the target begins with none, as KubeVela counts since 1.1. 1.0 counted them, and a plan that fits so is
    /// taken so.
    fn original(self, plan: &RolloutPlan, object: &Json, target: i64) -> i64 {
        let wanted = size(object);
        let is_new = self.0.is_none()
            && self.is_paused(object)
            && number(object, "/status/replicas") == 0
            && object["metadata"]["annotations"].get(ROLLING_COMPONENTS).is_some();
        let fits = |original| Sizes::scale(plan, original, target).check_scale().is_ok();
        if is_new && !fits(wanted) && fits(0) { 0 } else { wanted }
    }

    fn verified(self, view: &View<'_>) -> Result<WorkloadStep, WorkloadStep> {
        let object = view.target.ok_or_else(|| WorkloadStep::wait("the workload to scale is not there"))?;
        let Some(target) = view.plan.target_size.map(i64::from) else {
            let message = format!(
                "attempting to scale {} without a target; write rolloutPlan.targetSize, or name the revision to come from",
                named(object)
            );
            return Err(WorkloadStep::misfit(message));
        };
        let original = self.original(view.plan, object, target);
        let record = Record { original_size: Some(original), target_size: Some(target), ..Record::default() };
        let fits = Sizes::scale(view.plan, original, target).check_scale();
        fits.map_err(|mismatch| WorkloadStep::misfit(mismatch.to_string()).record(record.clone()))?;
        if let Some(why) = self.unsettled(object) {
            return Err(WorkloadStep::wait(why).record(record));
        }
        if let Some(why) = foreign_controller(object, view.owner) {
            return Err(WorkloadStep::fail(why).record(record));
        }
        let message = format!("{} goes from {original} to {target} pods", named(object));
        Ok(WorkloadStep::done().note("Scale Verified", message).record(record))
    }

    fn sizes<'a>(view: &View<'a>) -> Result<(&'a Json, Sizes<'a>, i64), WorkloadStep> {
        let target = view.target_size()?;
        let object = view.target.ok_or_else(|| WorkloadStep::wait("the workload to scale is not there"))?;
        let original = view.status.rollout_original_size.filter(|size| *size >= 0).map(i64::from);
        let original = original.ok_or_else(|| {
            WorkloadStep::fail("status.rolloutOriginalSize is not known any more; begin anew")
        })?;
        let sizes = Sizes::scale(view.plan, original, target);
        Ok((object, sizes, sizes.goal(view.batch())))
    }

    fn checked(view: &View<'_>) -> Result<WorkloadStep, WorkloadStep> {
        let (object, sizes, goal) = Self::sizes(view)?;
        let ready = number(object, "/status/readyReplicas");
        let record = Record { upgraded_ready: Some(ready), ..Record::default() };
        let is_there = if sizes.goal(sizes_end(&sizes)) >= sizes.goal(-1) {
            ready + sizes.max_unavailable(view.batch()) >= goal
        } else {
            ready <= goal
        };
        if !is_there {
            let message = format!("the batch is not ready yet: {ready} pods are ready, and {goal} shall be");
            return Err(WorkloadStep::wait(message).record(record));
        }
        let message = format!("batch {} is there: {ready} pods are ready", view.batch_number());
        Ok(WorkloadStep::done().note("Batch Available", message).record(record))
    }
}

/// An index behind all batches.
fn sizes_end(sizes: &Sizes<'_>) -> i64 {
    i64::try_from(sizes.count()).unwrap_or(i64::MAX)
}

/// The number of rolled pods must lie between the ends of the batch before and of this one, in either direction.
pub(super) fn check_upgraded(view: &View<'_>, sizes: &Sizes<'_>) -> Result<(), WorkloadStep> {
    let upgraded = i64::from(view.status.upgraded_replicas);
    let (before, goal) = (sizes.goal(view.batch() - 1), sizes.goal(view.batch()));
    if (before.min(goal)..=before.max(goal)).contains(&upgraded) {
        return Ok(());
    }
    Err(WorkloadStep::fail(format!(
        "the status does not agree with the plan: {upgraded} pods are upgraded in batch {}, which leads from {before} to {goal}",
        view.batch_number()
    )))
}

impl Workload for Scale {
    fn verify(&self, view: &View<'_>) -> WorkloadStep {
        self.verified(view).unwrap_or_else(|step| step)
    }

    fn initialize(&self, view: &View<'_>) -> WorkloadStep {
        let Some(object) = view.target else {
            return WorkloadStep::wait("the workload to scale is not there");
        };
        let fields = self.paused().map_or_else(|| json!({}), |pointer| field(pointer, json!(false)));
        begin(object, view.owner, fields, "Scale Initialized")
    }

    fn roll_batch(&self, view: &View<'_>) -> WorkloadStep {
        let (object, _, goal) = match Self::sizes(view) {
            Ok(sizes) => sizes,
            Err(step) => return step,
        };
        let step = WorkloadStep::done().record(Record { upgraded: Some(goal), ..Record::default() });
        if size(object) == goal {
            return step;
        }
        let message = format!("{} goes from {} to {goal} pods", named(object), size(object));
        step.write([patch(object, json!({"spec": {"replicas": goal}}))]).note("Batch Rollout", message)
    }

    fn check_batch(&self, view: &View<'_>) -> WorkloadStep {
        Self::checked(view).unwrap_or_else(|step| step)
    }

    fn finalize_batch(&self, view: &View<'_>) -> WorkloadStep {
        let check = || {
            view.check_partition()?;
            let (_, sizes, _) = Self::sizes(view)?;
            check_upgraded(view, &sizes)
        };
        check().map_or_else(|step| step, |()| WorkloadStep::done())
    }

    fn finalize(&self, view: &View<'_>, succeeded: bool) -> WorkloadStep {
        let Some(write) = view.target.and_then(|object| release(object, view.owner, json!({}))) else {
            return WorkloadStep::done();
        };
        let message = format!("the workload is released, succeeded: {succeeded}");
        WorkloadStep::done().write([write]).note("Scale Finalized", message)
    }
}
