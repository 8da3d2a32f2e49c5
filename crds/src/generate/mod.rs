//! CustomResourceDefinitions: from the Rust types to the YAML that an API server accepts.
//!
//! kube derives one version of a kind; what a derive cannot say is added here: the second served
//! version of kinds whose versions share a schema, both spellings of Application, and the status
//! of kinds that keep it outside a subresource.

mod frozen;
mod pod_spec;
mod tidy;
mod without_spec;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion, CustomResourceSubresources, JSONSchemaProps,
};
use kube::CustomResourceExt;
use serde_json::{Value, json};

use crate::{
    AppDeployment, AppRollout, Application, ApplicationConfiguration, ApplicationContext,
    ApplicationDeployment, Autoscaler, Cluster, Component, ComponentDefinition, ContainerizedWorkload,
    HealthScope, ManualScalerTrait, MetricsTrait, PodSpecWorkload, PolicyDefinition, ResourceTracker,
    RolloutTrait, Route, ScopeDefinition, ServiceBinding, TraitDefinition, WorkflowStepDefinition,
    WorkloadDefinition,
};

/// Why CRDs could not be generated: always a mistake in this crate's types.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// The schema of a kind lacks a place that generation adds to.
    #[error("CRD {crd}: the schema has nothing at {path}")]
    NoSuchPlace {
        /// The CRD.
        crd: String,
        /// The place.
        path: &'static str,
    },
    /// A schema could not be read back.
    #[error("CRD {crd}: {source}")]
    Schema {
        /// The CRD.
        crd: String,
        /// Why.
        source: serde_json::Error,
    },
    /// A CRD could not be written as YAML.
    #[error("CRD {crd}: {message}")]
    Yaml {
        /// The CRD.
        crd: String,
        /// Why.
        message: String,
    },
}

/// The YAML of one CRD and the file it is kept in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrdFile {
    /// Name of the file within `crds/yaml`.
    pub file: String,
    /// Its content.
    pub yaml: String,
}

/// Kinds whose objects must have a spec; of all others an empty one may be stored, and their controllers say what it lacks.
const NEEDS_SPEC: &[&str] = &["Autoscaler", "MetricsTrait"];

/// What the status of a workflow always says; the types read it also where it is missing.
const WORKFLOW_STATUS: [&str; 4] = ["finished", "mode", "suspend", "terminated"];
/// What a reference to an object of the own namespace always says.
const REFERENCE: [&str; 3] = ["apiVersion", "kind", "name"];

/// Every CRD of core.oam.dev and standard.oam.dev, generated from the types.
pub fn crds() -> Result<Vec<CustomResourceDefinition>, GenerateError> {
    let mut crds = vec![
        AppDeployment::crd(),
        also_v1alpha2(AppRollout::crd())?,
        stricter_v1alpha2(
            application()?,
            &[
                ("/properties/status/properties/components/items", &REFERENCE),
                ("/properties/status/properties/services/items/properties/scopes/items", &REFERENCE),
            ],
        )?,
        ApplicationConfiguration::crd(),
        ApplicationContext::crd(),
        ApplicationDeployment::crd(),
        frozen::application_revision()?,
        without_status_subresource(Cluster::crd()),
        Component::crd(),
        also_v1alpha2(ComponentDefinition::crd())?,
        ContainerizedWorkload::crd(),
        frozen::definition_revision()?,
        HealthScope::crd(),
        ManualScalerTrait::crd(),
        without_spec::policy()?,
        PolicyDefinition::crd(),
        resource_tracker()?,
        also_v1alpha2(ScopeDefinition::crd())?,
        ServiceBinding::crd(),
        also_v1alpha2(TraitDefinition::crd())?,
        without_spec::workflow()?,
        WorkflowStepDefinition::crd(),
        also_v1alpha2(with_plain_status(WorkloadDefinition::crd())?)?,
        without_status_subresource(Autoscaler::crd()),
        MetricsTrait::crd(),
        pod_spec_workload()?,
        RolloutTrait::crd(),
        Route::crd(),
    ];
    for crd in &mut crds {
        // API servers fill this in; said here, an applied CRD is equal to the stored one.
        let names = &mut crd.spec.names;
        names.list_kind.get_or_insert_with(|| format!("{}List", names.kind));
    }
    crds.into_iter()
        .map(|crd| {
            let needs_spec = NEEDS_SPEC.contains(&crd.spec.names.kind.as_str());
            change_schema(crd, |_, schema| {
                tidy::tidy(schema);
                if !needs_spec && let Some(required) = schema["required"].as_array_mut() {
                    required.retain(|name| name != "spec");
                }
                Ok(())
            })
        })
        .collect()
}

/// Every CRD as YAML documents in one text.
pub fn crd_yaml() -> Result<String, GenerateError> {
    let files = crd_files()?;
    Ok(files.iter().map(|file| file.yaml.as_str()).collect::<Vec<_>>().join("---\n"))
}

