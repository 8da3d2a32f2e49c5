//! CRDs of kinds whose fields stand beside the metadata, which no derive writes.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::core::schema::{OptionalEnum, OptionalIntOrString, StructuralSchemaRewriter};
use schemars::generate::SchemaSettings;
use schemars::transform::AddNullable;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

use super::error::GenerateError;
use crate::core_oam_dev::policy::PolicyFields;
use crate::core_oam_dev::workflow::WorkflowFields;

/// Policy.
pub(super) fn policy() -> Result<CustomResourceDefinition, GenerateError> {
    let columns = json!([{ "name": "TYPE", "type": "string", "jsonPath": ".type" }]);
    crd::<PolicyFields>("Policy", "policies", columns)
}

/// Workflow.
pub(super) fn workflow() -> Result<CustomResourceDefinition, GenerateError> {
    crd::<WorkflowFields>("Workflow", "workflows", json!([]))
}

fn crd<Fields: JsonSchema>(
    kind: &str,
    plural: &str,
    columns: Value,
) -> Result<CustomResourceDefinition, GenerateError> {
    let schema = schema::<Fields>();
    let name = format!("{plural}.{}", crate::GROUP);
    let crd = json!({
        "metadata": { "name": name },
        "spec": {
            "group": crate::GROUP,
            "names": {
                "categories": ["oam"],
                "kind": kind,
                "plural": plural,
                "singular": kind.to_lowercase(),
            },
            "scope": "Namespaced",
            "versions": [{
                "name": "v1alpha1",
                "served": true,
                "storage": true,
                "additionalPrinterColumns": columns,
                "schema": { "openAPIV3Schema": schema },
            }],
        },
    });
    serde_json::from_value(crd).map_err(|source| GenerateError::Schema { crd: name, source })
}

/// The schema of fields that stand beside the metadata, as kube derives those of a spec.
pub(super) fn schema<Fields: JsonSchema>() -> Schema {
    let generator = SchemaSettings::openapi3()
        .with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        })
        .with_transform(AddNullable::default())
        .with_transform(StructuralSchemaRewriter)
        .with_transform(OptionalEnum)
        .with_transform(OptionalIntOrString)
        .into_generator();
    generator.into_root_schema_for::<Fields>()
}
