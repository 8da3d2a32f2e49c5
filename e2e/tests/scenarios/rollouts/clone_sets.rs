//! `cloneset-rollout` of the examples: scale, source, target, a pause, the end and the way back.
//!
//! On the real control plane the real manager of OpenKruise plays the CloneSets, in the sandbox the embedded API server.

use serde_json::{Value, json};
use vela_e2e::Result;
use vela_e2e::kruise::Manager;
use vela_e2e::objects::{Cluster, text, until};
use vela_e2e::pod_history::{Bound, PodHistory};
use vela_e2e::proxy::Record;
use vela_e2e::replica::Replica;
use vela_e2e::target::{Target, is_real};

use super::{
    OAM, STEP_DEADLINE, applied, batch_is_ready, batches, deleted, examples, has, is_held, is_still,
    recorded, rollout, succeeds,
};
use crate::foreign::{accepted, install};
use crate::{GONE_DEADLINE, nothing_is_left, repository, scenario};

const KRUISE: &str = "apps.kruise.io/v1alpha1";
const SET: &str = "metrics-provider";
const NAME: &str = "rolling-example";
const OLD: &str = "stefanprodan/podinfo:4.0.6";
const NEW: &str = "stefanprodan/podinfo:5.0.2";

#[test]
fn clone_sets_are_rolled_out_as_in_the_example() {
    let folder = examples("cloneset-rollout");
    scenario(async {
        if !is_real() {
            let target = Target::open("rollout-cloneset").await?;
            install(&target).await?;
            return story(&target, &folder).await;
        }
        let target = Target::alone("rollout-cloneset").await?;
        install(&target).await?;
        let Some(manager) = Manager::start(&target, &repository("e2e/controlplane")).await? else {
            println!(
                "skipped: without the real OpenKruise no manager plays CloneSets on a real control plane"
            );
            return Ok(());
        };
        let client = target.cluster().client().clone();
        let core = Replica::start("core", client, &Record::default(), &[], |_| {}).await?;
        let done = story(&target, &folder).await;
        manager.stop().await?;
        done.map_err(|error| format!("{error}\n{}", core.log()).into())
    });
}

/// The input of release 1.0's own test. Its partition names the last batch, which nothing holds back.
#[test]
fn clone_sets_are_rolled_out_as_in_the_test_of_the_release() {
    let folder = vela_testkit::cases::folder("examples/v1.0/test/e2e-test/testdata/rollout/cloneset");
    scenario(async {
        if is_real() {
            println!("skipped: the example above has the real OpenKruise play CloneSets");
            return Ok(());
        }
        let target = Target::open("rollout-cloneset-test").await?;
        install(&target).await?;
        let cluster = target.cluster();
        let as_it_is = |_: &mut Value| {};
        applied(cluster, folder.join("clonesetDefinition.yaml"), as_it_is).await?;
        applied(cluster, folder.join("app-source.yaml"), as_it_is).await?;
        recorded(cluster, "test-e2e-rolling-v1").await?;
        let mut plan = batches(&[0]);
        plan["targetSize"] = json!(5);
        accepted(cluster, &rollout("first", None, "test-e2e-rolling-v1", plan)).await?;
        succeeds(cluster, "first", "test-e2e-rolling-v1").await?;
        has(cluster, KRUISE, "CloneSet", SET, 5).await?;
        deleted(cluster, "first").await?;
        applied(cluster, folder.join("app-target.yaml"), as_it_is).await?;
        recorded(cluster, "test-e2e-rolling-v2").await?;
        applied(cluster, folder.join("appRollout.yaml"), as_it_is).await?;
        succeeds(cluster, "rolling-e2e-test", "test-e2e-rolling-v2").await?;
        images(cluster, 0, 5).await?;
        cluster.delete(OAM, "Application", "test-e2e-rolling").await?;
        deleted(cluster, "rolling-e2e-test").await?;
        cluster.delete(OAM, "ComponentDefinition", "clonesetservice").await?;
        nothing_is_left(&target).await
    });
}

