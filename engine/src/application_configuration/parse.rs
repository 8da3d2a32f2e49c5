//! (ApplicationConfiguration, Snapshot) → Parsed: components, parameters, traits and scopes found, or all diagnostics.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;
use vela_crds::labels;

use super::data::{self, Flow};
use super::revision::{component_of, latest};
use super::{API_VERSION, KIND, items, text};
use crate::definition::{Definition, DefinitionKind};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::field_path::{self, type_name};
use crate::manifest::Document;
use crate::nearest;
use crate::observed::ObjectKey;
use crate::parse::References;
use crate::snapshot::Snapshot;

/// A configuration whose every reference is resolved.
#[derive(Debug, Clone)]
pub struct Parsed {
    pub(super) document: Document,
    pub(super) namespace: String,
    pub(super) components: Vec<Component>,
    pub(super) warnings: Diagnostics,
}

/// One component with its parameters written into its workload.
#[derive(Debug, Clone)]
pub(super) struct Component {
    pub(super) name: String,
    /// Name of the revision used; "" while none was cut.
    pub(super) revision: String,
    pub(super) workload: Json,
    pub(super) traits: Vec<Trait>,
    pub(super) scopes: Vec<Scope>,
    pub(super) path: String,
    pub(super) flow: Flow,
}

#[derive(Debug, Clone)]
pub(super) struct Trait {
    pub(super) object: Json,
    /// The entry of the configuration: names are made from it.
    pub(super) entry: Json,
    pub(super) definition: Option<Arc<Definition>>,
    pub(super) path: String,
    pub(super) flow: Flow,
}

#[derive(Debug, Clone)]
pub(super) struct Scope {
    pub(super) key: ObjectKey,
    /// Where the scope lists its workloads; "" if it does not.
    pub(super) workload_refs_path: String,
}

impl Parsed {
    /// The configuration as written.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// What is doubtful.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }
}

fn namespace(document: &Document) -> &str {
    match document.namespace() {
        "" => crate::parse::DEFAULT_NAMESPACE,
        namespace => namespace,
    }
}

/// The component or revision an entry names.
fn component_key(entry: &Json, namespace: &str) -> Option<ObjectKey> {
    let (api_version, kind, name) = match (text(entry, &["revisionName"]), text(entry, &["componentName"])) {
        ("", "") => return None,
        ("", component) => (API_VERSION, "Component", component),
        (revision, _) => ("apps/v1", "ControllerRevision", revision),
    };
    Some(key(api_version, kind, namespace, name))
}

