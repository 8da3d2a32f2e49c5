//! One rollout and everything a person does to it: held, let go, turned round, deleted half-way, its controller shot.

use serde_json::{Value, json};
use vela_e2e::Result;
use vela_e2e::objects::until;
use vela_e2e::pod_history::{Bound, PodHistory};
use vela_e2e::target::Target;

use super::{
    APPS, OAM, STEP_DEADLINE, batch_is_ready, batches, becomes, deleted, has, is_held, recorded, rollout,
    succeeds,
};
use crate::foreign::accepted;
use crate::scenario;

const SIZE: i64 = 4;
const NAME: &str = "release";

fn shop(image: &str) -> Value {
    json!({
        "apiVersion": OAM, "kind": "Application",
        "metadata": {"name": "shop", "annotations": {"app.oam.dev/rollout-template": "true"}},
        "spec": {"components": [{"name": "front", "type": "webservice", "properties": {"image": image}}]},
    })
}

/// One pod at a time.
fn one_by_one() -> Value {
    batches(&[1, 1, 1, 1])
}

#[test]
fn whatever_is_done_to_a_rollout_no_pod_is_missing() {
    scenario(async {
        let mut target = Target::open("rollout-person").await?;
        begins(&target).await?;
        let mut moments = PodHistory::follow(target.cluster());
        until("all pods are seen", STEP_DEADLINE, async || {
            if moments.now().ready == 4 { Ok(()) } else { Err(format!("{:?}", moments.now())) }
        })
        .await?;
        moments.must(Bound { ready_at_least: 4, total_at_most: 4 + 1 });
        held_and_let_go(&mut target, &mut moments).await?;
        turned_round(&target).await?;
        deleted_half_way(&target).await?;
        println!("rollout-person: {}", moments.check_bound()?);
        Ok(())
    });
}

#[test]
fn a_rollout_that_a_person_abandons_stays_where_it_stands() {
    scenario(async {
        let target = Target::open("rollout-abandoned").await?;
        begins(&target).await?;
        let cluster = target.cluster();
        let moments = PodHistory::follow(cluster);
        until("all pods are seen", STEP_DEADLINE, async || {
            if moments.now().ready == 4 { Ok(()) } else { Err(format!("{:?}", moments.now())) }
        })
        .await?;
        moments.must(Bound { ready_at_least: 4, total_at_most: 4 + 1 });
        let mut plan = one_by_one();
        plan["batchPartition"] = json!(0);
        accepted(cluster, &rollout(NAME, Some("shop-v1"), "shop-v2", plan)).await?;
        batch_is_ready(cluster, NAME, 0).await?;
        target.vela(&["rollout", "abandon", NAME], "")?.ok()?;
        becomes(cluster, NAME, "it is over", |found| {
            found["status"]["rollingState"] == "rolloutFailed"
                && found["metadata"]["annotations"]["app.oam.dev/abandon-rollout"].is_null()
        })
        .await?;
        let source = has(cluster, APPS, "Deployment", "front-v1", SIZE - 1).await?;
        let left = has(cluster, APPS, "Deployment", "front-v2", 1).await?;
        if is_held(&source) || is_held(&left) {
            return Err("an abandoned rollout holds nothing".into());
        }
        target.vela(&["rollout", "undo", NAME], "")?.ok()?;
        succeeds(cluster, NAME, "shop-v1").await?;
        has(cluster, APPS, "Deployment", "front-v1", SIZE).await?;
        has(cluster, APPS, "Deployment", "front-v2", 0).await?;
        println!("rollout-abandoned: {}", moments.check_bound()?);
        Ok(())
    });
}

/// Two revisions; the first one runs.
async fn begins(target: &Target) -> Result<()> {
    let cluster = target.cluster();
    accepted(cluster, &shop("nginx:1")).await?;
    recorded(cluster, "shop-v1").await?;
    let mut plan = batches(&[SIZE - 1]);
    plan["targetSize"] = json!(SIZE);
    accepted(cluster, &rollout("first", None, "shop-v1", plan)).await?;
    succeeds(cluster, "first", "shop-v1").await?;
    has(cluster, APPS, "Deployment", "front-v1", SIZE).await?;
    deleted(cluster, "first").await?;
    accepted(cluster, &shop("nginx:2")).await?;
    recorded(cluster, "shop-v2").await
}

