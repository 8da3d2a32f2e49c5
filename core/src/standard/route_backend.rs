//! A Route in; its rules with the Service each leads to, and a Service of its own where the workload has none, out.

use std::sync::Arc;

use kube::api::DynamicObject;
use vela_crds::standard_oam_dev::Route;
use vela_crds::standard_oam_dev::route::RouteRule;
use vela_engine::standard::route::backend;
use vela_runtime::Key;
use vela_runtime::dynamic_watch::TrackedReads;

use super::error::ReconcileError;
use super::reconciler_base::{Note, ReconcilerBase, json_of};
use super::workload::{Workload, locate};

const SERVICES: &str = "failed to create the services";

/// The rules of a route, filled in.
#[derive(Debug)]
pub(super) struct Backends {
    /// Rules with their Services.
    pub(super) rules: Vec<RouteRule>,
    /// The Service made for the route.
    pub(super) service: Option<Arc<DynamicObject>>,
}

/// Fills in the Services of the rules: written ones stay, then the workload's own are tried, then one is made.
pub(super) async fn backends(
    base: &ReconcilerBase,
    look: &TrackedReads,
    live: &DynamicObject,
    route: &Route,
    notes: &mut Vec<Note>,
) -> Result<Backends, ReconcileError> {
    let mut rules = backend::rules(route).map_err(|error| ReconcileError::wrong(SERVICES, error))?;
    let reference = route.spec.workload_ref.as_ref();
    let namespace = Key::of(live).namespace;
    let workload = locate(base, look, &namespace, reference, "failed to locate the workload").await?;
    let needed = backend::needs_discovery(&rules);
    if needed {
        for child in workload.children.iter().filter(|child| backend::is_service_of_workload(child, route)) {
            backend::fill(&mut rules, child);
        }
    }
    if !needed || !backend::needs_discovery(&rules) {
        return Ok(Backends { rules, service: None });
    }
    let service = make(base, look, live, route, &workload, notes).await?;
    backend::fill(&mut rules, &json_of(&service));
    Ok(Backends { rules, service: Some(service) })
}

async fn make(
    base: &ReconcilerBase,
    look: &TrackedReads,
    live: &DynamicObject,
    route: &Route,
    workload: &Workload,
    notes: &mut Vec<Note>,
) -> Result<Arc<DynamicObject>, ReconcileError> {
    let Some(definition) = &workload.definition else {
        let message = "the workload has no WorkloadDefinition, so nothing says where its pods are; add one, or name the \
                       Service of every rule in rules[].backend.backendService";
        return Err(ReconcileError::wrong(SERVICES, message));
    };
    let desired = backend::service(route, definition, &workload.object, &workload.children)
        .map_err(|error| ReconcileError::wrong(SERVICES, error))?;
    let applied = base.apply(look, live, desired, SERVICES).await?;
    notes.extend(Note::of(&applied, "Service created"));
    Ok(applied.object)
}

/// Removes the Service that was made for the route before its rules found others.
pub(super) async fn remove_unused(
    base: &ReconcilerBase,
    look: &TrackedReads,
    live: &DynamicObject,
    backends: &Backends,
) -> Result<(), ReconcileError> {
    let kept = backends.service.as_ref().and_then(|service| service.metadata.name.clone());
    let uid = live.metadata.uid.clone().unwrap_or_default();
    let owned = look.owned_by("v1", "Service", &Key::of(live).namespace, &uid).await;
    for service in owned.map_err(|error| ReconcileError::look(SERVICES, &error))? {
        if service.metadata.name != kept {
            base.remove(look, live, &service, SERVICES).await?;
        }
    }
    Ok(())
}
