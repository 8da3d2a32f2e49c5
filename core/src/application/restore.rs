//! An Application that cannot be read or rendered → what runs of it, restored by the revision that was applied last.
//!
//! A mistake in a definition or in a new spec must not stop the care for what runs: objects that were deleted or changed
//! come back, and the status says how they are. The restore records nothing as wanted or unwanted, and prunes nothing.

use std::sync::Arc;

use kube::api::DynamicObject;
use vela_engine::revision::Previous;
use vela_engine::status::Status;
use vela_engine::{Document, Graph};
use vela_runtime::Key;

use super::desired::Form;
use super::error::{PhaseError, Stopped};
use super::outcome::Outcome;
use super::owned_kinds::Application;
use super::reconciler::ApplicationReconciler;
use super::report::Report;
use super::{direct_route, judge, stored_route};
use crate::author::Actor;
use crate::bounds;

/// Restores what runs, and reports it beside why the present content could not be applied; the same failure where nothing
/// runs or another controller looks after it.
pub(super) async fn restore(
    reconciler: &ApplicationReconciler,
    application: &DynamicObject,
    document: &Document,
    acting: &Actor,
    failed: PhaseError,
    report: &mut Report,
) -> Result<Outcome, Stopped> {
    let key = Key::of(application);
    let plan = document.value().pointer("/spec/rolloutPlan").filter(|plan| !plan.is_null());
    if plan.is_some() || reconciler.rollouts.get(&key).is_some() {
        return Err(failed.into());
    }
    let record = reconciler.records.read(&key).map_err(|error| unavailable(&error))?.0;
    let Some(identity) = record.identity else { return Err(failed.into()) };
    let status = Status::failed(document, failed.condition(), failed.diagnostics());
    let applied = applied(reconciler, (&key, acting), document, &identity, report).await?;
    let Some((name, graph, same)) = applied else {
        return Ok(Outcome::left_to_others(status.unseen(), false));
    };
    if graph.app_file().only_records() || graph.app_file().rollout_plan().is_some() {
        return Err(failed.into());
    }
    if bounds::check(&reconciler.context, &graph).await.is_err() {
        // Objects that the author may not make any more are not restored either.
        return Err(failed.into());
    }
    graph.objects().for_each(|rendered| report.secrets.add(&rendered.object));
    let owner = Application::of(application, acting.clone());
    // Components of later workflow steps are not made before their turn.
    let made_only = !same || graph.rendered().plan().workflow().is_some();
    let (restored, observed) = match Form::of(&graph) {
        Form::Applied => direct_route::restore(reconciler, &owner, &graph, made_only).await?,
        Form::Stored { .. } => stored_route::restore(reconciler, &owner, &graph, made_only).await?,
    };
    let present = judge::status(reconciler, &Arc::new(graph), observed).await?;
    Ok(Outcome::applied(status.keeping(&name, present, same), &restored))
}

/// The rendered revision of that content, its name, and whether the application still asks for it; nothing where it is
/// absent, or cannot be rendered any more either.
async fn applied(
    reconciler: &ApplicationReconciler,
    (key, acting): (&Key, &Actor),
    document: &Document,
    identity: &str,
    report: &mut Report,
) -> Result<Option<(String, Graph, bool)>, Stopped> {
    let Some(name) = reconciler.revisions.with_content(key, identity) else { return Ok(None) };
    let Some(number) = name.rsplit_once("-v").and_then(|(_, number)| number.parse().ok()) else {
        return Ok(None);
    };
    let stored = reconciler.revisions.stored(&Key::new(key.namespace.clone(), name.clone()));
    let expected = Previous { number, hash: identity.to_owned() };
    let recorded = reconciler
        .recorded
        .get(key, &expected, stored.as_deref())
        .await
        .map_err(|error| unavailable(&error))?;
    let Some(recorded) = recorded else { return Ok(None) };
    let same = recorded.is_asked_by(document);
    let then = if same { document.clone() } else { recorded.asked_then(document) };
    match reconciler.render_as_recorded((key, acting), &then, &recorded, &mut report.secrets).await {
        Ok(graph) => Ok(Some((name, graph, same))),
        Err(stopped) if stopped.lasting().is_some() => Ok(None),
        Err(stopped) => Err(stopped),
    }
}

fn unavailable(error: &dyn std::fmt::Display) -> Stopped {
    Stopped::unavailable(PhaseError::Apply, error)
}
