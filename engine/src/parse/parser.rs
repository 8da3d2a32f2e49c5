//! An Application that is being parsed: what is read, against which snapshot, and what was found so far.

use serde_json::{Map, Value as Json};

use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::manifest::Document;
use crate::policy::{self, Deployment};
use crate::snapshot::Snapshot;

/// More components in one application are refused.
pub const COMPONENT_LIMIT: usize = 1000;
/// Namespace of an application that names none.
pub const DEFAULT_NAMESPACE: &str = "default";

/// Which form of the API the application is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// `core.oam.dev/v1alpha2`: `settings`, traits by `name`; deployed through an ApplicationConfiguration.
    V1alpha2,
    /// `core.oam.dev/v1beta1`: `properties`, traits by `type`; deployed directly.
    V1beta1,
}

impl Era {
    /// The form of an application. The spelling decides, not the version: a stored Application is read back in whatever
    /// version is asked for.
    pub fn of(application: &Json) -> Self {
        match vela_crds::application::is_v1alpha2_form(application) {
            true => Self::V1alpha2,
            false => Self::V1beta1,
        }
    }

    /// Name of the field that holds a component's parameters.
    pub fn properties_field(self) -> &'static str {
        match self {
            Self::V1alpha2 => "settings",
            Self::V1beta1 => "properties",
        }
    }

    /// Name of the field that holds a component's type.
    pub fn trait_type_field(self) -> &'static str {
        match self {
            Self::V1alpha2 => "name",
            Self::V1beta1 => "type",
        }
    }
}

pub(super) struct Parser<'a> {
    pub(super) document: &'a Document,
    pub(super) snapshot: &'a Snapshot,
    pub(super) era: Era,
    pub(super) found: Diagnostics,
}

impl Parser<'_> {
    pub(super) fn error(&mut self, code: Code, path: &str, message: impl Into<String>, hint: Option<String>) {
        self.found.push(Diagnostic::error(code, message).at(self.document, path).hint_opt(hint));
    }
}

/// The spec with its components as override policies change them; nothing where none does.
pub(super) fn overridden(application: &Document, era: Era) -> Option<Map<String, Json>> {
    let spec = application.value().get("spec")?.as_object().filter(|_| era == Era::V1beta1)?;
    let components = policy::overridden(spec, COMPONENT_LIMIT)?;
    let mut spec = spec.clone();
    spec.insert("components".to_owned(), Json::Array(components));
    Some(spec)
}

/// The expansion of the `deploy` steps of an application.
pub(super) fn deployments(application: &Document, era: Era) -> Vec<Deployment> {
    let spec = application.value().get("spec").and_then(Json::as_object);
    let spec = spec.filter(|_| era == Era::V1beta1);
    spec.map_or_else(Vec::new, |spec| policy::deployments(spec, COMPONENT_LIMIT))
}

/// Looks at every component that an application may come to have: those written, those that override policies change, and those
/// that `deploy` steps make of them.
pub(super) fn each_component(application: &Document, era: Era, look: impl FnMut(&Json)) {
    let written = application.value().pointer("/spec/components").and_then(Json::as_array);
    let overridden = overridden(application, era);
    let changed = overridden.as_ref().and_then(|spec| spec.get("components")).and_then(Json::as_array);
    let deployments = deployments(application, era);
    let deployed = deployments.iter().flat_map(|deployment| deployment.components.iter().flatten());
    written.into_iter().chain(changed).flatten().chain(deployed).for_each(look);
}
