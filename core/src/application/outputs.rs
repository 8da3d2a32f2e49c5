//! The values that components give each other (`outputs`), as their objects are in the cluster; may not write.

use std::collections::BTreeMap;
use std::convert::Infallible;

use serde_json::Value;
use vela_engine::{Graph, ObjectKey, Observed, Templates, steps, workflow};
use vela_runtime::Key;

use super::fetch;
use super::owned_kinds;
use super::reconciler::ApplicationReconciler;
use crate::author::Actor;
use crate::blocking::{NotComputed, run_blocking};

/// The values that exist by now, by their names. Missing values are left out: their takers wait.
pub(super) async fn given(
    reconciler: &ApplicationReconciler,
    (application, acting): (&Key, &Actor),
    graph: &Graph,
) -> Result<BTreeMap<String, Value>, NotComputed> {
    let mut givers = Vec::new();
    for node in 0..graph.len() {
        let Some(component) = graph.component(node).filter(|component| !component.outputs.is_empty()) else {
            continue;
        };
        let mut observed = Observed::new();
        for object in graph.objects_of(node) {
            let name = object.key();
            let rules = graph.rendered().plan().rules().of(&object.object);
            let live = match rules.read_only || rules.shared {
                true => elsewhere(reconciler, acting, graph, &name).await,
                false => live(reconciler, application, &name).await,
            };
            if let Some(live) = live {
                observed.insert_named(name, live);
            }
        }
        let objects = workflow::live_value(graph, &[node], &observed);
        givers.push((component.outputs.clone(), objects));
    }
    if givers.is_empty() {
        return Ok(BTreeMap::new());
    }
    let evaluate = move |_: &Templates| {
        let mut values = BTreeMap::new();
        for (outputs, objects) in &givers {
            for output in outputs {
                let value = steps::output_of(objects, &output.value_from).unwrap_or_default();
                if !value.is_null() {
                    values.insert(output.name.clone(), value);
                }
            }
        }
        Ok::<_, Infallible>(values)
    };
    let Ok(values) = run_blocking(&reconciler.context.computations, &reconciler.templates, evaluate).await?;
    Ok(values)
}

/// The object as the copy of its kind has it, where it is one of this application.
pub(super) async fn live(
    reconciler: &ApplicationReconciler,
    application: &Key,
    name: &ObjectKey,
) -> Option<Value> {
    let kind = reconciler.context.discovery.resolve(&name.api_version, &name.kind).await.ok()?;
    let informer = reconciler.owned.informer(&kind).await.ok()?;
    let namespace = if kind.namespaced { name.namespace.clone() } else { String::new() };
    let live = informer.get(&Key::new(namespace, name.name.clone()))?;
    (owned_kinds::application_of(&live).as_ref() == Some(application)).then(|| fetch::json(&live))
}

/// An object that policies let the application read or share, as the server has it: it may have another owner or none, so
/// no copy holds it. The next reconcile looks for an object that cannot be read now.
async fn elsewhere(
    reconciler: &ApplicationReconciler,
    acting: &Actor,
    graph: &Graph,
    name: &ObjectKey,
) -> Option<Value> {
    let app = graph.app_file();
    if app.bounds().refusal_of_reading(name, app.namespace()).is_some() {
        return None;
    }
    let kind = reconciler.context.discovery.resolve(&name.api_version, &name.kind).await.ok()?;
    let live = kind.api(acting.client(), &name.namespace).get_opt(&name.name).await.ok()??;
    Some(fetch::json(&live))
}
