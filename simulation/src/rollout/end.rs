//! Ends a schedule of a rollout: it heals, every rollout ends or says what it waits for, and there is a way forward.

use std::collections::BTreeMap;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use vela_embedded::{Checkpoint, STEP, virtual_time};

use super::manifests;
use super::object::{between, is_over};
use super::plan::{Batch, Number, Plan};
use super::user::{ROLLOUT, RolloutUser, change, delete, find};
use super::{APPLICATIONS, Kind, ROLLOUTS, SIZE};
use crate::cluster::SimulatedCluster;
use crate::comparison::{difference, left, objects};
use crate::model::{Place, path};
use crate::schedule::Schedule;
use crate::violation::Violation;

/// How many polls of the cluster, and the time between two: first a part of the time after which a rollout that waits looks
/// again, and later so much that the deadline of a batch passes.
const POLLS: [(usize, Duration); 2] = [(30, Duration::from_secs(2)), (30, Duration::from_secs(40))];
/// Polls without any change after which nothing more is expected: longer than a rollout that waits sleeps.
const STILL_POLLS: usize = 3;
/// Turns of the cluster in one poll: pods come and are counted in several.
const TURNS: usize = 3;
/// Time in which an unchanged cluster must cost no write.
const STILL: Duration = Duration::from_secs(30);

/// The remains of a rollout without faults.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EndState {
    objects: BTreeMap<Place, Value>,
    status: Value,
}

/// The ends of runs without faults, made once: by checkpoint and by what people began.
pub(crate) type EndStates = BTreeMap<(usize, String), EndState>;

/// Heal, rest, resume, rest, compare, go somewhere else, delete, rest. Half of them only give the rollout up where it is.
pub(crate) async fn end(
    schedule: &mut Schedule,
    user: &RolloutUser,
    (at, checkpoint): (usize, &Checkpoint),
    ends: &mut EndStates,
) -> Result<(), Violation> {
    schedule.note(|| "everything heals".to_owned());
    schedule.cluster.start_all();
    schedule.cluster.network.open();
    RolloutUser::heal(&schedule.cluster);
    if schedule.draws.once_in(2) {
        let deleted = delete(&schedule.cluster, ROLLOUTS, ROLLOUT);
        schedule.note(|| deleted);
        return rest(schedule, user.kind, "at rest, after the rollout was deleted").await;
    }
    rest(schedule, user.kind, "at rest, as it is held").await?;
    if find(&schedule.cluster, ROLLOUTS, ROLLOUT).is_some_and(|rollout| is_held(&rollout)) {
        let resumed = change(&schedule.cluster, "lets go on", &go_on());
        schedule.note(|| resumed);
        rest(schedule, user.kind, "at rest, after its last hold ended").await?;
    }
    if user.steady {
        compare(schedule, user, (at, checkpoint), ends)?;
    }
    if schedule.draws.once_in(3) {
        still(schedule).await?;
    }
    match schedule.draws.once_in(8) {
        true => forward(schedule, user).await,
        false => Ok(()),
    }
}

fn go_on() -> Value {
    json!({"spec": {"rolloutPlan": {"paused": false, "batchPartition": null}}})
}

fn is_held(rollout: &Value) -> bool {
    let plan = Plan::read(&rollout["spec"]["rolloutPlan"]);
    plan.paused || plan.partition.is_some()
}

async fn poll(schedule: &mut Schedule, time: Duration) -> Result<(), Violation> {
    for turn in (1..=TURNS).rev() {
        let part = if turn == 1 { time } else { STEP };
        schedule.cluster.pass(part).await;
        schedule.cluster.turn();
    }
    schedule.cluster.restart_ended();
    schedule.check()
}

