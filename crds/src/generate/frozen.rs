//! Kinds that keep whole objects of other kinds: the schemas of what they keep are put into theirs.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde_json::{Map, Value, json};

use super::application::{REFERENCE, WORKFLOW_STATUS, application};
use super::change::{change_schema, name_of, place, stricter_v1alpha2, with_plain_status};
use super::error::GenerateError;
use super::{tidy, without_spec};
use crate::{
    ApplicationRevision, ComponentDefinition, DefinitionRevision, PolicyDefinition, ScopeDefinition,
    TraitDefinition, WorkflowStepDefinition, WorkloadDefinition,
};

/// ApplicationRevision: an Application, its definitions, policies and workflow.
pub(super) fn application_revision() -> Result<CustomResourceDefinition, GenerateError> {
    let application = object(&application()?)?;
    let workflow = object(&without_spec::workflow()?)?;
    let by_name = [
        ("/properties/spec/properties/componentDefinitions", object(&ComponentDefinition::crd())?),
        ("/properties/spec/properties/workloadDefinitions", object(&workload_definition()?)?),
        ("/properties/spec/properties/traitDefinitions", object(&TraitDefinition::crd())?),
        ("/properties/spec/properties/scopeDefinitions", object(&ScopeDefinition::crd())?),
        ("/properties/spec/properties/policyDefinitions", object(&PolicyDefinition::crd())?),
        ("/properties/spec/properties/workflowStepDefinitions", object(&WorkflowStepDefinition::crd())?),
        ("/properties/spec/properties/policies", object(&without_spec::policy()?)?),
    ];
    let revision = change_schema(ApplicationRevision::crd(), |crd, schema| {
        put(place(crd, schema, "/properties/spec/properties/application")?, &application);
        put(place(crd, schema, "/properties/spec/properties/workflow")?, &workflow);
        for (path, kept) in &by_name {
            place(crd, schema, path)?["additionalProperties"] = kept.clone();
        }
        place(crd, schema, "/properties/spec")?["required"] = json!(["application"]);
        place(crd, schema, "/properties/status")?["required"] = json!(["succeeded"]);
        place(crd, schema, "/properties/status/properties/workflow")?["required"] = json!(WORKFLOW_STATUS);
        Ok(())
    })?;
    stricter_v1alpha2(
        revision,
        &[
            ("/properties/spec", &["application", "applicationConfiguration"]),
            (
                "/properties/spec/properties/application/properties/status/properties/components/items",
                &REFERENCE,
            ),
            (
                "/properties/spec/properties/application/properties/status/properties/services/items/properties/scopes/items",
                &REFERENCE,
            ),
        ],
    )
}

/// DefinitionRevision: one definition.
pub(super) fn definition_revision() -> Result<CustomResourceDefinition, GenerateError> {
    let kept = [
        ("/properties/spec/properties/componentDefinition", object(&ComponentDefinition::crd())?),
        ("/properties/spec/properties/traitDefinition", object(&TraitDefinition::crd())?),
        ("/properties/spec/properties/policyDefinition", object(&PolicyDefinition::crd())?),
        ("/properties/spec/properties/workflowStepDefinition", object(&WorkflowStepDefinition::crd())?),
    ];
    change_schema(DefinitionRevision::crd(), |crd, schema| {
        for (path, kept) in &kept {
            put(place(crd, schema, path)?, kept);
        }
        Ok(())
    })
}

fn workload_definition() -> Result<CustomResourceDefinition, GenerateError> {
    with_plain_status(WorkloadDefinition::crd())
}

/// Puts a schema in the place of a free one, whose description stays.
fn put(place: &mut Value, schema: &Value) {
    let description = place.get("description").cloned();
    *place = schema.clone();
    if let Some(description) = description {
        place["description"] = description;
    }
}

/// The schema of a whole object of a kind, as part of another: without texts, with the metadata that is worth keeping.
fn object(crd: &CustomResourceDefinition) -> Result<Value, GenerateError> {
    let name = name_of(crd);
    let schema = crd.spec.versions.last().and_then(|v| v.schema.as_ref());
    let schema = schema.and_then(|s| s.open_api_v3_schema.as_ref());
    let schema = schema.ok_or(GenerateError::NoSuchPlace { crd: name.clone(), path: "/spec/versions" })?;
    let mut schema =
        serde_json::to_value(schema).map_err(|source| GenerateError::Schema { crd: name.clone(), source })?;
    tidy::without_texts(&mut schema);
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|one| one != "spec");
    }
    let texts = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    let text = json!({ "type": "string" });
    let metadata: Map<String, Value> = [
        ("annotations", texts.clone()),
        ("finalizers", json!({ "type": "array", "items": text })),
        ("labels", texts),
        ("name", text.clone()),
        ("namespace", text.clone()),
    ]
    .into_iter()
    .map(|(name, schema)| (name.to_owned(), schema))
    .collect();
    let properties = place(&name, &mut schema, "/properties")?;
    properties["apiVersion"] = text.clone();
    properties["kind"] = text;
    properties["metadata"] = json!({ "type": "object", "properties": metadata });
    Ok(schema)
}
