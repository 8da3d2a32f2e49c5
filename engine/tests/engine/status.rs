//! The reconcile from manifest to status on plain data: waves, what is due, health, phases, quietness.

use jiff::Timestamp;
use serde_json::{Value as Json, json};
use vela_engine::{
    Diagnostics, Document, Graph, Observed, Snapshot, Templates, graph, manifest, parse, plan, render,
    revision, status, workflow,
};

use crate::snapshots;

/// A minute of the first of January 2026.
fn minute(minute: i64) -> Timestamp {
    Timestamp::from_second(1_767_225_600 + 60 * minute).unwrap()
}

pub(crate) const DEFINITIONS: &str = r#"
apiVersion: core.oam.dev/v1beta1
kind: ComponentDefinition
metadata: {name: web}
spec:
  workload: {definition: {apiVersion: apps/v1, kind: Deployment}}
  schematic:
    kube:
      template:
        apiVersion: apps/v1
        kind: Deployment
        spec: {template: {spec: {containers: [{name: main}]}}}
      parameters:
      - {name: image, type: string, required: true, fieldPaths: ["spec.template.spec.containers[0].image"]}
"#;

const APP: &str = r#"
apiVersion: core.oam.dev/v1beta1
kind: Application
metadata: {name: shop, generation: 1}
spec:
  components:
  - {name: front, type: web, properties: {image: f:1}, dependsOn: [back]}
  - {name: back, type: web, properties: {image: b:1}}
"#;

const OLD: &str = r#"
apiVersion: core.oam.dev/v1alpha2
kind: Application
metadata: {name: shop, generation: 1}
spec:
  components:
  - {name: front, type: web, settings: {image: f:1}, scopes: {wellbeing: all}}
  - {name: back, type: web, settings: {image: b:1}}
"#;

const SCOPE: &str = r#"
apiVersion: core.oam.dev/v1beta1
kind: ScopeDefinition
metadata: {name: wellbeing}
spec: {definitionRef: {name: healthscopes.core.oam.dev}, workloadRefsPath: spec.workloadRefs, allowComponentOverlap: true}
"#;

fn reconcile(application: &Document, templates: &Templates) -> Result<Graph, Diagnostics> {
    let mut snapshot = snapshots::of(&format!("{DEFINITIONS}---{SCOPE}"));
    let health_scope = ("core.oam.dev/v1alpha2".to_owned(), "HealthScope".to_owned());
    snapshot.insert_registered("healthscopes.core.oam.dev", "", health_scope);
    let app_file = parse::parse(application, &snapshot)?;
    let revision = revision::revision(app_file, revision::Previous::of(application).as_ref());
    let rendered = render::render(&plan::plan(revision)?, templates, &render::Inputs::default())?;
    graph::graph(rendered)
}

fn app() -> Document {
    manifest::read("app.yaml", APP).unwrap().as_slice()[0].clone()
}

/// The object as a cluster would show it once its pods run.
fn live(object: &Json) -> Json {
    let mut live = object.clone();
    live["metadata"]["generation"] = json!(1);
    live["status"] = json!({
        "observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1,
        "conditions": [{"type": "Available", "status": "True"}],
    });
    live
}

#[test]
fn components_become_due_when_those_they_wait_for_are_healthy() {
    let templates = Templates::new();
    let graph = reconcile(&app(), &templates).unwrap();
    assert_eq!(graph.waves(), [vec![1], vec![0]]);
    let mut observed = Observed::new();
    assert_eq!(workflow::due(&graph, &observed, &templates), [1]);
    observed.insert(graph.objects_of(1)[0].object.clone());
    assert_eq!(workflow::due(&graph, &observed, &templates), [1], "applied is not yet healthy");
    observed.insert(live(&graph.objects_of(1)[0].object));
    assert_eq!(workflow::due(&graph, &observed, &templates), [1, 0]);
}

