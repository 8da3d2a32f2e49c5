//! The kinds of other projects that are played here → definitions of them, for a server that has not the real ones.
use serde_json::{Value, json};

use super::clone_set;

/// CustomResourceDefinitions that take whatever is written: who wants fields checked installs the projects' own.
pub fn definitions() -> Vec<Value> {
    vec![
        definition(clone_set::GROUP, &["v1alpha1"], "CloneSet", "clonesets"),
        definition(clone_set::GROUP, &["v1beta1", "v1alpha1"], "StatefulSet", "statefulsets"),
    ]
}

fn definition(group: &str, versions: &[&str], kind: &str, plural: &str) -> Value {
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"openAPIV3Schema": {
        "type": "object", "properties": {"spec": anything, "status": anything},
    }});
    let scale = json!({
        "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.labelSelector",
    });
    let versions: Vec<Value> = versions
        .iter()
        .enumerate()
        .map(|(at, version)| {
            json!({
                "name": version, "served": true, "storage": at == 0, "schema": schema,
                "subresources": {"status": {}, "scale": scale},
            })
        })
        .collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced", "versions": versions,
            "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List")},
        },
    })
}
