//! Finds what names a definition as a type, so that it is not deleted under what runs by it.

use std::collections::BTreeSet;

use kube::ResourceExt;
use serde_json::{Value, json};
use vela_engine::DefinitionKind;

use crate::applications::{API_VERSION, KIND};
use crate::cluster::Cluster;
use crate::error::Result;
use crate::pointer::text;

/// What uses the definition `name` of `namespace`, as "Application shop/site", in the order of names.
pub(in crate::command) async fn of(
    cluster: &Cluster,
    kind: DefinitionKind,
    namespace: &str,
    name: &str,
) -> Result<Vec<String>> {
    // One of the system namespace is for all that have no own of its name.
    let system = cluster.system_namespace().await?;
    let is_for_all = namespace == system;
    let place = (!is_for_all).then_some(namespace);
    let mut have_own = BTreeSet::new();
    if is_for_all {
        let all = cluster.list(API_VERSION, kind.kind(), None).await?;
        let own = all.iter().filter(|one| one.name_any() == name).filter_map(ResourceExt::namespace);
        have_own = own.filter(|one| one != system).collect();
    }
    let mut users = BTreeSet::new();
    for (api_version, user) in [
        (API_VERSION, KIND),
        ("core.oam.dev/v1alpha1", "Workflow"),
        ("core.oam.dev/v1alpha1", "Policy"),
        (API_VERSION, "ComponentDefinition"),
    ] {
        if !cluster.knows(api_version, user).await? {
            continue;
        }
        for object in cluster.list(api_version, user, place).await? {
            let of = object.namespace().unwrap_or_default();
            if !have_own.contains(&of) && uses(&json!(object), user, kind, name) {
                users.insert(format!("{user} {of}/{}", object.name_any()));
            }
        }
    }
    Ok(users.into_iter().collect())
}

/// Does the object of the kind `user` name the definition?
fn uses(object: &Value, user: &str, kind: DefinitionKind, name: &str) -> bool {
    let names = |part: &Value, field: &str| is_of(text(part, field), name);
    let items = |pointer: &str| object.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
    let steps = |pointer: &str| {
        items(pointer).any(|step| {
            let inner = step.get("subSteps").and_then(Value::as_array).into_iter().flatten();
            std::iter::once(step).chain(inner).any(|one| names(one, "/type"))
        })
    };
    let mut components = items("/spec/components");
    match (user, kind) {
        (KIND, DefinitionKind::Component) => components.any(|one| names(one, "/type")),
        (KIND, DefinitionKind::Workload) => components.any(|one| names(one, "/type")),
        (KIND, DefinitionKind::Trait) => components.any(|one| {
            let mut traits = one.get("traits").and_then(Value::as_array).into_iter().flatten();
            // The first form of Applications called the type a name.
            traits.any(|one| names(one, "/type") || names(one, "/name"))
        }),
        (KIND, DefinitionKind::Policy) => items("/spec/policies").any(|one| names(one, "/type")),
        (KIND, DefinitionKind::WorkflowStep) => steps("/spec/workflow/steps"),
        ("Workflow", DefinitionKind::WorkflowStep) => steps("/steps"),
        ("Policy", DefinitionKind::Policy) => names(object, "/type"),
        ("ComponentDefinition", DefinitionKind::Workload) => names(object, "/spec/workload/type"),
        _ => false,
    }
}

/// A type may name a version: `page@v2`.
fn is_of(type_: &str, name: &str) -> bool {
    type_.split('@').next() == Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_where_a_type_is_named_is_found() {
        let application = json!({"spec": {
            "components": [{"name": "a", "type": "page@v2", "traits": [{"type": "scaler"}, {"name": "old"}]}],
            "policies": [{"type": "topology"}],
            "workflow": {"steps": [{"type": "step-group", "subSteps": [{"type": "deploy"}]}]},
        }});
        use DefinitionKind::{Component, Policy, Trait, WorkflowStep, Workload};
        for (kind, names) in [
            (Component, &["page"][..]),
            (Workload, &["page"]),
            (Trait, &["scaler", "old"]),
            (Policy, &["topology"]),
            (WorkflowStep, &["step-group", "deploy"]),
        ] {
            for name in ["page", "scaler", "old", "topology", "step-group", "deploy"] {
                let expected = names.contains(&name);
                assert_eq!(uses(&application, KIND, kind, name), expected, "{kind:?} {name}");
            }
        }
        assert!(uses(&json!({"steps": [{"type": "deploy"}]}), "Workflow", WorkflowStep, "deploy"));
        assert!(uses(&json!({"type": "override"}), "Policy", Policy, "override"));
        let component = json!({"spec": {"workload": {"type": "deployments"}}});
        assert!(uses(&component, "ComponentDefinition", Workload, "deployments"));
        assert!(!uses(&component, "ComponentDefinition", Component, "deployments"));
    }
}
