//! CustomResourceDefinitions: from the Rust types to the YAML that an API server accepts.
//!
//! kube derives one version of a kind; what a derive cannot say is added here: the second served
//! version of kinds whose versions share a schema, both spellings of Application, and the status
//! of kinds that keep it outside a subresource.

mod application;
mod change;
mod dapr;
mod error;
mod frozen;
mod goharbor;
mod pod_spec;
mod table;
mod tidy;
mod without_spec;

use std::sync::OnceLock;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde_json::json;

use self::application::{REFERENCE, application};
use self::change::{
    also_v1alpha2, change_schema, name_of, place, stricter_v1alpha2, with_plain_status,
    without_status_subresource,
};
pub use self::error::GenerateError;

use crate::{
    AppDeployment, AppRollout, ApplicationConfiguration, ApplicationContext, ApplicationDeployment,
    Autoscaler, Cluster, Component, ComponentDefinition, ContainerizedWorkload, HealthScope,
    ManualScalerTrait, MetricsTrait, PodSpecWorkload, PolicyDefinition, ResourceTracker, RolloutTrait, Route,
    ScopeDefinition, ServiceBinding, TraitDefinition, WorkflowRun, WorkflowStepDefinition,
    WorkloadDefinition,
};

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

/// Every CRD of core.oam.dev and standard.oam.dev, generated from the types.
fn generated() -> Result<Vec<CustomResourceDefinition>, GenerateError> {
    let mut crds = vec![
        AppDeployment::crd(),
        app_rollout()?,
        stricter_v1alpha2(
            application()?,
            &[
                ("/properties/status/properties/components/items", &REFERENCE),
                ("/properties/status/properties/services/items/properties/scopes/items", &REFERENCE),
            ],
        )?,
        ApplicationConfiguration::crd(),
        ApplicationContext::crd(),
        application_deployment()?,
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
        WorkflowRun::crd(),
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

/// Every CRD of dapr.io, generated from the types. They are not among [`crds`]: only the Dapr operator needs them.
///
/// # Errors
/// Which type gave a schema that cannot be a CRD's: a mistake in this crate.
pub fn dapr_crds() -> Result<Vec<CustomResourceDefinition>, GenerateError> {
    dapr::crds()
}

/// Every CRD of goharbor.io, generated from the tables of its kinds.
///
/// # Errors
/// Which table cannot be read: a mistake in this crate.
pub fn harbor_crds() -> Result<Vec<CustomResourceDefinition>, GenerateError> {
    // The operator asks for them several times while it starts, and they are large.
    static GENERATED: OnceLock<Vec<CustomResourceDefinition>> = OnceLock::new();
    if let Some(generated) = GENERATED.get() {
        return Ok(generated.clone());
    }
    const VOLUME: &str = "/properties/spec/properties/podSpec/properties/volumes/items";
    let mut volume = serde_json::Value::Null;
    for version in pod_spec_workload()?.spec.versions {
        let schema = version.schema.and_then(|schema| schema.open_api_v3_schema);
        let mut schema = serde_json::to_value(schema)
            .map_err(|source| GenerateError::Schema { crd: "PodSpecWorkload".to_owned(), source })?;
        tidy::tidy(&mut schema);
        volume = place("PodSpecWorkload", &mut schema, VOLUME)?.take();
    }
    let generated = goharbor::crds(&volume)?;
    Ok(GENERATED.get_or_init(|| generated).clone())
}

/// Every CRD as a file of `crds/yaml`, those of dapr.io and goharbor.io as well.
///
/// # Errors
/// Those of [`dapr_crds`] and [`harbor_crds`], which type gave a schema that cannot be a CRD's, and a CRD that cannot be written as YAML.
pub fn crd_files() -> Result<Vec<CrdFile>, GenerateError> {
    files(generated()?.into_iter().chain(dapr_crds()?).chain(harbor_crds()?))
}

fn files(crds: impl IntoIterator<Item = CustomResourceDefinition>) -> Result<Vec<CrdFile>, GenerateError> {
    let mut files = Vec::new();
    for crd in crds {
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

/// The text of `crds/crds.json`: each CRD of core.oam.dev and standard.oam.dev in a line of its own.
///
/// # Errors
/// Which type gave a schema that cannot be a CRD's: a mistake in this crate.
pub fn crd_lines() -> Result<String, GenerateError> {
    let mut lines = String::new();
    for crd in generated()? {
        let line = serde_json::to_value(&crd).map(|value| value.to_string());
        lines.push_str(&line.map_err(|source| GenerateError::Schema { crd: name_of(&crd), source })?);
        lines.push('\n');
    }
    Ok(lines)
}

/// AppRollout: the target is named in one spelling or the other.
fn app_rollout() -> Result<CustomResourceDefinition, GenerateError> {
    change_schema(also_v1alpha2(AppRollout::crd())?, |crd, schema| {
        let spellings = ["targetAppRevisionName", "targetApplicationName"];
        place(crd, schema, "/properties/spec")?["anyOf"] =
            spellings.iter().map(|name| json!({ "required": [name] })).collect();
        Ok(())
    })
}

/// ApplicationDeployment: the status of release 0.3 had conditions, and nothing of a rollout.
fn application_deployment() -> Result<CustomResourceDefinition, GenerateError> {
    change_schema(also_v1alpha2(ApplicationDeployment::crd())?, |crd, schema| {
        if let Some(status) = place(crd, schema, "/properties/status")?.as_object_mut() {
            status.remove("required");
        }
        Ok(())
    })
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
