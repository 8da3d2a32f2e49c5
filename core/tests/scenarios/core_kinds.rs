//! ContainerizedWorkload, ManualScalerTrait and HealthScope: woken by what they look at, quiet otherwise.

use serde_json::{Value, json};

use super::test_cluster::{TestCluster, until, until_or};

const OLD: &str = "core.oam.dev/v1alpha2";

pub(super) fn workload(ports: Value) -> Value {
    json!({
        "apiVersion": OLD, "kind": "ContainerizedWorkload",
        "metadata": {"name": "shop", "labels": {"app.oam.dev/name": "a", "app.oam.dev/component": "shop"}},
        "spec": {"osType": "linux", "arch": "amd64", "containers": [{
            "name": "web", "image": "nginx", "imagePullSecret": "pull", "ports": ports,
            "config": [{"path": "/etc/app/conf", "value": "x=1"}],
        }]},
    })
}

pub(super) fn scaler(replicas: i64) -> Value {
    json!({
        "apiVersion": OLD, "kind": "ManualScalerTrait", "metadata": {"name": "scale"},
        "spec": {"replicaCount": replicas, "workloadRef": {"apiVersion": OLD, "kind": "ContainerizedWorkload", "name": "shop"}},
    })
}

async fn synced(cluster: &TestCluster, kind: &str, name: &str, status: &str, words: &str) {
    let object = || async { cluster.get(OLD, kind, name).await.unwrap_or_default() };
    until_or(&format!("{kind} {name} is {status}"), object, |object| {
        let condition = &object["status"]["conditions"][0];
        condition["status"] == status && condition["message"].as_str().unwrap_or_default().contains(words)
    })
    .await;
}

#[tokio::test]
pub(super) async fn a_workload_keeps_its_parts_and_drops_what_it_no_longer_wants() {
    let cluster = TestCluster::new().await;
    cluster.create(workload(json!([{"name": "http", "containerPort": 80}]))).await;
    synced(&cluster, "ContainerizedWorkload", "shop", "True", "").await;
    let deployment = cluster.deployment("shop").await.unwrap();
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(pod["nodeSelector"], json!({"beta.kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}));
    assert_eq!(pod["imagePullSecrets"], json!([{"name": "pull"}]));
    let map = pod["volumes"][0]["name"].as_str().unwrap().to_owned();
    cluster.quiet().await;
    for (version, kind, name) in
        [("v1", "Service", "shop"), ("v1", "ConfigMap", map.as_str()), ("apps/v1", "Deployment", "shop")]
    {
        let uid = cluster.get(version, kind, name).await.unwrap()["metadata"]["uid"].clone();
        cluster.delete(version, kind, name).await;
        until_or(
            &format!("{kind} comes back"),
            || cluster.get(version, kind, name),
            |found| found.as_ref().is_some_and(|found| found["metadata"]["uid"] != uid),
        )
        .await;
    }
    let bare = workload(json!([]))["spec"].clone();
    cluster.patch(OLD, "ContainerizedWorkload", "shop", json!({"spec": bare})).await;
    cluster.gone("v1", "Service", "shop").await;
    until("the status names the Deployment only", || async {
        let found = cluster.get(OLD, "ContainerizedWorkload", "shop").await.unwrap();
        found["status"]["resources"].as_array().is_some_and(|all| all.len() == 1)
    })
    .await;
    cluster.quiet().await;
}

#[tokio::test]
async fn a_file_that_is_gone_takes_its_config_map_along() {
    let cluster = TestCluster::new().await;
    let files = |paths: &[&str]| {
        let mut workload = workload(json!([]));
        let config: Vec<Value> = paths.iter().map(|path| json!({"path": path, "value": "x"})).collect();
        workload["spec"]["containers"][0]["config"] = json!(config);
        workload
    };
    cluster.create(files(&["/etc/a/one", "/etc/b/two"])).await;
    let maps = || async {
        let all = cluster.list("v1", "ConfigMap").await;
        all.into_iter()
            .filter(|map| map["metadata"]["name"].as_str().unwrap().starts_with("shop-web-"))
            .collect()
    };
    until_or("two files", maps, |maps: &Vec<Value>| maps.len() == 2).await;
    synced(&cluster, "ContainerizedWorkload", "shop", "True", "").await;
    // Without an owner, although it has a name like theirs.
    cluster
        .create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shop-web-1",
        "labels": {"app.oam.dev/component": "shop"}}}))
        .await;
    let spec = files(&["/etc/b/two"])["spec"].clone();
    cluster.patch(OLD, "ContainerizedWorkload", "shop", json!({"spec": spec})).await;
    let left = until_or("one file and the stranger", maps, |maps| {
        maps.iter().all(|map| map["data"]["one"].is_null()) && maps.len() == 2
    })
    .await;
    assert!(left.iter().any(|map| map["metadata"]["name"] == "shop-web-1"));
    assert!(left.iter().any(|map| !map["data"]["two"].is_null()), "{left:#?}");
    cluster.quiet().await;
}

