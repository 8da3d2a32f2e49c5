//! The mistakes that admission refuses in an ApplicationConfiguration: content that no reconcile could read, and
//! forbidden combinations.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value as Json;
use vela_crds::labels;

use super::parse::{Component, Parsed, component_key, definition_name, resolve};
use super::render;
use super::resource_names::is_controlled_by_application;
use super::{items, text};
use crate::definition::{Definition, DefinitionKind};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::label_selector::LabelSelector;
use crate::manifest::Document;
use crate::nearest;
use crate::snapshot::Snapshot;

/// Every mistake of a configuration, in the order of its components. A reconcile is more generous: it reads traits
/// written by name itself and makes workloads without a definition.
pub fn check(document: &Document, snapshot: &Snapshot) -> Diagnostics {
    let (parsed, found) = match resolve(document, snapshot) {
        Ok(resolved) => resolved,
        Err(errors) => return errors,
    };
    let mut rules = Rules { parsed: &parsed, snapshot, found };
    let by_path: BTreeMap<&str, &Component> =
        parsed.components.iter().map(|c| (c.path.as_str(), c)).collect();
    for (index, entry) in items(document.value(), &["spec", "components"]).iter().enumerate() {
        let path = format!("spec.components[{index}]");
        rules.names(&path, entry);
        rules.spelling(&path, entry);
        if let Some(component) = by_path.get(path.as_str()) {
            rules.component(entry, component);
        }
    }
    let mut found = rules.found;
    if !found.has_errors()
        && let Ok(rendered) = render::render(&parsed, snapshot)
    {
        for object in rendered.components().iter().flat_map(render::RenderedComponent::objects) {
            let place = (document, object.path.as_str());
            snapshot.bounds().judge(&object.object, rendered.namespace(), place, &mut found);
        }
    }
    found
}

struct Rules<'a> {
    parsed: &'a Parsed,
    snapshot: &'a Snapshot,
    found: Diagnostics,
}

