//! Figures of a Harbor: requests are counted and asserted; times are printed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use http::Method;
use serde_json::{Value, json};
use vela_runtime::fault::Entry;

use super::operator::{Cluster, GOHARBOR, NAMESPACE, PATIENCE, is_ready};
use super::stage::documents;

/// Requests from a Harbor to all its parts at most: writes and reads of one object.
const WRITES_AT_MOST: usize = 80;
const READS_AT_MOST: usize = 120;
/// Harbors at once.
const HARBORS: usize = 100;
/// The same in an ordinary test run.
const FEW: usize = 5;
/// Linux counts processor time in hundredths of a second.
const TICK: f64 = 0.01;

/// User and system time of this process, in seconds.
fn processor() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u32 = fields.skip(11).take(2).filter_map(|field| field.parse::<u32>().ok()).sum();
    f64::from(ticks) * TICK
}

/// Writes, and reads of one object; lists and watches serve all objects.
fn counts(asked: &[Entry]) -> (usize, usize) {
    let own = |entry: &&Entry| !entry.is_watch() && !entry.is_event();
    let writes = asked.iter().filter(own).filter(|entry| entry.writes()).count();
    let of_one = |entry: &&Entry| !entry.writes() && entry.path.contains("/tiny");
    (writes, asked.iter().filter(own).filter(of_one).count())
}

/// Waits until the operator has written nothing for a while; what it asked until then.
async fn rested(cluster: &Cluster) -> Vec<Entry> {
    let (began, mut all) = (Instant::now(), Vec::new());
    loop {
        tokio::time::sleep(Duration::from_millis(700)).await;
        let asked = cluster.asked.take();
        let rests = !asked.iter().any(Entry::writes);
        all.extend(asked);
        if rests {
            return all;
        }
        assert!(began.elapsed() < PATIENCE, "never at rest");
    }
}

async fn settled() -> (Cluster, Vec<Entry>) {
    let cluster = Cluster::begin().await;
    rested(&cluster).await;
    cluster.input("stack-minimal").await;
    cluster.certificate_is_ready("tiny-harbor-core-tokencert").await;
    cluster.until((GOHARBOR, "Harbor", "tiny"), is_ready).await;
    let asked = rested(&cluster).await;
    (cluster, asked)
}

fn written(asked: &[Entry]) -> BTreeMap<String, usize> {
    let mut written = BTreeMap::new();
    for entry in asked.iter().filter(|entry| entry.method == Method::PATCH) {
        let path = entry.path.split('?').next().unwrap_or_default();
        let place = path.split_once(&format!("/namespaces/{NAMESPACE}/")).map_or(path, |(_, place)| place);
        *written.entry(place.to_owned()).or_default() += 1;
    }
    written
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_a_harbor_are_counted() {
    let (cluster, asked) = settled().await;
    let (writes, reads) = counts(&asked);
    println!("a Harbor to all its parts: {writes} writes, {reads} reads of one object");
    assert!(writes <= WRITES_AT_MOST && reads <= READS_AT_MOST, "{writes}, {reads}: {:#?}", written(&asked));

    // A reconcile of all that is unchanged: the label of the Harbor wakes it, and means nothing.
    for (kind, name) in [("Harbor", "tiny"), ("Core", "tiny-harbor"), ("Portal", "tiny-harbor")] {
        cluster.patch(GOHARBOR, kind, name, false, json!({"metadata": {"labels": {"woken": "yes"}}})).await;
    }
    let asked = rested(&cluster).await;
    assert_eq!(written(&asked), BTreeMap::new(), "nothing changed");

    // A file of one part: its ConfigMap and its Deployment follow, and what waits for that part looks on.
    let edit = json!({"spec": {"logLevel": "debug"}});
    let deployments = ["core", "jobservice", "portal", "registry"].map(|part| format!("tiny-harbor-{part}"));
    let before = templates(&cluster, &deployments).await;
    cluster.patch(GOHARBOR, "Harbor", "tiny", false, edit).await;
    cluster.until((GOHARBOR, "Harbor", "tiny"), is_ready).await;
    let asked = rested(&cluster).await;
    let after = templates(&cluster, &deployments).await;
    let rolled: Vec<&String> =
        deployments.iter().filter(|name| before[name.as_str()] != after[name.as_str()]).collect();
    let (writes, _) = counts(&asked);
    println!("another log level: {writes} writes, pods of {rolled:?} roll");
    assert!(!rolled.contains(&&"tiny-harbor-portal".to_owned()), "its file says nothing of the log");
    assert!(rolled.contains(&&"tiny-harbor-core".to_owned()), "{rolled:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restarted_operator_writes_nothing() {
    let (mut cluster, _) = settled().await;
    let data = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "old", "namespace": NAMESPACE,
        "annotations": {"goharbor.io/configuration": "none"}}, "data": {"config.yaml": "self_registration: false"}});
    cluster.create(data).await;
    cluster
        .until((GOHARBOR, "HarborConfiguration", "old"), |found| found["status"]["status"] == "Fail")
        .await;
    rested(&cluster).await;
    cluster.stop().await;
    cluster.asked.take();
    cluster.start();
    let asked = rested(&cluster).await;
    assert!(asked.iter().any(|entry| entry.path.contains("/harbors")), "it looks at everything");
    let writes: Vec<&Entry> = asked.iter().filter(|entry| entry.writes() && !entry.is_event()).collect();
    assert_eq!(writes, [] as [&Entry; 0]);

    // What changed while it was away is written, and nothing beside.
    cluster.stop().await;
    let edit = json!({"binaryData": {"nginx.conf": "ZWRpdGVk"}});
    cluster.patch("v1", "ConfigMap", "tiny-harbor-portal", false, edit).await;
    cluster.asked.take();
    cluster.start();
    let asked = rested(&cluster).await;
    assert_eq!(written(&asked), BTreeMap::from([("configmaps/tiny-harbor-portal".to_owned(), 1)]));
}

