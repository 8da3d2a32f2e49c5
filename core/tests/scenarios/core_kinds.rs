//! ContainerizedWorkload, ManualScalerTrait and HealthScope: woken by what they look at, quiet otherwise.

use serde_json::{Value, json};

use super::world::{World, until, until_or};

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

async fn synced(world: &World, kind: &str, name: &str, status: &str, words: &str) {
    let object = || async { world.get(OLD, kind, name).await.unwrap_or_default() };
    until_or(&format!("{kind} {name} is {status}"), object, |object| {
        let condition = &object["status"]["conditions"][0];
        condition["status"] == status && condition["message"].as_str().unwrap_or_default().contains(words)
    })
    .await;
}

#[tokio::test]
pub(super) async fn a_workload_keeps_its_parts_and_drops_what_it_no_longer_wants() {
    let world = World::new().await;
    world.create(workload(json!([{"name": "http", "containerPort": 80}]))).await;
    synced(&world, "ContainerizedWorkload", "shop", "True", "").await;
    let deployment = world.deployment("shop").await.unwrap();
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(pod["nodeSelector"], json!({"beta.kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}));
    assert_eq!(pod["imagePullSecrets"], json!([{"name": "pull"}]));
    let map = pod["volumes"][0]["name"].as_str().unwrap().to_owned();
    world.quiet().await;
    for (version, kind, name) in
        [("v1", "Service", "shop"), ("v1", "ConfigMap", map.as_str()), ("apps/v1", "Deployment", "shop")]
    {
        let uid = world.get(version, kind, name).await.unwrap()["metadata"]["uid"].clone();
        world.delete(version, kind, name).await;
        until_or(
            &format!("{kind} comes back"),
            || world.get(version, kind, name),
            |found| found.as_ref().is_some_and(|found| found["metadata"]["uid"] != uid),
        )
        .await;
    }
    let bare = workload(json!([]))["spec"].clone();
    world.patch(OLD, "ContainerizedWorkload", "shop", json!({"spec": bare})).await;
    world.gone("v1", "Service", "shop").await;
    until("the status names the Deployment only", || async {
        let found = world.get(OLD, "ContainerizedWorkload", "shop").await.unwrap();
        found["status"]["resources"].as_array().is_some_and(|all| all.len() == 1)
    })
    .await;
    world.quiet().await;
}

#[tokio::test]
async fn a_file_that_is_gone_takes_its_config_map_along() {
    let world = World::new().await;
    let files = |paths: &[&str]| {
        let mut workload = workload(json!([]));
        let config: Vec<Value> = paths.iter().map(|path| json!({"path": path, "value": "x"})).collect();
        workload["spec"]["containers"][0]["config"] = json!(config);
        workload
    };
    world.create(files(&["/etc/a/one", "/etc/b/two"])).await;
    let maps = || async {
        let all = world.list("v1", "ConfigMap").await;
        all.into_iter()
            .filter(|map| map["metadata"]["name"].as_str().unwrap().starts_with("shop-web-"))
            .collect()
    };
    until_or("two files", maps, |maps: &Vec<Value>| maps.len() == 2).await;
    synced(&world, "ContainerizedWorkload", "shop", "True", "").await;
    // Nobody's, although it has a name like theirs.
    world
        .create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shop-web-1",
        "labels": {"app.oam.dev/component": "shop"}}}))
        .await;
    let spec = files(&["/etc/b/two"])["spec"].clone();
    world.patch(OLD, "ContainerizedWorkload", "shop", json!({"spec": spec})).await;
    let left = until_or("one file and the stranger", maps, |maps| {
        maps.iter().all(|map| map["data"]["one"].is_null()) && maps.len() == 2
    })
    .await;
    assert!(left.iter().any(|map| map["metadata"]["name"] == "shop-web-1"));
    assert!(left.iter().any(|map| !map["data"]["two"].is_null()), "{left:#?}");
    world.quiet().await;
}

#[tokio::test]
pub(super) async fn a_scaler_waits_for_its_workload_and_holds_its_number() {
    let world = World::new().await;
    world.create(scaler(3)).await;
    synced(
        &world,
        "ManualScalerTrait",
        "scale",
        "False",
        "cannot find the workload that the trait is referencing to",
    )
    .await;
    world.create(workload(json!([]))).await;
    synced(&world, "ManualScalerTrait", "scale", "True", "").await;
    let has = |replicas: i64| {
        let world = &world;
        async move {
            until_or(
                &format!("{replicas} replicas"),
                || world.deployment("shop"),
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
    world.quiet().await;
    world.patch("apps/v1", "Deployment", "shop", json!({"spec": {"replicas": 9}})).await;
    has(3).await;
    world.quiet().await;
}

#[tokio::test]
pub(super) async fn a_scope_follows_its_workloads_without_a_clock() {
    let world = World::new().await;
    let reference = json!({"apiVersion": OLD, "kind": "ContainerizedWorkload", "name": "shop"});
    let set = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "other"});
    world.create(json!({
        "apiVersion": OLD, "kind": "HealthScope", "metadata": {"name": "scope"}, "spec": {"workloadRefs": [reference]},
    }))
    .await;
    let health = |wanted: &'static str, unknown: Value| {
        let world = &world;
        async move {
            let scope = || async { world.get(OLD, "HealthScope", "scope").await.unwrap() };
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
    world.create(shop).await;
    let scope = health("HEALTHY", Value::Null).await;
    let found = &scope["status"]["healthConditions"][0];
    assert_eq!((&found["diagnosis"], &found["componentName"]), (&json!("Ready:1/1 "), &json!("shop")));
    world.quiet().await;
    assert!(world.writes().is_empty(), "an idle scope writes nothing");
    world.patch(OLD, "HealthScope", "scope", json!({"spec": {"workloadRefs": [reference, set]}})).await;
    world.create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}})).await;
    health("UNHEALTHY", json!(1)).await;
    world.delete(OLD, "ContainerizedWorkload", "shop").await;
    until("both are unwell", || async {
        let scope = world.get(OLD, "HealthScope", "scope").await.unwrap();
        scope["status"]["scopeHealthCondition"]["unhealthyWorkloads"] == 1
    })
    .await;
}
