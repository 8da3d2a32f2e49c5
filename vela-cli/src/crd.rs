//! Waiting until a CustomResourceDefinition that was applied is served.

use std::time::Duration;

use futures::StreamExt;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, watcher};
use serde_json::{Value, json};
use vela_runtime::Api;

use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::pointer::text;

/// API servers serve a new kind within a second; a busy one within a few.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Returns when the definition `name` says that it is established and its names are accepted.
pub(crate) async fn established(cluster: &Cluster, name: &str) -> Result<()> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
    ));
    let api: Api<DynamicObject> = Api::all_with(cluster.client().clone(), &resource);
    let api = api.inner().map_err(|error| cluster.failure("follow its kinds", &error))?;
    let config = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let mut changes = std::pin::pin!(watcher(api, config).default_backoff().applied_objects());
    let watching = async {
        while let Some(change) = changes.next().await {
            let Ok(definition) = change else { continue };
            let definition = json!(definition);
            match condition(&definition, "NamesAccepted") {
                Some(("False", message)) => {
                    return Err(Error::user(format!(
                        "CustomResourceDefinition {name} is refused: {message}"
                    )));
                }
                _ if text(&definition, "/metadata/name") != name => {}
                _ => {
                    if let Some(("True", _)) = condition(&definition, "Established") {
                        return Ok(());
                    }
                }
            }
        }
        Err(Error::internal("the watch has ended"))
    };
    match tokio::time::timeout(LONGEST_WAIT, watching).await {
        Ok(outcome) => Ok(outcome?),
        Err(_) => {
            let seconds = LONGEST_WAIT.as_secs();
            Err(Error::cluster(format!("CustomResourceDefinition {name} is not served after {seconds} s"))
                .into())
        }
    }
}

fn condition<'a>(object: &'a Value, kind: &str) -> Option<(&'a str, &'a str)> {
    let conditions = object.pointer("/status/conditions")?.as_array()?;
    let condition = conditions.iter().find(|condition| text(condition, "/type") == kind)?;
    Some((text(condition, "/status"), text(condition, "/message")))
}
