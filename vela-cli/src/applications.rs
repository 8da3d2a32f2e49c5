//! Finds an Application, or whatever else its name may mean, by the name.

use kube::api::DynamicObject;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::error::{Error, Result};

pub(crate) const API_VERSION: &str = "core.oam.dev/v1beta1";
pub(crate) const KIND: &str = "Application";
/// The kinds a bare name may mean, in the order they are tried.
pub(crate) const APPLICATIONS: [(&str, &str); 2] =
    [(API_VERSION, KIND), ("core.oam.dev/v1alpha2", "ApplicationConfiguration")];

/// Names beyond this are only counted.
const NAMED_AT_MOST: usize = 10;

/// The first few names, and how many more there are.
pub(crate) fn enumerated(names: &[String]) -> String {
    let named = names.iter().take(NAMED_AT_MOST).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(NAMED_AT_MOST) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// The application of this name in the namespace of the command.
pub(crate) async fn find(cluster: &Cluster, name: &str) -> Result<DynamicObject> {
    let found = cluster.get(API_VERSION, KIND, None, name).await?;
    found.ok_or_else(|| missing(cluster, name).into())
}

/// The Application or ApplicationConfiguration of this name in the namespace of the command.
pub(crate) async fn find_any(cluster: &Cluster, name: &str) -> Result<Value> {
    for (api_version, kind) in APPLICATIONS {
        if let Some(object) = cluster.get(api_version, kind, None, name).await? {
            return Ok(json!(object));
        }
    }
    Err(missing(cluster, name).into())
}

fn missing(cluster: &Cluster, name: &str) -> Error {
    let message = format!("there is no application {name:?} in {}", cluster.place());
    Error::user(message).hint("`vela ls -A` lists the applications of every namespace")
}
