//! The built-in policy definitions ask for the same as the real ones.

use serde_json::Value as Json;
use vela_engine::DefinitionKind;
use vela_engine::definition::record;

use crate::snapshots;

/// A schema without what it says to people.
fn bare(mut schema: Json) -> Json {
    fn strip(value: &mut Json) {
        match value {
            Json::Object(fields) => {
                if fields.get("description").is_some_and(Json::is_string) {
                    fields.remove("description");
                }
                fields.values_mut().for_each(strip);
            }
            Json::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut schema);
    schema
}

#[test]
fn built_in_policies_ask_for_what_the_real_ones_ask() {
    let snapshot = snapshots::built_in();
    let root = vela_testkit::cases::folder("conformance/definitions").join("cases");
    for name in [
        "apply-once",
        "garbage-collect",
        "override",
        "read-only",
        "replication",
        "resource-update",
        "shared-resource",
        "topology",
    ] {
        let recorded = std::fs::read_to_string(root.join(format!("openapi-policy.{name}-01/output.json")));
        let theirs: Json = serde_json::from_str(&recorded.unwrap()).unwrap();
        let definition = snapshot.definition(DefinitionKind::Policy, name).unwrap();
        let mut ours = bare(record::schema(definition).unwrap());
        if name == "garbage-collect" {
            // The real one acts by it and does not say so.
            ours["properties"].as_object_mut().unwrap().remove("order").unwrap();
        }
        assert_eq!(ours, bare(theirs), "{name}");
    }
}
