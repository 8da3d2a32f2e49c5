//! A world after its schedule → it heals, every rollout ends or says what it waits for, and there is a way forward.

use std::collections::BTreeMap;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::super::check::{OWNED, Violation};
use super::super::model::{Form, NAMESPACE, Place};
use super::super::schedule::Schedule;
use super::super::settle::{difference, left, normal};
use super::super::user::path;
use super::super::world::{Beginning, STEP, SimulatedCluster};
use super::ledger::is_over;
use super::people::{ROLLOUT, change, delete, find};
use super::plan::{Batch, Number, Plan};
use super::{APPLICATIONS, Kind, People, REVISIONS, ROLLOUTS, SIZE};

/// Time between two looks: first a part of the time after which a rollout that waits looks again, and later so much that
/// the deadline of a batch passes.
const LOOKS: [(usize, Duration); 2] = [(30, Duration::from_secs(2)), (30, Duration::from_secs(40))];
/// Looks without any change after which nothing more is expected: longer than a rollout that waits sleeps.
const STILL_LOOKS: usize = 3;
/// Turns of the cluster in one look: pods come and are counted in several.
const TURNS: usize = 3;
/// Time in which an unchanged world must cost no write.
const STILL: Duration = Duration::from_secs(30);

/// What is left of a rollout without faults.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Left {
    objects: BTreeMap<Place, Value>,
    status: Value,
}

/// The ends of runs without faults, made once: by scene and by what people began.
pub(crate) type Ends = BTreeMap<(usize, String), Left>;

