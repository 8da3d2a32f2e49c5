//! ServiceBindings: Secrets and claims come into the containers, once, and nothing else is touched.

use json_patch::patch;
use serde_json::{Value, json};
use vela_webhooks::service_binding::{injection, takes};
use vela_webhooks::{Verdict, service_binding};

use crate::review;

fn deployment(containers: Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"template": {"spec": {"containers": containers}}},
    })
}

fn binding(from: Value, to: Value) -> Value {
    json!({
        "apiVersion": "core.oam.dev/v1alpha1", "kind": "ServiceBinding", "metadata": {"name": "b"},
        "spec": {
            "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "bindings": [{"from": from, "to": to}],
        },
    })
}

fn secret() -> Value {
    json!({"secret": {"name": "db"}})
}

fn mutate(object: &Value, bindings: &[Value], referred: Option<&Value>) -> Result<Verdict, String> {
    let review = review("CREATE", object.clone(), Value::Null);
    match injection(&review, bindings) {
        None => Ok(Verdict::allowed()),
        Some(injection) => injection.mutate(&review, referred),
    }
}

/// The object after the patch; a second call changes nothing more.
fn injected(object: &Value, bindings: &[Value]) -> Value {
    let mut patched = object.clone();
    patch(&mut patched, &mutate(object, bindings, None).unwrap().patch).unwrap();
    assert_eq!(mutate(&patched, bindings, None).unwrap().patch.0, [], "a second time changes nothing");
    patched
}

/// Checklist 11.
#[test]
fn environment_without_a_list_takes_two_operations() {
    let object = deployment(json!([{"name": "c"}]));
    let verdict = mutate(&object, &[binding(secret(), json!({"env": true}))], None).unwrap();
    assert_eq!(
        json!(verdict.patch),
        json!([
            {"op": "add", "path": "/spec/template/spec/containers/0/envFrom", "value": []},
            {"op": "add", "path": "/spec/template/spec/containers/0/envFrom/-", "value": {"secretRef": {"name": "db"}}},
        ])
    );
    let has = deployment(json!([{"name": "c", "envFrom": [{"configMapRef": {"name": "m"}}]}]));
    assert_eq!(mutate(&has, &[binding(secret(), json!({"env": true}))], None).unwrap().patch.0.len(), 1);
    injected(&has, &[binding(secret(), json!({"env": true}))]);
}

#[test]
fn files_are_a_volume_and_mounts() {
    let object = deployment(
        json!([{"name": "c"}, {"name": "d", "volumeMounts": [{"name": "own", "mountPath": "/own"}]}]),
    );
    let to = json!({"filePath": "/etc/db", "env": true});
    let patched = injected(&object, &[binding(secret(), to.clone())]);
    let pods = &patched["spec"]["template"]["spec"];
    assert_eq!(pods["volumes"], json!([{"name": "secret-db", "secret": {"secretName": "db"}}]));
    let mount = json!({"name": "secret-db", "mountPath": "/etc/db"});
    assert_eq!(pods["containers"][0]["volumeMounts"], json!([mount]));
    assert_eq!(pods["containers"][1]["volumeMounts"], json!([{"name": "own", "mountPath": "/own"}, mount]));
    assert_eq!(pods["containers"][1]["envFrom"], json!([{"secretRef": {"name": "db"}}]));
    // A claim has no environment.
    let patched = injected(&object, &[binding(json!({"volume": {"pvcName": "data"}}), to)]);
    let pods = &patched["spec"]["template"]["spec"];
    assert_eq!(
        pods["volumes"],
        json!([{"name": "pvc-data", "persistentVolumeClaim": {"claimName": "data"}}])
    );
    assert!(pods["containers"][0].get("envFrom").is_none());
}

#[test]
fn what_the_api_server_filled_in_does_not_make_another_volume() {
    let bindings = [binding(secret(), json!({"filePath": "/etc/db"}))];
    let mut patched = injected(&deployment(json!([{"name": "c"}])), &bindings);
    patched["spec"]["template"]["spec"]["volumes"][0]["secret"]["defaultMode"] = json!(420);
    assert_eq!(mutate(&patched, &bindings, None).unwrap().patch.0, []);
}

