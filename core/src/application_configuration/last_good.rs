//! A configuration that cannot be rendered → what runs of it, as the revision that was applied last has it.
//!
//! When a definition, a component or the configuration itself breaks, what was changed or deleted by hand comes back, nothing is
//! deleted, and the condition says what is wrong.

use serde_json::Value;
use vela_engine::application_configuration::render::{Rendered, RenderedObject};
use vela_engine::application_configuration::{ApplyOnce, graph, last_good, references, render, status};
use vela_engine::{Secrets, Snapshot};
use vela_runtime::Failure;

use super::apply::{self, Order};
use super::error::{Error, Failed, PhaseError};
use super::inventory::Inventory;
use super::reconciler::{ApplicationConfigurationReconciler, Work};
use super::revision_store::StoredRevision;
use super::{data, fetch};
use crate::author::Actor;

/// Apply what was applied last of a configuration that cannot be rendered; tells the same failure, and what was done.
pub(super) async fn apply(
    reconciler: &ApplicationConfigurationReconciler,
    work: &Work<'_>,
    acting: &Actor,
    mode: ApplyOnce,
    failed: Failed,
    secrets: &mut Secrets,
) -> Failed {
    let revision = match reconciler.revisions.last(&reconciler.cluster, work.configuration).await {
        Ok(Some(found)) => found,
        Ok(None) => return failed,
        Err(why) => return failed.and(&format!("what runs is not looked after: {why}")),
    };
    let Some(rendered) = rendered(reconciler, work, acting, &revision, secrets).await else { return failed };
    rendered.components().iter().flat_map(|component| component.objects()).for_each(|rendered| {
        secrets.add(&rendered.object);
    });
    let templating = rendered.templates();
    let Ok(graph) = graph::graph(rendered) else { return failed };
    let inventory = Inventory::of(work.configuration);
    let order = Order { work, acting, graph: &graph, mode, inventory: &inventory, remaking: None };
    let applied = apply::apply(reconciler, &order).await;
    let kept = format!("what runs is kept as revision {} has it", revision.name);
    let failed = failed.and(&kept).templating(templating);
    match applied {
        Ok(_) => failed,
        Err(not_applied) => failed.and(&not_applied.to_string()),
    }
}

/// Tell where a definition is gone by which the configuration was applied, and without which it would mean something else.
pub(super) async fn confirm(
    reconciler: &ApplicationConfigurationReconciler,
    work: &Work<'_>,
    snapshot: &Snapshot,
) -> Result<(), Error> {
    let asked = references(work.document, snapshot).definitions;
    if !asked.iter().any(|(kind, name)| snapshot.definition(*kind, name).is_none()) {
        return Ok(());
    }
    let last = reconciler.revisions.last(&reconciler.cluster, work.configuration).await;
    let last = last.map_err(|why| Error::Unavailable(Failure::retry(why)))?;
    let gone = last.and_then(|last| last_good::gone(work.document, snapshot, &last.spec));
    gone.map_or(Ok(()), |gone| {
        Err(PhaseError::Render(Failed::persistent(status::message(&gone.into()))).into())
    })
}

/// The running objects that the revision still renders; objects that the configuration's status does not know are left
/// alone.
async fn rendered(
    reconciler: &ApplicationConfigurationReconciler,
    work: &Work<'_>,
    acting: &Actor,
    revision: &StoredRevision,
    secrets: &mut Secrets,
) -> Option<Rendered> {
    let then = last_good::as_applied(work.document, &revision.spec)?;
    let snapshot = fetch::fetch(reconciler, work.key, &then, Some(revision)).await.ok()?;
    let parsed = last_good::resolvable(&then, &snapshot)?;
    let mut rendered = render::render(&parsed, &snapshot).ok()?;
    data::fill(reconciler, work.key, acting, &mut rendered, secrets).await.ok()?;
    let status = &work.configuration.data["status"];
    for component in rendered.components_mut() {
        for object in component.objects_mut() {
            object.left |= !is_made(status, object);
        }
    }
    Some(rendered)
}

/// Does the status know the object as one that was made?
fn is_made(status: &Value, object: &RenderedObject) -> bool {
    let wanted = object.reference();
    let same = |reference: &Value| {
        ["apiVersion", "kind", "name"].iter().all(|field| reference[*field] == wanted[*field])
    };
    let entries = status["workloads"].as_array().into_iter().flatten();
    let mut references = entries.flat_map(|entry| {
        let traits = entry["traits"].as_array().into_iter().flatten();
        traits.map(|entry| &entry["traitRef"]).chain([&entry["workloadRef"]])
    });
    references.any(same)
}
