//! One built-in definition and its manifest.

use serde_json::{Map, Value, json};

/// One built-in definition.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// Name users write as `type`.
    pub name: &'static str,
    /// Kind of definition.
    pub kind: Kind,
    /// Text for users.
    pub description: &'static str,
    /// The CUE template; definitions of plain resources have none.
    pub template: Option<&'static str>,
    /// How health and a line for people are read from the objects.
    pub status: StatusTexts,
    /// The fields of a definition outside its CUE text.
    pub attributes: Attributes,
}

/// Kind of definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// ComponentDefinition.
    Component,
    /// TraitDefinition.
    Trait,
    /// WorkloadDefinition.
    Workload,
    /// ScopeDefinition.
    Scope,
    /// PolicyDefinition.
    Policy,
    /// WorkflowStepDefinition.
    WorkflowStep,
}

/// CUE texts that read the state of objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusTexts {
    /// Yields `isHealth`.
    pub health: Option<&'static str>,
    /// Yields `message`.
    pub message: Option<&'static str>,
}

/// The fields of a definition outside its CUE text, by kind of definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attributes {
    /// Of a component.
    Component {
        /// API version and kind of its workload; absent when only the template knows.
        workload: Option<(&'static str, &'static str)>,
        /// Name of its WorkloadDefinition.
        workload_type: &'static str,
    },
    /// Of a trait.
    Trait {
        /// Workloads it may be attached to; empty means all.
        applies_to: &'static [&'static str],
        /// A change of it restarts pods.
        pod_disruptive: bool,
        /// When it is dispatched, where that is not with the workload.
        stage: Option<&'static str>,
        /// The resource behind it, for traits without a template.
        resource: Option<&'static str>,
        /// Where the workload's reference goes in it.
        workload_ref_path: Option<&'static str>,
        /// A component of an ApplicationConfiguration has a workload for each revision with it.
        revision_enabled: bool,
    },
    /// Of a workload kind.
    Workload {
        /// The resource behind it.
        resource: &'static str,
        /// API versions and kinds of what it makes.
        children: &'static [(&'static str, &'static str)],
    },
    /// Of a scope kind.
    Scope {
        /// The resource behind it.
        resource: &'static str,
        /// Where the workloads' references go in it.
        workload_refs_path: &'static str,
        /// A component may be in several scopes of the kind.
        allow_component_overlap: bool,
    },
    /// Of a policy.
    Policy,
    /// Of a workflow step.
    WorkflowStep,
}

impl Kind {
    /// The kind as manifests spell it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Component => "ComponentDefinition",
            Self::Trait => "TraitDefinition",
            Self::Workload => "WorkloadDefinition",
            Self::Scope => "ScopeDefinition",
            Self::Policy => "PolicyDefinition",
            Self::WorkflowStep => "WorkflowStepDefinition",
        }
    }
}

impl Definition {
    /// The definition as a v1beta1 object in a namespace.
    pub fn manifest(&self, namespace: &str) -> Value {
        json!({
            "apiVersion": "core.oam.dev/v1beta1",
            "kind": self.kind.as_str(),
            "metadata": {
                "name": self.name,
                "namespace": namespace,
                "annotations": { "definition.oam.dev/description": self.description },
            },
            "spec": self.spec(),
        })
    }

    /// The `spec` of the definition's object.
    pub fn spec(&self) -> Value {
        let mut spec = Map::new();
        let mut set = |key: &str, value: Value| spec.insert(key.to_owned(), value);
        match self.attributes {
            Attributes::Component { workload, workload_type } => {
                let mut descriptor = json!({ "type": workload_type });
                if let Some((api_version, kind)) = workload {
                    descriptor["definition"] = json!({ "apiVersion": api_version, "kind": kind });
                }
                set("workload", descriptor);
            }
            Attributes::Trait {
                applies_to,
                pod_disruptive,
                stage,
                resource,
                workload_ref_path,
                revision_enabled,
            } => {
                set("podDisruptive", json!(pod_disruptive));
                if !applies_to.is_empty() {
                    set("appliesToWorkloads", json!(applies_to));
                }
                if let Some(stage) = stage {
                    set("stage", json!(stage));
                }
                if let Some(resource) = resource {
                    set("definitionRef", json!({ "name": resource }));
                }
                if let Some(path) = workload_ref_path {
                    set("workloadRefPath", json!(path));
                }
                if revision_enabled {
                    set("revisionEnabled", json!(true));
                }
            }
            Attributes::Workload { resource, children } => {
                set("definitionRef", json!({ "name": resource }));
                let children: Vec<Value> = children
                    .iter()
                    .map(|(api_version, kind)| json!({ "apiVersion": api_version, "kind": kind }))
                    .collect();
                set("childResourceKinds", json!(children));
            }
            Attributes::Scope { resource, workload_refs_path, allow_component_overlap } => {
                set("definitionRef", json!({ "name": resource }));
                set("workloadRefsPath", json!(workload_refs_path));
                set("allowComponentOverlap", json!(allow_component_overlap));
            }
            Attributes::Policy | Attributes::WorkflowStep => {}
        }
        if let Some(template) = self.template {
            set("schematic", json!({ "cue": { "template": template } }));
        }
        if self.status != StatusTexts::default() {
            let mut status = Map::new();
            for (key, text) in [("healthPolicy", self.status.health), ("customStatus", self.status.message)] {
                if let Some(text) = text {
                    status.insert(key.to_owned(), json!(text));
                }
            }
            set("status", Value::Object(status));
        }
        Value::Object(spec)
    }
}
