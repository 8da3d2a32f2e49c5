//! An Application in the v1alpha2 form: its graph is stored as an ApplicationConfiguration and Components, whose own
//! reconciles bring the workloads; their outcome flows back as what was observed.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::api::DynamicObject;
use serde_json::Value;
use vela_crds::{annotations, labels};
use vela_engine::application_configuration::compose::configuration_name;
use vela_engine::application_configuration::handover::{self, may_roll};
use vela_engine::application_configuration::{API_VERSION, compose, is_passive};
use vela_engine::policy::{GarbageCollect, ObjectRules};
use vela_engine::render::{RenderedObject, Role};
use vela_engine::status::Status;
use vela_engine::{Graph, ObjectKey, Observed, workload_names};
use vela_runtime::Key;
use vela_runtime::owner::controller_of;

use super::apply::{self, Applied, ByHealth, Due};
use super::desired::{Desired, Form, Node, Piece, definitions};
use super::error::{Cause, PhaseError, Stopped};
use super::fetch::json;
use super::judge;
use super::outcome::Outcome;
use super::owned_kinds::Application;
use super::reconciler::ApplicationReconciler;
use super::stored_configuration::synced;
use crate::author::Actor;

/// The objects to store.
struct Stored {
    desired: Desired,
    /// How many of the nodes may be applied now: the configuration is the last one, and may have to wait.
    due: usize,
}

/// Store the configuration and the components whose reconcilers apply the objects, and see what became of them.
pub(super) async fn apply(
    reconciler: &ApplicationReconciler,
    application: &DynamicObject,
    acting: Actor,
    graph: &Arc<Graph>,
) -> Result<Outcome, Stopped> {
    let owner = Application::of(application, acting);
    if graph.app_file().rolls_out() {
        begins_anew(reconciler, application)?;
    }
    let Stored { desired, due } = stored(reconciler, graph, application.metadata.generation).await?;
    let all = |_: &Applied| -> Due<'_> { Box::pin(std::future::ready(Ok((0..due).collect()))) };
    let mut order = ByHealth { due: &all, blocked: 0 };
    let applied = apply::apply(reconciler, &owner, &desired, &mut order).await?;
    if let Some(waiting) = waiting(reconciler, &owner.key, graph, &applied) {
        return Ok(Outcome::applied(waiting, &applied));
    }
    let observed = observe(reconciler, &owner.key, graph, &applied).await?;
    let status = judge::status(reconciler, graph, observed).await?;
    Ok(Outcome::applied(status, &applied))
}

/// A workload that changes in place under the component's name cannot be left to rollouts, which go between workloads of
/// revisions: both would run.
fn begins_anew(reconciler: &ApplicationReconciler, application: &DynamicObject) -> Result<(), Stopped> {
    let key = Key::of(application);
    let Some(found) = reconciler.configurations.get(&key) else { return Ok(()) };
    let is_own =
        controller_of(&found).is_some_and(|owner| Some(&owner.uid) == application.metadata.uid.as_ref());
    if !is_own || is_passive(&json(&found)) {
        return Ok(());
    }
    let why = format!(
        "spec.rolloutPlan, or annotation {}: ApplicationConfiguration {key} applies its workloads in place, and a rollout would \
         run others beside them; take the plan and the annotation out, or write the application in the v1beta1 form \
         (properties instead of settings), whose rollouts begin with what runs",
        annotations::ROLLOUT_TEMPLATE
    );
    Err(PhaseError::Apply(Cause::refused(why)).into())
}

/// The status of an application whose configuration has made its workloads wait for a rollout.
fn waiting(
    reconciler: &ApplicationReconciler,
    application: &Key,
    graph: &Graph,
    applied: &Applied,
) -> Option<Status> {
    let named = Key::new(application.namespace.clone(), configuration_name(graph.rendered()));
    let configuration = json(&*reconciler.configurations.get(&named)?);
    let waits = handover::is_templated(&configuration) && !handover::rolling(&configuration).is_empty();
    (waits && applied.errors().iter().next().is_none()).then(|| Status::waiting(graph, &named.name))
}

/// Restore what was made of the configuration and the components, and see how the objects are.
pub(super) async fn restore(
    reconciler: &ApplicationReconciler,
    owner: &Application<'_>,
    graph: &Graph,
    made_only: bool,
) -> Result<(Applied, Observed), Stopped> {
    let desired = stored(reconciler, graph, owner.object.metadata.generation).await?.desired;
    let applied = apply::restore(reconciler, owner, &desired, made_only).await?;
    let observed = observe(reconciler, &owner.key, graph, &applied).await?;
    Ok((applied, observed))
}

