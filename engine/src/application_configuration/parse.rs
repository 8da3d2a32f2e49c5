//! Parses an ApplicationConfiguration against a snapshot into components, parameters, traits and scopes, or into all
//! diagnostics.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;
use vela_crds::labels;

use super::data::{self, Flow};
use super::recorded_reference::recorded_key;
use super::revision::{component_of, latest};
use super::{API_VERSION, KIND, items, text, type_resolution};
use crate::definition::{Definition, DefinitionKind};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::field_path::{self, type_name};
use crate::manifest::Document;
use crate::nearest;
use crate::observed::ObjectKey;
use crate::parse::{References, resource_of};
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
    /// The revision the configuration asks for; "" for the latest.
    pub(super) pinned: String,
    /// The latest revision by the component, or by its revision; "" while none was cut.
    pub(super) latest: String,
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

    /// The warnings.
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
pub fn component_key(entry: &Json, namespace: &str) -> Option<ObjectKey> {
    let (api_version, kind, name) = match (text(entry, &["revisionName"]), text(entry, &["componentName"])) {
        ("", "") => return None,
        ("", component) => (API_VERSION, "Component", component),
        (revision, _) => ("apps/v1", "ControllerRevision", revision),
    };
    Some(key(api_version, kind, namespace, name))
}

fn key(api_version: &str, kind: &str, namespace: &str, name: &str) -> ObjectKey {
    ObjectKey::local(api_version, kind, namespace, name)
}

/// The objects that the configuration still needs beside the snapshot: fetch, add, ask again until it asks for no new
/// one.
pub fn references(document: &Document, snapshot: &Snapshot) -> References {
    let mut asked = ReferenceCollector {
        document,
        snapshot,
        namespace: namespace(document),
        references: References::default(),
    };
    for entry in items(document.value(), &["spec", "components"]) {
        asked.component(entry);
        for trait_ in items(entry, &["traits"]).iter().filter_map(|entry| entry.get("trait")) {
            asked.trait_(trait_);
        }
        for scope in items(entry, &["scopes"]).iter().filter_map(|scope| scope.get("scopeRef")) {
            asked.references.objects.insert(scope_key(scope, asked.namespace));
            asked.definition(DefinitionKind::Scope, "", scope);
        }
    }
    asked.references.askable()
}

struct ReferenceCollector<'a> {
    document: &'a Document,
    snapshot: &'a Snapshot,
    namespace: &'a str,
    references: References,
}

impl ReferenceCollector<'_> {
    fn component(&mut self, entry: &Json) {
        let Some(key) = component_key(entry, self.namespace) else { return };
        let found = self.snapshot.object(&key);
        self.references.objects.insert(key);
        let Some(component) = found.map(|found| found.get("data").unwrap_or(found)) else { return };
        let name = type_resolution::workload_type(
            component.get("spec").and_then(|s| s.get("workload")).unwrap_or(&Json::Null),
        );
        self.typed(DefinitionKind::Workload, name);
        let Some(workload) = workload_of(component, self.snapshot) else { return };
        self.definition(DefinitionKind::Workload, labels::WORKLOAD_TYPE, &workload);
        self.kind(&workload);
        // The workload that an earlier reconcile made may keep its name.
        let recorded = items(self.document.value(), &["status", "workloads"]);
        for recorded in recorded.iter().filter_map(|entry| entry.get("workloadRef")) {
            self.references.objects.extend(recorded_key(recorded, &workload, self.namespace));
        }
    }

    fn trait_(&mut self, trait_: &Json) {
        self.typed(DefinitionKind::Trait, type_resolution::trait_type(trait_));
        match type_resolution::trait_object(trait_, self.snapshot) {
            Ok(Some(object)) => self.kind(&object),
            Ok(None) => {
                self.definition(DefinitionKind::Trait, labels::TRAIT_TYPE, trait_);
                self.kind(trait_);
            }
            Err(_) => {}
        }
    }

    /// A definition by its own name, and the kind it registers.
    fn typed(&mut self, kind: DefinitionKind, name: &str) {
        if name.is_empty() {
            return;
        }
        self.references.definitions.insert((kind, name.to_owned()));
        if let Some(definition) = self.snapshot.definition(kind, name) {
            self.references.registered.insert(resource_of(definition));
        }
    }

    fn definition(&mut self, kind: DefinitionKind, label: &str, object: &Json) {
        match definition_name(self.snapshot, label, object) {
            Some(name) => drop(self.references.definitions.insert((kind, name))),
            None => self.kind(object),
        }
    }

    fn kind(&mut self, object: &Json) {
        let (api_version, kind) = (text(object, &["apiVersion"]), text(object, &["kind"]));
        if !kind.is_empty() && self.snapshot.resource(api_version, kind).is_none() {
            self.references.kinds.insert((api_version.to_owned(), kind.to_owned()));
        }
    }
}

/// The workload of a component, converted where it is written by type.
fn workload_of(component: &Json, snapshot: &Snapshot) -> Option<Json> {
    match type_resolution::workload_object(component, snapshot) {
        Ok(Some(workload)) => Some(workload),
        Ok(None) => component.get("spec").and_then(|spec| spec.get("workload")).cloned(),
        Err(_) => None,
    }
}

fn scope_key(reference: &Json, namespace: &str) -> ObjectKey {
    let part = |field| text(reference, &[field]);
    key(part("apiVersion"), part("kind"), namespace, part("name"))
}

