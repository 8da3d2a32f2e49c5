//! Tests of reviews: what is refused, with which fields, and what always passes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

#[path = "webhooks/applications.rs"]
mod applications;
#[path = "webhooks/bindings.rs"]
mod bindings;
#[path = "webhooks/bombs.rs"]
mod bombs;
#[path = "webhooks/cached.rs"]
mod cached;
#[path = "webhooks/cluster.rs"]
mod cluster;
#[path = "webhooks/components.rs"]
mod components;
#[path = "webhooks/configurations.rs"]
mod configurations;
#[path = "webhooks/conversions.rs"]
mod conversions;
#[path = "webhooks/definitions.rs"]
mod definitions;
#[path = "webhooks/examples.rs"]
mod examples;
#[path = "webhooks/fuzz.rs"]
mod fuzz;
#[path = "webhooks/identities.rs"]
mod identities;
#[path = "webhooks/latency.rs"]
mod latency;
#[path = "webhooks/names.rs"]
mod names;
#[path = "webhooks/reviews.rs"]
mod reviews;
#[path = "webhooks/rollouts.rs"]
mod rollouts;
#[path = "webhooks/served.rs"]
mod served;
#[path = "webhooks/standards.rs"]
mod standards;

use std::path::Path;

use serde_json::{Value, json};
use vela_engine::Document;
use vela_webhooks::Review;

/// Every YAML document below a folder that can be read, in the order of the paths; none where the folder is absent.
fn documents(folder: &Path) -> Vec<Document> {
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    paths.sort();
    let of = |path: &std::path::PathBuf| {
        if path.is_dir() {
            return documents(path);
        }
        let is_yaml = path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
        let text = if is_yaml { std::fs::read_to_string(path).unwrap_or_default() } else { String::new() };
        let read = vela_engine::manifest::read(&path.display().to_string(), &text);
        read.map(|documents| documents.as_slice().to_vec()).unwrap_or_default()
    };
    paths.iter().flat_map(of).collect()
}

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

/// The patch of a reply as the API server reads it.
fn sent_patch(reply: &Value) -> Value {
    use base64::Engine as _;
    let text = reply["response"]["patch"].as_str().unwrap();
    let bytes = base64::engine::general_purpose::STANDARD.decode(text).unwrap();
    serde_json::from_slice(&bytes).unwrap()
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
