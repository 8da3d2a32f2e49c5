//! Deletes the objects that an earlier reconcile made and no component wants any more, if that is safe beyond doubt;
//! else says why not.
//!
//! Deleting wrongly cannot be mended, so it is the last and most careful thing of a reconcile: only after everything wanted
//! was applied; only what has been garbage for a moment; only after reads past every cache have shown that the
//! configuration, its components and its Application still ask for what this reconcile applied; only an object that the configuration
//! controls; and bound to the version of it that was judged.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kube::api::DynamicObject;
use vela_engine::application_configuration::garbage::{Garbage, Retained, deletable};
use vela_engine::readiness;
use vela_runtime::{Key, apply as runtime_apply, events};

use super::apply::{Applied, Order};
use super::reconcile_inputs::Basis;
use super::reconciler::ApplicationConfigurationReconciler;
use super::unowned_objects;
use crate::application::fetch::json;
use crate::prune::{self, Decision, Pruned};

/// When another client changed the configuration while we looked: its watch wakes us, this is for a watch that is late.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The results of the garbage collection.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub(super) deleted: Vec<Garbage>,
    /// Not gone yet: it stays recorded.
    pub(super) left: Vec<Garbage>,
    /// Why some of it must stay, for the user.
    pub(super) refused: Option<String>,
    /// Come again after this time.
    pub(super) again: Option<Duration>,
}

/// Collect what the graph leaves over. The caller applied the whole graph in this reconcile.
pub(super) async fn collect(
    reconciler: &ApplicationConfigurationReconciler,
    order: &Order<'_>,
    applied: &Applied,
) -> Result<Collected, runtime_apply::Error> {
    let configuration = order.work.configuration;
    let key = Key::of(configuration);
    let mut left = order.graph.garbage();
    let elsewhere = unowned_objects::garbage(reconciler, configuration, order.graph).await?;
    left.extend(elsewhere.into_iter().filter(|found| !left.contains(found)).collect::<Vec<_>>());
    let mut collected = Collected { left, ..Collected::default() };
    if collected.left.is_empty() {
        reconciler.quiet.forget(&key);
        return Ok(collected);
    }
    if !order.graph.rendered().unsatisfied().is_empty() {
        // An object that waits for a value is missing: until it exists, the object that it replaces stays.
        return Ok(collected);
    }
    let basis = Basis::of(reconciler, configuration);
    if let Some(left) = basis.quiet_left(reconciler) {
        collected.again = Some(left);
        return Ok(collected);
    }
    let Some(latest) = basis.latest(reconciler).await? else { return Ok(collected) };
    let seen = latest.seen(reconciler);
    let decision = Decision { context: &reconciler.context, acting: order.acting, seen };
    let mut refused = Vec::new();
    for garbage in std::mem::take(&mut collected.left) {
        if !is_succeeded(reconciler, &garbage).await {
            // The status of its successor wakes us.
            collected.left.push(garbage);
            continue;
        }
        match delete(reconciler, &garbage, order, applied, &decision).await? {
            Fate::Deleted => collected.deleted.push(garbage),
            Fate::Gone => {}
            Fate::Refused(why) => {
                refused.push(why.to_string());
                collected.left.push(garbage);
            }
            Fate::Unsure => {
                collected.left.push(garbage);
                collected.again = Some(LOOK_AGAIN);
            }
        }
    }
    collected.refused = (!refused.is_empty()).then(|| refused.join("; "));
    publish(reconciler, configuration, &collected.deleted).await;
    Ok(collected)
}

/// Is the workload that takes its place ready, if one does? While it is not, both run.
async fn is_succeeded(reconciler: &ApplicationConfigurationReconciler, garbage: &Garbage) -> bool {
    let Some(successor) = &garbage.successor else { return true };
    match reconciler.cluster.object(successor).await {
        Ok(live) => live.is_some_and(|live| readiness::of(&live).is_ready()),
        Err(error) => {
            tracing::info!(object = %successor, %error, "cannot be looked at, so what it replaces stays");
            false
        }
    }
}

async fn publish(
    reconciler: &ApplicationConfigurationReconciler,
    configuration: &DynamicObject,
    deleted: &[Garbage],
) {
    let regarding = events::reference(configuration);
    for garbage in deleted {
        reconciler
            .context
            .events
            .normal(&regarding, "GarbageCollectedComponent", &garbage.key.to_string())
            .await;
    }
}

enum Fate {
    /// By us, now.
    Deleted,
    /// It is not there, or not ours.
    Gone,
    /// It must stay.
    Refused(Retained),
    /// Something changed while we looked.
    Unsure,
}

async fn delete(
    reconciler: &ApplicationConfigurationReconciler,
    garbage: &Garbage,
    order: &Order<'_>,
    applied: &Applied,
    decision: &Decision<'_>,
) -> Result<Fate, runtime_apply::Error> {
    let key = Key::new(garbage.key.namespace.clone(), garbage.key.name.clone());
    let verdict: Mutex<Option<Result<(), Retained>>> = Mutex::new(None);
    let guard = |live: &DynamicObject| {
        let found = deletable(&json(live), order.work.uid(), applied.uids(), order.mode);
        let answer = found.as_ref().copied().map_err(ToString::to_string);
        *verdict.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
        answer
    };
    let identity = (garbage.key.api_version.as_str(), garbage.key.kind.as_str(), &key);
    let pruned = prune::delete(decision, identity, &guard).await?;
    let verdict = verdict.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(match (pruned, verdict) {
        (Pruned::Gone | Pruned::Going, Some(_)) => {
            let kind = reconciler.context.discovery.resolve(identity.0, identity.1).await;
            if let Ok(kind) = kind
                && let Ok(informer) = reconciler.owned.informer(&kind).await
            {
                informer.forget(&key);
            }
            Fate::Deleted
        }
        (Pruned::Gone | Pruned::Going, None) => Fate::Gone,
        (Pruned::Changed, _) => Fate::Unsure,
        (Pruned::Foreign(_), Some(Err(kept @ Retained::Running(_)))) => Fate::Refused(kept),
        (Pruned::Foreign(reason), _) => {
            tracing::info!(object = %garbage.key, reason, "not collected");
            Fate::Gone
        }
    })
}
