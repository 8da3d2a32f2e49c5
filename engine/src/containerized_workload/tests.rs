//! A workload as users write it, and each rule of the objects made from it.

use serde_json::json;

use super::*;

fn workload(containers: Value) -> ContainerizedWorkload {
    serde_json::from_value(json!({
        "apiVersion": "core.oam.dev/v1alpha2", "kind": KIND,
        "metadata": {
            "name": "shop", "namespace": "ns", "uid": "u-1",
            "labels": {"app.oam.dev/name": "app"},
            "annotations": {"app.oam.dev/generation": "1", "app.oam.dev/last-applied-configuration": "{}"},
        },
        "spec": {"containers": containers, "osType": "linux"},
    }))
    .unwrap()
}

#[test]
fn a_deployment_selects_by_the_uid_and_leaves_the_replicas_to_others() {
    let deployment = deployment(&workload(json!([{
        "name": "web", "image": "nginx", "ports": [{"name": "http", "containerPort": 80}],
        "resources": {"cpu": {"required": "100m"}, "memory": {"required": "64Mi"}},
        "env": [
            {"name": "A", "value": "1", "fromSecret": {"name": "s", "key": "k"}},
            {"name": "B", "fromSecret": {"name": "s", "key": "k"}},
            {"name": "C"},
        ],
        "livenessProbe": {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 5},
    }])))
    .unwrap();
    assert_eq!(deployment["spec"]["replicas"], Value::Null);
    assert_eq!(deployment["spec"]["selector"]["matchLabels"], json!({labels::CONTAINERIZED_WORKLOAD: "u-1"}));
    assert_eq!(
        deployment["spec"]["template"]["metadata"]["labels"],
        json!({"app.oam.dev/name": "app", labels::CONTAINERIZED_WORKLOAD: "u-1"})
    );
    assert_eq!(deployment["metadata"]["annotations"], json!({"app.oam.dev/generation": "1"}));
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(pod["nodeSelector"], json!({"beta.kubernetes.io/os": "linux"}));
    assert_eq!(
        pod["containers"],
        json!([{
            "name": "web", "image": "nginx",
            "ports": [{"name": "http", "containerPort": 80, "protocol": "TCP"}],
            "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
            "env": [
                {"name": "A", "value": "1"},
                {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
            ],
            "livenessProbe": {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 5},
        }])
    );
}

#[test]
fn files_become_config_maps_and_secrets_are_mounted_where_they_are_asked_for() {
    let workload = workload(json!([{
        "name": "web", "image": "nginx",
        "config": [
            {"path": "/etc/app/conf", "value": "x=1"},
            {"path": "/etc/secret", "fromSecret": {"name": "pass", "key": "word"}},
        ],
    }]));
    let maps = config_maps(&workload, "d-1").unwrap();
    assert_eq!(maps.len(), 1);
    assert_eq!(maps[0]["data"], json!({"conf": "x=1"}));
    assert_eq!(maps[0]["metadata"]["ownerReferences"][0]["uid"], "d-1");
    let name = maps[0]["metadata"]["name"].as_str().unwrap();
    let deployment = deployment(&workload).unwrap();
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(
        pod["containers"][0]["volumeMounts"],
        json!([{"name": name, "mountPath": "/etc/app/"}, {"name": "pass", "mountPath": "/etc/secret"}])
    );
    assert_eq!(
        pod["volumes"],
        json!([
            {"name": name, "configMap": {"name": name}},
            {"name": "pass", "secret": {"secretName": "pass", "items": [{"key": "word", "path": "word"}]}},
        ])
    );
}

#[test]
fn a_file_without_content_is_an_error_that_names_it() {
    let error = deployment(&workload(json!([{"name": "web", "image": "nginx", "config": [{"path": "/a"}]}])))
        .unwrap_err();
    assert_eq!(error.place, "ContainerizedWorkload shop: spec.containers[0].config[0]");
}

#[test]
fn a_workload_without_ports_has_no_service() {
    assert_eq!(service(&workload(json!([{"name": "web", "image": "nginx"}]))).unwrap(), None);
    let ports =
        json!([{"name": "web", "image": "nginx", "ports": [{"name": "http", "containerPort": 8080}]}]);
    let service = service(&workload(ports)).unwrap().unwrap();
    assert_eq!(service["spec"]["ports"], json!([{"name": "shop", "port": 8080, "targetPort": 8080}]));
    assert_eq!(crate::dependent::reference(&service).kind, "Service");
}
