//! `deployment-rollout` of the examples: a first size, source, target, a pause between batches, and the end.

use serde_json::json;
use vela_e2e::Result;
use vela_e2e::pod_history::{Bound, PodHistory};
use vela_e2e::target::Target;

use super::{
    APPS, OAM, STEP_DEADLINE, applied, batch_is_ready, batches, deleted, examples, has, is_held, is_still,
    recorded, rollout, succeeds,
};
use crate::foreign::accepted;
use crate::{nothing_is_left, scenario};

/// The example's batches are made for so many pods.
const SIZE: i64 = 5;
const NAME: &str = "rolling-test";

#[test]
fn deployments_are_rolled_out_as_in_the_example() {
    let folder = examples("deployment-rollout");
    scenario(async {
        let target = Target::open("rollout-deployment").await?;
        let cluster = target.cluster();
        let as_it_is = |_: &mut serde_json::Value| {};
        applied(cluster, folder.join("webservice-definition.yaml"), as_it_is).await?;
        applied(cluster, folder.join("app-source.yaml"), as_it_is).await?;
        recorded(cluster, "test-rolling-v1").await?;
        // The example takes the first revision for granted.
        let mut plan = batches(&[2, SIZE - 1 - 2]);
        plan["targetSize"] = json!(SIZE);
        accepted(cluster, &rollout("first", None, "test-rolling-v1", plan)).await?;
        succeeds(cluster, "first", "test-rolling-v1").await?;
        has(cluster, APPS, "Deployment", "metrics-provider-v1", SIZE).await?;
        deleted(cluster, "first").await?;
        applied(cluster, folder.join("app-target.yaml"), as_it_is).await?;
        recorded(cluster, "test-rolling-v2").await?;
        goes_over(&target, &folder).await?;
        is_still(
            cluster,
            &[
                (OAM, "AppRollout", NAME),
                (OAM, "Application", "test-rolling"),
                (APPS, "Deployment", "metrics-provider-v1"),
                (APPS, "Deployment", "metrics-provider-v2"),
            ],
        )
        .await?;
        cluster.delete(OAM, "Application", "test-rolling").await?;
        deleted(cluster, NAME).await?;
        cluster.delete(OAM, "ComponentDefinition", "webservice").await?;
        nothing_is_left(&target).await
    });
}

/// From the first revision to the second; the largest batch has two pods, which come before two others go.
async fn goes_over(target: &Target, folder: &std::path::Path) -> Result<()> {
    let cluster = target.cluster();
    let moments = PodHistory::follow(cluster);
    vela_e2e::objects::until("all pods are seen", STEP_DEADLINE, async || {
        if moments.now().ready == 5 { Ok(()) } else { Err(format!("{:?}", moments.now())) }
    })
    .await?;
    moments.must(Bound { ready_at_least: 5, total_at_most: 5 + 2 });
    // Without the source that the next file names, the file asks for a scale and tells no size: it fails in the real
    // system too, as the recorded run shows.
    applied(cluster, folder.join("app-rollout-pause.yaml"), |object| {
        object["spec"]["sourceAppRevisionName"] = json!("test-rolling-v1");
    })
    .await?;
    let waiting = batch_is_ready(cluster, NAME, 1).await?;
    let source = has(cluster, APPS, "Deployment", "metrics-provider-v1", 2).await?;
    let target = has(cluster, APPS, "Deployment", "metrics-provider-v2", 3).await?;
    if !is_held(&source) || !is_held(&target) {
        return Err("while it rolls, the rollout holds both sides".into());
    }
    let status = &waiting["status"];
    if status["upgradedReplicas"] != 3 || status["upgradedReadyReplicas"] != 3 {
        return Err(format!("3 pods are upgraded and ready: {status}").into());
    }
    is_still(cluster, &[(OAM, "AppRollout", NAME)]).await?;
    applied(cluster, folder.join("app-rollout-finish.yaml"), |_| {}).await?;
    succeeds(cluster, NAME, "test-rolling-v2").await?;
    let source = has(cluster, APPS, "Deployment", "metrics-provider-v1", 0).await?;
    let target = has(cluster, APPS, "Deployment", "metrics-provider-v2", SIZE).await?;
    println!("deployment-rollout: {}", moments.check_bound()?);
    if is_held(&source) || is_held(&target) {
        return Err("in the end the rollout lets go of both sides".into());
    }
    let image = &target["spec"]["template"]["spec"]["containers"][0]["image"];
    if image != "stefanprodan/podinfo:5.0.2" {
        return Err(format!("the image is {image}").into());
    }
    Ok(())
}
