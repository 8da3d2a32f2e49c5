//! `vela config distribute`: copies a config into other namespaces of the cluster, and takes the copies back.
//!
//! A copy is a config of its own namespace, so that steps there read it. It names its origin, and no object that goes with the
//! origin: the copy owns none of them. It is written again when the config is distributed again.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use vela_engine::LOCAL;

use super::objects::{SECRET, all, find, place_of, read, refused, remove, title};
use crate::applications::enumerated;
use crate::args::{DistributeConfig, Target};
use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::screen::Screen;

/// The annotation of a copy: namespace and name of the config that it is of.
const COPY_OF: &str = "config.oam.dev/copy-of";
/// The key that names the objects beside a config.
const REFERENCES: &str = "objects-reference";
/// The labels and annotations of configs begin like this.
const OF_CONFIGS: &str = "config.oam.dev/";
/// Namespaces that one command copies to.
const TARGETS_AT_MOST: usize = 500;

pub(super) async fn run(cluster: &Cluster, args: &DistributeConfig, screen: &mut Screen) -> Result<()> {
    let namespaces = local(&args.target)?;
    match args.recall {
        true => recall(cluster, &args.name, &namespaces, screen).await,
        false => distribute(cluster, &args.name, &namespaces, screen).await,
    }
}

/// The namespaces of the targets, each once.
fn local(targets: &[Target]) -> Result<BTreeSet<&str>> {
    if let Some(target) = targets.iter().find(|target| target.cluster != LOCAL) {
        let message = format!(
            "the target {}/{} is of another cluster, and vela works on one cluster",
            target.cluster, target.namespace
        );
        let hint = "create the config there with `vela config create`, by --kubeconfig or --context";
        return Err(Error::not_supported(message).hint(hint).into());
    }
    let namespaces: BTreeSet<&str> = targets.iter().map(|target| target.namespace.as_str()).collect();
    if namespaces.len() > TARGETS_AT_MOST {
        let found = namespaces.len();
        return Err(Error::user(format!("{found} targets; expected at most {TARGETS_AT_MOST}")).into());
    }
    Ok(namespaces)
}

async fn distribute(
    cluster: &Cluster,
    name: &str,
    namespaces: &BTreeSet<&str>,
    screen: &mut Screen,
) -> Result<()> {
    let secret = find(cluster, name).await?;
    let annotations = &secret["metadata"]["annotations"];
    if let Some(origin) = annotations[COPY_OF].as_str() {
        let error = Error::user(format!("config {name}: it is itself a copy of {origin}"));
        return Err(error.hint("distribute the config that it is a copy of").into());
    }
    let mut copies = Vec::with_capacity(namespaces.len());
    for namespace in namespaces {
        if *namespace == cluster.namespace() {
            let error = Error::user(format!("config {name}: the target {namespace} is its own namespace"));
            return Err(error.hint("name other namespaces").into());
        }
        let copy = copy(&secret, namespace);
        judge(cluster, &copy, namespace).await?;
        copies.push(copy);
    }
    for copy in &copies {
        let (applied, _) = cluster.apply(copy, true, false).await?;
        screen.say(&format!("{} {}", title(copy), applied.word()));
    }
    Ok(())
}

/// All is judged before anything is written.
async fn judge(cluster: &Cluster, copy: &Value, namespace: &str) -> Result<()> {
    if cluster.get("v1", "Namespace", None, namespace).await?.is_none() {
        let error = Error::user(format!("there is no namespace {namespace} in {}", cluster.title()));
        return Err(error.hint("nothing was written; create the namespace, or name another one").into());
    }
    let Some(there) = read(cluster, copy).await? else { return Ok(()) };
    let there = json!(there);
    if there["metadata"]["annotations"][COPY_OF] == copy["metadata"]["annotations"][COPY_OF] {
        return Ok(());
    }
    let why = "it is there, and no copy of this config";
    Err(refused(copy, why, "nothing was written; delete it, or give the config another name"))
}

/// The Secret of a copy.
fn copy(secret: &Value, namespace: &str) -> Value {
    let (origin, name) = place_of(secret);
    let of_configs = |field: &str| -> Map<String, Value> {
        let all = secret["metadata"][field].as_object().into_iter().flatten();
        all.filter(|(key, _)| key.starts_with(OF_CONFIGS))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    };
    let mut annotations = of_configs("annotations");
    annotations.insert(COPY_OF.to_owned(), json!(format!("{origin}/{name}")));
    let mut data = secret["data"].as_object().cloned().unwrap_or_default();
    data.remove(REFERENCES);
    json!({
        "apiVersion": SECRET.0,
        "kind": SECRET.1,
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": of_configs("labels"),
            "annotations": annotations,
        },
        "type": secret["type"],
        "data": data,
    })
}

/// The copies go although the config itself may be gone.
async fn recall(
    cluster: &Cluster,
    name: &str,
    namespaces: &BTreeSet<&str>,
    screen: &mut Screen,
) -> Result<()> {
    let origin = format!("{}/{name}", cluster.namespace());
    let is_copy = |secret: &Value| secret["metadata"]["annotations"][COPY_OF] == origin.as_str();
    let mut copies = Vec::new();
    if namespaces.is_empty() {
        copies = all(cluster, None).await?;
        copies.retain(is_copy);
    }
    for namespace in namespaces {
        if let Some(found) = cluster.get(SECRET.0, SECRET.1, Some(namespace), name).await? {
            copies.push(json!(found));
        }
    }
    if let Some(other) = copies.iter().find(|secret| !is_copy(secret)) {
        return Err(refused(other, &format!("it is no copy of {origin}"), "nothing was deleted"));
    }
    if copies.is_empty() {
        let targets: Vec<String> = namespaces.iter().map(ToString::to_string).collect();
        let place = match targets.is_empty() {
            true => format!("any namespace of {}", cluster.title()),
            false => format!("namespace {}", enumerated(&targets)),
        };
        screen.say(&format!("There is no copy of the config {origin} in {place}."));
    }
    for copy in &copies {
        remove(cluster, copy, screen).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use vela_engine::config;

    use super::*;

    #[test]
    fn a_copy_names_its_origin_and_no_object_of_it() {
        let secret = json!({
            "metadata": {
                "name": "db", "namespace": "default", "uid": "1", "resourceVersion": "2",
                "labels": {"config.oam.dev/catalog": "velacore-config", "other": "x"},
                "annotations": {"config.oam.dev/sensitive": "true", "kubectl": "x"},
            },
            "type": "a/b",
            "data": {"input-properties": "e30=", "objects-reference": "W10="},
        });
        let copy = copy(&secret, "team-a");
        assert_eq!(
            copy["metadata"],
            json!({
                "name": "db", "namespace": "team-a", "labels": {"config.oam.dev/catalog": "velacore-config"},
                "annotations": {"config.oam.dev/sensitive": "true", "config.oam.dev/copy-of": "default/db"},
            })
        );
        assert_eq!((&copy["type"], &copy["data"]), (&json!("a/b"), &json!({"input-properties": "e30="})));
        assert!(config::is_config(&copy).is_ok());
    }
}
