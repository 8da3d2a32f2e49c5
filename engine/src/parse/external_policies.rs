//! An Application whose `deploy` steps name policies in objects of their own → the same with those policies in it; reads nothing
//! but the snapshot.
//!
//! With the policies in place, whatever follows need not know where they were written: revision and hash are those of what they
//! say, so that a changed Policy cuts a revision like a changed Application.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json, json};

use super::parser::DEFAULT_NAMESPACE;
use crate::manifest::Document;
use crate::observed::ObjectKey;
use crate::policy;
use crate::snapshot::Snapshot;

/// Version and kind of a policy that applications name.
const POLICY: (&str, &str) = ("core.oam.dev/v1alpha1", "Policy");
/// More objects of policies in one application are not looked for.
const OBJECTS_AT_MOST: usize = 200;

/// The Policies that the `deploy` steps of an Application name and that it does not write itself, each once.
pub fn named_policies(application: &Document) -> Vec<ObjectKey> {
    let Some(spec) = application.value().get("spec").and_then(Json::as_object) else { return Vec::new() };
    let namespace = match application.namespace() {
        "" => DEFAULT_NAMESPACE,
        namespace => namespace,
    };
    let written: BTreeSet<String> = policy::written_names(spec).collect();
    let mut seen = BTreeSet::new();
    let steps = policy::deploy_steps(spec);
    let named = steps.flat_map(|(_, step)| policy::named_policies(step)).filter(|name| !name.is_empty());
    let named = named.filter(|name| !written.contains(*name) && seen.insert(*name));
    let (api_version, kind) = POLICY;
    named.take(OBJECTS_AT_MOST).map(|name| ObjectKey::local(api_version, kind, namespace, name)).collect()
}

/// The Application with those of them that the snapshot has; nothing where it has none.
pub fn with_policies(application: &Document, snapshot: &Snapshot) -> Option<Document> {
    let named = named_policies(application);
    let found = named.iter().filter_map(|key| Some((key.name.as_str(), snapshot.object(key)?)));
    with_policy_objects(application, found)
}

/// The Application with these Policies, each with the name under which its steps know it; nothing where there is none.
pub fn with_policy_objects<'a>(
    application: &Document,
    policies: impl IntoIterator<Item = (&'a str, &'a Json)>,
) -> Option<Document> {
    let found: Vec<Json> = policies.into_iter().map(|(name, policy)| written(name, policy)).collect();
    if found.is_empty() {
        return None;
    }
    let mut value = application.value().clone();
    let policies = value.get_mut("spec")?.as_object_mut()?.entry("policies").or_insert(Json::Null);
    match policies {
        Json::Array(policies) => policies.extend(found),
        Json::Null => *policies = Json::Array(found),
        // The reader of policies reports a value that is no list.
        _ => return None,
    }
    Some(application.with_value(value))
}

/// A Policy as it would stand in an Application.
fn written(name: &str, policy: &Json) -> Json {
    let mut written = Map::from_iter([("name".to_owned(), json!(name))]);
    for field in ["type", "properties"] {
        written.extend(policy.get(field).map(|value| (field.to_owned(), value.clone())));
    }
    Json::Object(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn application(policies: &Json) -> Document {
        let deploy =
            |names: &[&str]| json!({"name": "go", "type": "deploy", "properties": {"policies": names}});
        let group = json!({"name": "both", "type": "step-group", "subSteps": [deploy(&["there", "here"])]});
        Document::from_object(json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
            "metadata": {"name": "shop", "namespace": "prod"},
            "spec": {"components": [], "policies": policies, "workflow": {"steps": [deploy(&["here"]), group]}}}))
    }

    #[test]
    fn policies_that_are_named_take_their_place() {
        let own = json!([{"name": "there", "type": "topology"}]);
        let named = named_policies(&application(&own));
        assert_eq!(named, [ObjectKey::local("core.oam.dev/v1alpha1", "Policy", "prod", "here")]);
        let mut snapshot = Snapshot::default();
        assert!(with_policies(&application(&own), &snapshot).is_none());
        snapshot.insert_object(json!({"apiVersion": "core.oam.dev/v1alpha1", "kind": "Policy",
            "metadata": {"name": "here", "namespace": "prod"}, "type": "override",
            "properties": {"selector": ["web"]}}));
        let here = json!({"name": "here", "type": "override", "properties": {"selector": ["web"]}});
        let of = |policies: &Json| {
            let whole = with_policies(&application(policies), &snapshot);
            whole.map(|whole| whole.value()["spec"]["policies"].clone())
        };
        assert_eq!(of(&own), Some(json!([{"name": "there", "type": "topology"}, here])));
        assert_eq!(of(&Json::Null), Some(json!([here])));
        assert_eq!(of(&json!([{"name": "here", "type": "topology"}])), None, "its own counts");
    }
}
