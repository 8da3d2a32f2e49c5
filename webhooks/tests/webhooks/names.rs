//! Names that would ask the API server for something else than a name: refused at their field, and never sent.

use std::sync::Arc;

use serde_json::{Value, json};
use vela_engine::Templates;
use vela_runtime::fault::Faults;
use vela_webhooks::Webhooks;

use super::cluster::{APPLICATIONS, cluster};

const CONFIGURATIONS: &str = "/validating-core-oam-dev-v1alpha2-applicationconfigurations";

fn review(object: &Value) -> String {
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {"uid": "1", "operation": "CREATE", "namespace": object["metadata"]["namespace"], "object": object},
    })
    .to_string()
}

fn application(component: &str, trait_: &str, policy: &str, step: &str) -> Value {
    json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
        "metadata": {"name": "shop", "namespace": "default"},
        "spec": {
            "components": [{"name": "cart", "type": component, "properties": {"image": "nginx"},
                "traits": [{"type": trait_, "properties": {"replicas": 2}}]}],
            "policies": [{"name": "p", "type": policy}],
            "workflow": {"steps": [{"name": "s", "type": step}]},
        },
    })
}

#[tokio::test]
async fn a_hostile_name_is_refused_at_its_field_without_a_request() {
    let (server, _) = cluster().await;
    let faults = Faults::new();
    let client = kube::Client::new(tower::Layer::layer(&faults, server.service()), "default");
    let webhooks = Webhooks::new(client, Arc::new(Templates::new()));
    for name in vela_testkit::hostile::NAMES {
        let mut namespaced = application("webservice", "scaler", "topology", "suspend");
        namespaced["metadata"]["namespace"] = json!(name);
        for (object, field) in [
            (application(name, "scaler", "topology", "suspend"), "spec.components[0].type"),
            (application("webservice", name, "topology", "suspend"), "spec.components[0].traits[0].type"),
            (application("webservice", "scaler", name, "suspend"), "spec.policies[0].type"),
            (application("webservice", "scaler", "topology", name), "spec.workflow.steps[0].type"),
            (namespaced, "metadata.namespace"),
        ] {
            let reply = webhooks.answer(APPLICATIONS, review(&object).as_bytes()).await;
            let response = &reply.body["response"];
            assert_eq!(response["allowed"], false, "{name:?} in {field}: {}", reply.body);
            assert_eq!(response["status"]["code"], 422, "{name:?} in {field}: {response}");
            let causes = response["status"]["details"]["causes"].as_array().unwrap();
            assert!(causes.iter().any(|cause| cause["field"] == field), "{name:?} in {field}: {causes:?}");
        }
        for entry in [
            json!({"componentName": name}),
            json!({"revisionName": name}),
            json!({"componentName": "a",
            "scopes": [{"scopeRef": {"apiVersion": "core.oam.dev/v1alpha2", "kind": "HealthScope", "name": name}}]}),
        ] {
            let object = json!({
                "apiVersion": "core.oam.dev/v1alpha2", "kind": "ApplicationConfiguration",
                "metadata": {"name": "shop", "namespace": "default"}, "spec": {"components": [entry]},
            });
            let reply = webhooks.answer(CONFIGURATIONS, review(&object).as_bytes()).await;
            assert_eq!(reply.status, 200, "{name:?}: {}", reply.body);
        }
    }
    for asked in faults.take() {
        let path = asked.path.split('?').next().unwrap_or_default();
        let hostile = ["..", "%", " ", "aaaa"].iter().any(|part| path.contains(part));
        assert!(!asked.path.contains("steal") && !asked.path.contains("x=1") && !hostile, "{asked:?}");
    }
}