/// Every CRD as a file of `crds/yaml`.
pub fn crd_files() -> Result<Vec<CrdFile>, GenerateError> {
    let mut files = Vec::new();
    for crd in crds()? {
        let name = name_of(&crd);
        let yaml_error = |message: String| GenerateError::Yaml { crd: name.clone(), message };
        // Through JSON, whose maps are sorted: the text then has one order forever.
        let mut value = serde_json::to_value(&crd)
            .map_err(|source| GenerateError::Schema { crd: name.clone(), source })?;
        value["apiVersion"] = json!("apiextensions.k8s.io/v1");
        value["kind"] = json!("CustomResourceDefinition");
        let yaml = serde_saphyr::to_string(&value).map_err(|e| yaml_error(e.to_string()))?;
        files.push(CrdFile { file: format!("{}_{}.yaml", crd.spec.group, crd.spec.names.plural), yaml });
    }
    Ok(files)
}

/// Application: both versions, each with both spellings.
fn application() -> Result<CustomResourceDefinition, GenerateError> {
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

/// Serves v1alpha2 with the schema of the stored version, and demands there what only that version demanded.
fn stricter_v1alpha2(
    crd: CustomResourceDefinition,
    demands: &[(&'static str, &[&str])],
) -> Result<CustomResourceDefinition, GenerateError> {
    let mut both = also_v1alpha2(crd)?;
    let later = both.spec.versions.split_off(1);
    let mut both = change_schema(both, |crd, schema| {
        for (path, names) in demands {
            place(crd, schema, path)?["required"] = json!(names);
        }
        Ok(())
    })?;
    both.spec.versions.extend(later);
    Ok(both)
}

/// ResourceTracker: a record says of which generation it is.
fn resource_tracker() -> Result<CustomResourceDefinition, GenerateError> {
    change_schema(ResourceTracker::crd(), |crd, schema| {
        place(crd, schema, "/properties/spec")?["required"] = json!(["applicationGeneration"]);
        Ok(())
    })
}

/// PodSpecWorkload: the pod spec as its CRD spells it.
fn pod_spec_workload() -> Result<CustomResourceDefinition, GenerateError> {
    const POD_SPEC: &str = "/properties/spec/properties/podSpec";
    change_schema(PodSpecWorkload::crd(), |crd, schema| {
        pod_spec::loosen(place(crd, schema, POD_SPEC)?);
        Ok(())
    })
}

/// Serves v1alpha2 with the schema of the stored version.
fn also_v1alpha2(mut crd: CustomResourceDefinition) -> Result<CustomResourceDefinition, GenerateError> {
    let Some(stored) = crd.spec.versions.first().cloned() else {
        return Err(GenerateError::NoSuchPlace { crd: name_of(&crd), path: "/spec/versions/0" });
    };
    let old = CustomResourceDefinitionVersion {
        name: "v1alpha2".to_owned(),
        storage: false,
        served: true,
        ..stored
    };
    crd.spec.versions.insert(0, old);
    Ok(crd)
}

/// Gives a kind a `status` that a normal update writes.
fn with_plain_status(mut crd: CustomResourceDefinition) -> Result<CustomResourceDefinition, GenerateError> {
    let status = TraitDefinition::crd();
    let status = status.spec.versions.into_iter().next().and_then(|v| v.schema);
    let status = status.and_then(|s| s.open_api_v3_schema).and_then(|s| s.properties);
    let Some(status) = status.and_then(|mut p| p.remove("status")) else {
        return Err(GenerateError::NoSuchPlace { crd: name_of(&crd), path: "/properties/status" });
    };
    for version in &mut crd.spec.versions {
        let properties = version
            .schema
            .as_mut()
            .and_then(|s| s.open_api_v3_schema.as_mut())
            .and_then(|s| s.properties.as_mut());
        if let Some(properties) = properties {
            properties.insert("status".to_owned(), status.clone());
        }
    }
    Ok(without_status_subresource(crd))
}

/// Lets a normal update write the status.
fn without_status_subresource(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        version.subresources = Some(CustomResourceSubresources::default());
    }
    crd
}

/// Changes the schema of every version as JSON.
fn change_schema(
    mut crd: CustomResourceDefinition,
    change: impl Fn(&str, &mut Value) -> Result<(), GenerateError>,
) -> Result<CustomResourceDefinition, GenerateError> {
    let name = name_of(&crd);
    let schema_error = |source| GenerateError::Schema { crd: name.clone(), source };
    for version in &mut crd.spec.versions {
        let Some(schema) = version.schema.as_mut().and_then(|s| s.open_api_v3_schema.as_mut()) else {
            continue;
        };
        let mut value = serde_json::to_value(&*schema).map_err(schema_error)?;
        change(&name, &mut value)?;
        *schema = serde_json::from_value::<JSONSchemaProps>(value).map_err(schema_error)?;
    }
    Ok(crd)
}

fn place<'a>(crd: &str, schema: &'a mut Value, path: &'static str) -> Result<&'a mut Value, GenerateError> {
    schema.pointer_mut(path).ok_or_else(|| GenerateError::NoSuchPlace { crd: crd.to_owned(), path })
}

fn name_of(crd: &CustomResourceDefinition) -> String {
    format!("{}.{}", crd.spec.names.plural, crd.spec.group)
}
