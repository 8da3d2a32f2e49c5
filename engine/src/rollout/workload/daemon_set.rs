//! Rolls a DaemonSet with the strategy OnDelete: old pods are deleted batch by batch.
//!
//! Kubernetes' DaemonSet has no partition, so only the client that deletes its pods can hold it back. OpenKruise's does, and
//! changes in place.

use serde_json::{Value as Json, json};
use vela_kinds::readiness::{holds, is_observed};

use super::object::{begin, end, foreign_controller, is_controlled_by, named, number, template_hash};
use super::scale::check_upgraded;
use super::{Record, View, Workload, WorkloadStep, Write};
use crate::observed::ObjectKey;
use crate::rollout::size::Sizes;

/// A new pod template of a DaemonSet.
#[derive(Clone, Copy, Debug)]
pub(super) struct OnDelete;

/// Where a DaemonSet counts its templates.
const GENERATION: &str = "deprecated.daemonset.template.generation";
/// Where its pods say which of them they were made from.
const POD_GENERATION: &str = "pod-template-generation";
/// So many pods are deleted in one reconcile; the next reconcile deletes the next ones.
const DELETES_AT_ONCE: usize = 100;

/// Its pods by what they were made from; those that go away are neither.
struct Pods<'a> {
    old: Vec<&'a Json>,
    new: Vec<&'a Json>,
}

impl<'a> Pods<'a> {
    fn of(view: &View<'a>, object: &Json) -> Self {
        let newest = object["metadata"]["annotations"][GENERATION].as_str();
        let living = view.pods.iter().filter(|pod| pod["metadata"]["deletionTimestamp"].is_null());
        let (new, mut old): (Vec<&Json>, Vec<&Json>) =
            living.partition(|pod| pod["metadata"]["labels"][POD_GENERATION].as_str() == newest);
        // Pods that serve no traffic go first, and otherwise the order of names decides.
        old.sort_by_key(|pod| (is_ready(pod), pod["metadata"]["name"].as_str().unwrap_or_default()));
        Self { old, new }
    }

    fn ready(&self) -> i64 {
        count(self.new.iter().filter(|pod| is_ready(pod)).count())
    }
}

fn is_ready(pod: &Json) -> bool {
    holds(pod, "Ready")
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn size(object: &Json) -> i64 {
    number(object, "/status/desiredNumberScheduled")
}

fn delete(pod: &Json) -> Write {
    let uid = pod["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
    let object = ObjectKey { api_version: "v1".to_owned(), kind: "Pod".to_owned(), ..ObjectKey::of(pod) };
    Write::Delete { object, uid }
}

impl OnDelete {
    fn verified(view: &View<'_>) -> Result<WorkloadStep, WorkloadStep> {
        let object = view.target.ok_or_else(|| WorkloadStep::wait("the workload is not there"))?;
        let (total, scheduled) = (size(object), number(object, "/status/currentNumberScheduled"));
        if !is_observed(object) || total != scheduled {
            let message =
                format!("{} is still being reconciled: it has {scheduled} of {total} pods", named(object));
            return Err(WorkloadStep::wait(message));
        }
        let hash = template_hash(object);
        if view.status.last_applied_pod_template_identifier.as_ref() == Some(&hash) {
            return Err(WorkloadStep::fail("there is no difference between the source and target"));
        }
        if let Some(wanted) = view.plan.target_size.map(i64::from).filter(|wanted| *wanted != total) {
            let message = format!(
                "{} has a pod on each of {total} nodes and cannot have {wanted}; leave out targetSize",
                named(object)
            );
            return Err(WorkloadStep::misfit(message));
        }
        Sizes::rollout(view.plan, total)
            .check_rollout()
            .map_err(|mismatch| WorkloadStep::misfit(mismatch.to_string()))?;
        if object["spec"]["updateStrategy"]["type"] != "OnDelete" {
            let message = format!(
                "{} need to be held first: spec.updateStrategy.type must be OnDelete before a rollout",
                named(object)
            );
            return Err(WorkloadStep::fail(message));
        }
        if let Some(why) = foreign_controller(object, view.owner) {
            return Err(WorkloadStep::fail(why));
        }
        let record = Record {
            original_size: Some(total),
            target_size: Some(total),
            target_generation: Some(hash),
            ..Record::default()
        };
        let message = format!("{total} pods of {} are replaced", named(object));
        Ok(WorkloadStep::done().note("Rollout Verified", message).record(record))
    }
}

impl Workload for OnDelete {
    fn verify(&self, view: &View<'_>) -> WorkloadStep {
        Self::verified(view).unwrap_or_else(|step| step)
    }

    fn initialize(&self, view: &View<'_>) -> WorkloadStep {
        let Some(object) = view.target else { return WorkloadStep::wait("the workload is not there") };
        begin(object, view.owner, json!({}), "Rollout Initialized")
    }

    fn roll_batch(&self, view: &View<'_>) -> WorkloadStep {
        let Some(object) = view.target else { return WorkloadStep::wait("the workload is not there") };
        // Nodes come and go, so the size is that of now.
        let total = size(object);
        let goal = Sizes::rollout(view.plan, total).goal(view.batch());
        let record = Record { upgraded: Some(goal), target_size: Some(total), ..Record::default() };
        let old = Pods::of(view, object).old;
        let surplus = usize::try_from(count(old.len()) - (total - goal)).unwrap_or(0);
        if surplus == 0 {
            return WorkloadStep::done().record(record);
        }
        let step = if surplus > DELETES_AT_ONCE {
            WorkloadStep::wait(format!("{surplus} pods are deleted, {DELETES_AT_ONCE} at a time"))
        } else {
            WorkloadStep::done()
        };
        let deletes = old.into_iter().take(surplus.min(DELETES_AT_ONCE)).map(delete);
        let message = format!("{goal} of {total} pods of {} shall be new", named(object));
        step.write(deletes).note("Batch Rollout", message).record(record)
    }

    fn check_batch(&self, view: &View<'_>) -> WorkloadStep {
        let Some(object) = view.target else { return WorkloadStep::wait("the workload is not there") };
        let total = match view.target_size() {
            Ok(total) => total,
            Err(step) => return step,
        };
        let sizes = Sizes::rollout(view.plan, total);
        let (goal, unavailable) = (sizes.goal(view.batch()), sizes.max_unavailable(view.batch()));
        let ready = Pods::of(view, object).ready();
        let record = Record { upgraded_ready: Some(ready), ..Record::default() };
        if template_hash(object) != view.status.target_generation.as_deref().unwrap_or_default() {
            let message =
                format!("{} has another pod template than the one that is rolled out", named(object));
            return WorkloadStep::wait(message).record(record);
        }
        if ready + unavailable < goal {
            let message = format!(
                "batch {} is not ready yet: {ready} of {goal} new pods are ready, of which {unavailable} may be missing",
                view.batch_number()
            );
            return WorkloadStep::wait(message).record(record);
        }
        let message = format!("batch {} is there: {ready} of {goal} new pods are ready", view.batch_number());
        WorkloadStep::done().note("Batch Available", message).record(record)
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
        end(view, object, json!({}), succeeded)
    }
}