#[test]
fn phases_follow_observations_and_rest_without_a_change() {
    let templates = Templates::new();
    let mut application = app();
    let graph = reconcile(&application, &templates).unwrap();
    let first = status::status(&graph, &Observed::new(), &templates);
    assert_eq!(first.phase(), status::Phase::RunningWorkflow);
    let first = first.to_json(None, minute(0));
    assert_eq!(first["workflow"]["steps"][0]["phase"], "pending");

    let mut observed = Observed::new();
    for object in graph.objects() {
        observed.insert(live(&object.object));
    }
    let running = status::status(&graph, &observed, &templates);
    assert!(running.is_running());
    let second = running.to_json(Some(&first), minute(1));
    assert_eq!(second["status"], "running");
    assert_eq!(second["services"][1]["message"], "Ready:1/1");
    assert_eq!(second["latestRevision"]["name"], "shop-v1");
    assert_eq!(second["conditions"][0]["lastTransitionTime"], "2026-01-01T00:00:00Z");
    assert_eq!(second["conditions"][5]["lastTransitionTime"], "2026-01-01T00:01:00Z");
    assert_eq!(running.to_json(Some(&second), minute(2)), second, "an unchanged status is the same text");

    // The same content is the same revision; a workload that fails later makes it unhealthy.
    let mut value = application.value().clone();
    value["status"] = second;
    application = Document::from_object(value);
    let graph = reconcile(&application, &templates).unwrap();
    assert_eq!(graph.identity().name(), "shop-v1");
    assert!(!graph.revision().is_new());
    assert_eq!(status::status(&graph, &Observed::new(), &templates).phase(), status::Phase::Unhealthy);

    let mut value = application.value().clone();
    value["spec"]["components"][1]["properties"]["image"] = json!("b:2");
    let graph = reconcile(&Document::from_object(value), &templates).unwrap();
    assert_eq!(graph.identity().name(), "shop-v2");
    assert_eq!(graph.objects_of(1)[0].object["metadata"]["labels"]["app.oam.dev/appRevision"], "shop-v2");
}

/// The phase, and the conditions that hold and do (`!`) not.
fn words(status: &Json) -> String {
    let conditions = status["conditions"].as_array().unwrap().iter().map(|condition| {
        let sign = if condition["status"] == "True" { "" } else { "!" };
        format!(" {sign}{}", condition["type"].as_str().unwrap())
    });
    format!("{}:{}", status["status"].as_str().unwrap(), conditions.collect::<String>())
}

#[test]
fn the_v1alpha2_form_has_the_status_of_its_era() {
    let templates = Templates::new();
    let now = minute(0);
    let application = manifest::read("app.yaml", OLD).unwrap().as_slice()[0].clone();
    let graph = reconcile(&application, &templates).unwrap();
    let first = status::status(&graph, &Observed::new(), &templates).to_json(None, now);
    assert_eq!(words(&first), "rendering: Parsed Built");
    assert_eq!(first.get("components"), None, "nothing is stored yet");

    // A rollout calls the workloads of a revision otherwise.
    let named = |object: &Json| {
        let mut object = object.clone();
        object["metadata"]["name"] = json!(format!("{}-v1", object["metadata"]["name"].as_str().unwrap()));
        object
    };
    let mut observed = Observed::new();
    for object in graph.objects() {
        observed.insert_named(object.key(), named(&object.object));
    }
    let applied = status::status(&graph, &observed, &templates);
    assert_eq!(applied.phase(), status::Phase::HealthChecking);
    let applied = applied.to_json(Some(&first), now);
    assert_eq!(words(&applied), "healthChecking: Parsed Built Applied !HealthCheck");
    let unhealthy = &applied["conditions"][3];
    assert_eq!(unhealthy["reason"], "ReconcileError");
    assert!(unhealthy["message"].as_str().unwrap().starts_with("not healthy: front: "), "{unhealthy}");
    let component =
        |name: &str| json!({"apiVersion": "core.oam.dev/v1alpha2", "kind": "Component", "name": name});
    assert_eq!(applied["components"], json!([component("front"), component("back")]));
    let scope = json!({"apiVersion": "core.oam.dev/v1alpha2", "kind": "HealthScope", "name": "all"});
    assert_eq!(applied["services"][0]["scopes"], json!([scope]));
    assert_eq!(applied["services"][1].get("scopes"), None);
    assert_eq!(applied["appliedResources"][0]["name"], "front-v1");

    for object in graph.objects() {
        observed.insert_named(object.key(), named(&live(&object.object)));
    }
    let running = status::status(&graph, &observed, &templates);
    let well = running.to_json(Some(&applied), now);
    assert_eq!(words(&well), "running: Parsed Built Applied HealthCheck");
    assert!(well["conditions"].as_array().unwrap().iter().all(|one| one["reason"] == "Available"));

    // What fails later leaves what was told of the components.
    let mut value = application.value().clone();
    value["status"] = well.clone();
    let graph = reconcile(&Document::from_object(value.clone()), &templates).unwrap();
    let ill = status::status(&graph, &Observed::new(), &templates).to_json(Some(&well), now);
    assert_eq!(words(&ill), "healthChecking: Parsed Built Applied !HealthCheck");
    assert_eq!(ill["components"], well["components"]);
    value["spec"]["components"][0]["type"] = json!("wbe");
    let application = Document::from_object(value);
    let errors = reconcile(&application, &templates).unwrap_err();
    let failed = status::Status::failed(&application, status::ConditionType::Parsed, &errors);
    assert_eq!(words(&failed.to_json(Some(&well), now)), "rendering: !Parsed");
    let kept = failed.keeping("shop-v1", running, false).to_json(Some(&well), now);
    assert_eq!(words(&kept), "rendering: !Parsed !HealthCheck");
    assert_eq!(kept["conditions"][1]["message"], "Parsed failed; revision shop-v1 is kept running");
    assert_eq!(kept["components"], well["components"]);
}

