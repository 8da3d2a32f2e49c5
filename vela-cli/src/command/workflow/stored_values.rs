//! Reads and writes the ConfigMap with the values between the steps of a run. What is in it is decided by the engine.

use kube::api::PatchParams;
use serde_json::{Value, json};
use vela_engine::workflow::{RunStatus, StoredValues};

use super::found::unsteerable;
use crate::cluster::Cluster;
use crate::error::Result;
use crate::json_patch::json_patch;
use crate::ownership::FIELD_MANAGER;

/// Reads what the run refers to.
pub(super) async fn read(cluster: &Cluster, run: &RunStatus) -> Result<StoredValues> {
    let object = match StoredValues::name_of(run) {
        None => None,
        Some(name) => cluster.get("v1", "ConfigMap", None, name).await?,
    };
    StoredValues::read(object.map(|object| json!(object))).map_err(unsteerable)
}

/// Says whether the operations are written: not where another writer changed the ConfigMap since it was read.
pub(super) async fn write(cluster: &Cluster, run: &RunStatus, operations: Vec<Value>) -> Result<bool> {
    let name = StoredValues::name_of(run).unwrap_or_default();
    let api = cluster.api("v1", "ConfigMap", None).await?;
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    match api.patch(name, &params, &json_patch(operations)?).await {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
        Err(error) => Err(cluster.failure(&format!("change ConfigMap {name}"), &error)),
    }
}
