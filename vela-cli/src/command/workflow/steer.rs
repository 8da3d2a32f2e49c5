//! Writes what a person orders a workflow to do into its status, over the version that was read and no other.

use kube::ResourceExt as _;
use kube::api::{DynamicObject, PatchParams};
use serde_json::{Value, json};
use vela_engine::workflow::{self, Order};
use vela_runtime::{clock, over_conflicts};

use super::found::unsteerable;
use crate::applications::{API_VERSION, KIND, find};
use crate::cluster::Cluster;
use crate::error::{Error, Failure, Result};
use crate::json_patch::json_patch;
use crate::ownership::FIELD_MANAGER;

/// Changes the run of an application as it is ordered. Gives the application as it was written.
pub(super) async fn steer(cluster: &Cluster, name: &str, order: Order<'_>) -> Result<DynamicObject> {
    let written = over_conflicts(|| async move {
        let application = find(cluster, name).await?;
        let operations = workflow::steer(&json!(application), order, clock::now()).map_err(unsteerable)?;
        write(cluster, &application, operations).await
    });
    written.await?.ok_or_else(|| too_busy(name))
}

pub(super) fn too_busy(name: &str) -> Failure {
    Error::cluster(format!("the status of {name} changes faster than it can be written"))
        .hint("try again in a moment")
        .into()
}

/// Writes the status. Nothing where another writer changed the application since it was read.
pub(super) async fn write(
    cluster: &Cluster,
    application: &DynamicObject,
    operations: Vec<Value>,
) -> Result<Option<DynamicObject>> {
    let name = application.name_any();
    let api = cluster.api(API_VERSION, KIND, None).await?;
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    match api.patch_status(&name, &params, &json_patch(operations)?).await {
        Ok(written) => Ok(Some(written)),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(None),
        Err(error) => Err(cluster.failure(&format!("change the workflow of {name}"), &error)),
    }
}
