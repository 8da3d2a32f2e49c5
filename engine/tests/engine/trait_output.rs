//! The single `output` of a trait, as definitions of 0.3 write it: an object like those of `outputs`, without a name.

use serde_json::{Value as Json, json};
use vela_engine::render::{RenderedObject, Role, State};
use vela_engine::{Rendered, Snapshot, Templates, dry_run, manifest};
use vela_testkit::cases;

use crate::snapshots;

/// A definition of 0.3: the object's controller finds the workload by `spec.workloadRef`.
const SIZE: &str = r#"
apiVersion: core.oam.dev/v1alpha2
kind: TraitDefinition
metadata: {name: size}
spec:
  definitionRef: {name: manualscalertraits.core.oam.dev}
  workloadRefPath: spec.workloadRef
  extension:
    template: |-
      output: {
        apiVersion: "core.oam.dev/v1alpha2"
        kind:       "ManualScalerTrait"
        spec: replicaCount: parameter.replicas
      }
      parameter: replicas: *2 | int
"#;

/// All that a template of a trait may make; `known` says what the one after it sees.
const ALL: &str = r#"
apiVersion: core.oam.dev/v1beta1
kind: TraitDefinition
metadata: {name: all}
spec:
  schematic:
    cue:
      template: |
        outputs: second: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "second"}
        output: {apiVersion: "v1", kind: "ConfigMap", metadata: name: "first"}
        patch: metadata: labels: patched: "yes"
---
apiVersion: core.oam.dev/v1beta1
kind: TraitDefinition
metadata: {name: known}
spec:
  schematic:
    cue:
      template: |
        outputs: known: {
          apiVersion: "v1"
          kind: "ConfigMap"
          metadata: name: "known"
          data: {for name, object in context.outputs {"\(name)": object.metadata.name}}
        }
"#;

fn snapshot(definitions: &str) -> Snapshot {
    let mut snapshot = snapshots::built_in();
    for definition in manifest::read("definitions.yaml", definitions).unwrap() {
        snapshot.insert_definition_object(definition.into_value()).unwrap();
    }
    snapshot
}

fn rendered(snapshot: &Snapshot, application: &str) -> Result<Rendered, String> {
    let application = manifest::read("app.yaml", application).unwrap();
    dry_run::render(&application.as_slice()[0], snapshot, &Templates::new())
        .map_err(|errors| errors.to_string())
}

fn objects(rendered: &Rendered) -> Vec<RenderedObject> {
    match &rendered.components()[0].state {
        State::Ready(objects) => objects.clone(),
        State::Pending(missing) => unreachable!("waits: {missing:?}"),
    }
}

fn web(traits: &str) -> String {
    format!(
        "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {{name: shop}}\nspec:\n  components:\n  - {{name: web, type: webservice, properties: {{image: nginx}}, traits: [{traits}]}}\n"
    )
}

#[test]
fn it_is_an_object_that_knows_its_workload() {
    let made = objects(&rendered(&snapshot(SIZE), &web("{type: size, properties: {replicas: 3}}")).unwrap());
    let [_, scaler] = made.as_slice() else { panic!("{made:?}") };
    assert_eq!(scaler.role, Role::Trait { type_: "size".to_owned(), index: 0, resource: String::new() });
    assert_eq!(
        scaler.object["spec"],
        json!({
            "replicaCount": 3,
            "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        })
    );
    let labels = &scaler.object["metadata"]["labels"];
    assert_eq!(labels["trait.oam.dev/type"], "size");
    assert_eq!(labels["trait.oam.dev/resource"], Json::Null);
    assert_eq!(labels["app.oam.dev/resourceType"], "TRAIT");
}

#[test]
fn an_edit_changes_it_in_place() {
    let names = |traits: &str| -> Vec<String> {
        let made = objects(&rendered(&snapshot(SIZE), &web(traits)).unwrap());
        made[1..].iter().map(|made| made.object["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    };
    let one = names("{type: size, properties: {replicas: 3}}");
    assert!(one[0].starts_with("web-size-"), "{one:?}");
    assert_eq!(names("{type: size, properties: {replicas: 4}}"), one);
    let beside = names("{type: labels, properties: {a: b}}, {type: size, properties: {replicas: 3}}");
    assert_eq!(beside, one);
}

#[test]
fn two_of_one_type_have_names_of_their_own() {
    let traits = "{type: size, properties: {replicas: 3}}, {type: size, properties: {replicas: 3}}";
    // Two scalers of one workload are doubtful, whatever they are called.
    let made = objects(&rendered(&snapshot(SIZE), &web(traits)).unwrap());
    assert_eq!(made.len(), 3);
    assert_ne!(made[1].object["metadata"]["name"], made[2].object["metadata"]["name"]);
}

#[test]
fn output_outputs_and_patch_of_one_trait_are_all_carried_out() {
    let made = objects(&rendered(&snapshot(ALL), &web("{type: all}, {type: known}")).unwrap());
    let names: Vec<&Json> = made.iter().map(|made| &made.object["metadata"]["name"]).collect();
    assert_eq!(names, ["web", "first", "second", "known"]);
    assert_eq!(made[0].object["metadata"]["labels"]["patched"], "yes");
    assert_eq!(made[2].object["metadata"]["labels"]["trait.oam.dev/resource"], "second");
    // The one without a name cannot be asked for by others.
    assert_eq!(made[3].object["data"], json!({"second": "second"}));
}

#[test]
fn what_is_no_object_is_told() {
    let bare = ALL.replace(r#"output: {apiVersion: "v1", kind: "ConfigMap", metadata"#, "output: {metadata");
    let message = rendered(&snapshot(&bare), &web("{type: all}")).unwrap_err();
    assert!(message.contains("output has no apiVersion: it is not an object"), "{message}");
    assert!(message.contains("trait definition \"all\""), "{message}");
}

#[test]
fn the_sample_application_of_the_release_keeps_all_its_traits() {
    let folder = cases::folder("examples/v0.3/config/samples/application");
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
    let own = snapshots::of(&read("template.yaml"));
    let made = objects(&rendered(&own, &read("application-sample.yaml")).unwrap());
    let kinds: Vec<&Json> = made.iter().map(|made| &made.object["kind"]).collect();
    assert_eq!(kinds, ["Deployment", "Service"]);
    let deployment = &made[0].object;
    assert_eq!(deployment["spec"]["replicas"], 10);
    assert_eq!(deployment["spec"]["template"]["metadata"]["labels"]["app"], "myweb");
    assert_eq!(deployment["spec"]["template"]["spec"]["containers"][1]["name"], "sidecar-test");
    let service = &made[1].object;
    assert_eq!(service["metadata"]["name"], "myweb");
    assert_eq!(service["spec"]["ports"], json!([{"port": 80, "targetPort": 80}]));
    assert_eq!(made[1].role, Role::Trait { type_: "kservice".to_owned(), index: 2, resource: String::new() });
}
