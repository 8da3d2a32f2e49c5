//! Two processes and one lease: the leader writes, the other waits and does not, and a change of leader harms no
//! object.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use vela_core::{Controllers, LeaseConfig, Process, Stop};
use vela_runtime::fault::{Entry, Injection};

use super::test_cluster::{TestCluster, application, until, web};

const OAM: &str = "core.oam.dev/v1beta1";
/// The lease duration and three seconds.
const LEADS_AFTER_KILL: Duration = Duration::from_secs(18);

/// Who wrote, in order: objects and leases.
type Record = Arc<Mutex<Vec<(&'static str, bool)>>>;

struct Replica {
    stop: Stop,
    task: JoinHandle<Result<(), vela_core::Error>>,
}

fn replica(cluster: &TestCluster, who: &'static str, record: &Record) -> Option<Replica> {
    let (client, faults) = cluster.another()?;
    let seen = record.clone();
    faults.inject(move |entry: &Entry| {
        if entry.writes() && !entry.is_event() {
            seen.lock().unwrap().push((who, entry.path.contains("/leases")));
        }
        Injection::Pass
    });
    let lease = LeaseConfig {
        namespace: cluster.namespace.clone(),
        name: "leader".to_owned(),
        identity: format!("{who}_6c9c1f4e-0000-4000-8000-000000000001"),
    };
    let process = Process { lease: Some(lease), ..Process::default() };
    let stop = process.stop.clone();
    Some(Replica { stop, task: tokio::spawn(Controllers::run(client, process)) })
}

fn leads(record: &Record, who: &str) -> bool {
    record.lock().unwrap().iter().any(|(writer, lease)| *writer == who && *lease)
}

fn writes(record: &Record, who: &str) -> bool {
    record.lock().unwrap().iter().any(|(writer, lease)| *writer == who && !*lease)
}

/// There and back, faster than anything may be pruned.
async fn there_and_back(cluster: &TestCluster, image: &str) {
    let with = |components: Vec<Value>| json!({"spec": {"components": components}});
    cluster.patch(OAM, "Application", "shop", with(vec![web("front", image)])).await;
    cluster
        .patch(OAM, "Application", "shop", with(vec![web("front", "nginx:1"), web("back", "nginx:1")]))
        .await;
}

async fn uids(cluster: &TestCluster) -> [Value; 2] {
    let uid = async |name: &str| cluster.deployment(name).await.unwrap()["metadata"]["uid"].clone();
    [uid("front").await, uid("back").await]
}

#[tokio::test]
async fn a_change_of_leader_harms_nothing() {
    let cluster = TestCluster::without_controllers().await;
    let record = Record::default();
    let Some(first) = replica(&cluster, "first", &record) else {
        println!("skipped: e2e has this scenario for real clusters");
        return;
    };
    until("the first leads", || async { leads(&record, "first") }).await;
    let second = replica(&cluster, "second", &record).unwrap();
    cluster.create(application("shop", &[web("front", "nginx:1"), web("back", "nginx:1")])).await;
    cluster.phase("shop", "running").await;
    let before = uids(&cluster).await;
    there_and_back(&cluster, "nginx:2").await;
    let asked = Instant::now();
    first.stop.cancel();
    first.task.await.unwrap().unwrap();
    let ended = asked.elapsed();
    until("the second leads", || async { leads(&record, "second") }).await;
    println!("terms: a stop ended after {ended:?}; the next leads {:?} after it", asked.elapsed() - ended);
    assert!(asked.elapsed() - ended < Duration::from_secs(3));
    let third = replica(&cluster, "third", &record).unwrap();
    cluster.phase("shop", "running").await;
    there_and_back(&cluster, "nginx:3").await;
    // On a busy machine it may not have come to that yet.
    until("the second writes", || async { writes(&record, "second") }).await;
    let killed = Instant::now();
    second.task.abort();
    assert!(second.task.await.unwrap_err().is_cancelled());
    second.stop.cancel();
    until("the third leads", || async { leads(&record, "third") }).await;
    let after = killed.elapsed();
    println!("terms: after a death the next leads {after:?} later");
    assert!(after <= LEADS_AFTER_KILL, "{after:?}");
    there_and_back(&cluster, "nginx:4").await;
    until("the third writes", || async { writes(&record, "third") }).await;
    cluster.phase("shop", "running").await;
    assert_eq!(uids(&cluster).await, before, "no Deployment was made anew");
    let mut writers: Vec<_> =
        record.lock().unwrap().iter().filter(|(_, lease)| !lease).map(|(who, _)| *who).collect();
    writers.dedup();
    assert_eq!(writers, ["first", "second", "third"], "one writes at a time");
    third.stop.cancel();
    third.task.await.unwrap().unwrap();
}