async fn story(target: &Target, folder: &std::path::Path) -> Result<()> {
    let cluster = target.cluster();
    let as_it_is = |_: &mut Value| {};
    applied(cluster, folder.join("clonesetDefinition.yaml"), as_it_is).await?;
    // Scale: from the one pod that a set has by default.
    applied(cluster, folder.join("app-scale.yaml"), as_it_is).await?;
    recorded(cluster, "test-rolling-v1").await?;
    applied(cluster, folder.join("appRollout-scale.yaml"), as_it_is).await?;
    succeeds(cluster, NAME, "test-rolling-v1").await?;
    has(cluster, KRUISE, "CloneSet", SET, 5).await?;
    cluster.delete(OAM, "Application", "test-rolling").await?;
    deleted(cluster, NAME).await?;
    // The revision too: the next application has the same name, and would be taken for the one that is going.
    until("the first part is gone", GONE_DEADLINE, async || {
        let of = [(KRUISE, "CloneSet", SET), (OAM, "ApplicationRevision", "test-rolling-v1")];
        for (api_version, kind, name) in of {
            let left = cluster.get(api_version, kind, name).await.map_err(|error| error.to_string())?;
            if left.is_some() {
                return Err(format!("{kind} {name} is still there"));
            }
        }
        Ok(())
    })
    .await?;
    // Source: it says its size, so that its first rollout has nothing to add.
    applied(cluster, folder.join("app-source.yaml"), as_it_is).await?;
    recorded(cluster, "test-rolling-v1").await?;
    let mut plan = batches(&[0]);
    plan["targetSize"] = json!(5);
    accepted(cluster, &rollout("first", None, "test-rolling-v1", plan)).await?;
    succeeds(cluster, "first", "test-rolling-v1").await?;
    has(cluster, KRUISE, "CloneSet", SET, 5).await?;
    deleted(cluster, "first").await?;
    applied(cluster, folder.join("app-target.yaml"), as_it_is).await?;
    recorded(cluster, "test-rolling-v2").await?;
    there_and_back(cluster, folder).await?;
    is_still(cluster, &[(OAM, "AppRollout", NAME), (KRUISE, "CloneSet", SET)]).await?;
    cluster.delete(OAM, "Application", "test-rolling").await?;
    deleted(cluster, NAME).await?;
    cluster.delete(OAM, "ComponentDefinition", "clonesetservice").await?;
    nothing_is_left(target).await
}

/// Target with a pause, the end, and the way back. A set takes a fifth of its pods at a time and never has more.
async fn there_and_back(cluster: &Cluster, folder: &std::path::Path) -> Result<()> {
    let moments = PodHistory::follow(cluster);
    until("all pods are seen", STEP_DEADLINE, async || {
        if moments.now().ready == 5 { Ok(()) } else { Err(format!("{:?}", moments.now())) }
    })
    .await?;
    moments.must(Bound { ready_at_least: 4, total_at_most: 5 });
    applied(cluster, folder.join("appRollout-pause.yaml"), |_| {}).await?;
    let waiting = batch_is_ready(cluster, NAME, 1).await?;
    images(cluster, 2, 3).await?;
    if waiting["status"]["upgradedReadyReplicas"] != 3 {
        return Err(format!("3 new pods are ready: {}", waiting["status"]).into());
    }
    let set = cluster.get(KRUISE, "CloneSet", SET).await?.unwrap_or_default();
    if !is_held(&set) || set["spec"]["updateStrategy"]["partition"] != 2 {
        return Err(format!("it is held, and two pods stay old: {}", set["spec"]["updateStrategy"]).into());
    }
    applied(cluster, folder.join("appRollout-finish.yaml"), |_| {}).await?;
    succeeds(cluster, NAME, "test-rolling-v2").await?;
    images(cluster, 0, 5).await?;
    applied(cluster, folder.join("appRollout-revert.yaml"), |_| {}).await?;
    succeeds(cluster, NAME, "test-rolling-v1").await?;
    images(cluster, 5, 0).await?;
    println!("cloneset-rollout: {}", moments.check_bound()?);
    let set = has(cluster, KRUISE, "CloneSet", SET, 5).await?;
    if is_held(&set) { Err("in the end the rollout lets go".into()) } else { Ok(()) }
}

/// So many pods have the old and the new image.
async fn images(cluster: &Cluster, old: usize, new: usize) -> Result<()> {
    until(&format!("{old} old and {new} new pods"), STEP_DEADLINE, async || {
        let pods = cluster.list("v1", "Pod").await.map_err(|error| error.to_string())?;
        let of =
            |image: &str| pods.iter().filter(|pod| text(pod, "/spec/containers/0/image") == image).count();
        let found = (of(OLD), of(NEW));
        if found == (old, new) { Ok(()) } else { Err(format!("there are {found:?}")) }
    })
    .await
}
