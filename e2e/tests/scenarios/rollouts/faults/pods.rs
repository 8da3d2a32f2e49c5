//! Pods that are lost, refused, broken or without a place; what only a real control plane does.

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams};
use serde_json::{Value, json};
use vela_e2e::Result;
use vela_e2e::objects::{Cluster, text, until};
use vela_e2e::target::Target;

use super::super::becomes;
use super::{
    APPS, NAME, OAM, SIZE, STEP_DEADLINE, accepted, begins, bound, goes_on, has, is_over, prepared, recorded,
    reports, shop, succeeds,
};

/// Nodes that only the pods of this namespace may use.
fn node(namespace: &str, name: &str) -> Value {
    let room = json!({"cpu": "8", "memory": "64Gi", "pods": "100"});
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": format!("{namespace}-{name}"),
            "labels": {"e2e": namespace, "type": "kwok"},
            "annotations": {"kwok.x-k8s.io/node": "fake", "node.alpha.kubernetes.io/ttl": "0"},
        },
        "spec": {"taints": [{"key": "e2e", "value": namespace, "effect": "NoSchedule"}]},
        "status": {"allocatable": room, "capacity": room},
    })
}

/// The pods of the second revision.
async fn new_pods(cluster: &Cluster) -> Result<Vec<Value>> {
    let pods = cluster.list("v1", "Pod").await?;
    Ok(pods.into_iter().filter(|pod| text(pod, "/spec/containers/0/image") == "nginx:2").collect())
}

/// One of the new pods says something that a kubelet would say.
async fn says(cluster: &Cluster, status: &Value) -> Result<String> {
    let pod = until("there is a new pod", STEP_DEADLINE, async || {
        let pods = new_pods(cluster).await.map_err(|error| error.to_string())?;
        pods.into_iter().next().ok_or_else(|| "there is none".to_owned())
    })
    .await?;
    let name = text(&pod, "/metadata/name").to_owned();
    cluster.patch_status("v1", "Pod", &name, &json!({"status": status})).await?;
    Ok(name)
}

/// A node goes with the first new pod on it, while the next batch is under way.
pub(super) async fn node_lost(target: &Target) -> Result<()> {
    let name = format!("{}-node", target.namespace());
    let pod = json!({
        "nodeSelector": {"e2e": name},
        "tolerations": [{"key": "e2e", "operator": "Equal", "value": name, "effect": "NoSchedule"}],
    });
    let (cluster, moments) = prepared(target, "node", &pod).await?;
    let nodes = ["a", "b"].map(|each| node(&name, each));
    cluster.create(&nodes[0]).await?;
    moments.must(bound(4, 4 + 2));
    begins(&cluster, &[1, 1, 2], true).await?;
    println!("rollout-faults: before the node is lost: {}", moments.check_bound()?);
    // One pod is lost, and that is the fault's doing; the rollout must not take another one.
    moments.must(bound(3, 4 + 2));
    cluster.delete("v1", "Node", text(&nodes[0], "/metadata/name")).await?;
    // The cluster notices a silent node after 40 seconds, and then says this.
    let conditions = [("ContainersReady", "True"), ("Ready", "False"), ("PodScheduled", "True")]
        .map(|(of, status)| json!({"type": of, "status": status}));
    let lost = says(&cluster, &json!({"conditions": conditions})).await?;
    goes_on(&cluster).await?;
    reports(&cluster, "a lost node", &["NodeNotReady", "kubectl get node", &lost]).await?;
    cluster.create(&nodes[1]).await?;
    let pods: Api<Pod> = Api::namespaced(cluster.client().clone(), cluster.namespace());
    pods.delete(&lost, &DeleteParams::default().grace_period(0)).await?;
    is_over(&cluster).await?;
    println!("rollout-faults: node lost: {}", moments.check_bound()?);
    cluster.delete("v1", "Node", text(&nodes[1], "/metadata/name")).await
}

