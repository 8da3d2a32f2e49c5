//! The values that components give each other (`outputs`), as their objects are in the cluster; may not write.

use std::collections::BTreeMap;
use std::convert::Infallible;

use serde_json::Value;
use vela_engine::{Graph, ObjectKey, Observed, Templates, steps, workflow};
use vela_runtime::Key;

use super::fetch;
use super::owned;
use super::reconciler::ApplicationReconciler;
use crate::blocking::{NotComputed, run_blocking};

/// The values that can be had by now, by their names. What is not there yet is left out: who takes it waits.
pub(super) async fn given(
    reconciler: &ApplicationReconciler,
    application: &Key,
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
            if let Some(live) = live(reconciler, application, &name).await {
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
async fn live(reconciler: &ApplicationReconciler, application: &Key, name: &ObjectKey) -> Option<Value> {
    let kind = reconciler.context.discovery.resolve(&name.api_version, &name.kind).await.ok()?;
    let informer = reconciler.owned.informer(&kind).await.ok()?;
    let namespace = if kind.namespaced { name.namespace.clone() } else { String::new() };
    let live = informer.get(&Key::new(namespace, name.name.clone()))?;
    (owned::application_of(&live).as_ref() == Some(application)).then(|| fetch::json(&live))
}
