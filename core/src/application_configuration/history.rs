//! Components that keep one workload per revision → the workloads of earlier revisions that are still there.

use serde_json::{Value, json};
use vela_crds::labels;
use vela_engine::application_configuration::Graph;

use super::reconciler::ApplicationConfigurationReconciler;
use crate::application::fetch::json as to_json;

/// As the status lists them.
pub(super) async fn of(reconciler: &ApplicationConfigurationReconciler, graph: &Graph) -> Vec<Value> {
    let mut history = Vec::new();
    for component in graph.components().iter().filter(|component| component.revision_enabled) {
        let key = component.workload.key();
        let Ok(kind) = reconciler.context.discovery.resolve(&key.api_version, &key.kind).await else {
            continue;
        };
        let wanted = &component.workload.object["metadata"]["labels"];
        let named = wanted[labels::APP_COMPONENT].as_str().unwrap_or_default();
        let Ok(mut found) = reconciler.owned.of_component(&kind, &key.namespace, named).await else {
            continue;
        };
        let keys = [labels::APP_NAME, labels::APP_COMPONENT, labels::RESOURCE_TYPE];
        found.retain(|object| {
            let carried = object.metadata.labels.as_ref();
            object.metadata.deletion_timestamp.is_none()
                && object.metadata.name.as_deref() != Some(&component.revision)
                && object.metadata.name.as_deref() != Some(&key.name)
                && keys.iter().all(|key| {
                    carried.and_then(|carried| carried.get(*key)).map(String::as_str) == wanted[*key].as_str()
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
