//! Metrics as gates of a rollout: measured, let through, held and let go, with a server that lies, is silent or is down.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use vela_core::options::EgressPolicy;
use vela_core::{Options, Process};

use super::foreign;
use super::rollouts::{OAM, batch, batches, first, has, pods, rollout, second, state};
use super::test_cluster::{TestCluster, until, until_or};

/// What a Prometheus says, and what it was asked.
#[derive(Clone)]
pub(super) struct Prometheus {
    address: String,
    answer: Arc<Mutex<String>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Prometheus {
    pub(super) async fn start(value: &str) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let server = Self { address, answer: Arc::default(), asked: Arc::default() };
        server.says(value);
        let (answer, asked) = (server.answer.clone(), server.asked.clone());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (mut text, mut part) = (String::new(), [0; 4096]);
                while !text.contains("\r\n\r\n") {
                    match stream.read(&mut part).await {
                        Ok(0) | Err(_) => break,
                        Ok(read) => text.push_str(&String::from_utf8_lossy(&part[..read])),
                    }
                }
                asked.lock().unwrap().push(text.lines().next().unwrap_or_default().to_owned());
                let body = answer.lock().unwrap().clone();
                let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
                let answer = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        server
    }

    /// One value; nothing for an empty text.
    fn says(&self, value: &str) {
        let values: Vec<Value> =
            if value.is_empty() { Vec::new() } else { vec![json!({"metric": {}, "value": [1, value]})] };
        let answer = json!({"status": "success", "data": {"resultType": "vector", "result": values}});
        *self.answer.lock().unwrap() = answer.to_string();
    }
}

/// A cluster whose controllers may ask servers of this machine.
pub(super) async fn asking() -> TestCluster {
    let mut cluster = TestCluster::without_controllers().await;
    start(&mut cluster);
    cluster
}

fn start(cluster: &mut TestCluster) {
    let options = Options { egress_policy: EgressPolicy::ServicesAndLoopback, ..Options::default() };
    cluster.start_as(Process { options, ..Process::default() });
}

pub(super) fn metric(prometheus: &Prometheus, more: Value) -> Value {
    let mut metric = json!({
        "name": "errors", "interval": "1s", "metricsRange": {"max": "5%"},
        "provider": {"type": "prometheus", "address": prometheus.address},
        "query": "errors{namespace=\"{{ namespace }}\",deployment=\"{{ target }}\"}",
    });
    metric.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    metric
}

pub(super) async fn says(cluster: &TestCluster, type_: &str, status: &str, text: &str) -> Value {
    until_or(
        &format!("{type_} is {status}: {text}"),
        || cluster.get(OAM, "AppRollout", "release"),
        |found| {
            let conditions = found.as_ref().unwrap()["status"]["conditions"].as_array().cloned();
            conditions.unwrap_or_default().iter().any(|each| {
                each["type"] == type_
                    && each["status"] == status
                    && each["message"].as_str().unwrap_or_default().contains(text)
            })
        },
    )
    .await
    .unwrap()
}

