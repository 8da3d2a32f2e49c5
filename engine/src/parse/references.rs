//! Lists the definitions that must be in the snapshot before an Application can be parsed.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::COMPONENT_LIMIT;
use crate::definition::DefinitionKind;
use crate::manifest::Document;
use crate::names;
use crate::observed::ObjectKey;
use crate::policy;
use crate::workflow::BUILT_IN_STEPS;

/// The needs of a document in the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct References {
    /// Definitions by kind and name. A component type is asked for as ComponentDefinition and as
    /// WorkloadDefinition; either will do. Absent ones are left out of the snapshot: parsing says so.
    pub definitions: BTreeSet<(DefinitionKind, String)>,
    /// Objects by identity (v1alpha2: components, revisions, scopes). Absent ones are left out.
    pub objects: BTreeSet<ObjectKey>,
    /// Kinds (`apiVersion`, `kind`) whose resource name is needed from API discovery.
    pub kinds: BTreeSet<(String, String)>,
    /// Resources (`<plural>.<group>`, version or "") whose kind is needed: definitions register their kind so.
    pub registered: BTreeSet<(String, String)>,
}

impl References {
    /// Asks for what the other one asks for as well.
    pub fn include(&mut self, other: &Self) {
        self.definitions.extend(other.definitions.iter().cloned());
        self.objects.extend(other.objects.iter().cloned());
        self.kinds.extend(other.kinds.iter().cloned());
        self.registered.extend(other.registered.iter().cloned());
    }

    /// Without values that cannot be a name: no object has them, no reader asks for them, and parsing says so.
    pub(crate) fn askable(mut self) -> Self {
        self.definitions.retain(|(_, name)| names::is_type(name));
        self.objects.retain(|key| names::is_subdomain(&key.name) && names::is_label(&key.namespace));
        self
    }
}

/// The needs of an Application. Never fails: `parse` reports unreadable parts.
pub fn references(application: &Document) -> References {
    let mut references = References::default();
    let mut need = |kind: DefinitionKind, name: Option<&str>| {
        if let Some(name) = name {
            references.definitions.insert((kind, name.to_owned()));
            if let Some((latest, _)) = name.split_once('@') {
                references.definitions.insert((kind, latest.to_owned()));
            }
        }
    };
    let spec = application.value().get("spec");
    let overridden = spec.and_then(|spec| policy::overridden(spec.as_object()?, COMPONENT_LIMIT));
    // Steps may deploy other types than are written.
    let deployed = spec.and_then(Json::as_object).map(|spec| policy::deployments(spec, COMPONENT_LIMIT));
    let deployed = deployed.iter().flatten().flat_map(|deployment| deployment.components.iter().flatten());
    for component in items(spec, "components").chain(overridden.iter().flatten()).chain(deployed) {
        let type_ = component.get("type").and_then(Json::as_str);
        need(DefinitionKind::Component, type_);
        need(DefinitionKind::Workload, type_);
        for trait_ in items(Some(component), "traits") {
            let name = trait_.get("type").or_else(|| trait_.get("name"));
            need(DefinitionKind::Trait, name.and_then(Json::as_str));
        }
    }
    // The code of built-in policies is not in their definitions; a definition of a named version, or of another policy, must
    // exist all the same.
    let is_built_in = |kind, type_: &str| match kind {
        DefinitionKind::Policy => policy::is_built_in(type_),
        _ => BUILT_IN_STEPS.contains(&type_),
    };
    let steps = spec.and_then(|spec| spec.get("workflow"));
    for (kind, written) in [
        (DefinitionKind::Policy, items(spec, "policies").collect::<Vec<_>>()),
        (DefinitionKind::WorkflowStep, items(steps, "steps").flat_map(with_sub_steps).collect()),
    ] {
        let types = written.into_iter().filter_map(|written| written.get("type")?.as_str());
        let is_needed = |type_: &&str| type_.contains('@') || !is_built_in(kind, type_);
        types.filter(is_needed).for_each(|type_| need(kind, Some(type_)));
    }
    references.objects.extend(super::named_workflow(application));
    references.objects.extend(super::named_policies(application));
    for name in super::scopes::types(application) {
        references.definitions.insert((DefinitionKind::Scope, name.to_owned()));
    }
    references.askable()
}

/// A step, and those of its group.
fn with_sub_steps(step: &Json) -> impl Iterator<Item = &Json> {
    std::iter::once(step).chain(items(Some(step), "subSteps"))
}

fn items<'a>(value: Option<&'a Json>, field: &str) -> impl Iterator<Item = &'a Json> {
    value.and_then(|value| value.get(field)).and_then(Json::as_array).into_iter().flatten()
}
