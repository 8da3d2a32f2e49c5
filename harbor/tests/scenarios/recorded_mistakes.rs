//! Recorded cases that come to no good end, on a server: the same conditions and children, or a difference that stands beside it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::operator::{Cluster, GOHARBOR, NAMESPACE, condition, is_ready};
use super::stage::documents;

/// The recorded conditions of an object, with the namespace of the test.
fn recorded(case: &str, kind: &str) -> Value {
    let status = documents(case, "status.yaml").into_iter().find(|object| object["kind"] == kind).unwrap();
    // The namespace is that of the case, but for one that was recorded in that of another.
    let namespaces = ["part-registry", case];
    let mut conditions = status["conditions"].clone();
    for condition in conditions.as_array_mut().into_iter().flatten() {
        if let Some(message) = condition["message"].as_str() {
            let message = namespaces.iter().fold(message.to_owned(), |message, namespace| {
                message.replace(&format!("{namespace}/"), &format!("{NAMESPACE}/"))
            });
            condition["message"] = json!(message);
        }
    }
    conditions
}

/// The same conditions, whatever their order and empty fields.
fn is_as(object: &Value, recorded: &Value) -> bool {
    recorded.as_array().unwrap().iter().all(|wanted| {
        let found = condition(object, wanted["type"].as_str().unwrap());
        ["status", "reason", "message"].iter().all(|field| found[field] == wanted[field])
    })
}

/// Kinds and names of recorded children.
fn children(case: &str) -> BTreeSet<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let objects = documents(case, "children.yaml").into_iter();
    objects
        .map(|object| (text(&object["apiVersion"]), text(&object["kind"]), text(&object["metadata"]["name"])))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_never_comes_stops_only_its_own() {
    let case = "bad-cert-never-ready";
    let cluster = Cluster::begin().await;
    cluster.input(case).await;
    for (kind, name) in [("Portal", "tiny-harbor"), ("Registry", "tiny-harbor"), ("Harbor", "tiny")] {
        let wanted = recorded(case, kind);
        cluster.until((GOHARBOR, kind, name), |object| is_as(object, &wanted)).await;
    }
    for (api_version, kind, name) in children(case) {
        assert!(cluster.get(&api_version, &kind, &name).await.is_some(), "{kind} {name} was recorded");
    }
    for kind in ["Core", "JobService"] {
        assert!(cluster.get(GOHARBOR, kind, "tiny-harbor").await.is_none(), "{kind}");
    }
    assert!(cluster.get("networking.k8s.io/v1", "Ingress", "tiny-harbor").await.is_none());
}

/// There, the Service is overwritten and its owner replaced; here, the Portal says whose it is, and what waits for it waits.
#[tokio::test(flavor = "multi_thread")]
async fn a_service_of_others_stays_and_its_part_says_so() {
    let cluster = Cluster::begin().await;
    let mut owner = Value::Null;
    for mut object in documents("bad-foreign-child", "input.yaml") {
        object["metadata"]["namespace"] = json!(NAMESPACE);
        if object["kind"] == "Service" {
            object["metadata"]["ownerReferences"][0]["uid"] = owner["metadata"]["uid"].clone();
        }
        cluster.create(object.clone()).await;
        if object["kind"] == "ConfigMap" {
            owner = cluster.get("v1", "ConfigMap", "foreign-owner").await.unwrap();
        }
    }
    let before = cluster.get("v1", "Service", "tiny-harbor-portal").await.unwrap();
    cluster.certificate_is_ready("tiny-harbor-core-tokencert").await;
    let failed = |portal: &Value| condition(portal, "Failed")["reason"] == "dependencySpec";
    let portal = cluster.until((GOHARBOR, "Portal", "tiny-harbor"), failed).await;
    let said = condition(&portal, "Failed")["message"].as_str().unwrap();
    assert!(said.contains("tiny-harbor-portal") && said.contains("ConfigMap foreign-owner"), "{said}");
    for kind in ["Core", "JobService", "Registry"] {
        cluster.until((GOHARBOR, kind, "tiny-harbor"), is_ready).await;
    }
    let waits = |harbor: &Value| condition(harbor, "Failed")["message"] == "Portal.goharbor.io n/tiny-harbor";
    cluster.until((GOHARBOR, "Harbor", "tiny"), waits).await;
    let after = cluster.get("v1", "Service", "tiny-harbor-portal").await.unwrap();
    assert_eq!(before["metadata"]["ownerReferences"], after["metadata"]["ownerReferences"]);
    assert_eq!(before["spec"], after["spec"]);
}

/// As there: which of these secrets are missing is for the pods to say, and simulated pods do not.
#[tokio::test(flavor = "multi_thread")]
async fn secrets_that_only_pods_read_stop_nothing() {
    for case in ["bad-missing-secret", "bad-missing-db-secret"] {
        let cluster = Cluster::begin().await;
        cluster.input(case).await;
        cluster.certificate_is_ready("tiny-harbor-core-tokencert").await;
        let harbor = cluster.until((GOHARBOR, "Harbor", "tiny"), is_ready).await;
        assert!(is_as(&harbor, &recorded(case, "Harbor")), "{case}: {}", harbor["status"]);
        for (api_version, kind, name) in children(case) {
            assert!(cluster.get(&api_version, &kind, &name).await.is_some(), "{case}: {kind} {name}");
        }
    }
}

/// The children are those that were recorded. There, no condition ever says what is missing; here, it is said with its field.
#[tokio::test(flavor = "multi_thread")]
async fn a_missing_secret_of_a_part_is_said_with_its_field() {
    for (case, kind, name, field) in [
        ("bad-registry-http-secret-missing", "Registry", "shelf", "spec.http.secretRef"),
        ("bad-trivy-token-missing", "Trivy", "scan", "spec.update.githubTokenRef"),
    ] {
        let cluster = Cluster::begin().await;
        cluster.input(case).await;
        let names = |object: &Value| {
            let said = condition(object, "Failed")["message"].as_str().unwrap_or_default();
            said.contains(field) && said.contains("does not exist")
        };
        let object = cluster.until((GOHARBOR, kind, name), names).await;
        assert_eq!(condition(&object, "Failed")["reason"], "dependencySpec");
        assert_eq!(condition(&object, "InProgress")["status"], recorded(case, kind)[0]["status"]);
        for (api_version, kind, name) in children(case) {
            assert!(cluster.get(&api_version, &kind, &name).await.is_some(), "{case}: {kind} {name}");
        }
        let deployment = format!("{name}-{}", kind.to_lowercase());
        assert!(cluster.get("apps/v1", "Deployment", &deployment).await.is_none(), "{deployment}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_claim_is_waited_for_by_its_deployment() {
    let case = "bad-registry-pvc-missing";
    let cluster = Cluster::without_pods().await;
    cluster.input(case).await;
    let wanted = recorded(case, "Registry");
    cluster.until((GOHARBOR, "Registry", "shelf"), |registry| is_as(registry, &wanted)).await;
    for (api_version, kind, name) in children(case) {
        assert!(cluster.get(&api_version, &kind, &name).await.is_some(), "{kind} {name} was recorded");
    }
}
