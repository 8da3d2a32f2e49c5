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
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &key.namespace, resource);
    let patch = json!({ "metadata": { "uid": live.metadata.uid }, "status": status });
    match api.patch_status(&key.name, &PatchParams::default(), &Patch::Merge(&patch)).await {
        Ok(_) => Ok(()),
        // It is gone, or another one has its name.
        Err(kube::Error::Api(status)) if status.code == 404 || status.code == 409 => Ok(()),
        Err(error) => Err(error.into()),
    }
}
