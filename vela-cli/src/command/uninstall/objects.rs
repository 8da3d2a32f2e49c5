//! The requests of `vela uninstall`: the objects of a kind, and one object less.

use kube::api::DynamicObject;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::error::Result;
use crate::pointer::text;
use crate::screen::Screen;

/// The objects of a kind in every namespace; none where the cluster does not know it.
pub(super) async fn all(cluster: &Cluster, api_version: &str, kind: &str) -> Result<Vec<DynamicObject>> {
    if !cluster.knows(api_version, kind).await? {
        return Ok(Vec::new());
    }
    cluster.list(api_version, kind, None).await
}

/// Deletes an object that `vela install` may have made, and says so if it was there.
pub(super) async fn take(cluster: &Cluster, object: &Value, screen: &mut Screen) -> Result<()> {
    let (api_version, kind, name) =
        (text(object, "/apiVersion"), text(object, "/kind"), text(object, "/metadata/name"));
    // With its kind a built-in type is gone already.
    if !cluster.knows(api_version, kind).await? {
        return Ok(());
    }
    let namespace = Some(text(object, "/metadata/namespace")).filter(|namespace| !namespace.is_empty());
    if cluster.delete(api_version, kind, namespace, name).await?.is_some() {
        screen.say(&format!("{kind} {name} deleted"));
    }
    Ok(())
}