#[test]
fn a_step_for_a_missing_component_fails_the_workflow_there() {
    let templates = Templates::new();
    let steps = "  workflow:\n    steps:\n    \
        - {name: one, type: apply-component, properties: {component: back}}\n    \
        - {name: two, type: apply-component, properties: {component: bakc}}\n    \
        - {name: three, type: apply-component, properties: {component: front}}\n";
    let text = APP.replace(", dependsOn: [back]", "") + steps;
    let application = manifest::read("app.yaml", &text).unwrap().as_slice()[0].clone();
    // It enters with a warning, as upstream lets it enter.
    let graph = reconcile(&application, &templates).unwrap();
    let warnings: Vec<String> = graph.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(warnings.iter().filter(|warning| warning.contains("step")).count(), 1, "{warnings:?}");
    assert!(
        warnings[0].contains("\"bakc\", which does not exist") && warnings[0].contains("\"back\""),
        "{warnings:?}"
    );
    // What comes before the step is applied, what comes after it is not.
    let mut observed = Observed::new();
    observed.insert(live(&graph.objects_of(1)[0].object));
    assert_eq!(workflow::due(&graph, &observed, &templates), [1]);
    let failed = status::status(&graph, &observed, &templates);
    let status = failed.to_json(None, minute(0));
    assert_eq!(
        (status["status"].as_str(), status["workflow"]["finished"].as_bool()),
        (Some("workflowFailed"), Some(false))
    );
    let workflow =
        status["conditions"].as_array().unwrap().iter().find(|one| one["type"] == "Workflow").unwrap();
    assert!(workflow["message"].as_str().unwrap().starts_with("step \"two\""), "{workflow}");
}

#[test]
fn details_are_shown_and_serve_policy_and_message() {
    let mut definition = manifest::read("d", DEFINITIONS).unwrap().as_slice()[0].value().clone();
    definition["spec"]["status"] = json!({
        "details": "ready: *context.output.status.readyReplicas | 0\n$wanted: 1\nall: ready == $wanted // told",
        "healthPolicy": "isHealth: context.status.details.ready == context.status.details.$wanted",
        "customStatus": r#"message: "\(context.status.details.ready) of \(context.status.details.$wanted)""#,
    });
    let mut snapshot = Snapshot::default();
    snapshot.insert_definition_object(definition).unwrap();
    let templates = Templates::new();
    let revision = revision::revision(parse::parse(&app(), &snapshot).unwrap(), None);
    let rendered =
        render::render(&plan::plan(revision).unwrap(), &templates, &render::Inputs::default()).unwrap();
    let graph = graph::graph(rendered).unwrap();
    let mut observed = Observed::new();
    for object in graph.objects() {
        observed.insert(live(&object.object));
    }
    let status = status::status(&graph, &observed, &templates);
    assert!(status.is_running(), "{:?}", status.services());
    let shown = status.to_json(None, minute(0))["services"][0].clone();
    assert_eq!(shown["details"], json!({"ready": "1", "all": "true"}));
    assert_eq!(shown["message"], "1 of 1");
}

