//! AppRollouts: batches are handed out, and every wrong field is told.

use json_patch::patch;
use serde_json::{Value, json};
use vela_engine::Snapshot;
use vela_webhooks::application::ApiVersion;
use vela_webhooks::{Verdict, rollout};

use crate::review;

fn object(spec: Value) -> Value {
    json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "AppRollout",
        "metadata": {"name": "r", "namespace": "default"}, "spec": spec,
    })
}

fn rollout(plan: Value) -> Value {
    object(
        json!({"targetAppRevisionName": "shop-v2", "sourceAppRevisionName": "shop-v1", "rolloutPlan": plan}),
    )
}

fn mutated(version: ApiVersion, written: &Value) -> Value {
    let verdict = rollout::mutate(&review("CREATE", written.clone(), Value::Null), version);
    assert!(verdict.is_allowed(), "{verdict:?}");
    let mut patched = written.clone();
    patch(&mut patched, &verdict.patch).unwrap();
    let again = rollout::mutate(&review("CREATE", patched.clone(), Value::Null), version);
    assert_eq!(again, Verdict::allowed(), "a second time changes nothing");
    patched
}

fn batches(version: ApiVersion, size: i64, count: i64) -> Vec<i64> {
    let object = mutated(version, &rollout(json!({"targetSize": size, "numBatches": count})));
    let batches = object["spec"]["rolloutPlan"]["rolloutBatches"].as_array().unwrap().clone();
    batches.iter().map(|batch| batch["replicas"].as_i64().unwrap()).collect()
}

#[test]
fn pods_are_handed_out_to_batches() {
    assert_eq!(batches(ApiVersion::V1beta1, 5, 3), [1, 2, 2]);
    assert_eq!(batches(ApiVersion::V1beta1, 7, 3), [2, 2, 3]);
    assert_eq!(batches(ApiVersion::V1beta1, 2, 4), [0, 0, 1, 1]);
    assert_eq!(batches(ApiVersion::V1alpha2, 5, 3), [1, 1, 3]);
    assert_eq!(batches(ApiVersion::V1alpha2, 2, 4), [0, 0, 0, 2]);
}

#[test]
fn defaults_are_those_of_the_release() {
    let plan = json!({"targetSize": 5, "numBatches": 3});
    let scale = object(json!({"targetAppRevisionName": "shop-v1", "rolloutPlan": plan}));
    let object = mutated(ApiVersion::V1beta1, &scale);
    assert_eq!(object["spec"]["rolloutPlan"]["rolloutStrategy"], "IncreaseFirst");
    assert!(object["spec"]["rolloutPlan"].get("rolloutBatches").is_none(), "a scale is not handed out");
    assert!(object["spec"].get("revertOnDelete").is_none());
    let object = mutated(ApiVersion::V1alpha2, &scale);
    assert!(object["spec"]["rolloutPlan"].get("rolloutBatches").is_some());
    assert_eq!(object["spec"]["revertOnDelete"], false);
    let written = rollout(
        json!({"rolloutStrategy": "DecreaseFirst", "targetSize": 5, "numBatches": 3, "rolloutBatches": []}),
    );
    assert_eq!(mutated(ApiVersion::V1beta1, &written), written);
}

#[test]
fn impossible_numbers_are_refused() {
    for (plan, field) in [
        (json!({"targetSize": 5, "numBatches": 0}), "spec.rolloutPlan.numBatches"),
        (json!({"targetSize": 5, "numBatches": -1}), "spec.rolloutPlan.numBatches"),
        (json!({"targetSize": 5, "numBatches": 2_000_000_000}), "spec.rolloutPlan.numBatches"),
        (json!({"targetSize": -5, "numBatches": 2}), "spec.rolloutPlan.targetSize"),
    ] {
        for version in [ApiVersion::V1alpha2, ApiVersion::V1beta1] {
            let verdict = rollout::mutate(&review("CREATE", rollout(plan.clone()), Value::Null), version);
            assert_eq!(verdict.causes[0].field, field, "{verdict:?}");
        }
    }
    let verdict = rollout::mutate(&review("CREATE", json!({"spec": null}), Value::Null), ApiVersion::V1beta1);
    assert!(!verdict.is_allowed());
}

fn snapshot() -> Snapshot {
    let mut snapshot = Snapshot::default();
    for (name, components) in [("shop-v1", vec!["web", "db"]), ("shop-v2", vec!["web", "cache"])] {
        let components: Vec<Value> = components.into_iter().map(|name| json!({"name": name})).collect();
        snapshot.insert_object(revision(name, json!({"application": {"spec": {"components": components}}})));
    }
    let configured = json!([{"revisionName": "my-web-v3"}, {"componentName": "db"}]);
    let old = json!({"applicationConfiguration": {"spec": {"components": configured}}});
    snapshot.insert_object(revision("old-v1", old));
    snapshot.insert_object(revision("empty-v1", json!({})));
    snapshot
}

fn revision(name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "ApplicationRevision",
        "metadata": {"name": name, "namespace": "default"}, "spec": spec,
    })
}

