//! Finds an Application by its name.

use kube::api::DynamicObject;

use crate::cluster::Cluster;
use crate::error::{Error, Result};

pub(crate) const API_VERSION: &str = "core.oam.dev/v1beta1";
pub(crate) const KIND: &str = "Application";

/// The application of this name in the namespace of the command.
pub(crate) async fn find(cluster: &Cluster, name: &str) -> Result<DynamicObject> {
    let found = cluster.get(API_VERSION, KIND, None, name).await?;
    found.ok_or_else(|| {
        let message = format!("there is no application {name:?} in namespace {}", cluster.namespace());
        Error::user(message).hint("`vela ls -A` lists the applications of every namespace").into()
    })
}
