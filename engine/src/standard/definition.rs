//! Finds the names under which a workload's definition is looked for, and the kinds of its children.

use serde_json::Value;
use vela_crds::{ChildResourceKind, labels};

/// The part of a workload's definition that traits need, for every kind of definition.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Definition {
    /// Kinds the workload makes.
    pub children: Vec<ChildResourceKind>,
    /// Where the workload holds its pod spec.
    pub pod_spec_path: Option<String>,
    /// The workload holds a pod template at `spec.template`.
    pub podspecable: bool,
}

impl Definition {
    /// Reads a WorkloadDefinition or ComponentDefinition.
    #[must_use]
    pub fn read(definition: &Value) -> Self {
        let spec = &definition["spec"];
        let children = spec["childResourceKinds"].as_array().cloned().unwrap_or_default();
        let podspecable = definition["metadata"]["labels"][labels::WORKLOAD_PODSPECABLE].as_str();
        Self {
            children: children.into_iter().filter_map(|kind| serde_json::from_value(kind).ok()).collect(),
            pod_spec_path: spec["podSpecPath"].as_str().filter(|path| !path.is_empty()).map(str::to_owned),
            podspecable: podspecable.is_some_and(is_true),
        }
    }
}

/// The words for yes that labels have always known.
fn is_true(word: &str) -> bool {
    matches!(word, "1" | "t" | "T" | "true" | "TRUE" | "True")
}

/// The names under which a workload's definition may be found, best first: what its label says, then its resource.
#[must_use]
pub fn names(workload: &Value, plural: &str, group: &str) -> Vec<String> {
    let labelled = workload["metadata"]["labels"][labels::WORKLOAD_TYPE].as_str();
    let mut names: Vec<String> =
        labelled.filter(|name| !name.is_empty()).map(str::to_owned).into_iter().collect();
    names.push(if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") });
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_label_goes_before_the_resource() {
        let workload = json!({"metadata": {"labels": {"workload.oam.dev/type": "web"}}});
        assert_eq!(names(&workload, "deployments", "apps"), ["web", "deployments.apps"]);
        assert_eq!(names(&json!({}), "services", ""), ["services"]);
    }

    #[test]
    fn both_kinds_of_definition_are_read() {
        let definition = Definition::read(&json!({
            "metadata": {"labels": {"workload.oam.dev/podspecable": "T"}},
            "spec": {"podSpecPath": "spec.pod", "childResourceKinds": [{"apiVersion": "v1", "kind": "Service"}, 7]},
        }));
        assert!(definition.podspecable);
        assert_eq!(definition.pod_spec_path.as_deref(), Some("spec.pod"));
        assert_eq!(definition.children.len(), 1);
        assert_eq!(Definition::read(&json!({})), Definition::default());
    }
}
