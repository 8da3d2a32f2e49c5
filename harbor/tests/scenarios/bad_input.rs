//! What keeps a Harbor from its state by the hands of users: a field that cannot change, a deletion half-way, a mistake that is said soon.

use std::time::{Duration, Instant};

use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::operator::{Cluster, GOHARBOR, NAMESPACE, PATIENCE, condition, is_ready};
use super::stage::documents;

/// How soon a mistake is said on the object.
const SAID_WITHIN: Duration = Duration::from_secs(1);
/// Others keep this machine busy: the best of so many tries counts.
const TRIES: usize = 5;

fn portal() -> Value {
    let mut portal = documents("part-portal", "input.yaml").remove(0);
    portal["metadata"]["namespace"] = json!(NAMESPACE);
    portal
}

fn parsed(object: Value) -> DynamicObject {
    serde_json::from_value(object).unwrap()
}

async fn until_gone(cluster: &Cluster, api_version: &str, kind: &str, name: &str) {
    let began = Instant::now();
    while cluster.get(api_version, kind, name).await.is_some() {
        assert!(began.elapsed() < PATIENCE, "{kind} {name} is still there");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_that_cannot_change_is_named_until_it_is_mended() {
    let mut cluster = Cluster::without_operator().await;
    cluster.create(portal()).await;
    let owner = cluster.get(GOHARBOR, "Portal", "door").await.unwrap();
    let reference = json!({"apiVersion": GOHARBOR, "kind": "Portal", "name": "door", "uid": owner["metadata"]["uid"],
        "controller": true, "blockOwnerDeletion": true});
    // As from another release of an operator: the selector of a Deployment stays for its life.
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "door-portal", "namespace": NAMESPACE, "ownerReferences": [reference]},
        "spec": {"selector": {"matchLabels": {"of": "former"}}, "template": {
            "metadata": {"labels": {"of": "former"}}, "spec": {"containers": [{"name": "portal", "image": "i"}]}}},
    });
    cluster.create(deployment.clone()).await;
    cluster.start();
    let of = (GOHARBOR, "Portal", "door");
    let failed = cluster.until(of, |portal| condition(portal, "Failed")["status"] == "True").await;
    let failed = condition(&failed, "Failed");
    let said = failed["message"].as_str().unwrap();
    assert_eq!(failed["reason"], "dependencySpec", "{said}");
    assert!(
        said.contains("Deployment n/door-portal") && said.contains("spec.selector: Invalid value"),
        "{said}"
    );
    let live = cluster.get("apps/v1", "Deployment", "door-portal").await.unwrap();
    assert_eq!(live["spec"]["selector"]["matchLabels"], json!({"of": "former"}), "it is left as it is");
    cluster.delete(&parsed(deployment)).await;
    cluster.until(of, is_ready).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_harbor_on_its_way_out_gets_no_children_back() {
    let cluster = Cluster::begin().await;
    for mut object in documents("stack-minimal", "input.yaml") {
        object["metadata"]["namespace"] = json!(NAMESPACE);
        if object["kind"] == "Harbor" {
            object["metadata"]["finalizers"] = json!(["example.org/hold"]);
        }
        cluster.create(object).await;
    }
    // Half of the children are there: the rest waits for a certificate.
    cluster.until((GOHARBOR, "Portal", "tiny-harbor"), is_ready).await;
    let harbor = cluster.get(GOHARBOR, "Harbor", "tiny").await.unwrap();
    cluster.delete(&parsed(harbor)).await;
    let going = |harbor: &Value| harbor["metadata"]["deletionTimestamp"].is_string();
    cluster.until((GOHARBOR, "Harbor", "tiny"), going).await;
    let portal = cluster.get(GOHARBOR, "Portal", "tiny-harbor").await.unwrap();
    cluster.delete(&parsed(portal)).await;
    until_gone(&cluster, "apps/v1", "Deployment", "tiny-harbor-portal").await;
    // The certificate comes too late, and wakes the Harbor for nothing.
    cluster.certificate_is_ready("tiny-harbor-core-tokencert").await;
    cluster.create(self::portal()).await;
    cluster.until((GOHARBOR, "Portal", "door"), is_ready).await;
    assert!(cluster.get(GOHARBOR, "Portal", "tiny-harbor").await.is_none(), "it was made again");
    assert!(
        cluster.get(GOHARBOR, "Core", "tiny-harbor").await.is_none(),
        "core was made for a Harbor that goes"
    );
    cluster.patch(GOHARBOR, "Harbor", "tiny", false, json!({"metadata": {"finalizers": null}})).await;
    for (api_version, kind, name) in [
        (GOHARBOR, "Harbor", "tiny"),
        (GOHARBOR, "Registry", "tiny-harbor"),
        ("apps/v1", "Deployment", "tiny-harbor-registry"),
        ("v1", "Secret", "tiny-harbor-registry-basicauth"),
        ("cert-manager.io/v1", "Certificate", "tiny-harbor-core-tokencert"),
    ] {
        until_gone(&cluster, api_version, kind, name).await;
    }
    // What a user made stays.
    assert!(cluster.get("v1", "Secret", "admin-pw").await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mistake_is_said_within_a_second() {
    let cluster = Cluster::begin().await;
    // The first look at each kind starts its watch.
    cluster.create(portal()).await;
    cluster.until((GOHARBOR, "Portal", "door"), is_ready).await;
    let mut best = PATIENCE;
    for number in 0..TRIES {
        let mut wrong = portal();
        let name = format!("wrong-{number}");
        wrong["metadata"]["name"] = json!(name);
        wrong["metadata"]["annotations"] = json!({});
        let began = Instant::now();
        cluster.create(wrong).await;
        let failed = cluster
            .until((GOHARBOR, "Portal", &name), |portal| condition(portal, "Failed")["status"] == "True")
            .await;
        best = best.min(began.elapsed());
        assert_eq!(condition(&failed, "Failed")["reason"], "invalidSpec");
    }
    assert!(best <= SAID_WITHIN, "{best:?}");
}
