//! One lap of a configuration: fetch → parse → render → data → graph → record → apply → stores → scopes → collect → status.

use std::sync::Arc;

use kube::api::DynamicObject;
use serde_json::{Value, json};
use vela_engine::application_configuration::data::StorePlan;
use vela_engine::application_configuration::status::{self, Complete};
use vela_engine::application_configuration::{
    ApplyOnce, Graph, graph, is_controlled_by_application, kept, parse, references, render,
};
use vela_engine::{Definition, Document, Secrets, Snapshot};
use vela_runtime::{Action, Failure, Key};

use super::apply::{self, Order, Remaking};
use super::phase::{Phase, Stopped, Wrong};
use super::{Hands, collect, data, elsewhere, fetch, keep, scopes};
use crate::application::fetch::json as to_json;
use crate::author::Acting;

/// What a lap looks at.
#[derive(Clone, Copy)]
pub(super) struct Look<'a> {
    pub(super) key: &'a Key,
    pub(super) configuration: &'a DynamicObject,
    pub(super) document: &'a Document,
}

/// What a configuration means at this moment.
struct Meaning {
    graph: Graph,
    /// The stores that its values go into once they are applied.
    plans: Vec<StorePlan>,
    /// What it was rendered by, beside the configuration and its components.
    definitions: Vec<Arc<Definition>>,
    /// What keeps it at work when one of these breaks.
    kept: Value,
}

/// A lap that came to its end.
#[derive(Debug)]
pub(super) struct Lap {
    /// The new status.
    pub(super) status: Value,
    /// Was anything in the cluster changed?
    pub(super) changed: bool,
    /// Something that could not be collected, for the user.
    pub(super) wrong: Option<Wrong>,
    /// What comes next; a failure that no user can mend is tried again.
    pub(super) then: Result<Action, Failure>,
}

/// Run the lap.
pub(super) async fn run(
    hands: &Hands,
    look: &Look<'_>,
    now: &str,
    secrets: &mut Secrets,
) -> Result<Lap, Stopped> {
    let Look { key, configuration, document } = *look;
    let before = crate::hooks::run(&hands.context.hooks.before, document.value()).await;
    before.map_err(|error| Wrong::new(Phase::Before, error.message).again(error.again))?;
    let mode = mode(hands, document)?;
    let acting = hands.acting(configuration).await?;
    let acting = acting.map_err(|nobody| Wrong::new(Phase::Apply, nobody.to_string()))?;
    let by_people = !is_controlled_by_application(document.value());
    let meaning = match meaning(hands, look, &acting, secrets).await {
        Err(Stopped::Wrong(wrong)) if by_people && wrong.phase == Phase::Render => {
            return Err(keep::keep(hands, look, &acting, mode, wrong, secrets).await.into());
        }
        meaning => meaning?,
    };
    let Meaning { graph, plans, definitions, kept } = meaning;
    elsewhere::hold(hands, key, configuration, &graph).await?;
    let status = record(hands, key, configuration, &graph).await?;
    let uid = configuration.metadata.uid.clone().unwrap_or_default();
    let remaking = Remaking::new(hands, configuration, definitions);
    let order = Order {
        acting: &acting,
        graph: &graph,
        uid: &uid,
        mode,
        status: status.as_ref(),
        remaking: Some(remaking),
        look,
    };
    let templating = graph.rendered().templates();
    let stopped = |phase, message: String| Wrong::new(phase, message).templating(templating);
    let applied = apply::apply(hands, &order).await;
    let mut applied = applied.map_err(|failed| failed.told().templating(templating))?;
    let recorded = match by_people {
        true => keep::record(hands, key, configuration, kept).await,
        false => Ok(()),
    };
    applied.written += data::keep(hands, key, &order, &plans).await?;
    let left = scopes::leave(hands, &acting, &key.namespace, &graph.dropped_memberships()).await;
    applied.written += left.map_err(|error| stopped(Phase::Apply, error.to_string()))?;
    let collected = collect::collect(hands, configuration, &order, &applied).await;
    let collected = collected.map_err(|error| stopped(Phase::Collect, acting.told(&error)))?;
    let history = history(hands, &graph).await;
    let wrong = collected.trouble.clone().map(|message| stopped(Phase::Collect, message));
    let complete = Complete {
        graph: &graph,
        left: &collected.left,
        trouble: collected.trouble,
        history,
        previous: status.as_ref(),
    };
    Ok(Lap {
        status: status::status(&complete, now),
        changed: applied.written > 0 || !collected.deleted.is_empty(),
        wrong,
        then: recorded.map(|()| collected.again.map_or(Action::Done, Action::RequeueAfter)),
    })
}

fn mode(hands: &Hands, document: &Document) -> Result<ApplyOnce, Wrong> {
    ApplyOnce::of(document.value(), hands.context.options.apply_once).map_err(|error| {
        let annotation = vela_crds::annotations::APPLY_ONCE_ONLY;
        Wrong::new(Phase::Render, format!("annotation {annotation}: {error}"))
    })
}