#[test]
fn a_failed_apply_is_told_by_name() {
    let templates = Templates::new();
    let graph = reconcile(&app(), &templates).unwrap();
    let mut observed = Observed::new();
    observed.insert_error(graph.objects_of(1)[0].key(), "the disk is full");
    let status = status::status(&graph, &observed, &templates).to_json(None, minute(0));
    assert_eq!(status["conditions"][4]["reason"], "ReconcileError");
    let message = status["conditions"][4]["message"].as_str().unwrap();
    assert!(message.contains("Deployment default/back: the disk is full"), "{message}");
    assert!(message.contains("front: waits for back"), "{message}");
    // No other try of a refused object ends better.
    observed.insert_refusal(graph.objects_of(1)[0].key(), "replicas: must not be negative");
    let status = status::status(&graph, &observed, &templates).to_json(None, minute(0));
    assert_eq!(status["conditions"][4]["reason"], status::REFUSED);
    assert_eq!(status["services"][0]["message"], "waits for back");
}

#[test]
fn a_failed_parse_keeps_what_earlier_reconciles_brought() {
    let mut value = app().value().clone();
    value["spec"]["components"][0]["type"] = json!("wbe");
    let application = Document::from_object(value);
    let errors = reconcile(&application, &Templates::new()).unwrap_err();
    assert!(errors.to_string().contains("did you mean \"web\"?"), "{errors}");
    let status = status::Status::failed(&application, status::ConditionType::Parsed, &errors);
    let status = status.to_json(Some(&json!({"services": [{"name": "old"}]})), minute(0));
    assert_eq!(status["services"][0]["name"], "old");
    assert_eq!(status["conditions"][0]["status"], "False");
}

#[test]
fn health_policies_decide_and_broken_ones_say_so() {
    let definition = |policy: &str, message: &str| {
        let mut definition = manifest::read("d", DEFINITIONS).unwrap().as_slice()[0].value().clone();
        definition["spec"]["status"] = json!({"healthPolicy": policy, "customStatus": message});
        definition
    };
    let templates = Templates::new();
    let status_with = |definition: Json, replicas: i64| {
        let mut snapshot = Snapshot::default();
        snapshot.insert_definition_object(definition).unwrap();
        let app_file = parse::parse(&app(), &snapshot).unwrap();
        let plan = plan::plan(revision::revision(app_file, None)).unwrap();
        let graph =
            graph::graph(render::render(&plan, &templates, &render::Inputs::default()).unwrap()).unwrap();
        let mut observed = Observed::new();
        for object in graph.objects() {
            let mut live = live(&object.object);
            live["status"]["readyReplicas"] = json!(replicas);
            observed.insert(live);
        }
        status::status(&graph, &observed, &templates)
    };
    let policy = "isHealth: context.output.status.readyReplicas >= 2";
    let message = r#"message: "\(parameter.image) has \(context.output.status.readyReplicas)""#;
    let sick = status_with(definition(policy, message), 1);
    assert!(!sick.is_running());
    assert_eq!(sick.services()[0].health.workload.message, "f:1 has 1");
    assert!(status_with(definition(policy, message), 2).is_running());
    let broken = status_with(definition("isHealth: nowhere", ""), 2);
    assert!(!broken.is_running());
    let message = &broken.services()[0].health.workload.message;
    assert!(message.contains("health policy of component definition \"web\""), "{message}");
}

#[test]
fn a_content_keeps_the_name_that_the_status_gives_it() {
    let snapshot = snapshots::of(DEFINITIONS);
    let parsed = || parse::parse(&app(), &snapshot).unwrap();
    let hash = revision::revision(parsed(), None).identity().hash().to_owned();
    let known = |number: u64, hash: &str| revision::Previous { number, hash: hash.to_owned() };
    let named =
        |all: &[revision::Previous]| revision::revision_among(parsed(), all).identity().name().to_owned();
    // A reconcile that was cut off recorded another content meanwhile.
    assert_eq!(named(&[known(1, &hash), known(2, "other")]), "shop-v1");
    // The status missed the revision of this content.
    assert_eq!(named(&[known(1, "other"), known(2, &hash)]), "shop-v2");
    assert_eq!(named(&[known(1, "other"), known(2, "another")]), "shop-v3");
}
