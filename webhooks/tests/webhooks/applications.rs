//! Applications: they enter if they render; every mistake is told at once, with its field.

use serde_json::{Value, json};
use vela_engine::{Snapshot, Templates};
use vela_webhooks::{Verdict, application};

use crate::{definition, review};

const TEMPLATE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{context.name}}\"}\ndata: {text: \"{{parameter.text}}\"}\n";

fn app(components: Value) -> Value {
    json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"components": components},
    })
}

fn judge(operation: &str, object: Value, old_object: Value) -> Verdict {
    let mut snapshot = Snapshot::default();
    snapshot.insert_definition_object(definition("note", TEMPLATE)).unwrap();
    application::judge(&review(operation, object, old_object), &snapshot, &Templates::new())
}

#[test]
fn what_renders_enters() {
    let app = app(json!([{"name": "one", "type": "note", "properties": {"text": "hello"}}]));
    let verdict = judge("CREATE", app, Value::Null);
    assert!(verdict.is_allowed(), "{verdict:?}");
}

#[test]
fn all_mistakes_are_told_with_their_fields() {
    let app = app(json!([
        {"name": "one", "type": "nope"},
        {"name": "two", "type": "note", "traits": [{"type": "missing"}]},
    ]));
    let verdict = judge("CREATE", app.clone(), Value::Null);
    let fields: Vec<&str> = verdict.causes.iter().map(|c| c.field.as_str()).collect();
    for field in ["spec.components[0].type", "spec.components[1].traits[0].type"] {
        assert!(fields.contains(&field), "{field} is not in {fields:?}");
    }
    let reply = verdict.reply(&review("CREATE", app, Value::Null));
    assert_eq!(reply["response"]["uid"], "7f0b");
    assert_eq!(reply["response"]["allowed"], false);
    assert_eq!(reply["response"]["status"]["code"], 422);
    let causes = reply["response"]["status"]["details"]["causes"].as_array().unwrap();
    assert_eq!(causes.len(), verdict.causes.len());
}

#[test]
fn a_dependency_on_nobody_is_told() {
    let component =
        json!({"name": "one", "type": "note", "properties": {"text": "x"}, "dependsOn": ["nobody"]});
    let verdict = judge("CREATE", app(json!([component])), Value::Null);
    assert_eq!(verdict.causes[0].field, "spec.components[0].dependsOn[0]");
}

#[test]
fn updates_that_keep_the_spec_and_deletions_pass() {
    let broken = app(json!([{"name": "one", "type": "nope"}]));
    let mut labelled = broken.clone();
    labelled["metadata"]["labels"] = json!({"x": "y"});
    assert!(judge("UPDATE", labelled, broken.clone()).is_allowed());
    assert!(judge("DELETE", Value::Null, broken.clone()).is_allowed());
    let mut going = broken.clone();
    going["metadata"]["deletionTimestamp"] = json!("2021-03-01T00:00:00Z");
    let old = app(json!([]));
    assert!(judge("UPDATE", going, old.clone()).is_allowed());
    assert!(!judge("UPDATE", broken, old).is_allowed());
}
