//! Measures the price of a rollout: time between two batches, and a hundred rollouts at the same time. Printed, not
//! judged.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use kube::api::DynamicObject;
use kube::runtime::watcher::{self, Event};
use serde_json::{Value, json};
use vela_e2e::Result;
use vela_e2e::objects::{Cluster, until};
use vela_e2e::proxy::Record;
use vela_e2e::replica::Replica;
use vela_e2e::target::{Target, is_real};

use super::{OAM, batches, recorded, rollout};
use crate::foreign::accepted;
use crate::scenario;

/// Rollouts at the same time.
const MANY: usize = 100;
/// Batches of each, of one pod.
const BATCHES: usize = 4;
/// All of them are over before this, or the figure is given up.
const DEADLINE: Duration = Duration::from_secs(480);
/// How often is asked whether all are over.
const ASK_EVERY: Duration = Duration::from_millis(250);

#[test]
#[ignore = "prints figures: cargo xtask bench --rollouts"]
fn figures_of_rollouts() {
    scenario(async {
        if !is_real() {
            let target = Target::open("rollout-figures").await?;
            return measured(&target, &Costs { process: target.process(), record: None }).await;
        }
        let target = Target::alone("rollout-figures").await?;
        let record = Record::default();
        let client = target.cluster().client().clone();
        let core = Replica::start("core", client, &record, &[], |_| {}).await?;
        let costs = Costs { process: Some(core.process()), record: Some(record) };
        measured(&target, &costs).await.map_err(|error| format!("{error}\n{}", core.log()).into())
    });
}

/// Whose memory and processor time, and who counts its requests.
struct Costs {
    process: Option<u32>,
    record: Option<Record>,
}

impl Costs {
    /// Resident memory in megabytes, as Linux counts it.
    fn memory(&self) -> f64 {
        let text = self.read("status");
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
        let kilobytes = line.split_whitespace().next().and_then(|number| number.parse::<f64>().ok());
        kilobytes.map_or(f64::NAN, |kilobytes| kilobytes / 1024.0)
    }

    /// Seconds of processor time so far; Linux counts hundredths.
    fn processor(&self) -> f64 {
        let text = self.read("stat");
        let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
        fields.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0
    }

    fn read(&self, what: &str) -> String {
        let path = self.process.map(|process| format!("/proc/{process}/{what}"));
        path.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default()
    }
}

async fn measured(target: &Target, costs: &Costs) -> Result<()> {
    let whose = if is_real() { "vela-core" } else { "the sandbox (API server, workloads and controllers)" };
    println!("rollout figures of {whose}:");
    let cluster = target.cluster();
    for number in 0..MANY {
        accepted(cluster, &shop(number, "nginx:1")).await?;
    }
    for number in 0..MANY {
        recorded(cluster, &format!("shop-{number:03}-v1")).await?;
        let mut plan = batches(&[3]);
        plan["targetSize"] = json!(BATCHES);
        accepted(cluster, &rollout(&name(number), None, &format!("shop-{number:03}-v1"), plan)).await?;
    }
    over(cluster, "v1", MANY).await?;
    for number in 0..MANY {
        accepted(cluster, &shop(number, "nginx:2")).await?;
    }
    for number in 0..MANY {
        recorded(cluster, &format!("shop-{number:03}-v2")).await?;
    }
    alone(cluster, costs).await?;
    together(cluster, costs).await
}

/// One rollout, with nothing else to do.
async fn alone(cluster: &Cluster, costs: &Costs) -> Result<()> {
    let steps = Steps::follow(cluster).await?;
    let begun = Instant::now();
    goes(cluster, 0).await?;
    over(cluster, "v2", 1).await?;
    steps.print("one rollout of four batches", begun.elapsed());
    print_requests("one rollout of four batches", costs, begun);
    Ok(())
}

/// All others at once.
async fn together(cluster: &Cluster, costs: &Costs) -> Result<()> {
    let (memory, processor) = (costs.memory(), costs.processor());
    let steps = Steps::follow(cluster).await?;
    let begun = Instant::now();
    for number in 1..MANY {
        goes(cluster, number).await?;
    }
    let asked = begun.elapsed();
    over(cluster, "v2", MANY).await?;
    let all = begun.elapsed();
    steps.print("99 rollouts at once", all);
    print_requests("99 rollouts at once", costs, begun);
    println!(
        "99 rollouts of four batches: asked for within {:.1} s, all over after {:.1} s; memory {memory:.0} MB before and {:.0} MB \
         after, {:.1} s of processor time",
        asked.as_secs_f64(),
        all.as_secs_f64(),
        costs.memory(),
        costs.processor() - processor
    );
    Ok(())
}

