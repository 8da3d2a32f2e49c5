//! Components: a workload by type gets its kind; one without a kind is refused.

use json_patch::patch;
use serde_json::{Value, json};
use vela_engine::Snapshot;
use vela_webhooks::{Verdict, component};

use crate::review;

fn snapshot() -> Snapshot {
    let mut snapshot = Snapshot::default();
    let definition = json!({
        "apiVersion": "core.oam.dev/v1alpha2", "kind": "WorkloadDefinition", "metadata": {"name": "webservice"},
        "spec": {"definitionRef": {"name": "deployments.apps"}},
    });
    snapshot.insert_definition_object(definition).unwrap();
    snapshot.insert_registered("deployments.apps", "", ("apps/v1".to_owned(), "Deployment".to_owned()));
    snapshot
}

fn component(workload: Value) -> Value {
    json!({
        "apiVersion": "core.oam.dev/v1alpha2", "kind": "Component",
        "metadata": {"name": "web", "namespace": "default", "labels": {"a": "component"}, "annotations": {"n": "1"}},
        "spec": {"workload": workload},
    })
}

fn judge(workload: Value) -> Verdict {
    component::validate(&review("CREATE", component(workload), Value::Null), &snapshot())
}

/// Checklist 10, where we differ: labels that are written inside the workload stay.
#[test]
fn a_workload_by_type_gets_its_kind_and_metadata() {
    let workload = json!({"type": "webservice", "spec": {"replicas": 1}, "metadata": {"labels": {"a": "own", "b": "own"}}});
    let written = component(workload);
    let verdict = component::mutate(&review("CREATE", written.clone(), Value::Null), &snapshot());
    let mut patched = written;
    patch(&mut patched, &verdict.patch).unwrap();
    assert_eq!(
        patched["spec"]["workload"],
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 1},
            "metadata": {
                "namespace": "default", "annotations": {"n": "1"},
                "labels": {"a": "component", "b": "own", "workload.oam.dev/type": "webservice"},
            },
        })
    );
    let review = review("CREATE", patched, Value::Null);
    assert_eq!(component::mutate(&review, &snapshot()), Verdict::allowed(), "a second time changes nothing");
    assert!(component::validate(&review, &snapshot()).is_allowed());
}

#[test]
fn a_type_that_is_no_text_or_not_defined_is_a_bad_request() {
    for (workload, words) in
        [(json!({"type": 3}), "must be a string"), (json!({"type": "gone"}), "\"gone\" not found")]
    {
        let review = review("CREATE", component(workload), Value::Null);
        let verdict = component::mutate(&review, &snapshot());
        assert!(verdict.causes[0].message.contains(words), "{verdict:?}");
        assert_eq!(verdict.reply(&review)["response"]["status"]["code"], 400);
    }
}

#[test]
fn a_workload_says_its_kind_and_nothing_but_its_kind() {
    assert!(judge(json!({"apiVersion": "apps/v1", "kind": "Deployment"})).is_allowed());
    // A kind with a `type` of its own.
    assert!(judge(json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque"})).is_allowed());
    for (workload, field, words) in [
        (json!("text"), "spec.workload", "the workload is malformat"),
        (Value::Null, "spec.workload", "the workload is malformat"),
        (json!({}), "spec.workload.kind", "the workload data missing GVK"),
        (json!({"apiVersion": "apps/v1"}), "spec.workload.kind", "the workload data missing GVK"),
        (json!({"type": "webservice"}), "spec.workload.type", "contains `type`"),
        (
            json!({"type": "webservice", "apiVersion": "apps/v1", "kind": "Deployment"}),
            "spec.workload.type",
            "contains `type`",
        ),
    ] {
        let verdict = judge(workload.clone());
        let found = verdict.causes.iter().any(|c| c.field == field && c.message.contains(words));
        assert!(found, "{workload}: {verdict:#?}");
        let review = review("CREATE", component(workload), Value::Null);
        assert_eq!(verdict.reply(&review)["response"]["status"]["code"], 403);
    }
}

#[test]
fn metadata_is_judged_as_well() {
    let mut object = component(json!({"apiVersion": "apps/v1", "kind": "Deployment"}));
    object["metadata"]["name"] = json!("No_Name");
    let verdict = component::validate(&review("CREATE", object.clone(), Value::Null), &snapshot());
    assert_eq!(verdict.causes[0].field, "metadata.name");
    object["metadata"] = json!({"generateName": "web-", "namespace": "default"});
    assert!(component::validate(&review("CREATE", object, Value::Null), &snapshot()).is_allowed());
}
