//! Definitions: they enter if their template compiles and there is something to make.

use serde_json::{Value, json};
use vela_engine::Templates;
use vela_webhooks::{Refusal, Review, Verdict};

use crate::{definition, review};

fn judge(review: &Review, templates: &Templates) -> Verdict {
    vela_webhooks::definition::validate(
        review,
        vela_webhooks::definition::read(review),
        &vela_webhooks::definition::DefinitionFacts::default(),
        templates,
    )
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

#[test]
fn a_trait_without_a_reference_needs_a_fitting_template() {
    let chart = json!({"release": {"chart": {}}, "repository": {"url": "https://charts.example.com"}});
    for spec in [
        json!({"schematic": {}}),
        json!({"schematic": {"cue": {"template": ""}}}),
        json!({"schematic": {"cue": {"template": " \n"}}}),
        json!({"schematic": {"helm": chart}}),
        json!({"extension": {"template": ""}}),
        json!({"definitionRef": {"name": ""}}),
    ] {
        let verdict = judged("TraitDefinition", spec.clone());
        let said = "if definition reference is omitted, patch or output with GVK is required";
        assert!(verdict.causes.iter().any(|cause| cause.message.starts_with(said)), "{spec}: {verdict:?}");
        assert_eq!(verdict.refusal, Refusal::Denied, "{spec}");
    }
    let object = json!({"template": {"apiVersion": "v1", "kind": "ConfigMap"}});
    for spec in [
        json!({"schematic": {"cue": {"template": "patch: metadata: labels: a: \"b\""}}}),
        json!({"schematic": {"kube": object}}),
        json!({"extension": {"template": "output: {apiVersion: \"v1\", kind: \"ConfigMap\"}"}}),
        json!({"definitionRef": {"name": "canaries.flagger.app"}, "schematic": {"cue": {"template": ""}}}),
    ] {
        let verdict = judged("TraitDefinition", spec);
        assert!(verdict.is_allowed(), "{verdict:?}");
    }
}

#[test]
fn an_unreadable_trait_says_that_its_reference_is_unknown() {
    let said = "error occurs when validating definition reference: ";
    let verdict = judged("TraitDefinition", json!({"schematic": {"cue": {"template": 5}}}));
    assert!(verdict.causes.iter().any(|cause| cause.message.starts_with(said)), "{verdict:?}");
    assert_eq!(verdict.refusal, Refusal::Denied);
    let named = json!({"definitionRef": {"name": "a.b.c"}, "schematic": {"cue": {"template": 5}}});
    let verdict = judged("TraitDefinition", named);
    assert!(verdict.causes.iter().all(|cause| !cause.message.starts_with(said)), "{verdict:?}");
    assert_eq!((verdict.is_allowed(), verdict.refusal), (false, Refusal::Invalid));
}

fn judged(kind: &str, spec: Value) -> Verdict {
    let object = json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": kind,
        "metadata": {"name": "d", "namespace": "vela-system"}, "spec": spec,
    });
    judge(&review("CREATE", object, Value::Null), &Templates::new())
}