fn name(number: usize) -> String {
    format!("release-{number:03}")
}

fn shop(number: usize, image: &str) -> Value {
    let name = format!("front-{number:03}");
    let component = json!({"name": name, "type": "webservice", "properties": {"image": image}});
    json!({
        "apiVersion": OAM, "kind": "Application",
        "metadata": {
            "name": format!("shop-{number:03}"), "annotations": {"app.oam.dev/rollout-template": "true"},
        },
        "spec": {"components": [component]},
    })
}

/// From the first to the second revision.
async fn goes(cluster: &Cluster, number: usize) -> Result<()> {
    let [source, target] = ["v1", "v2"].map(|version| format!("shop-{number:03}-{version}"));
    accepted(cluster, &rollout(&name(number), Some(&source), &target, batches(&[1; BATCHES]))).await
}

/// Waits until so many rollouts have reached a revision of this number.
async fn over(cluster: &Cluster, version: &str, wanted: usize) -> Result<()> {
    until(&format!("{wanted} rollouts have reached {version}"), DEADLINE, async || {
        tokio::time::sleep(ASK_EVERY).await;
        let all = cluster.list(OAM, "AppRollout").await.map_err(|error| error.to_string())?;
        let is_over = |found: &&Value| {
            let reached = found["status"]["lastTargetAppRevision"].as_str().unwrap_or_default();
            found["status"]["rollingState"] == "rolloutSucceed" && reached.ends_with(version)
        };
        let count = all.iter().filter(is_over).count();
        let unlike = all.iter().find(|found| !is_over(found));
        if count >= wanted {
            Ok(())
        } else {
            Err(format!("{count} have; one is {:?}", unlike.map(|o| &o["status"])))
        }
    })
    .await
}

fn print_requests(what: &str, costs: &Costs, begun: Instant) {
    let Some(record) = &costs.record else { return };
    let seen = record.since(begun);
    let of = |part: &str| seen.iter().filter(|each| each.writes() && each.path.contains(part)).count();
    let reads = seen.iter().filter(|each| each.method == "GET").count();
    println!(
        "{what}: {} writes of rollouts, {} of Deployments, {} of records, {} events; {reads} reads",
        of("/approllouts"),
        of("/deployments"),
        of("/resourcetrackers"),
        of("/events")
    );
}

/// What a stored status said: whose, in which batch, whether that is ready, and when it was seen.
type Step = (String, i64, bool, Instant);

/// When a status was seen to say that a batch is ready, and when that the next one has begun.
struct Steps {
    seen: Arc<Mutex<Vec<Step>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Steps {
    async fn follow(cluster: &Cluster) -> Result<Self> {
        let seen = Arc::<Mutex<Vec<Step>>>::default();
        let (steps, api) = (seen.clone(), cluster.of_kind(OAM, "AppRollout").await?);
        let task = tokio::spawn(async move {
            let mut events = std::pin::pin!(watcher::watcher(api, watcher::Config::default()));
            while let Some(event) = events.next().await {
                if let (Ok(Event::Apply(rollout)), Ok(mut steps)) = (event, steps.lock()) {
                    steps.push(step(&rollout));
                }
            }
        });
        Ok(Self { seen, task })
    }

    /// The times between, from the first look at a ready batch to the first at the next one.
    fn between(&self) -> Vec<f64> {
        let mut ready: BTreeMap<(String, i64), Instant> = BTreeMap::new();
        let mut between = Vec::new();
        for (name, batch, is_ready, at) in self.seen.lock().map(|seen| seen.clone()).unwrap_or_default() {
            if is_ready {
                ready.entry((name, batch)).or_insert(at);
            } else if let Some(since) = ready.remove(&(name, batch - 1)) {
                between.push(at.duration_since(since).as_secs_f64() * 1e3);
            }
        }
        between.sort_by(f64::total_cmp);
        between
    }

    fn print(self, what: &str, whole: Duration) {
        self.task.abort();
        let between = self.between();
        let at = |part: usize| between.get(between.len() * part / 100).copied().unwrap_or(f64::NAN);
        let last = between.last().copied().unwrap_or(f64::NAN);
        println!(
            "{what}: {:.1} s in all; from batch ready to the next one begun ({} times): median {:.0} ms, p90 {:.0} ms, longest \
             {last:.0} ms",
            whole.as_secs_f64(),
            between.len(),
            at(50),
            at(90)
        );
    }
}

fn step(rollout: &DynamicObject) -> Step {
    let status = &rollout.data["status"];
    let is_ready = status["batchRollingState"] == "batchReady";
    let name = rollout.metadata.name.clone().unwrap_or_default();
    (name, status["currentBatch"].as_i64().unwrap_or(-1), is_ready, Instant::now())
}