impl Rules<'_> {
    fn error(&mut self, code: Code, path: &str, message: String, hint: Option<String>) {
        self.found.push(Diagnostic::error(code, message).at(&self.parsed.document, path).hint_opt(hint));
    }

    fn names(&mut self, path: &str, entry: &Json) {
        let (component, revision) = (text(entry, &["componentName"]), text(entry, &["revisionName"]));
        if !component.is_empty() && !revision.is_empty() {
            let message = format!(
                "componentName {component:?} and revisionName {revision:?} are mutually exclusive, you can only specify one of them"
            );
            self.error(Code::WrongType, &format!("{path}.revisionName"), message, None);
        }
    }

    /// A stored trait says its kind: no later step converts it.
    fn spelling(&mut self, path: &str, entry: &Json) {
        for (index, entry) in items(entry, &["traits"]).iter().enumerate() {
            let Some(written) = entry.get("trait") else { continue };
            for (field, hint) in [
                ("name", "write apiVersion and kind, or have the mutating webhook convert it"),
                ("properties", "write it as spec"),
            ] {
                if written.get(field).is_some() {
                    let path = format!("{path}.traits[{index}].trait.{field}");
                    let message = format!("the trait contains `{field}`");
                    self.error(Code::UnknownField, &path, message, Some(hint.to_owned()));
                }
            }
        }
    }

    fn component(&mut self, entry: &Json, component: &Component) {
        let workload = self.workload_definition(component);
        let defined: Vec<(String, Arc<Definition>)> = component
            .traits
            .iter()
            .filter_map(|trait_| Some((trait_.path.clone(), trait_.definition.clone()?)))
            .collect();
        self.version_enabled(entry, component, &defined);
        if let Some(workload) = workload {
            for (path, definition) in &defined {
                self.applies(path, definition, &workload, &component.name);
            }
        }
        // Two traits of one definition never conflict, so each definition is looked at once.
        let mut names = BTreeSet::new();
        let distinct: Vec<_> =
            defined.iter().filter(|(_, definition)| names.insert(definition.name().to_owned())).collect();
        self.conflicts(component, &distinct);
    }

    fn workload_definition(&mut self, component: &Component) -> Option<Arc<Definition>> {
        let (api_version, kind) =
            (text(&component.workload, &["apiVersion"]), text(&component.workload, &["kind"]));
        let field = if component.pinned.is_empty() { "componentName" } else { "revisionName" };
        let path = format!("{}.{field}", component.path);
        if api_version.is_empty() || kind.is_empty() {
            let message =
                format!("the workload of component {:?} has no apiVersion and kind", component.name);
            self.error(Code::MissingField, &path, message, Some("correct the component".to_owned()));
            return None;
        }
        let Some(name) = definition_name(self.snapshot, labels::WORKLOAD_TYPE, &component.workload) else {
            let message = format!(
                "the cluster does not know {api_version} {kind}, the workload of component {:?}",
                component.name
            );
            self.error(Code::UnknownDefinition, &path, message, Some("install its CRD first".to_owned()));
            return None;
        };
        let found = self.snapshot.definition(DefinitionKind::Workload, &name).cloned();
        // Admission judged the Application of a generated configuration, and its workloads may be of a
        // ComponentDefinition.
        if found.is_none() && !is_controlled_by_application(self.parsed.document.value()) {
            let message = format!(
                "workload definition {name:?} not found, which the workload of component {:?} needs",
                component.name
            );
            let known = self.snapshot.names(DefinitionKind::Workload);
            let hint = nearest::did_you_mean(&name, known.iter().copied());
            let hint = hint.unwrap_or_else(|| "apply the WorkloadDefinition first".to_owned());
            self.error(Code::UnknownDefinition, &path, message, Some(hint));
        }
        found
    }

    /// Each revision of a component needs a workload with a name of its own, so the author may not name it.
    fn version_enabled(
        &mut self,
        entry: &Json,
        component: &Component,
        defined: &[(String, Arc<Definition>)],
    ) {
        let enabled =
            |definition: &Definition| definition.spec().get("revisionEnabled") == Some(&Json::Bool(true));
        let Some((_, by)) = defined.iter().find(|(_, definition)| enabled(definition)) else { return };
        let stored = component_key(entry, &self.parsed.namespace);
        let stored = stored.and_then(|key| self.snapshot.object(&key)).cloned().unwrap_or(Json::Null);
        let stored = stored.get("data").unwrap_or(&stored);
        let advice = format!(
            "leave it empty: trait {:?} makes a workload per revision, named after the revision",
            by.name()
        );
        let given = text(stored, &["spec", "workload", "metadata", "name"]);
        if !given.is_empty() {
            let message = format!(
                "component {:?} is versioned, but its workload has the non-empty name {given:?}",
                component.name
            );
            let path = format!("{}.traits", component.path);
            self.error(Code::WrongWorkload, &path, message, Some(advice.clone()));
        }
        for (index, value) in items(entry, &["parameterValues"]).iter().enumerate() {
            let name = text(value, &["name"]);
            let declared =
                items(stored, &["spec", "parameters"]).iter().filter(|p| text(p, &["name"]) == name);
            let names_it = declared
                .flat_map(|parameter| items(parameter, &["fieldPaths"]))
                .filter_map(Json::as_str)
                .any(|path| path.contains("metadata.name"));
            if names_it {
                let message = format!(
                    "component {:?} is versioned, but parameter {name:?} gives its workload a non-empty name",
                    component.name
                );
                let path = format!("{}.parameterValues[{index}]", component.path);
                self.error(Code::WrongWorkload, &path, message, Some(advice.clone()));
            }
        }
    }

    fn applies(&mut self, path: &str, definition: &Definition, workload: &Definition, component: &str) {
        let allowed = definition.applies_to();
        let resource = definition_ref(workload);
        let applies = allowed.is_empty()
            || allowed.iter().any(|entry| {
                *entry == "*"
                    || *entry == resource
                    || *entry == workload.name()
                    || entry.strip_prefix("*.").is_some_and(|group| group == group_of(resource))
            });
        if !applies {
            let message = format!(
                "the trait {:?} cannot apply to workload {:?} of component {component:?} (appliable: [{}])",
                definition.name(),
                workload.name(),
                allowed.join(" ")
            );
            self.error(Code::WrongWorkload, path, message, None);
        }
    }

    fn conflicts(&mut self, component: &Component, defined: &[&(String, Arc<Definition>)]) {
        for (path, definition) in defined {
            let rules = items(definition.spec(), &["conflictsWith"]).iter().filter_map(Json::as_str);
            for rule in rules {
                if rule == "*" {
                    if component.traits.len() > 1 {
                        let (name, component) = (definition.name(), &component.name);
                        let message = format!(
                            "trait {name:?} of component {component:?} conflicts with all other traits"
                        );
                        self.error(Code::Collision, path, message, None);
                    }
                    continue;
                }
                self.conflicts_by(path, rule, definition, defined, &component.name);
            }
        }
    }

    fn conflicts_by(
        &mut self,
        path: &str,
        rule: &str,
        definition: &Definition,
        defined: &[&(String, Arc<Definition>)],
        component: &str,
    ) {
        let selector = match rule.strip_prefix("labelSelector:").map(LabelSelector::parse).transpose() {
            Ok(selector) => selector,
            Err(wrong) => {
                let message =
                    format!("conflictsWith rule {rule:?} of {} is no selector: {wrong}", definition.title());
                self.error(Code::BadDefinition, path, message, Some("correct the definition".to_owned()));
                return;
            }
        };
        let meets = |other: &Definition| match (&selector, rule.strip_prefix("*.")) {
            (Some(selector), _) => {
                let metadata = other.object().get("metadata");
                selector.matches(metadata.and_then(|m| m.get("labels")).and_then(Json::as_object))
            }
            (None, Some(group)) => group == group_of(definition_ref(other)),
            (None, None) => rule == definition_ref(other) || rule == other.name(),
        };
        for (_, other) in defined {
            if other.name() != definition.name() && meets(other) {
                let message = format!(
                    "conflict(rule: {rule:?}) between traits ({:?} and {:?}) of component {component:?} is detected",
                    definition.name(),
                    other.name()
                );
                self.error(Code::Collision, path, message, None);
            }
        }
    }
}

fn definition_ref(definition: &Definition) -> &str {
    definition.text(&["definitionRef", "name"])
}

fn group_of(resource: &str) -> &str {
    resource.split_once('.').map_or("", |(_, group)| group)
}
