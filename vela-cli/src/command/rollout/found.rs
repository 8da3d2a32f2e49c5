//! Finds a rollout by name, and the application it belongs to.

use kube::api::DynamicObject;
use vela_crds::AppRollout;

use crate::cluster::Cluster;
use crate::error::{Error, Result};

pub(super) const API_VERSION: &str = "core.oam.dev/v1beta1";
pub(super) const KIND: &str = "AppRollout";
pub(super) const APPLICATION: &str = "Application";

pub(super) async fn find(cluster: &Cluster, name: &str) -> Result<AppRollout> {
    let Some(found) = cluster.get(API_VERSION, KIND, None, name).await? else {
        let message = format!("there is no rollout {name:?} in {}", cluster.place());
        return Err(Error::user(message).hint("`kubectl get approllouts -A` lists all of them").into());
    };
    read(found)
}

/// The rollout that an object is.
pub(crate) fn read(object: DynamicObject) -> Result<AppRollout> {
    let name = object.metadata.name.clone().unwrap_or_default();
    serde_json::to_value(object)
        .and_then(serde_json::from_value)
        .map_err(|error| Error::cluster(format!("AppRollout {name} cannot be read: {error}")).into())
}

pub(super) fn source(rollout: &AppRollout) -> Option<&str> {
    rollout.spec.source()
}