/// It waits for a person, is paused, and shot while it is, and shot again while a batch is under way.
async fn held_and_let_go(target: &mut Target, moments: &mut PodHistory) -> Result<()> {
    let mut plan = one_by_one();
    plan["batchPartition"] = json!(0);
    accepted(target.cluster(), &rollout(NAME, Some("shop-v1"), "shop-v2", plan)).await?;
    batch_is_ready(target.cluster(), NAME, 0).await?;
    target.vela(&["rollout", "pause", NAME], "")?.ok()?;
    target.vela(&["rollout", "promote", NAME, "--full"], "")?.ok()?;
    becomes(target.cluster(), NAME, "it is paused", |found| {
        condition(found, "BatchPaused").is_some_and(|paused| paused["status"] == "True")
            && found["status"]["currentBatch"] == 0
    })
    .await?;
    shot(target, moments).await?;
    has(target.cluster(), APPS, "Deployment", "front-v2", 1).await?;
    let status = target.vela(&["rollout", "status", NAME], "")?.ok()?;
    if !status.out.contains("paused") {
        return Err(format!("the status says that it is paused:\n{}", status.out).into());
    }
    target.vela(&["rollout", "resume", NAME], "")?.ok()?;
    becomes(target.cluster(), NAME, "the next batch is under way", |found| {
        found["status"]["currentBatch"].as_i64() >= Some(1)
    })
    .await?;
    shot(target, moments).await?;
    succeeds(target.cluster(), NAME, "shop-v2").await?;
    has(target.cluster(), APPS, "Deployment", "front-v2", SIZE).await?;
    has(target.cluster(), APPS, "Deployment", "front-v1", 0).await?;
    Ok(())
}

/// Killed without a chance to tidy up, and started again.
async fn shot(target: &mut Target, moments: &mut PodHistory) -> Result<()> {
    target.kill()?;
    target.restart().await?;
    moments.again(target.cluster());
    Ok(())
}

/// Back to the first revision, and in the middle of that forth again.
async fn turned_round(target: &Target) -> Result<()> {
    let cluster = target.cluster();
    target.vela(&["rollout", "undo", NAME], "")?.ok()?;
    becomes(cluster, NAME, "it goes back", |found| {
        found["status"]["lastTargetAppRevision"] == "shop-v1"
            && found["status"]["currentBatch"].as_i64() >= Some(1)
    })
    .await?;
    target.vela(&["rollout", "undo", NAME], "")?.ok()?;
    succeeds(cluster, NAME, "shop-v2").await?;
    has(cluster, APPS, "Deployment", "front-v2", SIZE).await?;
    has(cluster, APPS, "Deployment", "front-v1", 0).await?;
    Ok(())
}

/// What is deleted in the middle lets go and takes nothing along; a new rollout goes on from there.
async fn deleted_half_way(target: &Target) -> Result<()> {
    let cluster = target.cluster();
    deleted(cluster, NAME).await?;
    let mut plan = one_by_one();
    plan["batchPartition"] = json!(1);
    accepted(cluster, &rollout(NAME, Some("shop-v2"), "shop-v1", plan)).await?;
    batch_is_ready(cluster, NAME, 1).await?;
    deleted(cluster, NAME).await?;
    let source = has(cluster, APPS, "Deployment", "front-v2", 2).await?;
    let back = has(cluster, APPS, "Deployment", "front-v1", 2).await?;
    if is_held(&source) || is_held(&back) {
        return Err("a deleted rollout holds nothing".into());
    }
    accepted(cluster, &rollout(NAME, Some("shop-v2"), "shop-v1", one_by_one())).await?;
    succeeds(cluster, NAME, "shop-v1").await?;
    has(cluster, APPS, "Deployment", "front-v1", SIZE).await?;
    has(cluster, APPS, "Deployment", "front-v2", 0).await?;
    Ok(())
}

fn condition<'a>(rollout: &'a Value, kind: &str) -> Option<&'a Value> {
    rollout["status"]["conditions"].as_array()?.iter().find(|each| each["type"] == kind)
}