/// Stops and goes on, as a person does who wants it measured again.
async fn resume(cluster: &TestCluster) {
    for paused in [json!(true), Value::Null] {
        cluster
            .patch(OAM, "AppRollout", "release", json!({"spec": {"rolloutPlan": {"paused": paused}}}))
            .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_in_their_range_let_every_batch_through() {
    let cluster = asking().await;
    first(&cluster).await;
    second(&cluster).await;
    let prometheus = Prometheus::start("0.01").await;
    let mut plan = batches(&[1, 3]);
    plan["canaryMetric"] = json!([metric(&prometheus, json!({"count": 2}))]);
    plan["rolloutBatches"][1]["canaryMetric"] = json!([metric(&prometheus, json!({"name": "more"}))]);
    cluster.create(rollout("shop-v2", Some("shop-v1"), plan)).await;
    let done = state(&cluster, "rolloutSucceed").await;
    has(&cluster, "front-v2", 4).await;
    let measured = done["status"]["canaryAnalysis"]["metrics"].as_array().unwrap().clone();
    let passed: Vec<_> = measured.iter().map(|each| (each["path"].clone(), each["passed"].clone())).collect();
    assert_eq!(
        passed,
        [(json!("canaryMetric[0]"), json!(2)), (json!("rolloutBatches[1].canaryMetric[0]"), json!(1)),]
    );
    let asked = prometheus.asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 5, "twice for each batch, and once more for the second: {asked:#?}");
    let encoded = format!(
        "/api/v1/query?query=errors%7Bnamespace%3D%22{}%22%2Cdeployment%3D%22front-v2%22%7D",
        cluster.namespace
    );
    assert!(asked.iter().all(|line| line.contains(&encoded)), "{asked:#?}");
}

#[tokio::test(flavor = "multi_thread")]
pub(super) async fn a_metric_out_of_range_holds_a_batch_until_measured_anew() {
    let mut cluster = asking().await;
    first(&cluster).await;
    second(&cluster).await;
    let prometheus = Prometheus::start("0.31").await;
    foreign::small(&cluster, "flagger.app", "v1beta1", "MetricTemplate", "metrictemplates").await;
    cluster
        .create(json!({
            "apiVersion": "flagger.app/v1beta1", "kind": "MetricTemplate", "metadata": {"name": "errors"},
            "spec": {"provider": {"type": "prometheus", "address": prometheus.address}, "query": "errors[{{ interval }}]"},
        }))
        .await;
    let template = json!({"apiVersion": "flagger.app/v1beta1", "kind": "MetricTemplate", "name": "errors"});
    let mut plan = batches(&[1, 3]);
    plan["rolloutBatches"][0]["canaryMetric"] = json!([{
        "name": "errors", "interval": "1s", "metricsRange": {"max": "5%"}, "templateRef": template, "failureLimit": 1,
    }]);
    cluster.create(rollout("shop-v2", Some("shop-v1"), plan)).await;
    let held = says(&cluster, "BatchPaused", "True", "0.31 is above metricsRange.max 0.05").await;
    let conditions = held["status"]["conditions"].to_string();
    for part in ["2 failed, 1 tolerated", "errors[1s]", "vela rollout resume", "vela rollout undo"] {
        assert!(conditions.contains(part), "{part}: {conditions}");
    }
    until("it is told as an event", || async {
        let events = cluster.list("events.k8s.io/v1", "Event").await;
        events.iter().any(|event| event["reason"] == "Canary Metric Failed")
    })
    .await;
    // Neither time nor a controller that starts anew lets it go on, and nothing is written.
    cluster.quiet().await;
    cluster.kill().await;
    start(&mut cluster);
    cluster.rested_of("approllout", 1).await;
    cluster.quiet().await;
    assert_eq!(pods(&cluster, "front-v2").await, (1, 1));
    assert_eq!(prometheus.asked.lock().unwrap().len(), 2);
    resume(&cluster).await;
    until("it is measured anew", || async { prometheus.asked.lock().unwrap().len() >= 4 }).await;
    says(&cluster, "BatchPaused", "True", "0.31").await;
    prometheus.says("0.01");
    resume(&cluster).await;
    state(&cluster, "rolloutSucceed").await;
    has(&cluster, "front-v2", 4).await;
    says(&cluster, "BatchPaused", "False", "goes on").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_measured_holds_a_batch_and_says_why() {
    let cluster = asking().await;
    first(&cluster).await;
    second(&cluster).await;
    let prometheus = Prometheus::start("").await;
    let mut plan = batches(&[1, 3]);
    plan["canaryMetric"] = json!([metric(&prometheus, json!({}))]);
    cluster.create(rollout("shop-v2", Some("shop-v1"), plan)).await;
    batch(&cluster, 0, "batchVerifying").await;
    says(&cluster, "BatchPaused", "True", "found no value").await;
    // A server that is not there any more; the metric that was changed is measured anew.
    let unused = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let asks = async |metric: Value| {
        let plan = json!({"spec": {"rolloutPlan": {"canaryMetric": [metric]}}});
        cluster.patch(OAM, "AppRollout", "release", plan).await;
    };
    let mut down = metric(&prometheus, json!({}));
    down["provider"]["address"] = json!(format!("http://user:key@{unused}"));
    asks(down).await;
    let held = says(&cluster, "BatchPaused", "True", &format!("http://{unused}")).await;
    assert!(!held["status"].to_string().contains("user:key"), "{held:#}");
    // A template that does not exist.
    let template = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "errors"});
    let mut absent =
        json!({"name": "errors", "interval": "1s", "metricsRange": {"max": 1}, "templateRef": template});
    asks(absent.clone()).await;
    says(&cluster, "BatchPaused", "True", "templateRef: ConfigMap errors: there is none").await;
    let question = json!({"address": prometheus.address, "query": "errors"});
    cluster.create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "errors"}, "data": question})).await;
    prometheus.says("1");
    absent["count"] = json!(1);
    asks(absent).await;
    state(&cluster, "rolloutSucceed").await;
}
