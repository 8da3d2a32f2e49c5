//! Reviews in, verdicts out: what is refused, with which fields, and what always passes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "webhooks/applications.rs"]
mod applications;
#[path = "webhooks/cluster.rs"]
mod cluster;
#[path = "webhooks/definitions.rs"]
mod definitions;
#[path = "webhooks/reviews.rs"]
mod reviews;

use serde_json::{Value, json};
use vela_webhooks::Review;

/// The bytes an API server would send.
fn review(operation: &str, object: Value, old_object: Value) -> Review {
    let namespace = object["metadata"]["namespace"].clone();
    let review = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "7f0b", "operation": operation, "namespace": namespace,
            "object": object, "oldObject": old_object,
        },
    });
    Review::read(review.to_string().as_bytes()).unwrap()
}

/// A component definition in handlebars.
fn definition(name: &str, template: &str) -> Value {
    json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "ComponentDefinition",
        "metadata": {"name": name, "namespace": "vela-system"},
        "spec": {
            "workload": {"definition": {"apiVersion": "v1", "kind": "ConfigMap"}},
            "schematic": {"handlebars": {"template": template}},
        },
    })
}