/// Until nothing changes and every rollout is over or says what it waits for.
async fn rest(schedule: &mut Schedule, kind: Kind, what: &'static str) -> Result<(), Violation> {
    let (mut still, mut before) = (0, schedule.cluster.store().revision());
    for (polls, time) in POLLS {
        for _ in 0..polls {
            poll(schedule, time).await?;
            let now = changes(&schedule.cluster);
            still = if now == before { still + 1 } else { 0 };
            before = now;
            if still >= STILL_POLLS && schedule.cluster.is_led() && stuck(schedule, kind).is_none() {
                return Ok(());
            }
        }
    }
    match stuck(schedule, kind) {
        Some(why) => Err(Violation::new("stuck", format!("never {what}: {why}"))),
        None => {
            let last = &schedule.checker.last_write;
            Err(Violation::new("quiet", format!("never {what}, though nothing is left to do; last: {last}")))
        }
    }
}

/// The last change of anything but leases.
fn changes(cluster: &SimulatedCluster) -> u64 {
    let all = cluster.store().resources().into_iter();
    let counted =
        all.filter(|(resource, _)| !resource.starts_with("leases.") && resource.as_ref() != "events");
    counted.map(|(_, latest)| latest).max().unwrap_or(0)
}

/// A rollout that is neither over nor says what it waits for.
fn stuck(schedule: &Schedule, kind: Kind) -> Option<String> {
    let cluster = &schedule.cluster;
    let rollout = find(cluster, ROLLOUTS, ROLLOUT)?;
    if !rollout["metadata"]["deletionTimestamp"].is_null() {
        return Some(format!("it does not go: {}", rollout["status"]));
    }
    if is_over(&rollout) && is_followed(&rollout) {
        return wrong_end(schedule, kind, &rollout);
    }
    match reason(cluster, kind, &rollout) {
        Some(reason) if is_reported(&rollout, &reason) => None,
        Some(reason) => Some(format!("the status does not tell of {reason:?}: {}", rollout["status"])),
        None => Some(format!("nothing is missing, and it does not end: {}", rollout["status"])),
    }
}

/// Is it what people want by now?
fn is_followed(rollout: &Value) -> bool {
    let [says, last] = between(rollout);
    says.0 == last.0
}

/// What a rollout may wait for.
#[derive(Debug)]
enum Reason {
    Paused,
    Partition,
    Missing(String),
}

fn reason(cluster: &SimulatedCluster, kind: Kind, rollout: &Value) -> Option<Reason> {
    let plan = Plan::read(&rollout["spec"]["rolloutPlan"]);
    let status = &rollout["status"];
    let rolls = status["rollingState"] == "rollingInBatches";
    let (target, source) = between(rollout)[0];
    let names = [target, source];
    for name in names.into_iter().filter(|name| !name.is_empty()) {
        if find(cluster, kind.revisions(), name).is_none() {
            return Some(Reason::Missing(name.to_owned()));
        }
    }
    if names[0] == names[1] {
        return Some(Reason::Missing("source and target are both".to_owned()));
    }
    if find(cluster, APPLICATIONS, "shop").is_none() {
        return Some(Reason::Missing("Application".to_owned()));
    }
    if rolls && plan.paused {
        return Some(Reason::Paused);
    }
    let batch = status["currentBatch"].as_i64().unwrap_or(0);
    let ready = status["batchRollingState"] == "batchReady";
    if rolls && ready && plan.partition.is_some_and(|partition| partition <= batch) {
        return Some(Reason::Partition);
    }
    if status["rollingState"] == "verifyingSpec" && RolloutUser::pods_fail(cluster) {
        return Some(Reason::Missing("still being".to_owned()));
    }
    let workloads = names.into_iter().filter(|name| !name.is_empty()).map(|name| kind.workload(name));
    let mut missing = workloads.filter(|name| find(cluster, kind.resource(), name).is_none());
    missing.next().map(|_| Reason::Missing("not there".to_owned()))
}

/// Does the status say so?
fn is_reported(rollout: &Value, reason: &Reason) -> bool {
    let conditions = rollout["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    match reason {
        Reason::Partition => true,
        Reason::Paused => conditions.any(|each| each["type"] == "BatchPaused" && each["status"] == "True"),
        Reason::Missing(what) => conditions.any(|each| {
            let message = each["message"].as_str().unwrap_or_default();
            each["status"] == "False"
                && (message.contains(what.as_str()) || message.contains("must both be there"))
        }),
    }
}

