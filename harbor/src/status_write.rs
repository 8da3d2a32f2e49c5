//! A status in → written on its object, where it differs.

use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use vela_runtime::controller::Failure;
use vela_runtime::{Api, Key, apply};

/// Writes the status where it differs.
pub(crate) async fn write(
    client: &kube::Client,
    resource: &ApiResource,
    live: &DynamicObject,
    status: Value,
) -> Result<(), Failure> {
    if live
        .data
        .get("status")
        .is_some_and(|known| apply::has_all(known, &status) && known["conditions"] == status["conditions"])
    {
        return Ok(());
    }
    let key = Key::of(live);
    let api: Api<DynamicObject> = match key.namespace.as_str() {
        "" => Api::all_with(client.clone(), resource),
        namespace => Api::namespaced_with(client.clone(), namespace, resource),
    };
    let patch = json!({ "metadata": { "uid": live.metadata.uid }, "status": status });
    match api.patch_status(&key.name, &PatchParams::default(), &Patch::Merge(&patch)).await {
        Ok(_) => Ok(()),
        // It is gone. Where another one has its name, or it was changed just now, another look helps.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(error.into()),
    }
}
