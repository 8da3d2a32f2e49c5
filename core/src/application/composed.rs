//! An Application in the v1alpha2 form: its graph is stored as an ApplicationConfiguration and Components, whose own
//! laps bring the workloads; their outcome flows back as what was observed.

use kube::api::DynamicObject;
use serde_json::{Value, json as object};
use vela_crds::labels;
use vela_engine::application_configuration::compose::configuration_name;
use vela_engine::application_configuration::{API_VERSION, KIND, compose};
use vela_engine::render::{RenderedObject, Role};
use vela_engine::status::{ConditionType, REFUSED};
use vela_engine::{Graph, ObjectKey, Observed};
use vela_runtime::Key;

use super::Hands;
use super::apply::{Applied, Desired, Node, Piece};
use super::fetch;
use super::record::Owned;
use super::stopped::Stopped;

/// What is to be stored.
pub(super) struct Stored {
    pub(super) desired: Desired,
    /// How many of the nodes may be applied now: the configuration is the last one, and may have to wait.
    pub(super) due: usize,
}

/// The objects to store: the Components first, then the configuration that names them. The configuration waits for a
/// component that cannot be rendered yet, which would be lost otherwise, and, where it belongs to one revision of the
/// application, for the revisions of its components.
pub(super) async fn stored(hands: &Hands, graph: &Graph, generation: Option<i64>) -> Result<Stored, Stopped> {
    // A kind may be installed any time, and nobody wakes us then.
    let composed = compose(graph.rendered());
    let mut composed = composed.map_err(|error| Stopped::passing(ConditionType::Render, error))?;
    let mut complete = composed.pending.is_empty();
    if graph.app_file().rolls_out() {
        for component in composed.components.clone() {
            let name = component["metadata"]["name"].as_str().unwrap_or_default();
            match revision(hands, &component).await? {
                Some(revision) => composed.pin(name, &revision),
                None => complete = false,
            }
        }
    }
    let node = |component: &str, wave: i32, object: Value| {
        let name = ObjectKey::of(&object);
        let object: DynamicObject = serde_json::from_value(object)
            .map_err(|error| Stopped::trouble(ConditionType::Render, &error))?;
        let pieces = vec![Piece { name, object, trait_type: None }];
        Ok::<_, Stopped>(Node { component: component.to_owned(), wave, pieces })
    };
    let mut nodes = Vec::with_capacity(composed.components.len() + 1);
    for component in composed.components {
        let name = component["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        nodes.push(node(&name, 0, component)?);
    }
    let components = nodes.len();
    nodes.push(node("", 1, composed.configuration)?);
    let desired = Desired {
        identity: graph.identity().hash().to_owned(),
        generation,
        definitions: super::definitions(graph),
        nodes,
        form: Form::Stored { keeps_former: graph.app_file().rolls_out() },
    };
    Ok(Stored { desired, due: if complete { components + 1 } else { components } })
}

/// The revision that was cut of exactly this content of a component; its status wakes us.
async fn revision(hands: &Hands, component: &Value) -> Result<Option<String>, Stopped> {
    let trouble = |error: &dyn std::fmt::Display| Stopped::trouble(ConditionType::Workflow, error);
    let kind = hands.context.discovery.resolve(API_VERSION, "Component").await;
    let kind = kind.map_err(|error| trouble(&error))?;
    let components = hands.owned.informer(&kind).await.map_err(|error| trouble(&error))?;
    let part = |field: &str| component["metadata"][field].as_str().unwrap_or_default().to_owned();
    let live = components.get(&Key::new(part("namespace"), part("name")));
    Ok(live.and_then(|live| {
        let status = live.data.get("status")?;
        let same = live.data.get("spec")?.get("workload") == component["spec"].get("workload")
            && status["observedGeneration"].as_i64() == live.metadata.generation;
        same.then(|| status["latestRevision"]["name"].as_str().map(str::to_owned)).flatten()
    }))
}

/// How an application reaches the cluster, which decides when something unwanted may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Its objects are applied by its own lap.
    Applied,
    /// Its objects are applied by the lap of a configuration that is stored for it. `keeps_former`: a rollout goes
    /// from one revision to the next, so what was stored for former revisions stays.
    Stored { keeps_former: bool },
}

impl Form {
    /// Does the record keep this entry although the present revision does not name it?
    pub(super) fn keeps(self, owned: &Owned) -> bool {
        self == Self::Stored { keeps_former: true } && owned.is_stored_form()
    }
}

/// Whose turn it is with something that the application no longer names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It may be deleted.
    Ours,
    /// The configuration first has to do what it is asked now; its status wakes us.
    Wait,
    /// The configuration looks after it: it leaves our record, and stays.
    Handed,
}