/// A rollout that succeeded has brought the target to its size, and nothing is left of the source.
fn wrong_end(schedule: &Schedule, kind: Kind, rollout: &Value) -> Option<String> {
    let cluster = &schedule.cluster;
    let status = &rollout["status"];
    if status["rollingState"] != "rolloutSucceed" {
        return None;
    }
    let size = |name: &Value| {
        let name = name.as_str().filter(|name| !name.is_empty())?;
        let found = find(cluster, kind.resource(), &kind.workload(name))?;
        found["spec"]["replicas"].as_i64()
    };
    let (target, source) = (size(&status["lastTargetAppRevision"]), size(&status["LastSourceAppRevision"]));
    let wanted = status["rolloutTargetSize"].as_i64();
    // What people deleted, before or after the end of its rollout, its configuration makes again, in the size that the
    // template says.
    let is_made_again = kind == Kind::Configured && {
        let name = kind.workload(status["lastTargetAppRevision"].as_str().unwrap_or_default());
        schedule.checker.rollouts.as_ref().is_some_and(|checker| checker.is_deleted(&name))
    };
    let differs = target.is_some() && target != wanted && !is_made_again
        || kind.is_deployment() && source.is_some_and(|left| left != 0);
    differs
        .then(|| format!("it succeeded, and target and source have {target:?} and {source:?} pods: {status}"))
}

/// An unchanged cluster costs no write, also for a process with empty caches.
async fn still(schedule: &mut Schedule) -> Result<(), Violation> {
    let before = schedule.checker.writes;
    if schedule.draws.once_in(3) {
        schedule.cluster.kill(0);
        schedule.cluster.start(0);
    }
    schedule.cluster.pass(STILL).await;
    schedule.cluster.turn();
    schedule.check()?;
    if schedule.checker.writes == before {
        return Ok(());
    }
    let (count, last) = (schedule.checker.writes - before, &schedule.checker.last_write);
    Err(Violation::new("quiet", format!("{count} writes to an unchanged cluster; last: {last}")))
}

/// The objects and the status that stay.
fn remains(cluster: &SimulatedCluster) -> EndState {
    let status = find(cluster, ROLLOUTS, ROLLOUT).map(|mut rollout| rollout["status"].take());
    let status = status.unwrap_or_default();
    let fields = ["rollingState", "rolloutTargetSize", "upgradedReplicas", "lastTargetAppRevision"];
    let status = fields.into_iter().map(|field| (field.to_owned(), status[field].clone())).collect();
    EndState { objects: objects(cluster), status: Value::Object(status) }
}

/// The end must be that of the same rollout in a cluster without faults.
fn compare(
    schedule: &mut Schedule,
    user: &RolloutUser,
    (at, checkpoint): (usize, &Checkpoint),
    ends: &mut EndStates,
) -> Result<(), Violation> {
    // Whether it was held on the way must not show in the end.
    let mut began = user.began.clone().unwrap_or_default();
    began["spec"]["rolloutPlan"]["batchPartition"].take();
    let key = (at, began.to_string());
    if !ends.contains_key(&key) {
        // Whether it is known already must not show in the schedule's time.
        let made = virtual_time::run_apart(|| alone(user, checkpoint));
        let made = made.map_err(|error| Violation::new("runtime", error.to_string()))?;
        ends.insert(key.clone(), made);
    }
    let Some(wanted) = ends.get(&key) else { return Ok(()) };
    let found = remains(&schedule.cluster);
    if *wanted == found {
        return Ok(());
    }
    let objects = difference(&found.objects, &wanted.objects);
    let what = format!("found {}, wanted {}\n{objects}", found.status, wanted.status);
    Err(Violation::new("convergence", what))
}

