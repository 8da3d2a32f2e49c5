//! ServiceMonitors in a namespace of their own: applied for a MetricsTrait, and removed when it goes.
//!
//! No owner reference reaches across namespaces, and a finalizer would hold traits (and whole namespaces) for ever once
//! the controller is switched off. So a monitor names its trait, and three occasions remove it: the trait is switched
//! off, the trait is deleted, or a start of the controller finds a monitor whose trait is gone.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::api::DynamicObject;
use vela_crds::standard_oam_dev::MetricsTrait;
use vela_engine::standard::metrics_trait::{
    self as rendering, MONITORING, NAMESPACE, SERVICE_MONITOR, Scrape,
};
use vela_runtime::Api;
use vela_runtime::dynamic_watch::{Error, TrackedReads};
use vela_runtime::{Action, Failure, Key};

use super::error::ReconcileError;
use super::reconciler_base::{Note, ReconcilerBase, json_of};

/// Name of the key that looks for monitors left behind; no trait can have it.
pub(crate) const SWEEP: &str = "*";
const REASON: &str = "failed to apply the service monitor";

/// The namespaced name of the trait that a monitor says it belongs to.
fn trait_of(monitor: &DynamicObject) -> Option<Key> {
    rendering::owner(&json_of(monitor)).map(|owner| Key::new(owner.namespace, owner.name))
}

fn belongs_to(monitor: &DynamicObject, key: &Key) -> Result<(), String> {
    match trait_of(monitor) {
        Some(owner) if owner == *key => Ok(()),
        Some(owner) => Err(format!("it belongs to MetricsTrait {owner}")),
        None => Err("it exists and was not made for a MetricsTrait".to_owned()),
    }
}

/// Applies the monitor of a trait under the first free name; gives its name, and what was done.
pub(crate) async fn apply(
    base: &ReconcilerBase,
    look: &TrackedReads,
    live: &DynamicObject,
    trait_: &MetricsTrait,
    scrape: &Scrape,
    port: &IntOrString,
) -> Result<(String, Option<Note>), ReconcileError> {
    let failed = |error: Error| ReconcileError::look(REASON, &error);
    let key = Key::of(live);
    let mut chosen = None;
    let mut taken = Vec::new();
    for name in rendering::monitor_names(trait_) {
        let at = Key::new(NAMESPACE, name.clone());
        let found = look.get(MONITORING, SERVICE_MONITOR, &at).await.map_err(failed)?;
        match found.map_or(Ok(()), |found| belongs_to(&found, &key)) {
            Ok(()) => {
                chosen = Some(name);
                break;
            }
            Err(reason) => taken.push(format!("{SERVICE_MONITOR} {at}: {reason}")),
        }
    }
    let Some(name) = chosen else { return Err(ReconcileError::wrong(REASON, taken.join("; "))) };
    // The reconciler checks this before the need: without it the server's refusal would be repeated for ever.
    let home = look.get("v1", "Namespace", &Key::new("", NAMESPACE)).await.map_err(failed)?;
    if home.is_none() {
        let message =
            format!("namespace {NAMESPACE}, where Prometheus looks for monitors, does not exist: create it");
        return Err(ReconcileError::wrong(REASON, message));
    }
    let monitor = rendering::monitor(trait_, scrape, port, &name)
        .map_err(|error| ReconcileError::wrong(REASON, error))?;
    let guard = |live: &DynamicObject| belongs_to(live, &key);
    let applied = base.apply_guarded(look, monitor, REASON, &guard).await?;
    remove(base, look, live, trait_, Some(&name)).await?;
    Ok((name, Note::of(&applied, "ServiceMonitor created")))
}

/// Removes the trait's monitors, but for the one that is wanted; true when there were any.
pub(crate) async fn remove(
    base: &ReconcilerBase,
    look: &TrackedReads,
    live: &DynamicObject,
    trait_: &MetricsTrait,
    kept: Option<&str>,
) -> Result<bool, ReconcileError> {
    let key = Key::of(live);
    let mut removed = false;
    for name in rendering::monitor_names(trait_).into_iter().filter(|name| Some(name.as_str()) != kept) {
        let found = match look.known(MONITORING, SERVICE_MONITOR, &Key::new(NAMESPACE, name)).await {
            Ok(found) => found,
            // With the kind its objects are gone.
            Err(Error::Missing { .. }) => return Ok(false),
            Err(error) => return Err(ReconcileError::look(REASON, &error)),
        };
        if let Some(monitor) = found {
            let guard = |live: &DynamicObject| belongs_to(live, &key);
            removed |= base.remove_guarded(look, live, &monitor, REASON, &guard).await?;
        }
    }
    Ok(removed)
}

/// A trait is gone: its monitors go too.
pub(crate) async fn leave(base: &ReconcilerBase, key: &Key) -> Result<Action, Failure> {
    let gone = MetricsTrait {
        metadata: kube::api::ObjectMeta {
            namespace: Some(key.namespace.clone()),
            name: Some(key.name.clone()),
            ..Default::default()
        },
        ..MetricsTrait::default()
    };
    let look = base.interests.track(key);
    let mut left = Vec::new();
    for name in rendering::monitor_names(&gone) {
        match look.known(MONITORING, SERVICE_MONITOR, &Key::new(NAMESPACE, name)).await {
            Ok(found) => left.extend(found),
            Err(Error::Missing { .. }) => break,
            Err(error) => return ReconcileError::look(REASON, &error).end(),
        }
    }
    let outcome = remove_orphans(base, &look, &left).await;
    drop(look);
    base.interests.forget(key);
    outcome.map_or_else(ReconcileError::end, |()| Ok(Action::Done))
}

/// A start of the controller, or of the monitors' kind: whatever belongs to a trait that is gone goes too.
pub(crate) async fn sweep(base: &ReconcilerBase, key: &Key) -> Result<Action, Failure> {
    let look = base.interests.track(key);
    let label = rendering::CONTROLLER_LABEL;
    let found = look.labelled(MONITORING, SERVICE_MONITOR, NAMESPACE, label, rendering::CONTROLLER).await;
    let outcome = match found {
        Ok(found) => remove_orphans(base, &look, &found).await,
        // Its CRD wakes this key.
        Err(Error::Missing { again, .. }) => {
            return Ok(again.map_or(Action::Done, Action::RequeueAfter));
        }
        Err(error) => Err(ReconcileError::look(REASON, &error)),
    };
    drop(look);
    // From here on the deletion of a trait is seen when it happens.
    base.interests.forget(key);
    outcome.map_or_else(ReconcileError::end, |()| Ok(Action::Done))
}

/// Deletes the monitors whose trait is gone, which the server itself is asked about.
async fn remove_orphans(
    base: &ReconcilerBase,
    look: &TrackedReads,
    monitors: &[Arc<DynamicObject>],
) -> Result<(), ReconcileError> {
    for monitor in monitors {
        let Some(key) = trait_of(monitor).filter(|key| base.objects.get(key).is_none()) else { continue };
        let resource = &base.objects.watch().resource;
        let api: Api<DynamicObject> =
            Api::namespaced_with(base.context.client.clone(), &key.namespace, resource);
        let found = api.get_opt(&key.name).await;
        let found =
            found.map_err(|error| ReconcileError::retry(REASON, vela_runtime::apply::explain(&error)))?;
        if found.is_none() {
            let guard = |live: &DynamicObject| belongs_to(live, &key);
            base.delete(look, monitor, REASON, &guard).await?;
        }
    }
    Ok(())
}