/// Until the stored configuration has done what it is asked now, nothing goes: it may still run what a dropped
/// component describes, and it may not have taken over yet what this application applied itself in the other form.
pub(super) fn turn(hands: &Hands, desired: &Desired, applied: &Applied, owned: &Owned) -> Turn {
    if desired.form == Form::Applied {
        return Turn::Ours;
    }
    let piece = desired.nodes.last().and_then(|node| node.pieces.first());
    let Some(live) = piece.and_then(|piece| applied.live.get(&piece.name)) else { return Turn::Wait };
    let Some(copy) = hands.configurations.get(&Key::of(live)) else { return Turn::Wait };
    let same = copy.metadata.uid == live.metadata.uid && copy.metadata.generation == live.metadata.generation;
    if !same || synced(&copy) != Some(Ok(())) {
        return Turn::Wait;
    }
    let entries = copy.data["status"]["workloads"].as_array();
    let mut entries = entries.into_iter().flatten();
    if owned.api_version == API_VERSION && owned.kind == KIND {
        return Turn::Ours;
    }
    if owned.api_version == API_VERSION && owned.kind == "Component" {
        let runs = entries.any(|entry| entry["componentName"] == owned.key.name.as_str());
        return if runs { Turn::Wait } else { Turn::Ours };
    }
    let reference = object!({"apiVersion": owned.api_version, "kind": owned.kind, "name": owned.key.name});
    let named = entries.any(|entry| {
        let traits = entry["traits"].as_array().into_iter().flatten();
        let mut all = traits.map(|entry| &entry["traitRef"]).chain([&entry["workloadRef"]]);
        all.any(|found| ["apiVersion", "kind", "name"].iter().all(|field| found[*field] == reference[*field]))
    });
    if named { Turn::Handed } else { Turn::Ours }
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
    let named = Key::new(application.namespace.clone(), configuration_name(graph.rendered()));
    let configuration = hands.configurations.get(&named);
    let synced = configuration.as_ref().and_then(|object| synced(object));
    let refused = failure.is_none() && matches!(&synced, Some(Err(wrong)) if wrong.refused);
    let failure = failure.or_else(|| match &synced {
        Some(Err(wrong)) => Some(wrong.message.clone()),
        _ => None,
    });
    for object in graph.objects() {
        let name = object.key();
        if let Some(failure) = &failure {
            match refused {
                true => observed.insert_refusal(name, failure.clone()),
                false => observed.insert_error(name, failure.clone()),
            }
        } else if matches!(synced, Some(Ok(())))
            && let Some(mut live) = hands.world.object(&live_name(configuration.as_deref(), object)).await?
        {
            // Its watch wakes this application on every change.
            if let Ok(kind) = hands.context.discovery.resolve(&name.api_version, &name.kind).await {
                hands.owned.informer(&kind).await?;
            }
            live["metadata"]["name"] = object!(name.name);
            observed.insert(live);
        }
    }
    Ok(observed)
}

/// The object as it is called in the cluster: a rollout gives every revision a workload of its own.
fn live_name(configuration: Option<&DynamicObject>, rendered: &RenderedObject) -> ObjectKey {
    let mut key = rendered.key();
    if rendered.role == Role::Workload {
        let component = &rendered.object["metadata"]["labels"][labels::APP_COMPONENT];
        let entries = configuration.and_then(|object| object.data["status"]["workloads"].as_array());
        let recorded = entries.into_iter().flatten().rfind(|entry| {
            entry["componentName"] == *component && entry["workloadRef"]["kind"] == key.kind.as_str()
        });
        if let Some(name) = recorded.and_then(|entry| entry["workloadRef"]["name"].as_str()) {
            name.clone_into(&mut key.name);
        }
    }
    key
}

/// Why a configuration is not as it is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Unsynced {
    message: String,
    /// It cannot get better before somebody changes something.
    refused: bool,
}

/// What the configuration says of its present generation; nothing while it has not looked at it.
fn synced(configuration: &DynamicObject) -> Option<Result<(), Unsynced>> {
    let status = configuration.data.get("status")?;
    if status["observedGeneration"].as_i64() != configuration.metadata.generation {
        return None;
    }
    let condition =
        status["conditions"].as_array()?.iter().find(|condition| condition["type"] == "Synced")?;
    Some(match condition["status"].as_str() {
        Some("True") => Ok(()),
        _ => Err(Unsynced {
            message: condition["message"].as_str().unwrap_or("not synced").to_owned(),
            refused: condition["reason"] == REFUSED,
        }),
    })
}
