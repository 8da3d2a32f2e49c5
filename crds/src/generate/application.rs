//! The CRD of Application: both versions, each with both spellings.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde_json::{Value, json};

use super::change::{change_schema, place};
use super::error::GenerateError;
use crate::Application;

/// What the status of a workflow always says; the types read it also where it is missing.
pub(super) const WORKFLOW_STATUS: [&str; 4] = ["finished", "mode", "suspend", "terminated"];
/// What a reference to an object of the own namespace always says.
pub(super) const REFERENCE: [&str; 3] = ["apiVersion", "kind", "name"];

/// Application: both versions, each with both spellings.
pub(super) fn application() -> Result<CustomResourceDefinition, GenerateError> {
    const COMPONENT: &str = "/properties/spec/properties/components/items";
    const TRAIT: &str = "/properties/spec/properties/components/items/properties/traits/items";
    change_schema(Application::crd(), |crd, schema| {
        let component = place(crd, schema, COMPONENT)?;
        component["properties"]["settings"] = json!({
            "description": "The parameters in the spelling of v1alpha2.",
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": true,
        });
        component["not"] = json!({ "required": ["properties", "settings"] });
        let one = place(crd, schema, TRAIT)?;
        one["properties"]["name"] = json!({
            "description": "The trait type in the spelling of v1alpha2.",
            "type": "string",
        });
        one["required"] = Value::Null;
        one["oneOf"] = json!([{ "required": ["name"] }, { "required": ["type"] }]);
        place(crd, schema, "/properties/status/properties/workflow")?["required"] = json!(WORKFLOW_STATUS);
        let tracker = "/properties/status/properties/resourceTracker";
        place(crd, schema, tracker)?["required"] = json!(REFERENCE);
        Ok(())
    })
}
