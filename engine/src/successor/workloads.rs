//! Deployments, StatefulSets, DaemonSets and ReplicaSets of the first versions to apps/v1: a selector must be given.

use serde_json::{Value as Json, json};

use super::fields::{Fields, spec};

/// A selector was filled in from the labels of the pods.
pub(super) fn replicated(object: &mut Fields) {
    let Some(spec) = spec(object) else { return };
    spec.remove("rollbackTo");
    let labels = spec.get("template").and_then(|template| template.pointer("/metadata/labels")).cloned();
    if let Some(labels) = labels.filter(Json::is_object)
        && spec.get("selector").is_none_or(Json::is_null)
    {
        spec.insert("selector".to_owned(), json!({"matchLabels": labels}));
    }
}

/// The same, and pods were replaced only when a user deleted them.
pub(super) fn updated_on_delete(object: &mut Fields) {
    replicated(object);
    let Some(spec) = spec(object) else { return };
    spec.remove("templateGeneration");
    if spec.get("updateStrategy").is_none_or(Json::is_null) {
        spec.insert("updateStrategy".to_owned(), json!({"type": "OnDelete"}));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::successor::object;

    #[test]
    fn a_selector_comes_from_the_labels_of_the_pods() {
        let template = json!({"metadata": {"labels": {"app": "web"}}});
        let old = json!({"apiVersion": "extensions/v1beta1", "kind": "Deployment",
            "spec": {"replicas": 2, "rollbackTo": {"revision": 1}, "template": template}});
        let new = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}});
        assert_eq!(object(&old), Some(new));
        let selector = json!({"matchLabels": {"app": "other"}});
        let old = json!({"apiVersion": "apps/v1beta1", "kind": "Deployment", "spec": {"selector": selector, "template": template}});
        assert_eq!(object(&old).map(|new| new["spec"]["selector"].clone()), Some(selector));
    }

    #[test]
    fn pods_are_replaced_only_on_delete_where_that_was_meant() {
        let strategy = |api_version: &str, kind: &str, spec: serde_json::Value| {
            let old = json!({"apiVersion": api_version, "kind": kind, "spec": spec});
            object(&old).map(|new| new["spec"]["updateStrategy"]["type"].clone())
        };
        assert_eq!(strategy("apps/v1beta1", "StatefulSet", json!({})), Some(json!("OnDelete")));
        assert_eq!(strategy("extensions/v1beta1", "DaemonSet", json!({})), Some(json!("OnDelete")));
        assert_eq!(strategy("apps/v1beta2", "StatefulSet", json!({})), Some(json!(null)));
        let rolling = json!({"updateStrategy": {"type": "RollingUpdate"}});
        assert_eq!(strategy("apps/v1beta1", "StatefulSet", rolling), Some(json!("RollingUpdate")));
    }
}
