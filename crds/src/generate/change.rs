//! Changes a CRD that kube derived: adds a version or another status, or changes its schemas.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion, CustomResourceSubresources, JSONSchemaProps,
};
use kube::CustomResourceExt;
use serde_json::{Value, json};

use super::error::GenerateError;
use crate::TraitDefinition;

/// Serves v1alpha2 with the schema of the stored version.
pub(super) fn also_v1alpha2(
    mut crd: CustomResourceDefinition,
) -> Result<CustomResourceDefinition, GenerateError> {
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

/// Serves v1alpha2 with the schema of the stored version, and demands there what only that version demanded.
pub(super) fn stricter_v1alpha2(
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

/// Gives a kind a `status` that a normal update writes.
pub(super) fn with_plain_status(
    mut crd: CustomResourceDefinition,
) -> Result<CustomResourceDefinition, GenerateError> {
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
pub(super) fn without_status_subresource(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        version.subresources = Some(CustomResourceSubresources::default());
    }
    crd
}

/// Changes the schema of every version as JSON.
pub(super) fn change_schema(
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

pub(super) fn place<'a>(
    crd: &str,
    schema: &'a mut Value,
    path: &'static str,
) -> Result<&'a mut Value, GenerateError> {
    schema.pointer_mut(path).ok_or_else(|| GenerateError::NoSuchPlace { crd: crd.to_owned(), path })
}

pub(super) fn name_of(crd: &CustomResourceDefinition) -> String {
    format!("{}.{}", crd.spec.names.plural, crd.spec.group)
}
