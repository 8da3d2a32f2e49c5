//! A status in → written on its object, where it differs.

use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use vela_runtime::controller::Failure;
use vela_runtime::{Api, Informer, Key, apply};

/// Writes the status where it differs, and gives the answer to the cache: the next reconcile compares with it, and would leave a status of
/// before in place otherwise.
pub(crate) async fn write(
    client: &kube::Client,
    informer: &Informer,
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
    let (key, resource) = (Key::of(live), &informer.watch().resource);
    let api: Api<DynamicObject> = match key.namespace.as_str() {
        "" => Api::all_with(client.clone(), resource),
        namespace => Api::namespaced_with(client.clone(), namespace, resource),
    };
    let patch = json!({ "metadata": { "uid": live.metadata.uid }, "status": status });
    match api.patch_status(&key.name, &PatchParams::default(), &Patch::Merge(&patch)).await {
        Ok(written) => {
            informer.observe(written);
            Ok(())
        }
        // It is gone. Where another one has its name, or it was changed just now, another look helps.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(error.into()),
    }
}
