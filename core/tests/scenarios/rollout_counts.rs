//! How many requests a batch costs; printed, so that the figures can be recorded. A rollout that waits writes nothing.

use std::time::Duration;

use serde_json::json;
use vela_runtime::fault::Entry;

use super::rollouts::{OAM, batch, batches, change, first, recorded, rollout, second, state};
use super::test_cluster::{TestCluster, until};

/// One write for each step of the state machine that a batch goes through, and as many again while pods come and go.
const STATUS_WRITES_AT_MOST: usize = 12;

fn print(what: &str, requests: &[Entry]) {
    let writes =
        |part: &str| requests.iter().filter(|e| e.writes() && !e.is_event() && e.path.contains(part)).count();
    let events = requests.iter().filter(|entry| entry.is_event()).count();
    let reads = requests.iter().filter(|entry| !entry.writes()).count();
    println!(
        "rollout requests: {what}: {} writes of the status, {} of workloads, {} others; {reads} reads, {events} events",
        writes("/approllouts"),
        writes("/deployments"),
        writes("") - writes("/approllouts") - writes("/deployments"),
    );
}

fn writes<'a>(requests: &'a [Entry], part: &str) -> Vec<&'a Entry> {
    requests.iter().filter(|e| e.writes() && !e.is_event() && e.path.contains(part)).collect()
}

/// What the controllers ask for until they write nothing any more.
async fn all_requests(cluster: &TestCluster) -> Vec<Entry> {
    cluster.requests_until_quiet(Duration::from_secs(1), Entry::writes).await
}

/// The controller looks once more, and writes nothing.
async fn looks_and_writes_nothing(cluster: &TestCluster) {
    let before = cluster.reconciles("approllout");
    let touched = json!({"metadata": {"annotations": {"touched": before.to_string()}}});
    cluster.patch(OAM, "AppRollout", "release", touched).await;
    until("it looks again", || async { cluster.reconciles("approllout") > before }).await;
    let written = cluster.requests().into_iter().filter(Entry::writes).collect::<Vec<_>>();
    assert!(written.is_empty(), "{written:#?}");
}

#[tokio::test]
async fn a_batch_costs_few_requests_and_a_rollout_that_waits_no_write() {
    let cluster = TestCluster::new().await;
    first(&cluster).await;
    second(&cluster).await;
    cluster.quiet().await;
    cluster.requests();
    let mut plan = batches(&[1, 1, 1, 1]);
    plan["batchPartition"] = json!(0);
    cluster.create(rollout("shop-v2", Some("shop-v1"), plan)).await;
    batch(&cluster, 0, "batchReady").await;
    print("begin and first of four batches", &all_requests(&cluster).await);
    looks_and_writes_nothing(&cluster).await;

    for number in [1, 2] {
        let plan = json!({"spec": {"rolloutPlan": {"batchPartition": number}}});
        cluster.patch(OAM, "AppRollout", "release", plan).await;
        batch(&cluster, number, "batchReady").await;
        let requests = all_requests(&cluster).await;
        print("one batch", &requests);
        // The target grows, and then the source shrinks.
        assert_eq!(writes(&requests, "/deployments").len(), 2, "{requests:#?}");
        assert!(writes(&requests, "/approllouts").len() <= STATUS_WRITES_AT_MOST, "{requests:#?}");
        let all = writes(&requests, "").len();
        let known = writes(&requests, "/deployments").len() + writes(&requests, "/approllouts").len();
        assert_eq!(all, known, "nothing else is written: {requests:#?}");
    }
    let plan = json!({"spec": {"rolloutPlan": {"batchPartition": null}}});
    cluster.patch(OAM, "AppRollout", "release", plan).await;
    state(&cluster, "rolloutSucceed").await;
    print("last batch and end", &all_requests(&cluster).await);
    looks_and_writes_nothing(&cluster).await;
}

#[tokio::test]
async fn a_batch_that_waits_for_its_pods_writes_what_is_new_only() {
    let cluster = TestCluster::new().await;
    first(&cluster).await;
    change(&cluster, "nginx:simulate-fail-image-pull").await;
    recorded(&cluster, "shop-v2").await;
    cluster.create(rollout("shop-v2", Some("shop-v1"), batches(&[1, 3]))).await;
    let is_counted = || async {
        let found = cluster.get(OAM, "AppRollout", "release").await.unwrap();
        found["status"]["conditions"].to_string().contains("ImagePullBackOff")
    };
    until("the reason is told", is_counted).await;
    cluster.quiet().await;
    cluster.requests();
    // The timer of a rollout that waits is one of these looks, and no event woke it.
    let before = cluster.reconciles("approllout");
    until("it has looked twice", || async { cluster.reconciles("approllout") >= before + 2 }).await;
    let requests = cluster.requests();
    let written = writes(&requests, "/approllouts");
    assert!(written.is_empty() && writes(&requests, "/deployments").is_empty(), "{requests:#?}");
}
