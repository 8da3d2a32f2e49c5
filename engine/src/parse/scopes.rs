//! Resolves the scopes of a component to their definitions and, as far as the snapshot tells it, to their kinds.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value as Json;

use super::{Era, Parser};
use crate::definition::{Definition, DefinitionKind};
use crate::diagnostic::{Code, Diagnostic};
use crate::field_path::type_name;
use crate::manifest::Document;
use crate::nearest;
use crate::snapshot::Snapshot;

/// A scope that a component's workload is to join.
#[derive(Debug, Clone)]
pub struct Scope {
    /// The definition that it is named by.
    pub definition: Arc<Definition>,
    /// `apiVersion` and `kind` of the scope that the definition registers; nothing where the cluster was not asked.
    pub kind: Option<(String, String)>,
    /// Name of the scope object, in the application's namespace.
    pub name: String,
    /// Field path of the scope: `spec.components[0].scopes["healthscopes.core.oam.dev"]`.
    pub path: String,
}

/// The resource (`<plural>.<group>`) and version that a definition registers.
pub fn resource_of(definition: &Definition) -> (String, String) {
    let part = |field| definition.text(&["definitionRef", field]).to_owned();
    (part("name"), part("version"))
}

/// Names of the scope definitions that an application in the v1alpha2 form uses.
pub(super) fn types(application: &Document) -> BTreeSet<&str> {
    let spec = application.value().get("spec");
    if Era::of(application.value()) != Era::V1alpha2 {
        return BTreeSet::new();
    }
    let components = spec.and_then(|spec| spec.get("components")).and_then(Json::as_array);
    let scopes = components.into_iter().flatten().filter_map(|component| component.get("scopes"));
    scopes.filter_map(Json::as_object).flat_map(|scopes| scopes.keys().map(String::as_str)).collect()
}

/// Resources whose kinds must be asked for, given the definitions that the snapshot has: scopes are written by the
/// name of their definition, and it registers a resource.
pub fn registered(application: &Document, snapshot: &Snapshot) -> BTreeSet<(String, String)> {
    let found =
        types(application).into_iter().filter_map(|name| snapshot.definition(DefinitionKind::Scope, name));
    found.map(|definition| resource_of(definition)).collect()
}

impl<'a> Parser<'a> {
    /// The scopes of a component. Those of a v1beta1 application are kept without effect, and a warning says so.
    pub(super) fn scopes(&mut self, path: &str, written: Option<&'a Json>) -> Vec<Scope> {
        let list = self.object(&format!("{path}.scopes"), written);
        if self.era != Era::V1alpha2 {
            if !list.is_empty() {
                let message = "the workload does not become a member of these scopes: only components of an \
                               ApplicationConfiguration join scopes";
                let warning = Diagnostic::warning(Code::NotSupported, message);
                self.found.push(warning.at(self.document, format!("{path}.scopes")));
            }
            return Vec::new();
        }
        let mut scopes = Vec::with_capacity(list.len());
        for (type_, name) in list {
            let path = format!("{path}.scopes[{type_:?}]");
            let Some(name) = name.as_str().filter(|name| !name.is_empty()) else {
                let message = format!("expected the name of a scope, found {}", type_name(name));
                self.error(Code::WrongType, &path, message, None);
                continue;
            };
            let Some(definition) = self.snapshot.definition(DefinitionKind::Scope, type_).cloned() else {
                let known = self.snapshot.names(DefinitionKind::Scope);
                let hint = nearest::advice(type_, "scope definitions", known.iter().copied());
                let message = format!("scope definition {type_:?} not found");
                self.error(Code::UnknownDefinition, &path, message, hint);
                continue;
            };
            let (resource, version) = resource_of(&definition);
            let kind = self.snapshot.registered(&resource, &version).cloned();
            scopes.push(Scope { definition, kind, name: name.to_owned(), path });
        }
        scopes
    }
}