fn key(api_version: &str, kind: &str, namespace: &str, name: &str) -> ObjectKey {
    ObjectKey {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

/// What the configuration still needs, given what the snapshot has: fetch, add, ask again until nothing is
/// asked that was not asked before.
pub fn references(document: &Document, snapshot: &Snapshot) -> References {
    let mut references = References::default();
    let namespace = namespace(document);
    let definition = |kind: DefinitionKind, label: &str, object: &Json, references: &mut References| {
        let (api_version, object_kind) = (text(object, &["apiVersion"]), text(object, &["kind"]));
        match definition_name(snapshot, label, object) {
            Some(name) => drop(references.definitions.insert((kind, name))),
            None if !object_kind.is_empty() => {
                references.kinds.insert((api_version.to_owned(), object_kind.to_owned()));
            }
            None => {}
        }
    };
    for entry in items(document.value(), &["spec", "components"]) {
        if let Some(key) = component_key(entry, namespace) {
            if let Some(component) = snapshot.object(&key) {
                let spec = component.get("data").unwrap_or(component).get("spec");
                if let Some(workload) = spec.and_then(|spec| spec.get("workload")) {
                    definition(DefinitionKind::Workload, labels::WORKLOAD_TYPE, workload, &mut references);
                    let name = match text(workload, &["metadata", "name"]) {
                        "" => text(entry, &["componentName"]),
                        name => name,
                    };
                    let (api_version, kind) = (text(workload, &["apiVersion"]), text(workload, &["kind"]));
                    references.objects.insert(self::key(api_version, kind, namespace, name));
                }
            }
            references.objects.insert(key);
        }
        for trait_ in items(entry, &["traits"]) {
            if let Some(object) = trait_.get("trait") {
                definition(DefinitionKind::Trait, labels::TRAIT_TYPE, object, &mut references);
            }
        }
        for scope in items(entry, &["scopes"]).iter().filter_map(|scope| scope.get("scopeRef")) {
            references.objects.insert(scope_key(scope, namespace));
            definition(DefinitionKind::Scope, "", scope, &mut references);
        }
    }
    references
}

fn scope_key(reference: &Json, namespace: &str) -> ObjectKey {
    let part = |field| text(reference, &[field]);
    key(part("apiVersion"), part("kind"), namespace, part("name"))
}

/// The label if there is one, else `<plural>.<group>`; nothing while discovery has not told the plural.
fn definition_name(snapshot: &Snapshot, label: &str, object: &Json) -> Option<String> {
    let labelled = object
        .get("metadata")
        .and_then(|m| m.get("labels"))
        .and_then(|l| l.get(label))
        .and_then(Json::as_str);
    if let Some(name) = labelled.filter(|name| !name.is_empty()) {
        return Some(name.to_owned());
    }
    let api_version = text(object, &["apiVersion"]);
    let resource = snapshot.resource(api_version, text(object, &["kind"]))?;
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    Some(format!("{}.{group}", resource.plural))
}

/// Resolves a configuration against the snapshot. All errors are reported together.
pub fn parse(document: &Document, snapshot: &Snapshot) -> Result<Parsed, Diagnostics> {
    if document.kind() != KIND {
        let message = format!("expected an {KIND}, found {:?}", document.kind());
        return Err(Diagnostic::error(Code::WrongKind, message).at(document, "kind").into());
    }
    let namespace = namespace(document).to_owned();
    let (flows, found) = data::flows(document, &namespace);
    let mut parser = Parser { document, snapshot, namespace: &namespace, flows, found };
    let mut components = Vec::new();
    for (index, entry) in items(document.value(), &["spec", "components"]).iter().enumerate() {
        components.extend(parser.component(format!("spec.components[{index}]"), entry));
    }
    let (components, warnings) = parser.found.or(components)?;
    Ok(Parsed { document: document.clone(), namespace, components, warnings })
}

struct Parser<'a> {
    document: &'a Document,
    snapshot: &'a Snapshot,
    namespace: &'a str,
    flows: BTreeMap<String, Flow>,
    found: Diagnostics,
}

impl Parser<'_> {
    fn error(
        &mut self,
        code: Code,
        path: impl Into<String>,
        message: impl Into<String>,
        hint: Option<String>,
    ) {
        self.found.push(Diagnostic::error(code, message).at(self.document, path).hint_opt(hint));
    }

    fn component(&mut self, path: String, entry: &Json) -> Option<Component> {
        let flow = self.flow(&path);
        let Some(key) = component_key(entry, self.namespace) else {
            self.error(Code::MissingField, path, "a component needs componentName or revisionName", None);
            return None;
        };
        let pinned = text(entry, &["revisionName"]);
        let Some(object) = self.snapshot.object(&key) else {
            let field = if pinned.is_empty() { "componentName" } else { "revisionName" };
            let message = format!("{key} does not exist");
            self.error(
                Code::UnknownReference,
                format!("{path}.{field}"),
                message,
                Some("apply it as well".to_owned()),
            );
            return None;
        };
        let component = if pinned.is_empty() { object } else { object.get("data").unwrap_or(object) };
        let (name, revision) = match pinned {
            "" => (key.name.as_str(), latest(component).map_or("", |(name, _)| name)),
            pinned => (component_of(pinned), pinned),
        };
        let mut workload =
            component.get("spec").and_then(|spec| spec.get("workload")).cloned().unwrap_or(Json::Null);
        if !workload.is_object() {
            let message = format!("{key} has no spec.workload (found {})", type_name(&workload));
            self.error(Code::MissingField, path, message, None);
            return None;
        }
        self.parameters(&path, entry, component, &mut workload);
        let traits = self.traits(&path, entry);
        let scopes = self.scopes(&path, entry);
        Some(Component {
            name: name.to_owned(),
            revision: revision.to_owned(),
            workload,
            traits,
            scopes,
            path,
            flow,
        })
    }

    /// The data flow of an entry; it was read, and checked as a whole, before.
    fn flow(&mut self, path: &str) -> Flow {
        self.flows.remove(path).unwrap_or_default()
    }

    /// Writes the parameter values into the workload; the last value of a name counts.
    fn parameters(&mut self, path: &str, entry: &Json, component: &Json, workload: &mut Json) {
        let declared = items(component, &["spec", "parameters"]);
        let values = items(entry, &["parameterValues"]);
        for (index, value) in values.iter().enumerate() {
            let name = text(value, &["name"]);
            if !declared.iter().any(|parameter| text(parameter, &["name"]) == name) {
                let known: Vec<&str> = declared.iter().map(|parameter| text(parameter, &["name"])).collect();
                let hint = nearest::advice(name, "parameters", known.iter().copied());
                let path = format!("{path}.parameterValues[{index}].name");
                self.error(Code::UnknownParameter, path, format!("unsupported parameter {name:?}"), hint);
            }
        }
        for parameter in declared {
            let name = text(parameter, &["name"]);
            let given = values.iter().enumerate().rev().find(|(_, value)| text(value, &["name"]) == name);
            let Some((index, value)) = given else {
                if parameter.get("required") == Some(&Json::Bool(true)) {
                    let message = format!("required parameter {name:?} not specified");
                    self.error(Code::Parameter, path, message, None);
                }
                continue;
            };
            let value = value.get("value").cloned().unwrap_or(Json::Null);
            for field in items(parameter, &["fieldPaths"]).iter().filter_map(Json::as_str) {
                if let Err(error) = field_path::set(workload, field, value.clone()) {
                    let message = format!("parameter {name:?} cannot be written: {error}");
                    self.error(Code::Parameter, format!("{path}.parameterValues[{index}]"), message, None);
                }
            }
        }
    }

    fn traits(&mut self, path: &str, entry: &Json) -> Vec<Trait> {
        let mut traits = Vec::new();
        for (index, entry) in items(entry, &["traits"]).iter().enumerate() {
            let path = format!("{path}.traits[{index}]");
            let flow = self.flow(&path);
            let object = entry.get("trait").cloned().unwrap_or(Json::Null);
            if text(&object, &["kind"]).is_empty() || text(&object, &["apiVersion"]).is_empty() {
                self.error(
                    Code::MissingField,
                    format!("{path}.trait"),
                    "a trait needs apiVersion and kind",
                    None,
                );
                continue;
            }
            // A trait nobody defined is applied as it is; its status says so.
            let name = definition_name(self.snapshot, labels::TRAIT_TYPE, &object);
            let definition =
                name.and_then(|name| self.snapshot.definition(DefinitionKind::Trait, &name).cloned());
            traits.push(Trait { object, entry: entry.clone(), definition, path, flow });
        }
        traits
    }

    fn scopes(&mut self, path: &str, entry: &Json) -> Vec<Scope> {
        let mut scopes = Vec::new();
        for (index, entry) in items(entry, &["scopes"]).iter().enumerate() {
            let path = format!("{path}.scopes[{index}].scopeRef");
            let reference = entry.get("scopeRef").cloned().unwrap_or(Json::Null);
            let key = scope_key(&reference, self.namespace);
            if self.snapshot.object(&key).is_none() {
                self.error(Code::UnknownReference, path, format!("scope {key} does not exist"), None);
                continue;
            }
            let name = definition_name(self.snapshot, "", &reference);
            let definition = name.and_then(|name| self.snapshot.definition(DefinitionKind::Scope, &name));
            let Some(definition) = definition else {
                let message = format!("no ScopeDefinition for {} {}", key.api_version, key.kind);
                self.error(Code::UnknownDefinition, path, message, None);
                continue;
            };
            let workload_refs_path = definition.text(&["workloadRefsPath"]).to_owned();
            scopes.push(Scope { key, workload_refs_path });
        }
        scopes
    }
}
