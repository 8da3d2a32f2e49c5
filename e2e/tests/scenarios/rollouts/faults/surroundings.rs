//! Hooks and metrics that are away, and what a person takes away or changes while it rolls.

use std::net::SocketAddr;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use vela_e2e::Result;
use vela_e2e::objects::until;
use vela_e2e::target::Target;

use super::super::{applied_plan, becomes};
use super::{
    APPS, NAME, OAM, SIZE, STEP_DEADLINE, accepted, batch_is_ready, batches, begins, bound, deleted, goes_on,
    has, is_over, prepared, reports, rollout, succeeds,
};

/// An address where no server listens.
async fn silent_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0").await?.local_addr()?)
}

/// Says yes to everybody from now on.
async fn says_yes(address: SocketAddr) -> Result<tokio::task::JoinHandle<()>> {
    let listener = TcpListener::bind(address).await?;
    Ok(tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut asked = [0; 4096];
                // Small requests come in one piece.
                if stream.read(&mut asked).await.is_ok_and(|read| read > 0) {
                    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                    let _ = stream.write_all(answer).await;
                }
            });
        }
    }))
}

/// No server answers the hook of the second batch; then one does.
pub(super) async fn hook_down(target: &Target) -> Result<()> {
    let (cluster, moments) = prepared(target, "hook", &json!({})).await?;
    moments.must(bound(4, 4 + 2));
    let address = silent_address().await?;
    let mut plan = batches(&[2, 2]);
    let url = format!("http://{address}/ask");
    plan["rolloutBatches"][1]["batchRolloutWebhooks"] =
        json!([{"type": "pre-batch-rollout", "name": "gate", "url": url, "method": "POST"}]);
    accepted(&cluster, &rollout(NAME, Some("shop-v1"), "shop-v2", plan)).await?;
    reports(&cluster, "a hook that is down", &["failed to invoke a webhook", &address.to_string()]).await?;
    has(&cluster, APPS, "Deployment", "front-v2", 2).await?;
    has(&cluster, APPS, "Deployment", "front-v1", 2).await?;
    let answers = says_yes(address).await?;
    is_over(&cluster).await?;
    answers.abort();
    println!("rollout-faults: hook down: {}", moments.check_bound()?);
    Ok(())
}

/// No server gives the metric; then a user takes it out of the plan.
pub(super) async fn metric_absent(target: &Target) -> Result<()> {
    let (cluster, moments) = prepared(target, "metric", &json!({})).await?;
    moments.must(bound(4, 4 + 2));
    let address = silent_address().await?;
    let mut plan = batches(&[2, 2]);
    plan["canaryMetric"] = json!([{
        "name": "errors", "interval": "1s", "query": "errors", "metricsRange": {"max": 1},
        "provider": {"type": "prometheus", "address": format!("http://{address}")},
    }]);
    accepted(&cluster, &rollout(NAME, Some("shop-v1"), "shop-v2", plan)).await?;
    reports(&cluster, "an absent metric", &["is not let through", "errors", &address.to_string()]).await?;
    has(&cluster, APPS, "Deployment", "front-v2", 2).await?;
    has(&cluster, APPS, "Deployment", "front-v1", 2).await?;
    applied_plan(&cluster, NAME, json!({"canaryMetric": null})).await?;
    is_over(&cluster).await?;
    println!("rollout-faults: metric absent: {}", moments.check_bound()?);
    Ok(())
}

/// A user deletes the source half-way: its pods are gone, and the target still gets all of its own.
pub(super) async fn source_deleted(target: &Target) -> Result<()> {
    let (cluster, moments) = prepared(target, "source", &json!({})).await?;
    begins(&cluster, &[1, 1, 2], true).await?;
    cluster.delete(APPS, "Deployment", "front-v1").await?;
    until("its pods are gone", STEP_DEADLINE, async || {
        if moments.now().total == 1 { Ok(()) } else { Err(format!("{:?}", moments.now())) }
    })
    .await?;
    // What is left must not be taken away.
    moments.must(bound(1, 4));
    goes_on(&cluster).await?;
    succeeds(&cluster, NAME, "shop-v2").await?;
    has(&cluster, APPS, "Deployment", "front-v2", SIZE).await?;
    println!("rollout-faults: source deleted: {}", moments.check_bound()?);
    Ok(())
}

/// The application goes half-way, with all its pods. The rollout says so, and can be deleted.
pub(super) async fn application_deleted(target: &Target) -> Result<()> {
    let (cluster, moments) = prepared(target, "application", &json!({})).await?;
    begins(&cluster, &[1, 1, 2], true).await?;
    cluster.delete(OAM, "Application", "shop").await?;
    reports(&cluster, "a deleted application", &["is not there"]).await?;
    until("all it made is gone", crate::GONE_DEADLINE, async || {
        if moments.now().total == 0 { Ok(()) } else { Err(format!("{:?}", moments.now())) }
    })
    .await?;
    goes_on(&cluster).await?;
    deleted(&cluster, NAME).await
}

/// Batches are edited while they roll.
pub(super) async fn plan_edited(target: &Target) -> Result<()> {
    let (cluster, moments) = prepared(target, "plan", &json!({})).await?;
    moments.must(bound(4, 4 + 3));
    begins(&cluster, &[1, 1, 2], true).await?;
    let edited = json!([{"replicas": 1}, {"replicas": 3}]);
    applied_plan(&cluster, NAME, json!({"rolloutBatches": edited, "batchPartition": 0})).await?;
    batch_is_ready(&cluster, NAME, 0).await?;
    goes_on(&cluster).await?;
    let ended =
        becomes(&cluster, NAME, "it is over", |found| found["status"]["rollingState"] == "rolloutSucceed");
    if ended.await?["status"]["currentBatch"] != 1 {
        return Err("the edited plan has two batches".into());
    }
    is_over(&cluster).await?;
    println!("rollout-faults: plan edited: {}", moments.check_bound()?);
    Ok(())
}