async fn templates(cluster: &Cluster, names: &[String]) -> BTreeMap<String, Value> {
    let mut templates = BTreeMap::new();
    for name in names {
        let deployment = cluster.get("apps/v1", "Deployment", name).await.unwrap();
        templates.insert(name.clone(), deployment["spec"]["template"].clone());
    }
    templates
}

/// So many Harbors at once; seconds until all are ready, processor time of each in milliseconds, writes of each.
async fn many(count: usize) -> (f64, f64, f64) {
    let cluster = Cluster::begin().await;
    let (harbors, others): (Vec<_>, Vec<_>) =
        documents("stack-minimal", "input.yaml").into_iter().partition(|object| object["kind"] == "Harbor");
    for mut object in others {
        object["metadata"]["namespace"] = json!(NAMESPACE);
        cluster.create(object).await;
    }
    rested(&cluster).await;
    let (began, processor_before) = (Instant::now(), processor());
    for number in 0..count {
        let mut harbor = harbors[0].clone();
        harbor["metadata"] = json!({"name": format!("tiny-{number:03}"), "namespace": NAMESPACE});
        cluster.create(harbor).await;
    }
    for number in 0..count {
        cluster.certificate_is_ready(&format!("tiny-{number:03}-harbor-core-tokencert")).await;
    }
    for number in 0..count {
        let name = format!("tiny-{number:03}");
        cluster.until_within((GOHARBOR, "Harbor", &name), PATIENCE * 10, is_ready).await;
    }
    let (seconds, processor) = (began.elapsed().as_secs_f64(), processor() - processor_before);
    let (writes, _) = counts(&cluster.asked.take());
    (seconds, processor * 1e3 / count as f64, writes as f64 / count as f64)
}

#[tokio::test(flavor = "multi_thread")]
async fn several_harbors_at_once_cost_as_much_each() {
    let (seconds, processor, writes) = many(FEW).await;
    println!("{FEW} Harbors: {seconds:.1} s, {processor:.0} ms of processor and {writes:.0} writes each");
    assert!(writes <= WRITES_AT_MOST as f64, "{writes} writes each");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs minutes: cargo test --profile dist -p vela-harbor --test harbor -- a_hundred --ignored --nocapture"]
async fn a_hundred_harbors_at_once() {
    let (seconds, processor, writes) = many(HARBORS).await;
    println!("{HARBORS} Harbors: {seconds:.1} s, {processor:.0} ms of processor and {writes:.0} writes each");
    assert!(writes <= WRITES_AT_MOST as f64, "{writes} writes each");
}