#[tokio::test]
async fn a_disk_outlives_its_workload_and_is_found_again() {
    const CLAIM: &str = "PersistentVolumeClaim";
    let cluster = TestCluster::new().await;
    let with_disk = |size: &str| {
        let mut workload = workload(json!([]));
        workload["spec"]["containers"][0]["resources"] = json!({
            "cpu": {"required": "100m"}, "memory": {"required": "64Mi"},
            "volumes": [{"name": "data", "mountPath": "/data", "disk": {"required": size}}],
        });
        workload
    };
    // Of another owner, although it has the name.
    cluster
        .create(json!({"apiVersion": "v1", "kind": CLAIM, "metadata": {"name": "shop-data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}))
        .await;
    cluster.create(with_disk("1Gi")).await;
    synced(&cluster, "ContainerizedWorkload", "shop", "False", "the disk of no workload").await;
    assert!(cluster.deployment("shop").await.is_none());
    cluster.delete("v1", CLAIM, "shop-data").await;
    synced(&cluster, "ContainerizedWorkload", "shop", "True", "").await;
    let claim = cluster.get("v1", CLAIM, "shop-data").await.unwrap();
    assert_eq!(claim["metadata"]["ownerReferences"], Value::Null);
    let volumes = cluster.deployment("shop").await.unwrap()["spec"]["template"]["spec"]["volumes"].clone();
    let mounted = json!({"name": "data", "persistentVolumeClaim": {"claimName": "shop-data"}});
    assert!(volumes.as_array().unwrap().contains(&mounted), "{volumes}");
    cluster.quiet().await;
    cluster.delete(OLD, "ContainerizedWorkload", "shop").await;
    cluster.gone("apps/v1", "Deployment", "shop").await;
    cluster.create(with_disk("1Gi")).await;
    synced(&cluster, "ContainerizedWorkload", "shop", "True", "").await;
    let found = cluster.get("v1", CLAIM, "shop-data").await.unwrap();
    assert_eq!(found["metadata"]["uid"], claim["metadata"]["uid"]);
    cluster.quiet().await;
}

#[tokio::test]
pub(super) async fn a_scaler_waits_for_its_workload_and_holds_its_number() {
    let cluster = TestCluster::new().await;
    cluster.create(scaler(3)).await;
    synced(
        &cluster,
        "ManualScalerTrait",
        "scale",
        "False",
        "cannot find the workload that the trait is referencing to",
    )
    .await;
    cluster.create(workload(json!([]))).await;
    synced(&cluster, "ManualScalerTrait", "scale", "True", "").await;
    let has = |replicas: i64| {
        let cluster = &cluster;
        async move {
            until_or(
                &format!("{replicas} replicas"),
                || cluster.deployment("shop"),
                |found| found.as_ref().is_some_and(|found| found["spec"]["replicas"] == replicas),
            )
            .await
        }
    };
    let found = has(3).await.unwrap();
    let owners = found["metadata"]["ownerReferences"].as_array().unwrap();
    assert_eq!(
        (owners.len(), &owners[1]["kind"], &owners[1]["controller"]),
        (2, &json!("ManualScalerTrait"), &json!(false))
    );
    cluster.quiet().await;
    cluster.patch("apps/v1", "Deployment", "shop", json!({"spec": {"replicas": 9}})).await;
    has(3).await;
    cluster.quiet().await;
}

#[tokio::test]
pub(super) async fn a_scope_follows_its_workloads_without_a_clock() {
    let cluster = TestCluster::new().await;
    let reference = json!({"apiVersion": OLD, "kind": "ContainerizedWorkload", "name": "shop"});
    let set = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "other"});
    cluster.create(json!({
        "apiVersion": OLD, "kind": "HealthScope", "metadata": {"name": "scope"}, "spec": {"workloadRefs": [reference]},
    }))
    .await;
    let health = |wanted: &'static str, unknown: Value| {
        let cluster = &cluster;
        async move {
            let scope = || async { cluster.get(OLD, "HealthScope", "scope").await.unwrap() };
            until_or(&format!("the scope is {wanted}"), scope, |scope| {
                let joint = &scope["status"]["scopeHealthCondition"];
                joint["healthStatus"] == wanted && joint["unknownWorkloads"] == unknown
            })
            .await
        }
    };
    health("UNHEALTHY", Value::Null).await;
    let mut shop = workload(json!([{"name": "http", "containerPort": 80}]));
    // The simulated node is of no particular make.
    for field in ["osType", "arch"] {
        shop["spec"].as_object_mut().unwrap().remove(field);
    }
    cluster.create(shop).await;
    let scope = health("HEALTHY", Value::Null).await;
    let found = &scope["status"]["healthConditions"][0];
    assert_eq!((&found["diagnosis"], &found["componentName"]), (&json!("Ready:1/1 "), &json!("shop")));
    cluster.quiet().await;
    assert!(cluster.writes().is_empty(), "an idle scope writes nothing");
    cluster.patch(OLD, "HealthScope", "scope", json!({"spec": {"workloadRefs": [reference, set]}})).await;
    cluster.create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}})).await;
    health("UNHEALTHY", json!(1)).await;
    cluster.delete(OLD, "ContainerizedWorkload", "shop").await;
    until("both are unwell", || async {
        let scope = cluster.get(OLD, "HealthScope", "scope").await.unwrap();
        scope["status"]["scopeHealthCondition"]["unhealthyWorkloads"] == 1
    })
    .await;
}