/// The objects to store: the Components first, then the configuration that names them. The configuration waits for a
/// component that cannot be rendered yet, which would be lost otherwise, and, where it belongs to one revision of the
/// application or names workloads after revisions, for the revisions of its components.
async fn stored(
    reconciler: &ApplicationReconciler,
    graph: &Graph,
    generation: Option<i64>,
) -> Result<Stored, Stopped> {
    // A kind may be installed any time, and no watch wakes us then.
    let composed = compose(graph.rendered());
    let mut composed = composed.map_err(|error| PhaseError::Render(Cause::Passing(error)))?;
    let mut complete = composed.pending.is_empty();
    let rolls_out = graph.app_file().rolls_out();
    if rolls_out {
        let candidates =
            composed.components.iter().filter(|component| may_roll(&component["spec"]["workload"]));
        let candidates = candidates.filter_map(|component| component["metadata"]["name"].as_str());
        let candidates = candidates.map(str::to_owned).collect();
        handover::set_waiting(&mut composed.configuration, &candidates);
    }
    let names = reconciler.context.options.workload_names;
    if rolls_out || workload_names::set(&mut composed.configuration, names) {
        for component in composed.components.clone() {
            let name = component["metadata"]["name"].as_str().unwrap_or_default();
            match revision(reconciler, &component).await? {
                Some(revision) => composed.pin(name, &revision),
                None => complete = false,
            }
        }
    }
    let node = |component: &str, wave: i32, object: Value| {
        let name = ObjectKey::of(&object);
        let object: DynamicObject = serde_json::from_value(object)
            .map_err(|error| Stopped::unavailable(PhaseError::Render, &error))?;
        let pieces =
            vec![Piece { name, object, trait_type: None, rules: ObjectRules::default(), held: false }];
        Ok::<_, Stopped>(Node { component: component.to_owned(), by_policy: false, wave, pieces })
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
        revision: graph.identity().name().to_owned(),
        generation,
        definitions: definitions(graph),
        policies: Vec::new(),
        nodes,
        form: Form::of(graph),
        garbage_collect: GarbageCollect::default(),
        deferred: BTreeSet::new(),
    };
    Ok(Stored { desired, due: if complete { components + 1 } else { components } })
}

/// The revision that was cut of exactly this content of a component; its status wakes us.
async fn revision(reconciler: &ApplicationReconciler, component: &Value) -> Result<Option<String>, Stopped> {
    let unavailable = |error: &dyn std::fmt::Display| Stopped::unavailable(PhaseError::Apply, error);
    let kind = reconciler.context.discovery.resolve(API_VERSION, "Component").await;
    let kind = kind.map_err(|error| unavailable(&error))?;
    let components = reconciler.owned.informer(&kind).await.map_err(|error| unavailable(&error))?;
    let part = |field: &str| component["metadata"][field].as_str().unwrap_or_default().to_owned();
    let live = components.get(&Key::new(part("namespace"), part("name")));
    Ok(live.and_then(|live| {
        let status = live.data.get("status")?;
        let same = live.data.get("spec")?.get("workload") == component["spec"].get("workload")
            && status["observedGeneration"].as_i64() == live.metadata.generation;
        same.then(|| status["latestRevision"]["name"].as_str().map(str::to_owned)).flatten()
    }))
}

/// The states of the workloads and traits, as far as the configuration has applied them.
async fn observe(
    reconciler: &ApplicationReconciler,
    application: &Key,
    graph: &Graph,
    applied: &Applied,
) -> Result<Observed, Stopped> {
    let unavailable = |error: &dyn std::fmt::Display| Stopped::unavailable(PhaseError::Apply, error);
    let mut observed = Observed::new();
    let failure = applied.errors().iter().next().map(|(name, error)| format!("{name}: {error}"));
    let named = Key::new(application.namespace.clone(), configuration_name(graph.rendered()));
    let configuration = reconciler.configurations.get(&named);
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
        } else if matches!(synced, Some(Ok(()))) {
            let live = reconciler.cluster.object(&live_name(configuration.as_deref(), object)).await;
            let Some(live) = live.map_err(|error| unavailable(&error))? else { continue };
            // Its watch wakes this application on every change.
            if let Ok(kind) = reconciler.context.discovery.resolve(&name.api_version, &name.kind).await {
                reconciler.owned.informer(&kind).await.map_err(|error| unavailable(&error))?;
            }
            observed.insert_named(name, live);
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
