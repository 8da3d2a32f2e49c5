//! Computes the desired state of a configuration: `fetch → parse → render → data → graph`; changes nothing in the
//! cluster.

use std::sync::Arc;

use serde_json::Value;
use vela_engine::application_configuration::data::StorePlan;
use vela_engine::application_configuration::parse::{self, Parsed};
use vela_engine::application_configuration::{
    ApplyOnce, Graph, graph, last_good, references, render as rendering, status,
};
use vela_engine::{Definition, Diagnostics, Document, Secrets, Snapshot};

use super::apply::{Order, Remaking};
use super::error::{Error, Failed, PhaseError};
use super::inventory::Inventory;
use super::reconcile_inputs::Basis;
use super::reconciler::{ApplicationConfigurationReconciler, Work};
use super::{data, fetch};
use crate::author::Actor;

/// A configuration whose references are resolved.
pub(super) struct Resolved {
    pub(super) snapshot: Snapshot,
    parsed: Parsed,
}

/// The desired state of a configuration.
pub(super) struct Desired {
    pub(super) graph: Graph,
    /// The stores that its values go into once they are applied.
    pub(super) stores: Vec<StorePlan>,
    /// The definitions it was rendered by, beside the configuration and its components.
    definitions: Vec<Arc<Definition>>,
    /// The fallback that keeps it running when one of these breaks.
    pub(super) revision: Value,
}

impl Desired {
    /// The way it is applied.
    pub(super) fn order<'a>(
        &'a self,
        reconciler: &ApplicationConfigurationReconciler,
        work: &'a Work<'a>,
        (acting, mode): (&'a Actor, ApplyOnce),
        inventory: &'a Inventory,
    ) -> Order<'a> {
        let basis = Basis::of(reconciler, work.configuration);
        let remaking = Some(Remaking { basis, definitions: &self.definitions });
        Order { work, acting, graph: &self.graph, mode, inventory, remaking }
    }
}

/// Reads everything that the configuration names.
pub(super) async fn resolve(
    reconciler: &ApplicationConfigurationReconciler,
    work: &Work<'_>,
    secrets: &mut Secrets,
) -> Result<Resolved, Error> {
    let document = work.document;
    let snapshot = fetch::fetch(reconciler, work.key, document, None).await?;
    for component in references(document, &snapshot).objects.iter().filter_map(|key| snapshot.object(key)) {
        secrets.add(component);
    }
    await_revisions(document, &snapshot)?;
    let parsed = parse::parse(document, &snapshot).map_err(not_rendered)?;
    Ok(Resolved { snapshot, parsed })
}

/// Renders it, with the values of other objects as far as they exist.
pub(super) async fn render(
    reconciler: &ApplicationConfigurationReconciler,
    work: &Work<'_>,
    acting: &Actor,
    Resolved { snapshot, parsed }: Resolved,
    secrets: &mut Secrets,
) -> Result<Desired, Error> {
    let mut rendered = rendering::render(&parsed, &snapshot).map_err(not_rendered)?;
    let stores = data::fill(reconciler, work.key, acting, &mut rendered, secrets).await?;
    let objects = rendered.components().iter().flat_map(|component| component.objects());
    objects.for_each(|rendered| secrets.add(&rendered.object));
    let graph = graph::graph(rendered).map_err(not_rendered)?;
    let definitions = last_good::definitions(work.document, &snapshot);
    let revision = last_good::spec(work.document, &snapshot);
    Ok(Desired { graph, stores, definitions, revision })
}

fn not_rendered(found: Diagnostics) -> PhaseError {
    PhaseError::Render(Failed::persistent(status::message(&found)))
}

/// Waits for a component whose content has no revision yet; where its hook refuses one, the user hears of it. The reconcile
/// checks the same copy that it goes on with: another read of the cache may show a later content under the revision of an
/// earlier one.
fn await_revisions(document: &Document, snapshot: &Snapshot) -> Result<(), Error> {
    let entries = document.value()["spec"]["components"].as_array();
    let pinned = |entry: &Value| entry["revisionName"].as_str().is_some_and(|name| !name.is_empty());
    let mut waits = false;
    for (index, entry) in entries.into_iter().flatten().enumerate().filter(|(_, entry)| !pinned(entry)) {
        let name = entry["componentName"].as_str().unwrap_or_default();
        let Some(component) =
            parse::component_key(entry, document.namespace()).and_then(|key| snapshot.object(&key))
        else {
            continue;
        };
        let status = &component["status"];
        if component["metadata"]["generation"] == status["observedGeneration"] {
            continue;
        }
        waits = true;
        let conditions = status["conditions"].as_array();
        let refused = conditions
            .into_iter()
            .flatten()
            .find(|condition| condition["type"] == "Synced" && condition["status"] == "False");
        if let Some(why) = refused.and_then(|condition| condition["message"].as_str()) {
            let place = format!("spec.components[{index}].componentName");
            let message = format!("component {name:?}: {why} (at {place})");
            return Err(PhaseError::Render(Failed::passing(message)).into());
        }
    }
    if waits { Err(Error::Pending) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn awaited(entry: Value, observed: i64) -> Result<(), Error> {
        let refused = json!({"type": "Synced", "status": "False", "message": "the hook said no"});
        let component = |name: &str, conditions: Value| {
            json!({"apiVersion": "core.oam.dev/v1alpha2", "kind": "Component",
                "metadata": {"name": name, "namespace": "ns", "generation": 2},
                "status": {"observedGeneration": observed, "latestRevision": {"name": format!("{name}-v1")},
                    "conditions": conditions}})
        };
        let mut snapshot = Snapshot::new(vela_engine::ClusterVersion::from_version(&json!({})));
        snapshot.insert_object(component("front", json!([])));
        snapshot.insert_object(component("refused", json!([refused])));
        let document = Document::from_object(json!({"apiVersion": "core.oam.dev/v1alpha2",
            "kind": "ApplicationConfiguration", "metadata": {"name": "shop", "namespace": "ns"},
            "spec": {"components": [entry]}}));
        await_revisions(&document, &snapshot)
    }

    #[test]
    fn a_content_without_a_revision_is_waited_for() {
        assert!(matches!(awaited(json!({"componentName": "front"}), 1), Err(Error::Pending)));
        assert!(awaited(json!({"componentName": "front"}), 2).is_ok());
        // A pinned revision needs no wait, and rendering reports a missing one.
        assert!(awaited(json!({"revisionName": "front-v1"}), 1).is_ok());
        assert!(awaited(json!({"componentName": "missing"}), 1).is_ok());
    }

    #[test]
    fn a_refused_revision_is_told_with_its_place() {
        let Err(Error::Phase(error)) = awaited(json!({"componentName": "refused"}), 1) else {
            panic!("it is not refused");
        };
        let message = error.to_string();
        assert!(message.contains("the hook said no (at spec.components[0].componentName)"), "{message}");
    }
}
