//! Applications with workflows, from the manifest to the plan: what is run step by step, and what is refused with its place.

use serde_json::json;
use vela_engine::workflow::{APPLY_COMPONENT, Mode, WorkflowSpec};
use vela_engine::{Diagnostics, Plan, manifest, parse, plan, revision};

use crate::snapshots;

const DEFINITIONS: &str = r#"
apiVersion: core.oam.dev/v1beta1
kind: ComponentDefinition
metadata: {name: web}
spec:
  workload: {definition: {apiVersion: v1, kind: ConfigMap}}
  schematic:
    cue:
      template: |
        output: {apiVersion: "v1", kind: "ConfigMap"}
        parameter: image?: string
---
apiVersion: core.oam.dev/v1beta1
kind: WorkflowStepDefinition
metadata: {name: read}
spec:
  schematic:
    cue:
      template: |
        import "vela/kube"
        output: kube.#Read & {$params: value: {apiVersion: "v1", kind: "Pod", metadata: name: parameter.name}}
        parameter: name: string
---
apiVersion: core.oam.dev/v1beta1
kind: WorkflowStepDefinition
metadata: {name: chart}
spec:
  schematic:
    cue:
      template: |
        import "vela/helm"
        chart: helm.#Render & {$params: chart: source: parameter.from}
        parameter: from: string
"#;

/// The plan of an application of two components with this in its spec.
fn planned(more: &str) -> Result<Plan, Diagnostics> {
    let text = format!(
        "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {{name: shop, namespace: dev}}\nspec:\n  \
         components:\n  - {{name: front, type: web}}\n  - {{name: back, type: web}}\n{more}"
    );
    let documents = manifest::read("app.yaml", &text)?;
    let app_file = parse::parse(&documents.as_slice()[0], &snapshots::of(DEFINITIONS))?;
    plan::plan(revision::revision(app_file, None))
}

fn steps(steps: &str) -> Result<Plan, Diagnostics> {
    let both = "{name: front, type: apply-component, properties: {component: front}}, \
                {name: back, type: apply-component, properties: {component: back}}";
    planned(&format!("  workflow: {{steps: [{both}, {steps}]}}\n"))
}

#[test]
fn only_what_is_more_than_components_is_run_step_by_step() {
    let plain = planned(
        "  workflow: {steps: [{name: a, type: apply-component, properties: {component: back}}, \
         {name: b, type: apply-component, properties: {component: front}}]}\n",
    );
    assert!(plain.unwrap().workflow().is_none());
    let plan = steps("{name: hold, type: suspend}").unwrap();
    let spec = plan.workflow().unwrap();
    assert_eq!((spec.mode, spec.steps.len()), (Mode::StepByStep, 3));
    assert_eq!(spec.steps[0].type_, APPLY_COMPONENT);
    assert_eq!((plan.nodes_of_step("back"), plan.nodes_of_step("hold")), (&[1][..], &[][..]));
}

#[test]
fn a_component_in_a_group_is_applied_by_its_step() {
    let plan = planned(
        "  workflow: {steps: [{name: both, type: step-group, subSteps: [\
         {name: a, type: apply-component, properties: {component: back}}, \
         {name: b, type: apply-component, properties: {component: front, namespace: dev}}]}]}\n",
    )
    .unwrap();
    assert_eq!((plan.nodes_of_step("a"), plan.nodes_of_step("b")), (&[1][..], &[0][..]));
    assert_eq!(plan.nodes()[0].placement.namespace, "dev");
}

#[test]
fn a_definition_is_run_where_its_calls_are_answered() {
    let plan = steps("{name: look, type: read, properties: {name: web}}").unwrap();
    assert_eq!(plan.step_definition("look").map(|definition| definition.name()), Some("read"));
    let used: Vec<&str> =
        plan.app_file().definitions().into_iter().map(|definition| definition.name()).collect();
    assert_eq!(used, ["web", "read"], "what a step does is recorded by the revision");
    let errors = steps("{name: make, type: chart, properties: {from: a}}").unwrap_err();
    let first = errors.iter().next().unwrap();
    assert_eq!(first.path, "spec.workflow.steps[2].type");
    assert!(first.message.contains("no provider answers its call helm.#Render"), "{first}");
    let errors = steps("{name: go, type: share-cloud-resource}").unwrap_err().to_string();
    assert!(errors.contains("workflow step type \"share-cloud-resource\" is not supported yet"), "{errors}");
}

