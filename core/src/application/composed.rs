//! An Application in the v1alpha2 form: its graph is stored as an ApplicationConfiguration and Components, whose own
//! laps bring the workloads; their outcome flows back as what was observed.

use kube::api::DynamicObject;
use serde_json::Value;
use vela_engine::application_configuration::compose;
use vela_engine::{Graph, ObjectKey, Observed};
use vela_runtime::Key;

use super::Hands;
use super::apply::{Applied, Desired, Node, Piece};
use super::fetch::{self, json};

/// The objects to store: the Components first, then the configuration that names them.
pub(super) fn desired(graph: &Graph, generation: Option<i64>) -> Result<Desired, serde_json::Error> {
    let composed = compose(graph.rendered());
    let node = |component: &str, wave: i32, object: Value| {
        let name = ObjectKey::of(&object);
        let object: DynamicObject = serde_json::from_value(object)?;
        let pieces = vec![Piece { name, object, trait_type: None }];
        Ok::<_, serde_json::Error>(Node { component: component.to_owned(), wave, pieces })
    };
    let mut nodes = Vec::with_capacity(composed.components.len() + 1);
    for component in composed.components {
        let name = component["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        nodes.push(node(&name, 0, component)?);
    }
    nodes.push(node("", 1, composed.configuration)?);
    Ok(Desired {
        identity: graph.identity().hash().to_owned(),
        generation,
        definitions: super::definitions(graph),
        nodes,
    })
}

/// What became of the workloads and traits, as far as the configuration has applied them.
pub(super) async fn observe(
    hands: &Hands,
    application: &Key,
    graph: &Graph,
    applied: &Applied,
) -> Result<Observed, fetch::Error> {
    let mut observed = Observed::new();
    let failure = applied.errors.iter().next().map(|(name, error)| format!("{name}: {error}"));
    let configuration = hands.configurations.get(application);
    let synced = configuration.as_ref().and_then(|object| synced(object));
    let failure = failure.or_else(|| match &synced {
        Some(Err(message)) => Some(message.clone()),
        _ => None,
    });
    for object in graph.objects() {
        let name = object.key();
        if let Some(failure) = &failure {
            observed.insert_error(name, failure.clone());
        } else if matches!(synced, Some(Ok(())))
            && let Some(live) = hands.world.object(&name).await?
        {
            // Its watch wakes this application on every change.
            if let Ok(kind) = hands.context.discovery.resolve(&name.api_version, &name.kind).await {
                hands.owned.informer(&kind).await?;
            }
            observed.insert(json(&live));
        }
    }
    Ok(observed)
}

/// What the configuration says of its present generation; nothing while it has not looked at it.
fn synced(configuration: &DynamicObject) -> Option<Result<(), String>> {
    let status = configuration.data.get("status")?;
    if status["observedGeneration"].as_i64() != configuration.metadata.generation {
        return None;
    }
    let condition =
        status["conditions"].as_array()?.iter().find(|condition| condition["type"] == "Synced")?;
    Some(match condition["status"].as_str() {
        Some("True") => Ok(()),
        _ => Err(condition["message"].as_str().unwrap_or("not synced").to_owned()),
    })
}
