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
fn a_deployment_selects_by_uid_and_leaves_replicas_to_others() {
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
fn files_become_config_maps_and_secrets_are_mounted() {
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

/// A container with one disk.
fn with_disk(name: &str, disk: Value) -> Value {
    json!({"name": name, "image": "nginx", "resources": {
        "cpu": {"required": "1"}, "memory": {"required": "1Gi"}, "volumes": [disk],
    }})
}

#[test]
fn a_disk_that_outlives_its_pod_is_a_claim_without_an_owner() {
    let data = json!({"name": "data", "mountPath": "/data", "disk": {"required": "10Gi"}});
    let workload = workload(json!([with_disk("db", data.clone()), with_disk("backup", data)]));
    assert_eq!(
        claims(&workload).unwrap(),
        [json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": "shop-data", "namespace": "ns", "labels": {"app.oam.dev/name": "app"},
                "annotations": {"core.oam.dev/disk-of": "shop"},
            },
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}},
        })]
    );
    let spec = &deployment(&workload).unwrap()["spec"];
    assert_eq!(
        spec["template"]["spec"]["volumes"],
        json!([{"name": "data", "persistentVolumeClaim": {"claimName": "shop-data"}}])
    );
    assert_eq!(
        spec["template"]["spec"]["containers"][0]["volumeMounts"],
        json!([{"name": "data", "mountPath": "/data"}])
    );
    assert_eq!(spec["strategy"]["rollingUpdate"], json!({"maxSurge": 0, "maxUnavailable": 1}));
}

#[test]
fn shared_and_ephemeral_disks_are_replaced_as_usual() {
    let shared =
        json!({"name": "a", "mountPath": "/a", "sharingPolicy": "Shared", "disk": {"required": "1Gi"}});
    let shared = workload(json!([with_disk("db", shared)]));
    assert_eq!(claims(&shared).unwrap()[0]["spec"]["accessModes"], json!(["ReadWriteMany"]));
    assert_eq!(deployment(&shared).unwrap()["spec"]["strategy"], Value::Null);
    let scratch = json!({"name": "a", "mountPath": "/a", "disk": {"required": "1Gi", "ephemeral": true}});
    let scratch = workload(json!([with_disk("db", scratch)]));
    assert_eq!(claims(&scratch).unwrap(), Vec::<Value>::new());
    let spec = &deployment(&scratch).unwrap()["spec"];
    assert_eq!(spec["template"]["spec"]["volumes"], json!([{"name": "a", "emptyDir": {"sizeLimit": "1Gi"}}]));
    assert_eq!(spec["strategy"], Value::Null);
}

#[test]
fn disks_that_cannot_be_are_told_at_their_field() {
    let disk = |size: &str| json!({"name": "data", "mountPath": "/data", "disk": {"required": size}});
    let error = claims(&workload(json!([with_disk("db", disk("much"))]))).unwrap_err();
    assert_eq!(
        error.place,
        "ContainerizedWorkload shop: spec.containers[0].resources.volumes[0].disk.required"
    );
    let two = workload(json!([with_disk("db", disk("1Gi")), with_disk("backup", disk("2Gi"))]));
    let error = claims(&two).unwrap_err();
    assert_eq!(error.place, "ContainerizedWorkload shop: spec.containers[1].resources.volumes[0]");
}

#[test]
fn a_claim_that_is_there_only_grows() {
    let sized = |size: &str| {
        let disk = json!({"name": "data", "mountPath": "/data", "disk": {"required": size}});
        claims(&workload(json!([with_disk("db", disk)]))).unwrap().remove(0)
    };
    assert_eq!(is_large_enough(&sized("1024Mi"), &sized("1Gi")), Ok(true));
    assert_eq!(is_large_enough(&sized("2Gi"), &sized("1Gi")), Ok(true));
    assert_eq!(is_large_enough(&sized("1Gi"), &sized("2Gi")), Ok(false));
    let mut other = sized("1Gi");
    other["spec"]["accessModes"] = json!(["ReadWriteMany"]);
    assert!(is_large_enough(&other, &sized("1Gi")).unwrap_err().contains("accessModes"));
    other["metadata"]["annotations"] = json!({});
    assert!(is_large_enough(&other, &sized("1Gi")).unwrap_err().contains("disk of no workload"));
}
