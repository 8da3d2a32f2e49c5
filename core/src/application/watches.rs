//! The watches that wake Applications: their own, and those of the objects that they own, name or store.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use vela_engine::definition::version;
use vela_engine::{Document, is_global, parse};
use vela_runtime::cache::{Change, Index};
use vela_runtime::controller::controller_owner;
use vela_runtime::{Controller, Key, Predicate};

use super::fetch::json;
use super::reconciler::ApplicationReconciler;
use crate::context::Context;

/// The controller of Applications.
pub(crate) fn controller(context: &Context, workers: usize) -> Controller {
    let reconciler = ApplicationReconciler::new(context);
    let (applications, owned, cluster) =
        (reconciler.applications.clone(), reconciler.owned.clone(), reconciler.cluster.clone());
    let (interests, workflows) = (reconciler.interests.clone(), reconciler.workflows.clone());
    let stored = [&reconciler.configurations, &reconciler.rollouts].map(Arc::clone);
    let policies = reconciler.policies.clone();
    let (records, update_slots) = (reconciler.records.clone(), reconciler.update_slots.clone());
    let woken_by = Predicate::status_aside().or(Predicate::new(is_steered));
    let mut controller =
        Controller::new("application", reconciler).for_kind(applications.only(woken_by)).workers(workers);
    owned.wake(controller.queue());
    update_slots.wake(controller.queue());
    interests.wake(controller.queue());
    workflows.wake(controller.queue());
    policies.wake(controller.queue());
    // The controller reads the reports of configurations and rollouts from these copies, so these copies wake it.
    for informer in &stored {
        controller = controller.watches(informer, |change| match change.initial {
            true => Vec::new(),
            false => {
                let owner = |object| controller_owner(object, vela_crds::GROUP, "Application");
                change.object().and_then(|object| owner(object)).into_iter().collect()
            }
        });
    }
    context.metrics.count(&applications);
    let trackers = records.stored().clone();
    controller =
        controller.watches(&trackers, move |change| records.overwritten(change).into_iter().collect());
    let users = applications.index_of_spec(|application| {
        let references = parse::references(&Document::from_object(json(application)));
        references.definitions.into_iter().map(|(_, name)| name).chain([EVERY.to_owned()]).collect()
    });
    let system = context.options.namespaces().system;
    for informer in cluster.definitions().values().chain([cluster.revisions()]) {
        let (users, system) = (users.clone(), system.clone());
        controller = controller.watches(informer, move |change| users_of(change, &users, &system));
    }
    controller
}

/// Did a person suspend, resume, end or restart a workflow? That is written to its status.
fn is_steered(change: &Change) -> bool {
    let (Some(old), Some(new)) = (&change.old, &change.new) else { return false };
    let [old, new] = [old, new].map(|object| &object.data["status"]["workflow"]);
    let flags = |workflow: &Value| {
        let steps = workflow["steps"].as_array().into_iter().flatten();
        let sub_steps = steps.clone().flat_map(|step| step["subSteps"].as_array().into_iter().flatten());
        let suspending = steps.chain(sub_steps).filter(|step| step["phase"] == "suspending").count();
        (workflow["suspend"] == true, workflow["terminated"] == true, suspending)
    };
    flags(old) != flags(new) || (!old.is_null() && new.is_null())
}

/// What every application is found by, which is no name.
const EVERY: &str = "*";

/// The applications that name a changed definition, or that it acts on without being named.
fn users_of(change: &Change, applications: &Index, system: &str) -> Vec<Key> {
    // At the start every application is reconciled anyway.
    let Some(object) = change.object().filter(|_| !change.initial) else { return Vec::new() };
    if let (Some(old), Some(new)) = (&change.old, &change.new)
        && old.data.get("spec") == new.data.get("spec")
        && old.metadata.annotations == new.metadata.annotations
    {
        // A status or a label says nothing to those who use the definition.
        return Vec::new();
    }
    let name = object.metadata.name.clone().unwrap_or_default();
    let is_revision = object.types.as_ref().is_some_and(|types| types.kind == "DefinitionRevision");
    // A revision `name-v1.2.0` may be what `name@v1` means, too.
    let asked = match version::of_revision(&name, &object.data["spec"]) {
        Some(kept) if is_revision => version::spellings(kept.name, kept.version),
        _ => vec![name],
    };
    let users: BTreeSet<Key> = asked
        .iter()
        .flat_map(|name| applications.find(name))
        .map(|application| Key::of(&application))
        .collect();
    let was_or_is = change.old.iter().chain(&change.new);
    if was_or_is.map(|object| &object.data).any(is_global) {
        let place = object.metadata.namespace.as_deref().unwrap_or_default();
        let every = applications.find(EVERY);
        let in_reach =
            every.iter().map(|one| Key::of(one)).filter(|key| place == system || key.namespace == place);
        return in_reach.collect();
    }
    users.into_iter().collect()
}
