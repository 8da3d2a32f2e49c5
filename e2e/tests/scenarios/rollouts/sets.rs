//! StatefulSets and DaemonSets of Kubernetes through the plan of an Application: batch by batch in one object, and back.

use serde_json::{Value, json};
use vela_e2e::Result;
use vela_e2e::objects::{Cluster, text, until};
use vela_e2e::pod_history::{Bound, PodHistory};
use vela_e2e::target::Target;

use super::{APPS, OAM, STEP_DEADLINE, applied_plan_of, batch_is_ready, is_held, succeeds};
use crate::foreign::accepted;
use crate::scenario;

/// Pods of the StatefulSet.
const SIZE: usize = 3;

#[test]
fn sets_change_in_one_object_batch_by_batch_and_back() {
    scenario(async {
        let target = Target::open("rollout-sets").await?;
        stateful(target.cluster()).await?;
        daemon(target.cluster()).await
    });
}

fn shop(name: &str, component: &Value, plan: &Value) -> Value {
    json!({
        "apiVersion": OAM, "kind": "Application", "metadata": {"name": name},
        "spec": {"components": [component], "rolloutPlan": plan},
    })
}

fn stateful_component(image: &str) -> Value {
    let traits = json!([{"type": "scaler", "properties": {"replicas": SIZE}}]);
    json!({"name": "kept", "type": "statefulset", "properties": {"image": image}, "traits": traits})
}

/// The last pod first, with a stop behind it; the others, and all of them back.
async fn stateful(cluster: &Cluster) -> Result<()> {
    let held = json!({"rolloutBatches": [{"replicas": 1}, {"replicas": 2}], "batchPartition": 0});
    accepted(cluster, &shop("stateful", &stateful_component("nginx:1"), &held)).await?;
    images(cluster, "kept", &["nginx:1"; SIZE]).await?;
    let moments = PodHistory::follow(cluster);
    until("all pods are ready", STEP_DEADLINE, async || {
        if moments.now().ready == SIZE { Ok(()) } else { Err(format!("{:?}", moments.now())) }
    })
    .await?;
    moments.must(Bound { ready_at_least: SIZE - 1, total_at_most: SIZE });
    accepted(cluster, &shop("stateful", &stateful_component("nginx:2"), &held)).await?;
    batch_is_ready(cluster, "stateful", 0).await?;
    images(cluster, "kept", &["nginx:1", "nginx:1", "nginx:2"]).await?;
    applied_plan_of(cluster, "stateful", json!({"batchPartition": null})).await?;
    succeeds(cluster, "stateful", "stateful-v2").await?;
    images(cluster, "kept", &["nginx:2"; SIZE]).await?;
    let free = json!({"rolloutBatches": [{"replicas": 1}, {"replicas": 2}]});
    accepted(cluster, &shop("stateful", &stateful_component("nginx:1"), &free)).await?;
    succeeds(cluster, "stateful", "stateful-v1").await?;
    images(cluster, "kept", &["nginx:1"; SIZE]).await?;
    println!("rollout-sets: {}", moments.check_bound()?);
    is_free(cluster, "StatefulSet", "kept").await
}

/// A pod on every node, all of them in one batch: how many nodes there are is the target's own affair.
async fn daemon(cluster: &Cluster) -> Result<()> {
    let plan = json!({"rolloutBatches": [{"replicas": "100%"}]});
    let shop = |image: &str| {
        let component = json!({"name": "spread", "type": "daemon", "properties": {"image": image}});
        shop("daemon", &component, &plan)
    };
    accepted(cluster, &shop("nginx:1")).await?;
    spread(cluster, "nginx:1").await?;
    for (image, revision) in [("nginx:2", "daemon-v2"), ("nginx:1", "daemon-v1")] {
        accepted(cluster, &shop(image)).await?;
        succeeds(cluster, "daemon", revision).await?;
        spread(cluster, image).await?;
    }
    is_free(cluster, "DaemonSet", "spread").await
}

/// Images of the pods of a component, in the order of their names.
async fn found(cluster: &Cluster, component: &str) -> std::result::Result<Vec<String>, String> {
    let mut pods = cluster.list("v1", "Pod").await.map_err(|error| error.to_string())?;
    pods.retain(|pod| {
        pod["metadata"]["labels"]["app.oam.dev/component"] == component
            && pod["metadata"]["deletionTimestamp"].is_null()
    });
    pods.sort_by_key(|pod| text(pod, "/metadata/name").to_owned());
    Ok(pods.iter().map(|pod| text(pod, "/spec/containers/0/image").to_owned()).collect())
}

async fn images(cluster: &Cluster, component: &str, wanted: &[&str]) -> Result<()> {
    until(&format!("the pods of {component} are {wanted:?}"), STEP_DEADLINE, async || {
        let found = found(cluster, component).await?;
        if found == wanted { Ok(()) } else { Err(format!("they are {found:?}")) }
    })
    .await
}

/// Every node has a pod of this image.
async fn spread(cluster: &Cluster, image: &str) -> Result<()> {
    until(&format!("every pod of the DaemonSet is {image}"), STEP_DEADLINE, async || {
        let set = cluster.get(APPS, "DaemonSet", "spread").await.map_err(|error| error.to_string())?;
        let nodes = set.unwrap_or_default()["status"]["desiredNumberScheduled"].as_u64().unwrap_or(0);
        let found = found(cluster, "spread").await?;
        let is_so =
            nodes > 0 && u64::try_from(found.len()) == Ok(nodes) && found.iter().all(|each| each == image);
        if is_so { Ok(()) } else { Err(format!("on {nodes} nodes there are {found:?}")) }
    })
    .await
}

async fn is_free(cluster: &Cluster, kind: &str, name: &str) -> Result<()> {
    let set = cluster.get(APPS, kind, name).await?.unwrap_or_default();
    if is_held(&set) { Err(format!("in the end the rollout lets {kind} {name} go").into()) } else { Ok(()) }
}
