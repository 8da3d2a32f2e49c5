//! Objects of configs and of their templates: read, called by a name in messages, listed.

use kube::api::DynamicObject;
use serde_json::{Value, json};
use vela_engine::config;
use vela_engine::nearest::advice;

use crate::cluster::Cluster;
use crate::error::{Error, Failure, Result};
use crate::pointer::text;
use crate::screen::Screen;

/// The kind of configs.
pub(super) const SECRET: (&str, &str) = ("v1", "Secret");

/// Namespace and name.
pub(super) fn place_of(object: &Value) -> (String, String) {
    (text(object, "/metadata/namespace").to_owned(), text(object, "/metadata/name").to_owned())
}

/// How messages call an object.
pub(super) fn title(object: &Value) -> String {
    let (namespace, name) = place_of(object);
    format!("{} {namespace}/{name}", text(object, "/kind"))
}

/// The object as it is in the cluster.
pub(super) async fn read(cluster: &Cluster, object: &Value) -> Result<Option<DynamicObject>> {
    let (namespace, name) = place_of(object);
    cluster.get(text(object, "/apiVersion"), text(object, "/kind"), Some(&namespace), &name).await
}

pub(super) fn refused(object: &Value, why: &str, hint: &str) -> Failure {
    Error::user(format!("{}: {why}", title(object))).hint(hint).into()
}

/// The configs of a namespace or of all, by namespace and name.
pub(super) async fn all(cluster: &Cluster, namespace: Option<&str>) -> Result<Vec<Value>> {
    let found = cluster.list(SECRET.0, SECRET.1, namespace).await?;
    let mut configs: Vec<Value> = found
        .into_iter()
        .map(|secret| json!(secret))
        .filter(|secret| config::is_config(secret).is_ok())
        .collect();
    configs.sort_by_cached_key(place_of);
    Ok(configs)
}

/// The config of this name in the namespace of the command.
pub(super) async fn find(cluster: &Cluster, name: &str) -> Result<Value> {
    if let Some(found) = cluster.get(SECRET.0, SECRET.1, None, name).await? {
        let found = json!(found);
        return match config::is_config(&found) {
            Ok(()) => Ok(found),
            Err(why) => Err(Error::user(format!("config {name}: {why}"))
                .hint("`vela config list` lists the configs of this namespace")
                .into()),
        };
    }
    let known = all(cluster, Some(cluster.namespace())).await?;
    let names: Vec<&str> = known.iter().map(|secret| text(secret, "/metadata/name")).collect();
    let error = Error::user(format!("there is no config {name:?} in {}", cluster.place()));
    let hint = advice(name, "config", names);
    Err(error
        .hint(hint.unwrap_or_else(|| "`vela config list -A` lists the configs of every namespace".to_owned()))
        .into())
}

/// Deletes the object, and says so.
pub(super) async fn remove(cluster: &Cluster, object: &Value, screen: &mut Screen) -> Result<()> {
    let (namespace, name) = place_of(object);
    let (api_version, kind) = (text(object, "/apiVersion"), text(object, "/kind"));
    if cluster.delete(api_version, kind, Some(&namespace), &name).await?.is_some() {
        screen.say(&format!("{} deleted", title(object)));
    }
    Ok(())
}