/// The namespace may have as many pods as it has.
pub(super) async fn quota_exceeded(target: &Target) -> Result<()> {
    let (cluster, moments) = prepared(target, "quota", &json!({})).await?;
    let quota = |pods: i64| {
        json!({
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"},
            "spec": {"hard": {"pods": pods.to_string()}},
        })
    };
    accepted(&cluster, &quota(SIZE)).await?;
    until("the quota counts", STEP_DEADLINE, async || {
        let found = cluster.get("v1", "ResourceQuota", "few").await.map_err(|error| error.to_string())?;
        let used = found.unwrap_or_default()["status"]["used"]["pods"].clone();
        if used == json!(SIZE.to_string()) { Ok(()) } else { Err(format!("{used} are used")) }
    })
    .await?;
    moments.must(bound(4, 4 + 2));
    begins(&cluster, &[2, 2], false).await?;
    reports(&cluster, "a quota", &["exceeded quota", "raise the ResourceQuota"]).await?;
    accepted(&cluster, &quota(SIZE + 2)).await?;
    is_over(&cluster).await?;
    println!("rollout-faults: quota exceeded: {}", moments.check_bound()?);
    Ok(())
}

/// Pods that no scheduler takes stay as a test says they are: first without an image, then crashing.
pub(super) async fn do_not_start(target: &Target) -> Result<()> {
    let (cluster, moments) = prepared(target, "sick", &json!({"schedulerName": "absent"})).await?;
    moments.must(bound(4, 4 + 1));
    begins(&cluster, &[1, 3], false).await?;
    let container = |state: Value, last: Value| {
        json!({"containerStatuses": [{
            "name": "front", "image": "nginx:2", "imageID": "", "ready": false, "restartCount": 3,
            "state": state, "lastState": last,
        }]})
    };
    let waiting = |reason: &str| json!({"waiting": {"reason": reason, "message": "as it was told"}});
    says(&cluster, &container(waiting("ImagePullBackOff"), json!({}))).await?;
    reports(&cluster, "an image", &["ImagePullBackOff", "imagePullSecrets"]).await?;
    let ended = json!({"terminated": {"exitCode": 1, "reason": "Error"}});
    says(&cluster, &container(waiting("CrashLoopBackOff"), ended)).await?;
    reports(&cluster, "a crash", &["CrashLoopBackOff", "exit code 1", "kubectl logs"]).await?;
    // The way back, as `vela rollout undo` writes it.
    let back = json!({"spec": {"targetAppRevisionName": "shop-v1", "sourceAppRevisionName": "shop-v2"}});
    cluster.patch(OAM, "AppRollout", NAME, &back).await?;
    succeeds(&cluster, NAME, "shop-v1").await?;
    has(&cluster, APPS, "Deployment", "front-v1", SIZE).await?;
    has(&cluster, APPS, "Deployment", "front-v2", 0).await?;
    println!("rollout-faults: pods that do not start: {}", moments.check_bound()?);
    Ok(())
}

/// The second revision fits nowhere; the third one does, and becomes the target in flight.
pub(super) async fn fit_nowhere(target: &Target) -> Result<()> {
    let (cluster, moments) = prepared(target, "place", &json!({"nodeSelector": {"e2e": "nowhere"}})).await?;
    moments.must(bound(4, 4 + 1 + 1));
    begins(&cluster, &[1, 1, 1, 1], false).await?;
    reports(&cluster, "no place", &["Unschedulable", "free or add a node"]).await?;
    accepted(&cluster, &shop("nginx:3", &json!({}))).await?;
    recorded(&cluster, "shop-v3").await?;
    let other = json!({"spec": {"targetAppRevisionName": "shop-v3"}});
    cluster.patch(OAM, "AppRollout", NAME, &other).await?;
    becomes(&cluster, NAME, "shop-v3 is reached", |found| {
        found["status"]["rollingState"] == "rolloutSucceed"
            && found["status"]["lastTargetAppRevision"] == "shop-v3"
    })
    .await?;
    has(&cluster, APPS, "Deployment", "front-v3", SIZE).await?;
    has(&cluster, APPS, "Deployment", "front-v1", 0).await?;
    println!("rollout-faults: pods that fit nowhere: {}", moments.check_bound()?);
    Ok(())
}
