//! Creates of built-in kinds against what the real API server answered: the defaulted object, or the refusal.
use serde_json::{Value, json};

use super::*;
use crate::apply;

/// Values both servers choose freely.
fn comparable(kind: &str, object: &Value) -> Value {
    let mut out = object.clone();
    let metadata = out["metadata"].as_object_mut().unwrap();
    for name in ["generation", "namespace", "uid", "finalizers"] {
        metadata.remove(name);
    }
    for entry in metadata.get_mut("managedFields").and_then(Value::as_array_mut).into_iter().flatten() {
        entry["time"] = "T".into();
    }
    match kind {
        "Service" => {
            if let Some(spec) = out["spec"].as_object_mut() {
                spec.remove("clusterIP");
                spec.remove("clusterIPs");
                for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
                    port.as_object_mut().unwrap().remove("nodePort");
                }
            }
        }
        // The uid of a Job is new with every create, in labels and selector.
        "Job" => {
            let metadata = out["metadata"].as_object_mut().unwrap();
            metadata.remove("labels");
            out["spec"].as_object_mut().unwrap().remove("selector");
            out["spec"]["template"]["metadata"].as_object_mut().unwrap().remove("labels");
        }
        "Namespace" => {
            out.as_object_mut().unwrap().remove("spec");
        }
        "PersistentVolume" | "CustomResourceDefinition" => {
            out.as_object_mut().unwrap().remove("status");
        }
        _ => {}
    }
    strip_nulls(&mut out);
    out
}

fn strip_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, v| !v.is_null());
            map.values_mut().for_each(strip_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(strip_nulls),
        _ => {}
    }
}

#[test]
fn creates_are_completed_and_refused_as_by_the_real_server() {
    let recorded: Value = serde_json::from_str(include_str!("../../tests/data/create.json")).unwrap();
    let mut wrong = Vec::new();
    for case in recorded.as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let mut object = case["request"].clone();
        let kind = object["kind"].as_str().unwrap().to_owned();
        let version = object["apiVersion"].as_str().unwrap().to_owned();
        let code = case["code"].as_u64().unwrap();
        if let Err(message) = check_types(&version, &kind, &object) {
            if code != 400 || case["answer"]["message"] != message.as_str() {
                wrong.push(format!(
                    "{name}:\n   ours {message}\n theirs {code} {}",
                    case["answer"]["message"]
                ));
            }
            continue;
        }
        let unknown = prune(&version, &kind, &mut object);
        assert!(unknown.is_empty(), "{name}: {unknown:?}");
        object["metadata"]["uid"] = "u".into();
        apply_defaults(&version, &kind, &mut object);
        let schema = apply::Schema::BuiltIn { api_version: &version, kind: &kind };
        let request = apply::Request {
            manager: "tester",
            force: false,
            subresource: None,
            api_version: &version,
            now: "T",
            status_subresource: find(&version, &kind).unwrap().status,
            schema,
        };
        apply::track_update(None, &mut object, &request);
        prepare_create(&version, &kind, &mut object);
        let causes = validate(&version, &kind, &object, None);
        if code == 201 {
            let (ours, theirs) = (comparable(&kind, &object), comparable(&kind, &case["answer"]));
            if !causes.is_empty() {
                wrong.push(format!("{name}: refused: {causes:?}"));
            } else if ours != theirs {
                wrong.push(format!("{name}: ours differs: {}", json!(json_patch::diff(&theirs, &ours))));
            }
        } else {
            let mut ours: Vec<String> = causes.iter().map(ToString::to_string).collect();
            let theirs = case.pointer("/answer/details/causes").and_then(Value::as_array).cloned();
            let mut theirs: Vec<String> = theirs
                .unwrap_or_default()
                .iter()
                .map(|c| format!("{}: {}", c["field"].as_str().unwrap(), c["message"].as_str().unwrap()))
                .collect();
            ours.sort();
            theirs.sort();
            if ours != theirs {
                wrong.push(format!("{name}:\n   ours {ours:#?}\n theirs {theirs:#?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_kind_fills_every_column() {
    let recorded: Value = serde_json::from_str(include_str!("../../tests/data/create.json")).unwrap();
    let now = "2026-01-01T00:00:00Z".parse().unwrap();
    for case in recorded.as_array().unwrap().iter().filter(|c| c["code"] == 201) {
        let object = &case["answer"];
        let (version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
        assert_eq!(cells(version, kind, object, now).len(), columns(version, kind).len(), "{kind}");
    }
    for kind in kinds() {
        let object = json!({"metadata": {"name": "x"}});
        assert_eq!(
            cells(&kind.api_version(), kind.kind, &object, now).len(),
            kind.columns.len(),
            "{}",
            kind.kind
        );
    }
}

#[test]
fn what_may_not_change_is_refused() {
    let deployment = |label: &str| {
        json!({"metadata": {"name": "d"}, "spec": {
            "selector": {"matchLabels": {"app": label}}, "strategy": {"type": "Recreate"},
            "template": {"metadata": {"labels": {"app": label}}, "spec": {
                "restartPolicy": "Always", "containers": [{"name": "c", "image": "i", "imagePullPolicy": "Always"}]}},
        }})
    };
    let causes = validate("apps/v1", "Deployment", &deployment("b"), Some(&deployment("a")));
    let messages: Vec<String> = causes.iter().map(ToString::to_string).collect();
    assert_eq!(
        messages,
        [r#"spec.selector: Invalid value: {"matchLabels":{"app":"b"}}: field is immutable"#]
    );
}

#[test]
fn an_empty_number_that_means_nothing_is_not_kept() {
    let probe = json!({"tcpSocket": {"port": 80}, "initialDelaySeconds": 0});
    let container =
        json!({"name": "c", "image": "i:1", "livenessProbe": probe, "env": [{"name": "A", "value": ""}]});
    let mut pod = json!({"metadata": {"name": "x"}, "spec": {"containers": [container]}});
    apply_defaults("v1", "Pod", &mut pod);
    let container = &pod["spec"]["containers"][0];
    assert!(container["livenessProbe"].get("initialDelaySeconds").is_none(), "{pod}");
    assert_eq!(container["livenessProbe"]["periodSeconds"], 10);
    assert_eq!(container["env"], json!([{"name": "A"}]));
}

#[test]
fn every_kind_has_a_type_with_metadata() {
    for kind in kinds() {
        let ty = types::table().kind(&kind.api_version(), kind.kind);
        assert!(ty.is_some_and(|s| s.field("metadata").is_some()), "{}", kind.kind);
    }
}
