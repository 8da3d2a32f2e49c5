//! An Application that cannot be read or rendered → what runs of it, kept by the revision that was applied last.
//!
//! A mistake in a definition or in a new spec must not stop the care for what runs: objects that were deleted or changed
//! come back, and the status says how they are. Nothing is recorded as wanted or unwanted, and nothing pruned.

use std::sync::Arc;

use kube::api::DynamicObject;
use vela_engine::revision::Previous;
use vela_engine::status::{ConditionType, Status};
use vela_engine::{Document, Graph};
use vela_runtime::Key;

use super::apply::repair;
use super::observe::observe;
use super::route::Route;
use super::stopped::{Failed, Stopped};
use super::{Hands, Heard, Outcome, composed, desired, judge, owned, unapplied};
use crate::author::Acting;
use crate::reach;

/// Keep what runs, and tell it beside why the present content could not be applied; the same failure where nothing runs or
/// somebody else looks after it.
pub(super) async fn keep(
    hands: &Hands,
    application: &DynamicObject,
    document: &Document,
    acting: &Acting,
    failed: Failed,
    heard: &mut Heard,
) -> Result<Outcome, Stopped> {
    let key = Key::of(application);
    let told = Status::failed(document, failed.phase, &failed.error);
    let plan = document.value().pointer("/spec/rolloutPlan").filter(|plan| !plan.is_null());
    if plan.is_some() || hands.rollouts.get(&key).is_some() {
        return Err(failed.into());
    }
    let record = hands.records.read(&key).map_err(|error| trouble(&error))?.0;
    let Some(identity) = record.identity else { return Err(failed.into()) };
    let Some((name, graph, same)) = applied(hands, (&key, acting), document, &identity, heard).await? else {
        return Ok(Outcome::left_to_others(told.unseen(), false));
    };
    if graph.app_file().only_records() || graph.app_file().rollout_plan().is_some() {
        return Err(failed.into());
    }
    if reach::check(&hands.context, &graph).await.is_err() {
        // What it may not make any more is not kept either.
        return Err(failed.into());
    }
    graph.objects().for_each(|rendered| heard.secrets.add(&rendered.object));
    let owner = owned::Application::of(application, acting.clone());
    let generation = application.metadata.generation;
    let is_stored = matches!(Route::of_form(&graph), Route::Stored);
    let desired = match is_stored {
        true => composed::stored(hands, &graph, generation).await?.desired,
        false => desired(&hands.context.discovery, &graph, generation).await.map_err(|e| trouble(&e))?,
    };
    let kept = repair(hands, &owner, &desired, !same).await;
    let kept = kept.map_err(|error| unapplied(&error))?;
    let observed = match is_stored {
        true => composed::observe(hands, &key, &graph, &kept).await.map_err(|error| trouble(&error))?,
        false => observe(&kept),
    };
    let seen = judge::told(hands, &Arc::new(graph), observed).await;
    let seen = seen.map_err(|error| Stopped::not_computed(ConditionType::Workflow, &error))?;
    Ok(Outcome::applied(told.keeping(&name, seen, same), &kept))
}

/// What the revision of that content means, its name, and whether the application still asks for it; nothing where it is
/// not there, or cannot be rendered any more either.
async fn applied(
    hands: &Hands,
    (key, acting): (&Key, &Acting),
    document: &Document,
    identity: &str,
    heard: &mut Heard,
) -> Result<Option<(String, Graph, bool)>, Stopped> {
    let Some(name) = hands.revisions.with_content(key, identity) else { return Ok(None) };
    let Some(number) = name.rsplit_once("-v").and_then(|(_, number)| number.parse().ok()) else {
        return Ok(None);
    };
    let stored = hands.revisions.stored(&Key::new(key.namespace.clone(), name.clone()));
    let expected = Previous { number, hash: identity.to_owned() };
    let kept = hands.keeper.get(key, &expected, stored.as_deref()).await.map_err(|error| trouble(&error))?;
    let Some(kept) = kept else { return Ok(None) };
    let same = kept.is_asked_by(document);
    let then = if same { document.clone() } else { kept.asked_then(document) };
    match hands.kept((key, acting), &then, &kept, &mut heard.secrets).await {
        Ok(graph) => Ok(Some((name, graph, same))),
        Err(stopped) if stopped.lasting().is_some() => Ok(None),
        Err(stopped) => Err(stopped),
    }
}

fn trouble(error: &dyn std::fmt::Display) -> Stopped {
    Stopped::trouble(ConditionType::Workflow, error)
}
