//! One served resource in one version: its names, its verbs and where its objects lie.

use std::sync::Arc;

use crate::builtin;
use crate::crd::{Definition, ScalePaths, Version};
use crate::schema::Structural;
use crate::status::{ApiError, ApiResult, Named};
use crate::store::Key;

/// Where definitions lie in the store.
pub(crate) const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// The verbs of every custom resource.
const VERBS: &[&str] = &["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

/// One served resource in one version.
#[derive(Debug)]
pub(crate) struct Resource {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) namespaced: bool,
    pub(crate) verbs: Vec<String>,
    pub(crate) status: bool,
    pub(crate) scale: Option<ScalePaths>,
    /// Whether `metadata.generation` counts changes outside `metadata` and `status`.
    pub(crate) generation: bool,
    /// `apiVersion` of the objects.
    pub(crate) api_version: String,
    /// `apiVersion` under which the objects lie in the store.
    pub(crate) storage_api_version: String,
    /// Where the objects lie in the store, `deployments.apps`.
    pub(crate) store: Arc<str>,
    /// The definition, for custom resources.
    pub(crate) custom: Option<Arc<Definition>>,
}

impl Resource {
    pub(crate) fn named(&self) -> Named<'_> {
        Named { group: &self.group, plural: &self.plural, kind: &self.kind }
    }

    /// Refuses a verb that the resource does not offer.
    pub(crate) fn require(&self, verb: &str) -> ApiResult<()> {
        if self.allows(verb) { Ok(()) } else { Err(ApiError::method_not_allowed()) }
    }

    /// Where an object of this resource lies in the store.
    pub(crate) fn key(&self, namespace: &str, name: &str) -> Key {
        Key { resource: self.store.clone(), namespace: namespace.to_owned(), name: name.to_owned() }
    }

    pub(crate) fn allows(&self, verb: &str) -> bool {
        self.verbs.iter().any(|v| v == verb)
    }

    pub(crate) fn is_custom(&self) -> bool {
        self.custom.is_some()
    }

    /// The schema and columns of this version of a custom resource.
    pub(crate) fn custom_version(&self) -> Option<&Version> {
        self.custom.as_ref()?.versions.iter().find(|v| v.name == self.version)
    }

    /// The schema of this version of a custom resource.
    pub(crate) fn structural(&self) -> Option<&Structural> {
        self.custom_version()?.structural.as_deref()
    }

    /// Whether the objects of this resource are definitions of others.
    pub(crate) fn is_definition(&self) -> bool {
        self.store.as_ref() == DEFINITIONS
    }

    /// Whether the objects of this resource are namespaces.
    pub(crate) fn is_namespace(&self) -> bool {
        self.store.as_ref() == "namespaces"
    }

    pub(super) fn built_in(kind: &builtin::Kind) -> Self {
        let scale = kind.scale.then(|| ScalePaths {
            spec_replicas: "spec.replicas".into(),
            status_replicas: "status.replicas".into(),
            selector: Some("spec.selector".into()),
        });
        // Both groups of events show the same objects.
        let (store, storage_api_version) = if kind.kind == "Event" {
            ("events".to_owned(), "v1".to_owned())
        } else {
            (kind.resource(), kind.api_version())
        };
        Self {
            group: kind.group.into(),
            version: kind.version.into(),
            kind: kind.kind.into(),
            list_kind: format!("{}List", kind.kind),
            plural: kind.plural.into(),
            singular: kind.singular.into(),
            short_names: kind.short_names.iter().map(|s| (*s).to_owned()).collect(),
            categories: kind.categories.iter().map(|s| (*s).to_owned()).collect(),
            namespaced: kind.namespaced,
            verbs: kind.verbs.iter().map(|s| (*s).to_owned()).collect(),
            status: kind.status,
            scale,
            generation: kind.generation,
            api_version: kind.api_version(),
            storage_api_version,
            store: Arc::from(store),
            custom: None,
        }
    }

    /// One version of a definition.
    pub(super) fn custom(definition: &Arc<Definition>, version: &Version) -> Self {
        let storage =
            definition.versions.iter().find(|v| v.storage).map_or(version.name.as_str(), |v| &v.name);
        Self {
            group: definition.group.clone(),
            version: version.name.clone(),
            kind: definition.kind.clone(),
            list_kind: definition.list_kind.clone(),
            plural: definition.plural.clone(),
            singular: definition.singular.clone(),
            short_names: definition.short_names.clone(),
            categories: definition.categories.clone(),
            namespaced: definition.namespaced,
            verbs: VERBS.iter().map(|v| (*v).to_owned()).collect(),
            status: version.status,
            scale: version.scale.clone(),
            generation: true,
            api_version: format!("{}/{}", definition.group, version.name),
            storage_api_version: format!("{}/{storage}", definition.group),
            store: Arc::from(definition.name.as_str()),
            custom: Some(definition.clone()),
        }
    }
}