#[test]
fn foreign_volumes_and_mounts_stay() {
    let bindings = [binding(secret(), json!({"filePath": "/etc/db"}))];
    let mut object = deployment(json!([{"name": "c"}]));
    object["spec"]["template"]["spec"]["volumes"] = json!([{"name": "secret-db", "emptyDir": {}}]);
    let verdict = mutate(&object, &bindings, None).unwrap();
    assert_eq!((verdict.patch.0.len(), verdict.warnings.len()), (0, 1), "{verdict:?}");
    let object =
        deployment(json!([{"name": "c", "volumeMounts": [{"name": "own", "mountPath": "/etc/db"}]}]));
    let verdict = mutate(&object, &bindings, None).unwrap();
    assert_eq!(verdict.warnings.len(), 1, "{verdict:?}");
    assert!(!json!(verdict.patch).to_string().contains("volumeMounts"));
}

#[test]
fn only_named_containers_are_changed() {
    let object = deployment(json!([{"name": "c"}, {"name": "d"}]));
    let mut bound = binding(secret(), json!({"env": true}));
    bound["spec"]["bindings"][0]["containerSelector"] = json!({"byNames": ["d"]});
    let patched = injected(&object, &[bound]);
    let containers = &patched["spec"]["template"]["spec"]["containers"];
    assert!(containers[0].get("envFrom").is_none() && containers[1].get("envFrom").is_some(), "{containers}");
}

#[test]
fn a_secret_is_named_by_a_field() {
    let from = json!({"secret": {"name": "unused", "nameFromField":
        {"apiVersion": "x.io/v1", "kind": "Database", "name": "db", "fieldPath": ".status.secret"}}});
    let bindings = [binding(from, json!({"env": true}))];
    let object = deployment(json!([{"name": "c"}]));
    let database = json!({"status": {"secret": "made"}});
    let verdict = mutate(&object, &bindings, Some(&database)).unwrap();
    assert!(json!(verdict.patch).to_string().contains(r#"{"secretRef":{"name":"made"}}"#));
    let review = review("CREATE", object.clone(), Value::Null);
    let key = injection(&review, &bindings).unwrap().object().unwrap().clone();
    assert_eq!((key.kind.as_str(), key.namespace.as_str(), key.name.as_str()), ("Database", "default", "db"));
    let error = mutate(&object, &bindings, Some(&json!({}))).unwrap_err();
    assert!(error.starts_with("fieldPath not found: .status.secret"), "{error}");
    assert!(mutate(&object, &bindings, None).unwrap_err().contains("not found"));
}

#[test]
fn others_pass_as_they_are() {
    let to = json!({"env": true});
    let object = deployment(json!([{"name": "c"}]));
    let mut other = binding(secret(), to.clone());
    other["spec"]["workloadRef"]["name"] = json!("other");
    let mut unbound = binding(secret(), to.clone());
    unbound["spec"]["workloadRef"] = Value::Null;
    let nothing = binding(json!({}), to.clone());
    for bindings in
        [vec![], vec![other.clone()], vec![unbound.clone()], vec![nothing], vec![json!({"spec": 3})]]
    {
        assert_eq!(mutate(&object, &bindings, None).unwrap(), Verdict::allowed(), "{bindings:?}");
    }
    // The first that names the workload counts, wherever it stands.
    let found = mutate(&object, &[other, unbound, binding(secret(), to)], None).unwrap();
    assert!(!found.patch.0.is_empty());
    assert!(takes(&object));
    for kind in ["DaemonSet", "ReplicaSet"] {
        assert!(!takes(&json!({"apiVersion": "apps/v1", "kind": kind})));
    }
    assert!(!takes(&json!({"apiVersion": "apps.kruise.io/v1alpha1", "kind": "StatefulSet"})));
}

#[test]
fn a_name_that_no_volume_can_have_becomes_one() {
    let long = format!("a.{}", "b".repeat(200));
    let bindings = [binding(json!({"secret": {"name": long}}), json!({"filePath": "/x"}))];
    let patched = injected(&deployment(json!([{"name": "c"}])), &bindings);
    let name = patched["spec"]["template"]["spec"]["volumes"][0]["name"].as_str().unwrap().to_owned();
    assert!(name.len() <= 63 && !name.contains('.') && name.starts_with("secret-a-b"), "{name}");
    assert_eq!(service_binding::kind(), ("core.oam.dev/v1alpha1".to_owned(), "ServiceBinding".to_owned()));
}
