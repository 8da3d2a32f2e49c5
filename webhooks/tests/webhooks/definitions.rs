//! Definitions: they enter if their template compiles and there is something to make.

use serde_json::{Value, json};
use vela_engine::Templates;
use vela_webhooks::definition::judge;

use crate::{definition, review};

#[test]
fn a_template_that_compiles_enters() {
    let review = review("CREATE", definition("note", "kind: {{parameter.kind}}"), Value::Null);
    assert!(judge(&review, &Templates::new()).is_allowed());
}

#[test]
fn a_broken_template_is_refused() {
    let review = review("CREATE", definition("note", "kind: {{#if x}}"), Value::Null);
    let verdict = judge(&review, &Templates::new());
    assert!(!verdict.is_allowed());
    assert!(!verdict.causes[0].message.is_empty());
}

#[test]
fn a_trait_with_nothing_to_make_is_refused() {
    let mut object = json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "TraitDefinition",
        "metadata": {"name": "t", "namespace": "vela-system"}, "spec": {},
    });
    let verdict = judge(&review("CREATE", object.clone(), Value::Null), &Templates::new());
    assert_eq!(verdict.causes[0].field, "spec.definitionRef");
    object["spec"] = json!({"definitionRef": {"name": "canaries.flagger.app"}});
    let verdict = judge(&review("CREATE", object, Value::Null), &Templates::new());
    assert!(verdict.is_allowed(), "{verdict:?}");
}
