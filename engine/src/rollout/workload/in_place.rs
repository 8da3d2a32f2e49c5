//! Rolls one object whose pods change in place: its partition lets as many pods change as the batches say.
//!
//! The partition says how far the object's own controller may go; the object's own `maxUnavailable` and `maxSurge`,
//! which rollouts never touch, say how many pods it takes at a time.

use serde_json::{Value as Json, json};
use vela_kinds::readiness::is_observed;

use super::object::{
    InPlaceKind, begin, end, field, foreign_controller, is_controlled_by, merge, named, number, patch, size,
};
use super::scale::check_upgraded;
use super::{Record, View, Workload, WorkloadStep};
use crate::rollout::size::Sizes;

/// A new pod template of one of the kinds that know a partition.
#[derive(Clone, Copy, Debug)]
pub(super) struct InPlace(pub(super) InPlaceKind);

impl InPlace {
    fn size(self, object: &Json) -> i64 {
        match self.0 {
            InPlaceKind::AdvancedDaemonSet => number(object, "/status/desiredNumberScheduled"),
            _ => size(object),
        }
    }

    /// Is every pod there that shall be? An absent size is the controller's own affair.
    fn pods_missing(self, object: &Json) -> Option<String> {
        let (wanted, pods) = match self.0 {
            InPlaceKind::AdvancedDaemonSet => {
                (self.size(object), number(object, "/status/currentNumberScheduled"))
            }
            _ => (object["spec"]["replicas"].as_i64()?, number(object, "/status/replicas")),
        };
        (wanted != pods)
            .then(|| format!("{} is still being scaled: it has {pods} of {wanted} pods", named(object)))
    }

    /// The controller's name for the newest pod template.
    fn revision(self, object: &Json) -> Option<&str> {
        let revision = match self.0 {
            InPlaceKind::AdvancedDaemonSet => &object["status"]["daemonSetHash"],
            _ => &object["status"]["updateRevision"],
        };
        revision.as_str().filter(|revision| !revision.is_empty())
    }

    /// New pods that are ready. Where the status does not count them, every pod that is not ready counts as a new one.
    fn updated_ready(self, object: &Json) -> i64 {
        let status = &object["status"];
        let (updated, ready) = match self.0 {
            InPlaceKind::CloneSet => return number(status, "/updatedReadyReplicas"),
            InPlaceKind::AdvancedDaemonSet => ("/updatedNumberScheduled", "/numberReady"),
            InPlaceKind::AdvancedStatefulSet | InPlaceKind::StatefulSet => {
                if let Some(ready) = status["updatedReadyReplicas"].as_i64() {
                    return ready;
                }
                ("/updatedReplicas", "/readyReplicas")
            }
        };
        let unready = (self.size(object) - number(status, ready)).max(0);
        (number(status, updated) - unready).max(0)
    }

    /// The partition that keeps so many pods old. Numbered pods may begin elsewhere than at 0.
    fn partition_value(self, object: &Json, old: i64) -> i64 {
        match self.0 {
            InPlaceKind::StatefulSet | InPlaceKind::AdvancedStatefulSet => {
                old + number(object, "/spec/ordinals/start")
            }
            InPlaceKind::CloneSet | InPlaceKind::AdvancedDaemonSet => old,
        }
    }

    fn partition(self, object: &Json, old: i64) -> Json {
        let mut fields = field(self.0.partition(), json!(self.partition_value(object, old)));
        if self.0 != InPlaceKind::CloneSet {
            // A partition means nothing to pods that are only replaced when they are deleted.
            merge(&mut fields, json!({"spec": {"updateStrategy": {"type": "RollingUpdate"}}}));
        }
        fields
    }

    /// No pod may change before the rollout begins; otherwise no batch would have pods to change.
    fn not_held(self, object: &Json) -> Option<String> {
        match self.0.paused() {
            Some(pointer) => {
                let is_paused = object.pointer(pointer).is_some_and(|paused| *paused == true);
                let name = pointer.trim_start_matches('/').replace('/', ".");
                (!is_paused).then(|| {
                    format!("{} need to be paused first: {name} must be true before a rollout", named(object))
                })
            }
            None => {
                let strategy = &object["spec"]["updateStrategy"];
                let held = strategy["type"] == "OnDelete"
                    || number(strategy, "/rollingUpdate/partition")
                        >= self.partition_value(object, self.size(object));
                (!held).then(|| {
                    format!(
                        "{} need to be held first: spec.updateStrategy.rollingUpdate.partition must be {} before a rollout",
                        named(object),
                        self.partition_value(object, self.size(object))
                    )
                })
            }
        }
    }