/// Heal, rest, resume, rest, compare, go somewhere else, delete, rest. Half of them only give the rollout up where it is.
pub(crate) async fn end(
    schedule: &mut Schedule,
    people: &People,
    (at, beginning): (usize, &Beginning),
    ends: &mut Ends,
) -> Result<(), Violation> {
    schedule.note(|| "everything heals".to_owned());
    schedule.world.start_all();
    schedule.world.gate.open();
    People::heal(&schedule.world);
    if schedule.draws_once_in(2) {
        let deleted = delete(&schedule.world, ROLLOUTS, ROLLOUT);
        schedule.note(|| deleted);
        return rest(schedule, people.kind, "at rest, after the rollout was deleted").await;
    }
    rest(schedule, people.kind, "at rest, as it is held").await?;
    if find(&schedule.world, ROLLOUTS, ROLLOUT).is_some_and(|rollout| is_held(&rollout)) {
        let resumed = change(&schedule.world, "lets go on", &go_on());
        schedule.note(|| resumed);
        rest(schedule, people.kind, "at rest, after nobody holds it any more").await?;
    }
    if people.steady {
        compare(schedule, people, (at, beginning), ends)?;
    }
    if schedule.draws_once_in(3) {
        still(schedule).await?;
    }
    match schedule.draws_once_in(8) {
        true => forward(schedule, people).await,
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

async fn look(schedule: &mut Schedule, time: Duration) -> Result<(), Violation> {
    for turn in (1..=TURNS).rev() {
        let part = if turn == 1 { time } else { STEP };
        schedule.world.pass(part).await;
        schedule.world.turn();
    }
    schedule.world.restart_ended();
    schedule.check()
}

/// Until nothing changes and every rollout is over or says what it waits for.
async fn rest(schedule: &mut Schedule, kind: Kind, what: &'static str) -> Result<(), Violation> {
    let (mut still, mut before) = (0, schedule.world.server.store().revision());
    for (looks, time) in LOOKS {
        for _ in 0..looks {
            look(schedule, time).await?;
            let now = changes(&schedule.world);
            still = if now == before { still + 1 } else { 0 };
            before = now;
            if still >= STILL_LOOKS && schedule.world.is_led() && stuck(&schedule.world, kind).is_none() {
                return Ok(());
            }
        }
    }
    match stuck(&schedule.world, kind) {
        Some(why) => Err(Violation::new("stuck", format!("never {what}: {why}"))),
        None => {
            let last = &schedule.checker.last_write;
            Err(Violation::new("quiet", format!("never {what}, though nothing is left to do; last: {last}")))
        }
    }
}

/// The last change of anything but leases.
fn changes(world: &SimulatedCluster) -> u64 {
    let all = world.server.store().resources().into_iter();
    let told = all.filter(|(resource, _)| !resource.starts_with("leases.") && resource.as_ref() != "events");
    told.map(|(_, latest)| latest).max().unwrap_or(0)
}

/// A rollout that is neither over nor says what it waits for.
fn stuck(world: &SimulatedCluster, kind: Kind) -> Option<String> {
    let rollout = find(world, ROLLOUTS, ROLLOUT)?;
    if !rollout["metadata"]["deletionTimestamp"].is_null() {
        return Some(format!("it does not go: {}", rollout["status"]));
    }
    if is_over(&rollout) && is_followed(&rollout) {
        return wrong_end(world, kind, &rollout);
    }
    match reason(world, kind, &rollout) {
        Some(reason) if told(&rollout, &reason) => None,
        Some(reason) => Some(format!("nobody is told of {reason:?}: {}", rollout["status"])),
        None => Some(format!("nothing is missing, and it does not end: {}", rollout["status"])),
    }
}

/// Is it what people want by now?
fn is_followed(rollout: &Value) -> bool {
    rollout["spec"]["targetAppRevisionName"] == rollout["status"]["lastTargetAppRevision"]
}

/// What a rollout may wait for.
#[derive(Debug)]
enum Reason {
    Paused,
    Partition,
    Missing(String),
}

fn reason(world: &SimulatedCluster, kind: Kind, rollout: &Value) -> Option<Reason> {
    let plan = Plan::read(&rollout["spec"]["rolloutPlan"]);
    let status = &rollout["status"];
    let rolls = status["rollingState"] == "rollingInBatches";
    let names = ["targetAppRevisionName", "sourceAppRevisionName"];
    let names = names.map(|name| rollout["spec"][name].as_str().unwrap_or_default());
    for name in names.into_iter().filter(|name| !name.is_empty()) {
        if find(world, REVISIONS, name).is_none() {
            return Some(Reason::Missing(name.to_owned()));
        }
    }
    if names[0] == names[1] {
        return Some(Reason::Missing("source and target are both".to_owned()));
    }
    if find(world, APPLICATIONS, "shop").is_none() {
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
    if status["rollingState"] == "verifyingSpec" && People::pods_fail(world) {
        return Some(Reason::Missing("still being".to_owned()));
    }
    let workloads = names.into_iter().filter(|name| !name.is_empty()).map(|name| kind.workload(name));
    let mut missing = workloads.filter(|name| find(world, kind.resource(), name).is_none());
    missing.next().map(|_| Reason::Missing("not there".to_owned()))
}

/// Does the status say so?
fn told(rollout: &Value, reason: &Reason) -> bool {
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
fn wrong_end(world: &SimulatedCluster, kind: Kind, rollout: &Value) -> Option<String> {
    let status = &rollout["status"];
    if status["rollingState"] != "rolloutSucceed" {
        return None;
    }
    let size = |name: &Value| {
        let name = name.as_str().filter(|name| !name.is_empty())?;
        let found = find(world, kind.resource(), &kind.workload(name))?;
        found["spec"]["replicas"].as_i64()
    };
    let (target, source) = (size(&status["lastTargetAppRevision"]), size(&status["LastSourceAppRevision"]));
    let wanted = status["rolloutTargetSize"].as_i64();
    let differs = target.is_some() && target != wanted
        || kind == Kind::Deployment && source.is_some_and(|left| left != 0);
    differs
        .then(|| format!("it succeeded, and target and source have {target:?} and {source:?} pods: {status}"))
}

/// An unchanged world costs no write, also for a process with empty caches.
async fn still(schedule: &mut Schedule) -> Result<(), Violation> {
    let before = schedule.checker.writes;
    if schedule.draws_once_in(3) {
        schedule.world.kill(0);
        schedule.world.start(0);
    }
    schedule.world.pass(STILL).await;
    schedule.world.turn();
    schedule.check()?;
    if schedule.checker.writes == before {
        return Ok(());
    }
    let (count, last) = (schedule.checker.writes - before, &schedule.checker.last_write);
    Err(Violation::new("quiet", format!("{count} writes to an unchanged world; last: {last}")))
}

/// The objects and the status that stay.
fn remains(world: &SimulatedCluster) -> Left {
    let mut objects = BTreeMap::new();
    for resource in OWNED {
        for entry in world.server.store().list(resource, Some(NAMESPACE)).0 {
            let name = entry["metadata"]["name"].as_str().unwrap_or_default();
            if name != "kube-root-ca.crt" {
                objects.insert((resource.to_owned(), name.to_owned()), normal(entry.value()));
            }
        }
    }
    let status = find(world, ROLLOUTS, ROLLOUT).map(|mut rollout| rollout["status"].take());
    let status = status.unwrap_or_default();
    let told = ["rollingState", "rolloutTargetSize", "upgradedReplicas", "lastTargetAppRevision"];
    let status = told.into_iter().map(|field| (field.to_owned(), status[field].clone())).collect();
    Left { objects, status: Value::Object(status) }
}

/// The end must be that of the same rollout in a world without faults.
fn compare(
    schedule: &mut Schedule,
    people: &People,
    (at, beginning): (usize, &Beginning),
    ends: &mut Ends,
) -> Result<(), Violation> {
    // Whether it was held on the way must not show in the end.
    let mut began = people.began.clone().unwrap_or_default();
    began["spec"]["rolloutPlan"]["batchPartition"].take();
    let key = (at, began.to_string());
    if !ends.contains_key(&key) {
        let made = in_its_own_time(people, beginning)?;
        ends.insert(key.clone(), made);
    }
    let Some(wanted) = ends.get(&key) else { return Ok(()) };
    let found = remains(&schedule.world);
    if *wanted == found {
        return Ok(());
    }
    let objects = difference(&found.objects, &wanted.objects);
    let what = format!("found {}, wanted {}\n{objects}", found.status, wanted.status);
    Err(Violation::new("convergence", what))
}

/// On a thread and clock of its own: whether it is known already must not show in the schedule's time.
fn in_its_own_time(people: &People, beginning: &Beginning) -> Result<Left, Violation> {
    let failed = || Violation::new("runtime", "the run without faults could not be made");
    let alone = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        Ok(runtime.map_err(|_| failed())?.block_on(alone(people, beginning)))
    };
    std::thread::scope(|scope| scope.spawn(alone).join().map_err(|_| failed())?)
}

async fn alone(people: &People, beginning: &Beginning) -> Left {
    let mut world = SimulatedCluster::new(beginning, Form::Rollout, 1, None);
    world.gate.open();
    world.start_all();
    if let Some(began) = &people.began {
        world.user(Method::POST, &path(ROLLOUTS, ""), Some(began));
    }
    change(&world, "lets go on", &go_on());
    let (mut still, mut before) = (0, 0);
    for _ in 0..LOOKS[0].0 * 3 {
        for turn in (1..=TURNS).rev() {
            world.pass(if turn == 1 { LOOKS[0].1 } else { STEP }).await;
            world.turn();
        }
        let now = changes(&world);
        still = if now == before { still + 1 } else { 0 };
        before = now;
        let over = find(&world, ROLLOUTS, ROLLOUT).is_none_or(|rollout| is_over(&rollout));
        if over && still >= STILL_LOOKS {
            break;
        }
    }
    let left = remains(&world);
    world.kill(0);
    left
}

/// Whatever happened, another rollout gets there; and then nothing is left of the application.
async fn forward(schedule: &mut Schedule, people: &People) -> Result<(), Violation> {
    let deleted = delete(&schedule.world, ROLLOUTS, ROLLOUT);
    schedule.note(|| deleted);
    rest(schedule, people.kind, "at rest, after the rollout was deleted").await?;
    if find(&schedule.world, APPLICATIONS, "shop").is_none() {
        let applied = people.apply(&schedule.world);
        schedule.note(|| applied);
        rest(schedule, people.kind, "at rest, after the application was made again").await?;
    }
    let (target, rollout) = way(&schedule.world, people);
    let Some(rollout) = rollout else { return Ok(()) };
    let (code, _) = schedule.world.user(Method::POST, &path(ROLLOUTS, ""), Some(&rollout));
    schedule.note(|| format!("user goes forward to {target}: {code}: {}", rollout["spec"]));
    rest(schedule, people.kind, "at rest, on the way forward").await?;
    let state = find(&schedule.world, ROLLOUTS, ROLLOUT).map(|mut rollout| rollout["status"].take());
    let state = state.unwrap_or_default();
    if state["rollingState"] != "rolloutSucceed" {
        return Err(Violation::new("stuck", format!("the way forward to {target} ends so: {state}")));
    }
    for (resource, name) in [(ROLLOUTS, ROLLOUT), (APPLICATIONS, "shop")] {
        let deleted = delete(&schedule.world, resource, name);
        schedule.note(|| deleted);
    }
    rest(schedule, people.kind, "at rest, after everything was deleted").await?;
    match left(&schedule.world) {
        left if left.is_empty() => Ok(()),
        left => Err(Violation::new("convergence", format!("a deleted application leaves {left:?}"))),
    }
}

/// The rollout to the next revision that is well, from where most pods are.
fn way(world: &SimulatedCluster, people: &People) -> (String, Option<Value>) {
    let plan = |size: Option<i64>| Plan {
        size,
        batches: vec![Batch { pods: Number::Percent(100), ..Batch::default() }],
        ..Plan::default()
    };
    let there = |name: &str| find(world, REVISIONS, name).is_some();
    let runs = |name: &str| find(world, people.kind.resource(), &people.kind.workload(name)).is_some();
    let source = people.running(world).filter(|source| runs(source));
    let wells = ["shop-v1", "shop-v2", "shop-v3"];
    let target = wells.into_iter().find(|name| there(name) && source.as_deref() != Some(*name));
    match (source, target) {
        // A set that makes its pods in order waits for the first one, also if it never gets ready: only whoever deletes
        // the set gets any further.
        _ if people.kind == Kind::StatefulSet && People::pods_fail(world) => (String::new(), None),
        (Some(source), Some(target)) => {
            let size = people.size(world, &source).max(people.size(world, target));
            let size = (people.kind == Kind::Deployment).then_some(size);
            (target.to_owned(), Some(super::beginning::object(ROLLOUT, target, Some(&source), &plan(size))))
        }
        (None, Some(target)) => {
            (target.to_owned(), Some(super::beginning::object(ROLLOUT, target, None, &plan(Some(SIZE)))))
        }
        _ => (String::new(), None),
    }
}