/// The label if there is one, else `<plural>.<group>`; nothing while discovery has not told the plural.
pub(super) fn definition_name(snapshot: &Snapshot, label: &str, object: &Json) -> Option<String> {
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
///
/// # Errors
/// All findings, when one of them is an error.
pub fn parse(document: &Document, snapshot: &Snapshot) -> Result<Parsed, Diagnostics> {
    let (parsed, found) = resolve(document, snapshot)?;
    if found.has_errors() { Err(found) } else { Ok(parsed) }
}

/// The same, with the components that could be resolved beside the errors of the others: to look for more errors,
/// since nothing of it may be applied.
pub(super) fn resolve(
    document: &Document,
    snapshot: &Snapshot,
) -> Result<(Parsed, Diagnostics), Diagnostics> {
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
    let found = parser.found;
    let warnings = found.iter().filter(|finding| !finding.is_error()).cloned().collect();
    Ok((Parsed { document: document.clone(), namespace, components, warnings }, found))
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
            let (field, noun, kind) = match pinned {
                "" => ("componentName", "component", "Component.core.oam.dev"),
                _ => ("revisionName", "component revision", "ControllerRevision.apps"),
            };
            let message = format!("cannot get {noun} {name:?}: {kind} {name:?} not found", name = key.name);
            let hint = Some("apply it as well".to_owned());
            self.error(Code::UnknownReference, format!("{path}.{field}"), message, hint);
            return None;
        };
        let component = if pinned.is_empty() { object } else { object.get("data").unwrap_or(object) };
        let latest = latest(component).map_or("", |(name, _)| name);
        let (name, revision) = match pinned {
            "" => (key.name.as_str(), latest),
            pinned => (component_of(pinned), pinned),
        };
        let mut workload = match type_resolution::workload_object(component, self.snapshot) {
            Ok(Some(workload)) => workload,
            Ok(None) => {
                component.get("spec").and_then(|spec| spec.get("workload")).cloned().unwrap_or(Json::Null)
            }
            Err(message) => {
                let message = format!("cannot render the workload of component {name:?}: {message}");
                self.error(Code::UnknownDefinition, path, message, None);
                return None;
            }
        };
        if !workload.is_object() {
            let message = format!("{key} has no spec.workload (found {})", type_name(&workload));
            self.error(Code::MissingField, path, message, None);
            return None;
        }
        self.parameters(&path, entry, (name, component), &mut workload);
        let traits = self.traits(&path, entry);
        let scopes = self.scopes(&path, entry);
        Some(Component {
            name: name.to_owned(),
            revision: revision.to_owned(),
            pinned: pinned.to_owned(),
            latest: latest.to_owned(),
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
    fn parameters(
        &mut self,
        path: &str,
        entry: &Json,
        (name, component): (&str, &Json),
        workload: &mut Json,
    ) {
        let wrong = |what: String| format!("cannot resolve parameter values for component {name:?}: {what}");
        let declared = items(component, &["spec", "parameters"]);
        let values = items(entry, &["parameterValues"]);
        for (index, value) in values.iter().enumerate() {
            let name = text(value, &["name"]);
            if !declared.iter().any(|parameter| text(parameter, &["name"]) == name) {
                let known: Vec<&str> = declared.iter().map(|parameter| text(parameter, &["name"])).collect();
                let hint = nearest::advice(name, "parameters", known.iter().copied());
                let path = format!("{path}.parameterValues[{index}].name");
                self.error(
                    Code::UnknownParameter,
                    path,
                    wrong(format!("unsupported parameter {name:?}")),
                    hint,
                );
            }
        }
        for parameter in declared {
            let name = text(parameter, &["name"]);
            let given = values.iter().enumerate().rev().find(|(_, value)| text(value, &["name"]) == name);
            let Some((index, value)) = given else {
                if parameter.get("required") == Some(&Json::Bool(true)) {
                    let message = wrong(format!("required parameter {name:?} not specified"));
                    self.error(Code::Parameter, format!("{path}.parameterValues"), message, None);
                }
                continue;
            };
            let value = value.get("value").cloned().unwrap_or(Json::Null);
            for field in items(parameter, &["fieldPaths"]).iter().filter_map(Json::as_str) {
                if let Err(error) = field_path::set(workload, field, value.clone()) {
                    let message = wrong(format!("parameter {name:?} cannot be written: {error}"));
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
            let written = entry.get("trait").unwrap_or(&Json::Null);
            let object = match type_resolution::trait_object(written, self.snapshot) {
                Ok(Some(object)) => object,
                Ok(None) => written.clone(),
                Err(message) => {
                    self.error(Code::UnknownDefinition, format!("{path}.trait.name"), message, None);
                    continue;
                }
            };
            if text(&object, &["kind"]).is_empty() || text(&object, &["apiVersion"]).is_empty() {
                let message = "a trait needs apiVersion and kind, or the name of its definition";
                self.error(Code::MissingField, format!("{path}.trait"), message, None);
                continue;
            }
            // A trait without a definition is applied as it is; its status says so.
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
                let message = format!(
                    "cannot get scope {} {:?}: not found in namespace {:?}",
                    key.kind, key.name, key.namespace
                );
                self.error(Code::UnknownReference, path, message, None);
                continue;
            }
            let name = definition_name(self.snapshot, "", &reference);
            let definition = name.and_then(|name| self.snapshot.definition(DefinitionKind::Scope, &name));
            let Some(definition) = definition else {
                let message = format!("cannot find scope definition of {} {}", key.api_version, key.kind);
                self.error(Code::UnknownDefinition, path, message, None);
                continue;
            };
            let workload_refs_path = definition.text(&["workloadRefsPath"]).to_owned();
            scopes.push(Scope { key, workload_refs_path });
        }
        scopes
    }
}
