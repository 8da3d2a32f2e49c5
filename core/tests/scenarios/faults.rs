//! Requests that fail and controllers that die: whatever happens in between, the end is the same.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use vela_core::{Options, Process};
use vela_runtime::fault::Injection;

use super::test_cluster::{TestCluster, application, until, until_or, web};

const OAM: &str = "core.oam.dev/v1beta1";

#[tokio::test]
async fn killed_after_any_write_it_converges() {
    for (after, lost) in
        (0..8).flat_map(|after| [(after, Injection::DropRequest), (after, Injection::DropAnswer)])
    {
        let mut cluster = TestCluster::without_controllers().await;
        let left = Arc::new(AtomicUsize::new(after));
        let broken = Arc::new(AtomicUsize::new(0));
        let (rule, hit) = (left.clone(), broken.clone());
        cluster.faults.inject(move |entry| {
            if !entry.writes() || entry.is_event() {
                return Injection::Pass;
            }
            match rule.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) {
                Ok(_) => Injection::Pass,
                // From here on nothing gets through; the first one decides what the server saw.
                Err(_) => match hit.fetch_add(1, Ordering::SeqCst) {
                    0 => lost,
                    _ => Injection::DropRequest,
                },
            }
        });
        cluster.start();
        cluster.create(application("shop", &[web("front", "nginx:1"), web("back", "nginx:1")])).await;
        until("a write was broken", || {
            let broken = broken.load(Ordering::SeqCst) > 0;
            async move { broken }
        })
        .await;
        cluster.kill().await;
        cluster.faults.heal();
        // The user goes on while no controller runs.
        cluster
            .patch(OAM, "Application", "shop", json!({"spec": {"components": [web("front", "nginx:2")]}}))
            .await;
        cluster.start();
        cluster.phase("shop", "running").await;
        cluster.rested(1).await;
        let image = |deployment: serde_json::Value| {
            deployment["spec"]["template"]["spec"]["containers"][0]["image"].as_str().unwrap().to_owned()
        };
        assert_eq!(
            image(cluster.deployment("front").await.unwrap()),
            "nginx:2",
            "cut after {after}, {lost:?}"
        );
        // What the second wish no longer names goes after its quiet time: no orphan, however the first reconcile was cut.
        let what = format!("the record is complete: cut after {after}, {lost:?}");
        let tracker = until_or(
            &what,
            || cluster.tracker("shop"),
            |tracker| tracker.as_ref().unwrap()["spec"]["complete"] == true,
        );
        let tracker = tracker.await.unwrap();
        assert!(cluster.deployment("back").await.is_none(), "no orphan: cut after {after}, {lost:?}");
        assert_eq!(tracker["spec"]["managedResources"].as_array().unwrap().len(), 2);
        cluster.delete(OAM, "Application", "shop").await;
        cluster.gone(OAM, "Application", "shop").await;
        cluster.stop().await;
    }
}

#[tokio::test]
async fn every_third_write_lost_it_still_gets_there() {
    let cluster = TestCluster::new().await;
    let count = Arc::new(AtomicUsize::new(0));
    cluster.faults.inject(move |entry| {
        let lose = entry.writes() && count.fetch_add(1, Ordering::SeqCst) % 3 == 2;
        if !lose {
            Injection::Pass
        } else if entry.path.len() % 2 == 0 {
            Injection::DropRequest
        } else {
            Injection::DropAnswer
        }
    });
    cluster.create(application("shop", &[web("front", "nginx:1"), web("back", "nginx:1")])).await;
    cluster.phase("shop", "running").await;
    cluster.delete(OAM, "Application", "shop").await;
    cluster.gone(OAM, "Application", "shop").await;
    assert!(cluster.tracker("shop").await.is_none());
}

#[tokio::test]
async fn nothing_is_pruned_while_the_new_set_is_not_complete() {
    let cluster = TestCluster::new().await;
    cluster.create(application("shop", &[web("front", "nginx:1"), web("back", "nginx:1")])).await;
    cluster.phase("shop", "running").await;
    // The new set replaces `back` by `next`, which cannot be applied.
    cluster.faults.inject(|entry| {
        if entry.writes() && entry.path.contains("/deployments/next") {
            Injection::DropRequest
        } else {
            Injection::Pass
        }
    });
    let components = json!({"spec": {"components": [web("front", "nginx:2"), web("next", "nginx:1")]}});
    cluster.patch(OAM, "Application", "shop", components).await;
    until("the failure is told", || async {
        cluster.application("shop").await["status"].to_string().contains("Deployment")
            && cluster.application("shop").await["status"]["status"] == "runningWorkflow"
    })
    .await;
    assert!(cluster.deployment("back").await.is_some(), "the old object stays until the new set is there");
    cluster.faults.heal();
    cluster.phase("shop", "running").await;
    cluster.gone("apps/v1", "Deployment", "back").await;
}

#[tokio::test]
async fn an_application_that_waits_for_an_answer_holds_up_no_other() {
    let mut cluster = TestCluster::without_controllers().await;
    if cluster.server().is_none() {
        // How long it takes is measured, and a real cluster has a clock of its own.
        return;
    }
    let options = Options { concurrent_reconciles: 1, ..Options::default() };
    cluster.start_as(Process { options, ..Process::default() });
    let answer = Duration::from_secs(50);
    cluster.faults.slow(answer, |entry| entry.writes() && entry.path.contains("/deployments/stuck"));
    cluster.create(application("stuck", &[web("stuck", "nginx:1")])).await;
    until("its objects are begun", || async { cluster.tracker("stuck").await.is_some() }).await;
    let began = Instant::now();
    for name in ["first", "second", "third"] {
        cluster.create(application(name, &[web(name, "nginx:1")])).await;
    }
    for name in ["first", "second", "third"] {
        cluster.phase(name, "running").await;
    }
    assert!(began.elapsed() < answer, "{:?}", began.elapsed());
    assert!(cluster.deployment("stuck").await.is_none(), "it still waits");
    cluster.phase("stuck", "running").await;
}

#[tokio::test]
async fn a_definition_gets_its_workload_kind_after_late_discovery() {
    let mut cluster = TestCluster::without_controllers().await;
    let refused = Arc::new(AtomicUsize::new(0));
    let count = refused.clone();
    cluster.faults.inject(move |entry| {
        let asks = entry.path.split('?').next() == Some("/api/v1");
        if asks && count.fetch_add(1, Ordering::SeqCst) < 3 {
            Injection::DropRequest
        } else {
            Injection::Pass
        }
    });
    cluster.start();
    cluster.create(super::definitions::note("!")).await;
    let made = || cluster.get(OAM, "WorkloadDefinition", "note");
    until_or("the workload kind is there", made, |found| found.is_some()).await;
    assert!(refused.load(Ordering::SeqCst) > 3, "the kinds were asked for again");
}
