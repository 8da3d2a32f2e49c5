//! What a namespace that asks for a project must have in the end, in the cluster and in the Harbor.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::cluster::Cluster;
use super::model::{BINDING, BINDINGS, OF_PEOPLE, PROJECT, PULL_SECRET, ROBOT, SECRET_OF_PEOPLE, SERVER};

/// The server as clients of registries name it.
const REGISTRY: &str = "hub.example.net/peer";

/// What is not right yet; nothing where the pods of the namespace can pull images.
pub(super) fn lacks(cluster: &Cluster, namespace: &str) -> Option<String> {
    let wrong = |what: &str, found: &Value| Some(format!("namespace {namespace}: {what}: {found}"));
    let Some((project, robot, account)) = cluster.registry.made_for(namespace) else {
        return wrong("its one project and one robot account", &Value::Null);
    };
    let Some(binding) = cluster.object_in(namespace, BINDINGS, BINDING) else {
        return wrong("its PullSecretBinding", &Value::Null);
    };
    let spec = json!({
        "harborServerConfig": SERVER, "projectId": project.to_string(), "robotId": robot.to_string(),
        "serviceAccount": "default",
    });
    if binding["spec"] != spec || binding["status"]["status"] != "ready" {
        return wrong("what its binding says", &json!([binding["spec"], binding["status"]]));
    }
    let noted =
        &cluster.object_in("", "namespaces", namespace).unwrap_or_default()["metadata"]["annotations"];
    let is_noted = noted[PROJECT] == "*" || noted[PROJECT] == account.project.as_str();
    if !is_noted || noted[ROBOT] != spec["robotId"] {
        return wrong("what is noted in it", noted);
    }
    let secret = cluster.object_in(namespace, "secrets", PULL_SECRET).unwrap_or_default();
    let file = secret["data"][".dockerconfigjson"].as_str().and_then(|text| STANDARD.decode(text).ok());
    let file: Value = file.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    let login = &file["auths"][REGISTRY];
    if login["username"] != account.login() || login["password"] != account.secret.as_str() {
        return wrong(&format!("its pull secret, where the Harbor has {account:?}"), &file);
    }
    let pods = cluster.object_in(namespace, "serviceaccounts", "default").unwrap_or_default();
    if pods["imagePullSecrets"] != json!([{"name": SECRET_OF_PEOPLE}, {"name": PULL_SECRET}]) {
        return wrong("the secrets of its ServiceAccount", &pods["imagePullSecrets"]);
    }
    None
}

/// What is left in a namespace that asks for no project any more.
pub(super) fn left(cluster: &Cluster, namespace: &str) -> Option<String> {
    let of = [(BINDINGS, BINDING), ("secrets", PULL_SECRET)];
    let found = of.into_iter().find(|(resource, name)| {
        let found = cluster.object_in(namespace, resource, name);
        found.is_some_and(|found| found["metadata"]["labels"][OF_PEOPLE].is_null())
    });
    found.map(|(resource, name)| format!("namespace {namespace} still has {resource} {name}"))
}
