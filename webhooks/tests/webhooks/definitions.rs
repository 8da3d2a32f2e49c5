//! Definitions: they enter if their template compiles and there is something to make.

use serde_json::{Value, json};
use vela_engine::Templates;
use vela_webhooks::{Review, Verdict};

use crate::{definition, review};

fn judge(review: &Review, templates: &Templates) -> Verdict {
    vela_webhooks::definition::judge(review, vela_webhooks::definition::read(review), templates)
}

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

fn judged(kind: &str, spec: Value) -> Verdict {
    let object = json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": kind,
        "metadata": {"name": "d", "namespace": "vela-system"}, "spec": spec,
    });
    judge(&review("CREATE", object, Value::Null), &Templates::new())
}

#[test]
fn workloads_and_scopes_name_their_resource_and_components_their_workload() {
    for kind in ["WorkloadDefinition", "ScopeDefinition"] {
        let verdict = judged(kind, json!({"definitionRef": {}}));
        assert!(
            verdict.causes.iter().any(|cause| cause.field == "spec.definitionRef.name"),
            "{kind}: {verdict:?}"
        );
    }
    assert!(
        judged("WorkloadDefinition", json!({"definitionRef": {"name": "deployments.apps"}})).is_allowed()
    );
    let template = json!({"cue": {"template": "output: {apiVersion: \"v1\", kind: \"Pod\"}\nparameter: {}"}});
    let verdict = judged("ComponentDefinition", json!({"schematic": template, "workload": {}}));
    assert_eq!(verdict.causes[0].field, "spec.workload", "{verdict:?}");
    for workload in
        [json!({"type": "deployments.apps"}), json!({"definition": {"apiVersion": "v1", "kind": "Pod"}})]
    {
        let verdict = judged("ComponentDefinition", json!({"schematic": template, "workload": workload}));
        assert!(verdict.is_allowed(), "{verdict:?}");
    }
}

#[test]
fn a_broken_cue_template_is_refused_with_its_line() {
    let template = json!({"cue": {"template": "output: {\n\tapiVersion: \"v1\"\n\tkind: }\n"}});
    let verdict = judged("TraitDefinition", json!({"schematic": template}));
    assert!(verdict.causes.iter().any(|cause| cause.message.contains("at 3:")), "{verdict:?}");
}

#[test]
fn parameters_without_a_description_and_old_templates_are_warned_of() {
    let text = "patch: {}\nparameter: {\n\t// +usage=How many\n\treplicas: int\n\timage: string\n}";
    let verdict = judged("TraitDefinition", json!({"schematic": {"cue": {"template": text}}}));
    assert!(verdict.is_allowed(), "{verdict:?}");
    assert!(verdict.warnings.iter().any(|w| w.contains("without a description: image;")), "{verdict:?}");
    let verdict = judged("TraitDefinition", json!({"extension": {"template": "patch: {}"}}));
    assert!(verdict.warnings.iter().any(|w| w.contains("extension.template is deprecated")), "{verdict:?}");
}