/// What the configuration means at this moment.
async fn meaning(
    hands: &Hands,
    look: &Look<'_>,
    acting: &Acting,
    secrets: &mut Secrets,
) -> Result<Meaning, Stopped> {
    let Look { key, document, .. } = *look;
    let snapshot = fetch::fetch(hands, key, document, None).await?;
    for component in references(document, &snapshot).objects.iter().filter_map(|key| snapshot.object(key)) {
        secrets.add(component);
    }
    await_revisions(document, &snapshot)?;
    let wrong = |found| Wrong::new(Phase::Render, status::message(&found)).refused(true);
    let parsed = parse::parse(document, &snapshot).map_err(wrong)?;
    if !is_controlled_by_application(document.value()) {
        keep::confirm(hands, look, &snapshot).await?;
    }
    let mut rendered = render::render(&parsed, &snapshot).map_err(wrong)?;
    let plans = data::fill(hands, key, acting, &mut rendered, secrets).await?;
    let objects = rendered.components().iter().flat_map(|component| component.objects());
    objects.for_each(|rendered| secrets.add(&rendered.object));
    let graph = graph::graph(rendered).map_err(wrong)?;
    let definitions = kept::definitions(document, &snapshot);
    Ok(Meaning { graph, plans, definitions, kept: kept::spec(document, &snapshot) })
}

/// A component whose content has no revision yet is waited for; where its hook refuses one, the user hears of it.
/// Looked at is what the lap goes on with: another look at the cache may show a later content under the revision of an
/// earlier one.
fn await_revisions(document: &Document, snapshot: &Snapshot) -> Result<(), Stopped> {
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
            return Err(Wrong::new(Phase::Render, format!("component {name:?}: {why} (at {place})")).into());
        }
    }
    if waits { Err(Stopped::NotYet) } else { Ok(()) }
}

/// Write down what is about to be made, before it is made: a lap that is cut off leaves nothing nobody knows of.
async fn record(
    hands: &Hands,
    key: &Key,
    configuration: &DynamicObject,
    graph: &Graph,
) -> Result<Option<Value>, Stopped> {
    let before = configuration.data.get("status").cloned();
    let Some(intended) = status::intended(graph, before.as_ref()) else { return Ok(before) };
    crate::status::write(&hands.api(key), &hands.configurations, configuration, &intended).await?;
    Ok(Some(intended))
}

/// Workloads of earlier revisions that are still there, for components that keep one workload per revision.
async fn history(hands: &Hands, graph: &Graph) -> Vec<Value> {
    let mut history = Vec::new();
    for component in graph.components().iter().filter(|component| component.revision_enabled) {
        let key = component.workload.key();
        let Ok(kind) = hands.context.discovery.resolve(&key.api_version, &key.kind).await else { continue };
        let Ok(informer) = hands.owned.informer(&kind).await else { continue };
        let wanted = &component.workload.object["metadata"]["labels"];
        let labels =
            [vela_crds::labels::APP_NAME, vela_crds::labels::APP_COMPONENT, vela_crds::labels::RESOURCE_TYPE];
        let mut found = informer.list_where(|object| {
            let carried = object.metadata.labels.as_ref();
            object.metadata.deletion_timestamp.is_none()
                && object.metadata.namespace.as_deref() == Some(&key.namespace)
                && object.metadata.name.as_deref() != Some(&component.revision)
                && object.metadata.name.as_deref() != Some(&key.name)
                && labels.iter().all(|label| {
                    carried.and_then(|carried| carried.get(*label)).map(String::as_str)
                        == wanted[*label].as_str()
                })
        });
        found.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
        history.extend(found.iter().map(|object| {
            let live = to_json(object);
            json!({"revision": live["metadata"]["name"], "workloadRef": {
                "apiVersion": live["apiVersion"],
                "kind": live["kind"],
                "name": live["metadata"]["name"],
                "uid": live["metadata"]["uid"],
            }})
        }));
    }
    history
}

#[cfg(test)]
mod tests {
    use super::*;

    fn awaited(entry: Value, observed: i64) -> Result<(), Stopped> {
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
        assert!(matches!(awaited(json!({"componentName": "front"}), 1), Err(Stopped::NotYet)));
        assert!(awaited(json!({"componentName": "front"}), 2).is_ok());
        // What is pinned stands, and rendering says what is missing.
        assert!(awaited(json!({"revisionName": "front-v1"}), 1).is_ok());
        assert!(awaited(json!({"componentName": "missing"}), 1).is_ok());
    }

    #[test]
    fn a_refused_revision_is_told_with_its_place() {
        let Err(Stopped::Wrong(wrong)) = awaited(json!({"componentName": "refused"}), 1) else {
            panic!("it is not refused");
        };
        let message = format!("{wrong:?}");
        assert!(message.contains("the hook said no (at spec.components[0].componentName)"), "{message}");
    }
}