fn plan() -> Value {
    json!({"rolloutStrategy": "IncreaseFirst", "rolloutBatches": [{"replicas": 1}, {"replicas": "50%"}]})
}

fn judge(object: Value) -> Verdict {
    rollout::validate(&review("CREATE", object, Value::Null), &snapshot())
}

fn fields(verdict: &Verdict) -> Vec<&str> {
    verdict.causes.iter().map(|cause| cause.field.as_str()).collect()
}

#[test]
fn a_good_rollout_enters() {
    let verdict = judge(rollout(plan()));
    assert!(verdict.is_allowed(), "{verdict:?}");
    let references = rollout::references(&review("CREATE", rollout(plan()), Value::Null));
    let names: Vec<&str> = references.iter().map(|key| key.name.as_str()).collect();
    assert_eq!(names, ["shop-v1", "shop-v2"]);
}

#[test]
fn targets_and_sources_must_be_there() {
    let spec = |target: &str, source: Value| {
        object(
            json!({"targetAppRevisionName": target, "sourceAppRevisionName": source, "componentList": ["web"], "rolloutPlan": plan()}),
        )
    };
    for (target, source, field, reason) in [
        ("", Value::Null, "spec.targetAppRevisionName", "FieldValueRequired"),
        ("gone", Value::Null, "spec.targetAppRevisionName", "FieldValueNotFound"),
        ("shop-v2", json!("gone"), "spec.sourceAppRevisionName", "FieldValueNotFound"),
        ("shop-v2", json!("shop-v2"), "spec.sourceAppRevisionName", "FieldValueInvalid"),
        ("empty-v1", Value::Null, "spec.targetAppRevisionName", "FieldValueInvalid"),
    ] {
        let verdict = judge(spec(target, source));
        let found = verdict.causes.iter().any(|c| c.field == field && c.reason == reason);
        assert!(found, "{target}: {verdict:#?}");
    }
}

#[test]
fn components_are_among_those_in_common() {
    let spec = |target: &str, source: Value, list: Value| {
        judge(object(
            json!({"targetAppRevisionName": target, "sourceAppRevisionName": source, "componentList": list, "rolloutPlan": plan()}),
        ))
    };
    let path = ["spec.componentList"];
    assert!(spec("shop-v2", json!("shop-v1"), json!(["web"])).is_allowed());
    assert!(spec("old-v1", Value::Null, json!(["my-web"])).is_allowed());
    assert_eq!(fields(&spec("shop-v2", json!("shop-v1"), json!(["db"]))), path);
    assert_eq!(fields(&spec("shop-v2", Value::Null, Value::Null)), path, "two components in common");
    assert!(spec("shop-v2", Value::Null, json!(["web", "cache"])).is_allowed(), "several go together");
    assert_eq!(fields(&spec("shop-v2", json!("shop-v1"), json!(["web", "db"]))), path);
}

#[test]
fn everything_wrong_with_a_plan_is_told_at_once() {
    let bad = json!({
        "rolloutStrategy": "Slowly", "numBatches": 3, "batchPartition": -1,
        "rolloutBatches": [{"replicas": -1, "batchRolloutWebhooks": [{"type": "initialize-rollout"}]}],
        "rolloutWebhooks": [{"type": "pre-batch-rollout", "method": "DELETE"}],
    });
    let verdict = judge(rollout(bad));
    for field in [
        "rolloutStrategy",
        "batchPartition",
        "numBatches",
        "rolloutWebhooks[0].type",
        "rolloutWebhooks[0].method",
        "rolloutBatches[0].replicas",
        "rolloutBatches[0].batchRolloutWebhooks[0].type",
    ] {
        assert!(
            fields(&verdict).contains(&format!("spec.rolloutPlan.{field}").as_str()),
            "{field}: {verdict:#?}"
        );
    }
    let verdict = judge(rollout(json!({"targetSize": 3})));
    assert_eq!(fields(&verdict), ["spec.rolloutPlan.rolloutBatches", "spec.rolloutPlan.rolloutStrategy"]);
    assert_eq!(fields(&judge(rollout(Value::Null))), ["spec.rolloutPlan"]);
}

#[test]
fn a_rollout_that_ended_keeps_its_plan() {
    let mut changed = plan();
    changed["paused"] = json!(true);
    for (state, target, allowed) in [
        ("rolloutSucceed", "shop-v2", false),
        ("rolloutFailed", "shop-v2", false),
        ("rollingInBatches", "shop-v2", true),
        ("rolloutSucceed", "old-v1", true),
    ] {
        let mut old = rollout(plan());
        old["status"] = json!({"rollingState": state});
        let mut new = rollout(changed.clone());
        new["spec"]["targetAppRevisionName"] = json!(target);
        new["spec"]["componentList"] = json!([if target == "old-v1" { "db" } else { "web" }]);
        let verdict = rollout::validate(&review("UPDATE", new, old), &snapshot());
        assert_eq!(verdict.is_allowed(), allowed, "{state} {target}: {verdict:?}");
    }
    // The same plan, written otherwise, is no change.
    let mut old = rollout(plan());
    old["status"] = json!({"rollingState": "rolloutSucceed"});
    let mut new = rollout(plan());
    new["spec"]["rolloutPlan"]["paused"] = json!(false);
    assert!(rollout::validate(&review("UPDATE", new, old), &snapshot()).is_allowed());
}