    fn verified(self, view: &View<'_>) -> Result<WorkloadStep, WorkloadStep> {
        let object = view.target.ok_or_else(|| WorkloadStep::wait("the workload is not there"))?;
        let total = self.size(object);
        if let Some(why) = self.pods_missing(object) {
            return Err(WorkloadStep::wait(why));
        }
        let revision = self.revision(object).filter(|_| is_observed(object));
        let Some(revision) = revision else {
            let message = format!("{} has not seen its new pod template yet", named(object));
            return Err(WorkloadStep::wait(message));
        };
        if view.status.last_applied_pod_template_identifier.as_deref() == Some(revision) {
            return Err(WorkloadStep::fail("there is no difference between the source and target"));
        }
        if let Some(wanted) = view.plan.target_size.map(i64::from).filter(|wanted| *wanted != total) {
            let message = format!(
                "attempting to scale {} from {total} to {wanted} pods while its pods are replaced; leave out targetSize, or \
                 scale it in a rollout without a source",
                named(object)
            );
            return Err(WorkloadStep::misfit(message));
        }
        Sizes::rollout(view.plan, total)
            .check_rollout()
            .map_err(|mismatch| WorkloadStep::misfit(mismatch.to_string()))?;
        let record = Record {
            original_size: Some(total),
            target_size: Some(total),
            target_generation: Some(revision.to_owned()),
            ..Record::default()
        };
        let refused = self.not_held(object).or_else(|| foreign_controller(object, view.owner));
        if let Some(why) = refused {
            return Err(WorkloadStep::fail(why).record(Record { target_generation: None, ..record }));
        }
        let message = format!("{total} pods of {} change to {revision}", named(object));
        Ok(WorkloadStep::done().note("Rollout Verified", message).record(record))
    }

    fn checked(self, view: &View<'_>) -> Result<WorkloadStep, WorkloadStep> {
        let object = view.target.ok_or_else(|| WorkloadStep::wait("the workload is not there"))?;
        let sizes = Sizes::rollout(view.plan, view.target_size()?);
        let goal = sizes.goal(view.batch());
        let (verified, now) = (view.status.target_generation.as_deref(), self.revision(object));
        if !is_observed(object) || (now.is_some() && verified.is_some() && now != verified) {
            let message = format!(
                "{} does not roll out {} yet, but {}",
                named(object),
                verified.unwrap_or("?"),
                now.unwrap_or("nothing")
            );
            return Err(WorkloadStep::wait(message));
        }
        let (ready, unavailable) = (self.updated_ready(object), sizes.max_unavailable(view.batch()));
        let record = Record { upgraded_ready: Some(ready), ..Record::default() };
        if ready + unavailable < goal {
            let message = format!(
                "batch {} is not ready yet: {ready} of {goal} new pods are ready, of which {unavailable} may be missing",
                view.batch_number()
            );
            return Err(WorkloadStep::wait(message).record(record));
        }
        let message = format!("batch {} is there: {ready} of {goal} new pods are ready", view.batch_number());
        Ok(WorkloadStep::done().note("Batch Available", message).record(record))
    }
}

impl Workload for InPlace {
    fn verify(&self, view: &View<'_>) -> WorkloadStep {
        self.verified(view).unwrap_or_else(|step| step)
    }

    fn initialize(&self, view: &View<'_>) -> WorkloadStep {
        let Some(object) = view.target else { return WorkloadStep::wait("the workload is not there") };
        let mut fields = self.partition(object, self.size(object));
        if let Some(pointer) = self.0.paused() {
            merge(&mut fields, field(pointer, json!(false)));
        }
        begin(object, view.owner, fields, "Rollout Initialized")
    }

    fn roll_batch(&self, view: &View<'_>) -> WorkloadStep {
        let Some(object) = view.target else { return WorkloadStep::wait("the workload is not there") };
        // The present size: a user may have scaled the workload, and percentages mean the present pods.
        let total = self.size(object);
        let goal = Sizes::rollout(view.plan, total).goal(view.batch());
        let record = Record { upgraded: Some(goal), target_size: Some(total), ..Record::default() };
        let step = WorkloadStep::done().record(record);
        let partition = self.partition_value(object, total - goal);
        if object.pointer(self.0.partition()).and_then(Json::as_i64) == Some(partition) {
            return step;
        }
        let message = format!("{goal} of {total} pods of {} may be new", named(object));
        step.write([patch(object, self.partition(object, total - goal))]).note("Batch Rollout", message)
    }

    fn check_batch(&self, view: &View<'_>) -> WorkloadStep {
        self.checked(view).unwrap_or_else(|step| step)
    }

    fn finalize_batch(&self, view: &View<'_>) -> WorkloadStep {
        let check = || {
            view.check_partition()?;
            check_upgraded(view, &Sizes::rollout(view.plan, view.target_size()?))
        };
        check().map_or_else(|step| step, |()| WorkloadStep::done())
    }

    fn finalize(&self, view: &View<'_>, succeeded: bool) -> WorkloadStep {
        let Some(object) = view.target.filter(|object| is_controlled_by(object, view.owner)) else {
            return WorkloadStep::done();
        };
        let fields = match (succeeded, self.0.paused()) {
            (true, _) => json!({}),
            (false, Some(pointer)) => field(pointer, json!(true)),
            (false, None) => self.partition(object, self.size(object)),
        };
        end(view, object, fields, succeeded)
    }
}
