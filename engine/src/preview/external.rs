//! An Application and the Policies and Workflows beside it → the Application as if it held those that it names.

use serde_json::{Map, Value as Json, json};

use super::steps::wanted_policies;
use crate::manifest::Document;

/// The API version of what several Applications may name.
pub const EXTERNAL_VERSION: &str = "core.oam.dev/v1alpha1";
const POLICY: &str = "Policy";
const WORKFLOW: &str = "Workflow";

/// An Application that holds what it names.
#[derive(Debug, Clone)]
pub struct Merged {
    /// The Application.
    pub application: Document,
    /// For each of the documents beside it: whether it was taken in.
    pub used: Vec<bool>,
}

/// Is it a Policy or a Workflow that Applications may name?
pub fn is_external(document: &Document) -> bool {
    document.api_version() == EXTERNAL_VERSION && [POLICY, WORKFLOW].contains(&document.kind())
}

/// Takes in the Workflow that the application names, and the Policies that its steps name and it does not have itself; with
/// `all`, every one that fits: a Workflow where the application has none, and Policies of other names than its own.
pub fn merge(application: &Document, beside: &[Document], all: bool) -> Merged {
    let mut value = application.value().clone();
    let mut used = vec![false; beside.len()];
    for (index, document) in near(beside, application, WORKFLOW) {
        used[index] = take_workflow(&mut value, document, all);
    }
    let wanted = wanted_policies(&value);
    for (index, document) in near(beside, application, POLICY) {
        let is_wanted = all || wanted.iter().any(|name| name == document.name());
        used[index] = is_wanted && take_policy(&mut value, document);
    }
    Merged { application: application.with_value(value), used }
}

/// Those of a kind that an application may name, with their indexes: they stand in its namespace.
fn near<'a>(beside: &'a [Document], application: &Document, kind: &str) -> Vec<(usize, &'a Document)> {
    let is_near = |document: &Document| {
        document.namespace().is_empty() || document.namespace() == application.namespace()
    };
    let all = beside.iter().enumerate();
    all.filter(|(_, document)| document.kind() == kind && is_external(document) && is_near(document))
        .collect()
}

/// Whether the workflow is the one that the application names, or has none of its own.
fn take_workflow(application: &mut Json, document: &Document, all: bool) -> bool {
    let own = application["spec"]["workflow"].clone();
    let is_named = own["ref"].as_str() == Some(document.name());
    if !is_named && (!all || !own.is_null()) {
        return false;
    }
    let mut workflow = Map::new();
    let mut modes = document.value()["mode"].as_object().cloned().unwrap_or_default();
    // The application's own content counts before that of the Workflow.
    modes.extend(own["mode"].as_object().cloned().unwrap_or_default());
    if !modes.is_empty() {
        workflow.insert("mode".to_owned(), Json::Object(modes));
    }
    workflow.insert("steps".to_owned(), document.value()["steps"].clone());
    let Some(spec) = application["spec"].as_object_mut() else { return false };
    spec.insert("workflow".to_owned(), Json::Object(workflow));
    true
}

/// Whether the application has no policy of that name yet.
fn take_policy(application: &mut Json, document: &Document) -> bool {
    let Some(spec) = application["spec"].as_object_mut() else { return false };
    let policies = spec.entry("policies").or_insert_with(|| json!([]));
    let Some(policies) = policies.as_array_mut() else { return false };
    if policies.iter().any(|policy| policy["name"].as_str() == Some(document.name())) {
        return false;
    }
    let mut policy = json!({"name": document.name(), "type": document.value()["type"]});
    if let Some(properties) = document.value().get("properties") {
        policy["properties"] = properties.clone();
    }
    policies.push(policy);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn application(spec: Json) -> Document {
        Document::from_object(json!({
            "apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "metadata": {"name": "shop"}, "spec": spec,
        }))
    }

    fn beside() -> Vec<Document> {
        let object = |kind: &str, name: &str, fields: Json| {
            let mut object =
                json!({"apiVersion": EXTERNAL_VERSION, "kind": kind, "metadata": {"name": name}});
            for (field, value) in fields.as_object().unwrap() {
                object[field] = value.clone();
            }
            Document::from_object(object)
        };
        let step = json!({"name": "go", "type": "deploy", "properties": {"policies": ["near"]}});
        vec![
            object(POLICY, "near", json!({"type": "topology", "properties": {"clusters": ["local"]}})),
            object(WORKFLOW, "slowly", json!({"mode": {"steps": "DAG"}, "steps": [step]})),
            object(POLICY, "far", json!({"type": "topology"})),
        ]
    }

    #[test]
    fn what_is_named_is_taken_in() {
        let shop = application(
            json!({"components": [], "workflow": {"ref": "slowly", "mode": {"subSteps": "DAG"}}}),
        );
        let Merged { application, used } = merge(&shop, &beside(), false);
        assert_eq!(used, [true, true, false]);
        let spec = &application.value()["spec"];
        assert_eq!(spec["workflow"]["mode"], json!({"steps": "DAG", "subSteps": "DAG"}));
        assert_eq!(spec["workflow"]["steps"][0]["name"], "go");
        assert_eq!(spec["workflow"].get("ref"), None);
        assert_eq!(spec["policies"].as_array().map(Vec::len), Some(1));
        assert_eq!(spec["policies"][0]["properties"], json!({"clusters": ["local"]}));
    }

    #[test]
    fn unnamed_objects_are_included_when_all_are_asked_for() {
        let shop = application(json!({"components": [], "policies": [{"name": "far", "type": "override"}]}));
        assert_eq!(merge(&shop, &beside(), false).used, [false; 3]);
        let merged = merge(&shop, &beside(), true);
        assert_eq!(merged.used, [true, true, false], "a policy of that name is there already");
        let own = application(json!({"components": [], "workflow": {"steps": []}}));
        assert_eq!(merge(&own, &beside(), true).used, [true, false, true], "it has a workflow of its own");
    }

    #[test]
    fn what_stands_in_another_namespace_is_not_meant() {
        let mut elsewhere = beside();
        let mut value = elsewhere[0].value().clone();
        value["metadata"]["namespace"] = json!("elsewhere");
        elsewhere[0] = Document::from_object(value);
        let shop = application(json!({"components": []}));
        assert_eq!(merge(&shop, &elsewhere, true).used, [false, true, true]);
    }
}