#[test]
fn what_goes_away_passes() {
    let mut going = rollout(Value::Null);
    going["metadata"]["deletionTimestamp"] = json!("2021-03-01T00:00:00Z");
    assert!(rollout::validate(&review("UPDATE", going, rollout(plan())), &Snapshot::default()).is_allowed());
}

#[test]
fn the_rollouts_of_the_examples_enter() {
    let folder = vela_testkit::cases::folder("examples/rollout");
    let mut judged = 0;
    for kind in ["deployment-rollout", "cloneset-rollout"] {
        for file in std::fs::read_dir(folder.join(kind)).unwrap() {
            let path = file.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            for document in vela_engine::manifest::read("rollout.yaml", &text).unwrap().iter() {
                let mut written = document.value().clone();
                if written["kind"] != "AppRollout" {
                    continue;
                }
                written["metadata"]["namespace"] = json!("default");
                let mutated = mutated(ApiVersion::V1beta1, &written);
                let mut snapshot = Snapshot::default();
                let components: Vec<Value> =
                    written["spec"]["componentList"].as_array().cloned().unwrap_or_default();
                let components: Vec<Value> = components.iter().map(|name| json!({"name": name})).collect();
                for field in ["targetAppRevisionName", "sourceAppRevisionName"] {
                    if let Some(name) = written["spec"][field].as_str() {
                        let spec = json!({"application": {"spec": {"components": components}}});
                        snapshot.insert_object(revision(name, spec));
                    }
                }
                let verdict = rollout::validate(&review("CREATE", mutated, Value::Null), &snapshot);
                assert!(verdict.is_allowed(), "{}: {verdict:#?}", path.display());
                judged += 1;
            }
        }
    }
    assert!(judged >= 6, "only {judged} rollouts among the examples");
}

/// A rollout of early 2021 between configurations.
fn between(target: &str, source: &str, more: Value) -> Value {
    let mut spec =
        json!({"targetApplicationName": target, "sourceApplicationName": source, "rolloutPlan": plan()});
    if let (Some(spec), Some(more)) = (spec.as_object_mut(), more.as_object()) {
        spec.extend(more.clone());
    }
    let mut object = object(spec);
    object["apiVersion"] = json!("core.oam.dev/v1alpha2");
    object["kind"] = json!("ApplicationDeployment");
    object
}

fn configurations() -> Snapshot {
    let mut snapshot = snapshot();
    for (name, revisions) in [("shop-v1", ["web-v1", "db-v1"]), ("shop-v2", ["web-v2", "db-v1"])] {
        let entries: Vec<Value> = revisions.iter().map(|name| json!({"revisionName": name})).collect();
        snapshot.insert_object(json!({
            "apiVersion": "core.oam.dev/v1alpha2", "kind": "ApplicationConfiguration",
            "metadata": {"name": name, "namespace": "default"}, "spec": {"components": entries},
        }));
    }
    snapshot
}

#[test]
fn a_rollout_of_early_2021_is_judged_by_its_own_names() {
    let judge = |object: Value| rollout::validate(&review("CREATE", object, Value::Null), &configurations());
    let verdict = judge(between("shop-v2", "shop-v1", json!({})));
    assert!(verdict.is_allowed(), "{verdict:?}");
    for (object, field, reason) in [
        (between("gone", "shop-v1", json!({})), "spec.targetApplicationName", "FieldValueNotFound"),
        (between("shop-v2", "gone", json!({})), "spec.sourceApplicationName", "FieldValueNotFound"),
        (between("shop-v1", "shop-v1", json!({})), "spec.sourceApplicationName", "FieldValueInvalid"),
        (
            between("shop-v2", "", json!({"sourceAppRevisionName": "shop-v1"})),
            "spec.targetApplicationName",
            "FieldValueInvalid",
        ),
        (between("", "shop-v1", json!({})), "spec.targetApplicationName", "FieldValueRequired"),
        (
            between("shop-v2", "shop-v1", json!({"componentList": ["db"]})),
            "spec.componentList",
            "FieldValueInvalid",
        ),
    ] {
        let verdict = judge(object.clone());
        let found = verdict.causes.iter().any(|c| c.field == field && c.reason == reason);
        assert!(found, "{object}: {verdict:#?}");
    }
    let references = rollout::references(&review("CREATE", between("shop-v2", "", json!({})), Value::Null));
    let kinds: Vec<&str> = references.iter().map(|key| key.kind.as_str()).collect();
    assert_eq!(kinds, ["ApplicationConfiguration"]);
}

#[test]
fn an_application_deployment_without_content_enters_as_it_is() {
    let mut empty = object(json!({}));
    empty["kind"] = json!("ApplicationDeployment");
    let written = review("CREATE", empty.clone(), Value::Null);
    assert_eq!(rollout::mutate(&written, ApiVersion::V1alpha2), Verdict::allowed());
    assert!(rollout::validate(&written, &Snapshot::default()).is_allowed());
}
