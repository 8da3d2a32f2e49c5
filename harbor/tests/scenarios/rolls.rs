//! Nine changes of a settled Harbor, one after the other, as they were recorded: whose pods roll, and what comes back.

use std::collections::BTreeMap;

use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::operator::{Cluster, GOHARBOR, NAMESPACE, is_ready};
use super::stage::documents;

const DEPLOYMENTS: [&str; 4] =
    ["tiny-harbor-core", "tiny-harbor-jobservice", "tiny-harbor-portal", "tiny-harbor-registry"];
const HARBOR: (&str, &str, &str) = (GOHARBOR, "Harbor", "tiny");

/// Steps after which other pods roll than were recorded, and those that do here.
const DIFFERENT: [(&str, &[&str]); 2] = [
    // The file of the jobservice does not hold the number; there, its new version rolls the pods for nothing.
    ("workers", &[]),
    // There, the file that was edited in the step before is noticed only now; here, it was put right at once.
    ("hand-edit-deployment", &[]),
];

async fn templates(cluster: &Cluster) -> BTreeMap<&'static str, Value> {
    let mut templates = BTreeMap::new();
    for name in DEPLOYMENTS {
        let deployment = cluster.get("apps/v1", "Deployment", name).await.unwrap();
        templates.insert(name, deployment["spec"]["template"].clone());
    }
    templates
}

/// Makes the change of a step, and waits until what follows from it is done.
async fn change(cluster: &Cluster, step: &str) {
    let harbor = |spec: Value| json!({ "spec": spec });
    let patch = match step {
        "registry-relative-urls" => harbor(json!({"registry": {"relativeURLs": false}})),
        "log-level" => harbor(json!({"logLevel": "debug"})),
        "workers" => harbor(json!({"jobservice": {"workerCount": 3}})),
        "redis-host" => harbor(json!({"redis": {"host": "other.example.net"}})),
        "hand-edit-configmap" => return edit_file(cluster).await,
        "hand-edit-deployment" => {
            let patch = json!({"spec": {"replicas": 3}});
            cluster.patch("apps/v1", "Deployment", "tiny-harbor-portal", false, patch).await;
            let of = ("apps/v1", "Deployment", "tiny-harbor-portal");
            cluster.until(of, |object| object["status"]["availableReplicas"] == 3).await;
            return;
        }
        "delete-service" => return delete(cluster, "Service", "tiny-harbor-portal").await,
        "external-secret" => {
            let patch = json!({"stringData": {"postgresql-password": "other"}});
            return cluster.patch("v1", "Secret", "pg-pw", false, patch).await;
        }
        "delete-generated-secret" => return delete(cluster, "Secret", "tiny-harbor-core-csrf").await,
        other => panic!("{other} is not known"),
    };
    cluster.patch(GOHARBOR, "Harbor", "tiny", false, patch).await;
    cluster.until(HARBOR, is_ready).await;
}

async fn edit_file(cluster: &Cluster) {
    let name = "tiny-harbor-portal";
    let before = cluster.get("v1", "ConfigMap", name).await.unwrap();
    let place =
        ["binaryData", "data"].into_iter().find(|place| before[place]["nginx.conf"].is_string()).unwrap();
    cluster.patch("v1", "ConfigMap", name, false, json!({ place: {"nginx.conf": "eA=="} })).await;
    cluster.until(("v1", "ConfigMap", name), |file| file[place] == before[place]).await;
}

async fn delete(cluster: &Cluster, kind: &str, name: &str) {
    let before = cluster.get("v1", kind, name).await.unwrap();
    let object: DynamicObject = serde_json::from_value(before.clone()).unwrap();
    cluster.delete(&object).await;
    cluster.until(("v1", kind, name), |object| object["metadata"]["uid"] != before["metadata"]["uid"]).await;
    cluster.until(HARBOR, is_ready).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_pods_whose_files_changed_roll() {
    let cluster = Cluster::begin().await;
    cluster.input("stack-minimal").await;
    cluster.certificate_is_ready("tiny-harbor-core-tokencert").await;
    cluster.until(HARBOR, is_ready).await;
    let steps = documents("stack-minimal", "rolls.yaml");
    assert_eq!(steps.len(), 9);
    for step in steps {
        let name = step["step"].as_str().unwrap();
        let before = templates(&cluster).await;
        change(&cluster, name).await;
        let after = templates(&cluster).await;
        let rolled: Vec<_> = DEPLOYMENTS.into_iter().filter(|name| before[name] != after[name]).collect();
        let recorded = step["podTemplatesChanged"].as_array().unwrap().iter();
        let recorded: Vec<_> =
            recorded.map(|object| object.as_str().unwrap().trim_start_matches("Deployment/")).collect();
        let expected =
            DIFFERENT.iter().find(|(step, _)| *step == name).map_or(recorded, |(_, rolled)| rolled.to_vec());
        assert_eq!(rolled, expected, "{name}");
    }
    let secret = cluster.get("v1", "Secret", "tiny-harbor-core-csrf").await.unwrap();
    assert_eq!(secret["metadata"]["namespace"], NAMESPACE);
}