#[test]
fn what_is_built_in_is_the_same_in_every_version() {
    let steps = json!({"steps": [
        {"name": "a", "type": "apply-component@v1", "properties": {"component": "back"}},
        {"name": "b", "type": "read@v1"},
    ]});
    let spec = WorkflowSpec::read(&steps, "spec.workflow").unwrap();
    let types: Vec<&str> = spec.steps.iter().map(|step| step.type_.as_str()).collect();
    assert_eq!(types, [APPLY_COMPONENT, "read@v1"]);
}

#[test]
fn a_policy_that_no_step_goes_by_is_told() {
    let plan = planned(
        "  policies: [{name: more, type: override, properties: {components: [{name: back, properties: {image: a}}]}}]\n  \
         workflow: {steps: [{name: front, type: apply-component, properties: {component: front}}, \
         {name: back, type: apply-component, properties: {component: back}}, \
         {name: look, type: read, properties: {name: web}}]}\n",
    )
    .unwrap();
    let said = plan.warnings().to_string();
    assert!(said.contains("no step goes by the override policy \"more\""), "{said}");
}

#[test]
fn mistakes_of_steps_have_their_places() {
    let wrong = |text: &str, path: &str, words: &str| {
        let errors = steps(text).unwrap_err();
        let found = errors.iter().find(|error| error.path == path);
        assert!(found.is_some_and(|error| error.message.contains(words)), "{path}: {errors}");
    };
    wrong("{name: hold, type: suspend, timeout: soon}", "spec.workflow.steps[2].timeout", "is no duration");
    wrong("{name: back, type: suspend}", "spec.workflow.steps[2].name", "is used twice");
    wrong("{name: hold, type: suspend, dependsOn: [bak]}", "spec.workflow.steps[2].dependsOn[0]", "\"back\"");
    let takes = "{name: again, type: apply-component, properties: {component: back}, inputs: [{from: x, parameterKey: component}]}";
    wrong(takes, "spec.workflow.steps[2].inputs", "not supported yet");
}

#[test]
fn a_step_fills_parameters_of_the_component_that_it_applies() {
    let text = "{name: late, type: apply-component, properties: {component: front}, inputs: [{from: x, parameterKey: properties.image}]}";
    let text = format!(
        "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {{name: shop, namespace: dev}}\nspec:\n  components:\n  \
         - {{name: front, type: web}}\n  workflow:\n    steps:\n    - {{name: hold, type: suspend, outputs: [{{name: x, valueFrom: output.x}}]}}\n    - {text}\n"
    );
    let documents = manifest::read("app.yaml", &text).unwrap();
    let app_file = parse::parse(&documents.as_slice()[0], &snapshots::of(DEFINITIONS)).unwrap();
    let input = &app_file.components()[0].inputs[0];
    assert_eq!((input.from.as_str(), input.parameter_key.as_str()), ("x", "image"));
    assert_eq!(app_file.taken_of_steps(), ["x"].into());
    plan::plan(revision::revision(app_file, None)).unwrap();
}

#[test]
fn components_give_and_take_values() {
    let text = "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {name: shop, namespace: dev}\nspec:\n  components:\n  \
                - {name: front, type: web, inputs: [{from: name, parameterKey: properties.image}]}\n  \
                - {name: back, type: web, outputs: [{name: name, valueFrom: output.metadata.name}]}\n";
    let documents = manifest::read("app.yaml", text).unwrap();
    let app_file = parse::parse(&documents.as_slice()[0], &snapshots::of(DEFINITIONS)).unwrap();
    assert_eq!(app_file.components()[0].inputs[0].parameter_key, "image");
    let plan = plan::plan(revision::revision(app_file, None)).unwrap();
    assert_eq!(plan.nodes()[0].waits_for, [1].into());
}
