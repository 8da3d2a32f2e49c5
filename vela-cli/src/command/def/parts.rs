//! Parts of a definition that lists show.

use serde_json::Value;
use vela_engine::DefinitionKind;

use crate::pointer::text;

/// What users read about it, on one line.
pub(in crate::command) fn description(definition: &Value) -> String {
    text(definition, "/metadata/annotations/definition.oam.dev~1description").replace('\n', " ")
}

/// The workload that it makes or is about, as it names it: a type, a kind, or a resource.
pub(in crate::command) fn workload(definition: &Value) -> String {
    let named = ["/spec/workload/type", "/spec/definitionRef/name"];
    let named = named.into_iter().map(|pointer| text(definition, pointer)).find(|name| !name.is_empty());
    if let Some(name) = named {
        return name.to_owned();
    }
    let (api_version, kind) = (
        text(definition, "/spec/workload/definition/apiVersion"),
        text(definition, "/spec/workload/definition/kind"),
    );
    if kind.is_empty() { String::new() } else { format!("{api_version}/{kind}") }
}

/// What a trait is meant for; every type where it names none. Nothing of what is no trait.
pub(in crate::command) fn applies_to(kind: DefinitionKind, definition: &Value) -> String {
    if kind != DefinitionKind::Trait {
        return String::new();
    }
    let named = definition.pointer("/spec/appliesToWorkloads").and_then(Value::as_array);
    let named: Vec<&str> = named.into_iter().flatten().filter_map(Value::as_str).collect();
    if named.is_empty() { "*".to_owned() } else { named.join(",") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_workload_is_named_as_the_definition_names_it() {
        let of = |spec: Value| workload(&json!({"spec": spec}));
        assert_eq!(of(json!({"workload": {"type": "queue"}})), "queue");
        assert_eq!(of(json!({"definitionRef": {"name": "jobs.batch"}})), "jobs.batch");
        let kind = json!({"workload": {"definition": {"apiVersion": "apps/v1", "kind": "Deployment"}}});
        assert_eq!(of(kind), "apps/v1/Deployment");
        assert_eq!(of(json!({})), "");
    }

    #[test]
    fn a_trait_without_a_list_is_for_every_type() {
        let of = |kind, list: Value| applies_to(kind, &json!({"spec": {"appliesToWorkloads": list}}));
        assert_eq!(of(DefinitionKind::Trait, json!([])), "*");
        assert_eq!(of(DefinitionKind::Trait, json!(["a", "b"])), "a,b");
        assert_eq!(of(DefinitionKind::Component, json!(["a"])), "");
    }
}