#[test]
fn workloads_scopes_and_components_name_their_resource() {
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
    let verdict = judged("ComponentDefinition", json!({"workload": {}}));
    assert_eq!(verdict.causes[0].field, "spec.workload", "{verdict:?}");
    // What a template makes may be looked at.
    for workload in [
        json!({"type": "deployments.apps"}),
        json!({"definition": {"apiVersion": "v1", "kind": "Pod"}}),
        json!({}),
        Value::Null,
    ] {
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
fn undescribed_parameters_and_old_templates_are_warned_of() {
    let text = "patch: {}\nparameter: {\n\t// +usage=How many\n\treplicas: int\n\timage: string\n}";
    let verdict = judged("TraitDefinition", json!({"schematic": {"cue": {"template": text}}}));
    assert!(verdict.is_allowed(), "{verdict:?}");
    assert!(verdict.warnings.iter().any(|w| w.contains("without a description: image;")), "{verdict:?}");
    let verdict = judged("TraitDefinition", json!({"extension": {"template": "patch: {}"}}));
    assert!(verdict.warnings.iter().any(|w| w.contains("extension.template is deprecated")), "{verdict:?}");
}

/// A user who moves here brings definitions of steps and policies that no engine runs yet: admission keeps them and
/// says so.
#[test]
fn steps_and_policies_may_import_the_packages_of_steps() {
    let template = |import: &str, body: &str| json!({"schematic": {"cue": {"template": format!("import \"{import}\"\n{body}\nparameter: {{\n\t// +usage=What\n\ttext: string\n}}")}}});
    let steps = [
        (
            "vela/op",
            "say: op.#Log & {data: parameter.text}\nstop: op.#ConditionalWait & {continue: context.name == \"x\"}",
        ),
        ("vela/builtin", "fail: builtin.#Fail & {$params: message: parameter.text}"),
        ("vela/util", "log: util.#Log & {$params: data: parameter.text}"),
        (
            "vela/email",
            "mail: email.#SendEmail & {$params: {from: address: \"a\", to: [\"b\"], content: {subject: \"s\", body: parameter.text}}}",
        ),
        (
            "vela/metrics",
            "check: metrics.#PromCheck & {$params: {query: parameter.text, metricEndpoint: \"http://m\", condition: \">1\", stepID: context.stepSessionID}}",
        ),
        ("vela/multicluster", "list: multicluster.#ListClusters & {}"),
        ("vela/terraform", "list: terraform.#LoadTerraformComponents & {}"),
    ];
    for (import, body) in steps {
        for kind in ["WorkflowStepDefinition", "PolicyDefinition"] {
            let verdict = judged(kind, template(import, body));
            assert!(verdict.is_allowed(), "{kind} {import}: {:?}", verdict.causes);
            let is_run = kind == "WorkflowStepDefinition";
            let is_warned = verdict.warnings.iter().any(|said| said.contains("not run yet"));
            assert_eq!(is_warned, !is_run, "{kind} {import}: {:?}", verdict.warnings);
        }
        // A component cannot wait or send mail.
        let mut component = template(import, &format!("{body}\noutput: {{}}"));
        component["workload"] = json!({"definition": {"apiVersion": "v1", "kind": "Pod"}});
        assert!(!judged("ComponentDefinition", component).is_allowed(), "{import}");
    }
    let wrong = judged("WorkflowStepDefinition", template("vela/opp", "say: opp.#Log"));
    assert!(wrong.causes[0].message.contains("vela/opp"), "{wrong:?}");
}

#[test]
fn what_a_definition_leaves_to_a_chart_is_said() {
    let chart = json!({"release": {"chart": {"spec": {"chart": "podinfo"}}}, "repository": {"url": "https://charts.example.com"}});
    let workload = json!({"definition": {"apiVersion": "apps/v1", "kind": "Deployment"}});
    let of_chart = judged("ComponentDefinition", json!({"workload": workload, "schematic": {"helm": chart}}));
    assert!(of_chart.is_allowed(), "{of_chart:?}");
    assert!(of_chart.warnings.iter().any(|said| said.contains("podinfo") && said.contains("not checked")));

    let install = json!({"helm": {"repo": "flagger", "name": "flagger", "url": "https://flagger.app", "namespace": "istio-system"}});
    let spec = json!({"definitionRef": {"name": "canaries.flagger.app"}, "extension": {"install": install}});
    let installed = judged("TraitDefinition", spec);
    assert!(installed.is_allowed(), "{installed:?}");
    let said = installed.warnings.join(" ");
    assert!(said.contains("helm install flagger flagger/flagger --namespace istio-system"), "{said}");

    let spec = json!({
        "definitionRef": {"name": "deployments.apps"},
        "extension": {"templateURI": "https://example.com/web.cue"},
    });
    let fetched = judged("WorkloadDefinition", spec);
    assert!(fetched.warnings.iter().any(|said| said.contains("is not fetched")), "{fetched:?}");
}

#[test]
fn a_stage_of_a_trait_is_one_that_is_known() {
    let template =
        json!({"cue": {"template": "outputs: a: {apiVersion: \"v1\", kind: \"ConfigMap\"}\nparameter: {}"}});
    let trait_ = |stage: &str| judged("TraitDefinition", json!({"schematic": template, "stage": stage}));
    assert!(trait_("PostDispatch").is_allowed());
    let verdict = trait_("Later");
    assert_eq!(verdict.causes[0].field, "spec.stage", "{verdict:?}");
    assert!(verdict.causes[0].message.contains("write one of PreDispatch"), "{verdict:?}");
}