/// The same rollout in a cluster in which nothing goes wrong.
async fn alone(user: &RolloutUser, checkpoint: &Checkpoint) -> EndState {
    let mut cluster = SimulatedCluster::calm(checkpoint, user.kind.form());
    cluster.network.open();
    cluster.start_all();
    if let Some(began) = &user.began {
        cluster.user(Method::POST, &path(ROLLOUTS, ""), Some(began));
    }
    change(&cluster, "lets go on", &go_on());
    let (mut still, mut before) = (0, 0);
    for _ in 0..POLLS[0].0 * 3 {
        for turn in (1..=TURNS).rev() {
            cluster.pass(if turn == 1 { POLLS[0].1 } else { STEP }).await;
            cluster.turn();
        }
        let now = changes(&cluster);
        still = if now == before { still + 1 } else { 0 };
        before = now;
        let over = find(&cluster, ROLLOUTS, ROLLOUT).is_none_or(|rollout| is_over(&rollout));
        if over && still >= STILL_POLLS {
            break;
        }
    }
    let left = remains(&cluster);
    cluster.kill(0);
    left
}

/// Whatever happened, another rollout gets there; and then nothing is left of the application.
async fn forward(schedule: &mut Schedule, user: &RolloutUser) -> Result<(), Violation> {
    let deleted = delete(&schedule.cluster, ROLLOUTS, ROLLOUT);
    schedule.note(|| deleted);
    rest(schedule, user.kind, "at rest, after the rollout was deleted").await?;
    if find(&schedule.cluster, APPLICATIONS, "shop").is_none() {
        let applied = user.apply(&schedule.cluster);
        schedule.note(|| applied);
        rest(schedule, user.kind, "at rest, after the application was made again").await?;
    }
    let (target, rollout) = way(&schedule.cluster, user);
    let Some(rollout) = rollout else { return Ok(()) };
    let (code, _) = schedule.cluster.user(Method::POST, &path(ROLLOUTS, ""), Some(&rollout));
    schedule.note(|| format!("user goes forward to {target}: {code}: {}", rollout["spec"]));
    rest(schedule, user.kind, "at rest, on the way forward").await?;
    let state = find(&schedule.cluster, ROLLOUTS, ROLLOUT).map(|mut rollout| rollout["status"].take());
    let state = state.unwrap_or_default();
    if state["rollingState"] != "rolloutSucceed" {
        return Err(Violation::new("stuck", format!("the way forward to {target} ends so: {state}")));
    }
    for (resource, name) in [(ROLLOUTS, ROLLOUT), (APPLICATIONS, "shop")] {
        let deleted = delete(&schedule.cluster, resource, name);
        schedule.note(|| deleted);
    }
    rest(schedule, user.kind, "at rest, after everything was deleted").await?;
    match left(&schedule.cluster) {
        left if left.is_empty() => Ok(()),
        left => Err(Violation::new("convergence", format!("a deleted application leaves {left:?}"))),
    }
}

/// The rollout to the next revision that is well, from where most pods are.
fn way(cluster: &SimulatedCluster, user: &RolloutUser) -> (String, Option<Value>) {
    let plan = |size: Option<i64>| Plan {
        size,
        batches: vec![Batch { pods: Number::Percent(100), ..Batch::default() }],
        ..Plan::default()
    };
    let there = |name: &str| find(cluster, user.kind.revisions(), name).is_some();
    let runs = |name: &str| find(cluster, user.kind.resource(), &user.kind.workload(name)).is_some();
    let source = user.running(cluster).filter(|source| runs(source));
    let wells = ["shop-v1", "shop-v2", "shop-v3"];
    let target = wells.into_iter().find(|name| there(name) && source.as_deref() != Some(*name));
    match (source, target) {
        // A set that makes its pods in order waits for the first one, also if it never gets ready: only deleting the
        // set helps.
        _ if user.kind == Kind::StatefulSet && RolloutUser::pods_fail(cluster) => (String::new(), None),
        (Some(source), Some(target)) => {
            let size = user.size(cluster, &source).max(user.size(cluster, target));
            let size = user.kind.is_deployment().then_some(size);
            (
                target.to_owned(),
                Some(manifests::object(user.kind, ROLLOUT, target, Some(&source), &plan(size))),
            )
        }
        (None, Some(target)) => {
            (target.to_owned(), Some(manifests::object(user.kind, ROLLOUT, target, None, &plan(Some(SIZE)))))
        }
        _ => (String::new(), None),
    }
}
