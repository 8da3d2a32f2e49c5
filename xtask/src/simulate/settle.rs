//! A world after its schedule → everything heals and comes to its end, which must be the end of a run without faults.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::check::{OWNED, Violation};
use super::model::{Component, Form, NAMESPACE, Place, Spec};
use super::schedule::Schedule;
use super::user::APPLICATION;
use super::world::{Beginning, SimulatedCluster};

/// Time between two looks.
const LOOK: Duration = Duration::from_millis(500);
/// Looks without a change after which nothing more is expected: longer than every delay of a healthy reconcile.
const QUIET_LOOKS: usize = 10;
/// Looks at most: longer than the longest pause of a watch that failed often.
const LOOKS_AT_MOST: usize = 240;
/// Time in which an unchanged world must cost no write: in most schedules, and in some.
const STILL: Duration = Duration::from_secs(20);
const STILL_LONG: Duration = Duration::from_secs(600);
/// Kinds of which a deleted application leaves nothing.
const BOOKS: [&str; 6] = [
    "resourcetrackers.core.oam.dev",
    "applicationrevisions.core.oam.dev",
    "applications.core.oam.dev",
    "controllerrevisions.apps",
    super::model::CONFIGURATIONS,
    super::model::COMPONENTS,
];

/// The objects of each component after a run without faults, made once.
#[derive(Default)]
pub(crate) struct Expected {
    known: BTreeMap<(Form, Component), BTreeMap<Place, Value>>,
    /// The same of rollouts.
    pub(crate) rollouts: super::rollout::Ends,
}

/// Heal, settle, compare, wait, delete, compare.
pub(crate) async fn end(
    schedule: &mut Schedule,
    beginning: &Beginning,
    expected: &mut Expected,
) -> Result<(), Violation> {
    schedule.note(|| "everything heals".to_owned());
    schedule.world.start_all();
    schedule.world.gate.open();
    schedule.user.make_peace(&schedule.world);
    if !schedule.user.wants {
        until(schedule, "the old application is gone", |world| application(world).is_none()).await?;
        let created = schedule.user.create(&schedule.world);
        schedule.note(|| created);
    }
    // A lease outlives its holder by seconds in which nobody works: an application that runs already, and no write for
    // a while, would not mean that nothing is left to do.
    until(schedule, "somebody leads", SimulatedCluster::is_led).await?;
    until(schedule, "the application runs", is_running).await?;
    let wanted = expect(schedule.user.form, &schedule.user.spec, beginning, expected)?;
    let equal = |world: &SimulatedCluster| objects(world) == wanted;
    let compared = until(schedule, "the objects are those of a run without faults", equal).await;
    if let Err(violation) = compared {
        let difference = difference(&objects(&schedule.world), &wanted);
        return Err(Violation { what: format!("{difference}\n{}", violation.what), ..violation });
    }
    quiet(schedule).await?;
    let long = !schedule.brief && schedule.draws_once_in(2);
    still(schedule, if long { STILL_LONG } else { STILL }).await?;
    let deleted = schedule.user.delete(&schedule.world);
    schedule.note(|| deleted);
    schedule.user.clean_up(&schedule.world);
    until(schedule, "a deleted application leaves nothing", |world| left(world).is_empty()).await
}

/// Let the healed world run until the condition holds.
async fn until(
    schedule: &mut Schedule,
    what: &'static str,
    holds: impl Fn(&SimulatedCluster) -> bool,
) -> Result<(), Violation> {
    for _ in 0..LOOKS_AT_MOST {
        if holds(&schedule.world) {
            return Ok(());
        }
        look(schedule).await?;
    }
    let status = application(&schedule.world).map(|application| application["status"].clone());
    let state =
        json!({"status": status, "objects": show(&objects(&schedule.world)), "left": left(&schedule.world)});
    Err(Violation::new("convergence", format!("never: {what}; last seen: {state}")))
}

async fn look(schedule: &mut Schedule) -> Result<(), Violation> {
    schedule.world.pass(LOOK).await;
    schedule.world.turn();
    schedule.world.restart_ended();
    schedule.check()
}

/// Until nothing is written any more.
async fn quiet(schedule: &mut Schedule) -> Result<(), Violation> {
    let mut same = 0;
    let mut before = schedule.checker.writes;
    for _ in 0..LOOKS_AT_MOST {
        look(schedule).await?;
        same = if schedule.checker.writes == before { same + 1 } else { 0 };
        before = schedule.checker.writes;
        if same >= QUIET_LOOKS {
            return Ok(());
        }
    }
    Err(Violation::new("quiet", format!("never at rest; last: {}", schedule.checker.last_write)))
}

/// An unchanged world costs no write, however often the controllers look at it.
async fn still(schedule: &mut Schedule, time: Duration) -> Result<(), Violation> {
    let before = schedule.checker.writes;
    let parts = if schedule.brief { 1 } else { 4 };
    for part in 0..parts {
        let touched = schedule.user.touch_a_definition(&schedule.world);
        schedule.note(|| touched);
        // A process with empty caches looks at everything.
        if time == STILL_LONG && part == 2 {
            schedule.world.kill(0);
            schedule.world.start(0);
        }
        schedule.world.pass(time / parts).await;
        schedule.world.turn();
        schedule.check()?;
    }
    if schedule.checker.writes != before {
        let what = format!(
            "{} writes to an unchanged world; last: {}",
            schedule.checker.writes - before,
            schedule.checker.last_write
        );
        return Err(Violation::new("quiet", what));
    }
    Ok(())
}

fn application(world: &SimulatedCluster) -> Option<Value> {
    let store = world.server.store();
    let find = |form: Form| store.find(form.resource(), NAMESPACE, APPLICATION);
    let found = find(Form::Application).or_else(|| find(Form::Configuration))?;
    let mut value = found.value().clone();
    value["metadata"]["managedFields"] = Value::Null;
    Some(value)
}

fn is_running(world: &SimulatedCluster) -> bool {
    application(world).is_some_and(|application| {
        let status = &application["status"];
        let well = match application["kind"].as_str() {
            Some("Application") => status["status"] == "running",
            _ => {
                let conditions = status["conditions"].as_array();
                let synced =
                    |condition: &Value| condition["type"] == "Synced" && condition["status"] == "True";
                conditions.is_some_and(|conditions| conditions.iter().any(synced))
            }
        };
        well && status["observedGeneration"] == application["metadata"]["generation"]
    })
}

/// The application's objects, without what differs from run to run.
fn objects(world: &SimulatedCluster) -> BTreeMap<Place, Value> {
    let mut found = BTreeMap::new();
    for resource in OWNED {
        for entry in world.server.store().list(resource, Some(NAMESPACE)).0 {
            let name = entry["metadata"]["name"].as_str().unwrap_or_default();
            if name != "kube-root-ca.crt" {
                found.insert((resource.to_owned(), name.to_owned()), normal(entry.value()));
            }
        }
    }
    found
}

/// Labels and annotations that carry the number or hash of a revision or a generation, which depend on the way to it.
const OF_THE_REVISION: [&str; 5] = [
    "app.oam.dev/appRevision",
    "app.oam.dev/app-revision-hash",
    "app.oam.dev/revision",
    "app.oam.dev/generation",
    "app.oam.dev/last-applied-configuration",
];

/// Annotations with which the cluster's own controllers keep their books.
fn is_the_clusters(name: &str) -> bool {
    name.split('/').next().is_some_and(|domain| domain.ends_with("kubernetes.io"))
}

pub(super) fn normal(object: &Value) -> Value {
    let mut object = object.clone();
    let mut metadata = Map::new();
    for field in ["name", "labels", "annotations", "finalizers", "deletionTimestamp"] {
        let mut value = object["metadata"][field].take();
        if let Some(map) = value.as_object_mut() {
            map.retain(|name, _| !OF_THE_REVISION.contains(&name.as_str()) && !is_the_clusters(name));
        }
        if !value.is_null() && value != json!({}) {
            metadata.insert(field.to_owned(), value);
        }
    }
    if let Some(spec) = object["spec"].as_object_mut() {
        spec.remove("volumeName");
    }
    object["metadata"] = metadata.into();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    object
}

/// What two sets of objects do not share.
pub(super) fn difference(found: &BTreeMap<Place, Value>, wanted: &BTreeMap<Place, Value>) -> String {
    let places: BTreeSet<&Place> = found.keys().chain(wanted.keys()).collect();
    let differ = places.into_iter().filter(|place| found.get(*place) != wanted.get(*place));
    let show = |object: Option<&Value>| object.map_or_else(|| "nothing".to_owned(), Value::to_string);
    let lines = differ.map(|place| {
        format!(
            "{} {}: found {}, wanted {}",
            place.0,
            place.1,
            show(found.get(place)),
            show(wanted.get(place))
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn show(objects: &BTreeMap<Place, Value>) -> Vec<Value> {
    objects.values().cloned().collect()
}

/// What is left of the application anywhere.
pub(super) fn left(world: &SimulatedCluster) -> Vec<String> {
    let store = world.server.store();
    let mut left = Vec::new();
    for resource in OWNED.into_iter().chain(BOOKS) {
        for entry in store.list(resource, None).0 {
            let namespace = entry["metadata"]["namespace"].as_str().unwrap_or(NAMESPACE);
            let name = entry["metadata"]["name"].as_str().unwrap_or_default();
            if namespace == NAMESPACE && name != "kube-root-ca.crt" {
                left.push(format!("{resource} {name}"));
            }
        }
    }
    left
}

/// The objects of a run without faults: components of the simulation do not know each other.
fn expect(
    form: Form,
    spec: &Spec,
    beginning: &Beginning,
    expected: &mut Expected,
) -> Result<BTreeMap<Place, Value>, Violation> {
    let mut all = BTreeMap::new();
    for component in &spec.components {
        let key = (form, component.clone());
        if !expected.known.contains_key(&key) {
            let made = in_its_own_time(form, component, beginning)?;
            expected.known.insert(key.clone(), made);
        }
        if let Some(known) = expected.known.get(&key) {
            all.extend(known.iter().map(|(place, object)| (place.clone(), object.clone())));
        }
    }
    Ok(all)
}

/// [`run_alone`] on a thread and clock of its own: whether it is known already must not show in the schedule's time.
fn in_its_own_time(
    form: Form,
    component: &Component,
    beginning: &Beginning,
) -> Result<BTreeMap<Place, Value>, Violation> {
    let failed = || Violation::new("runtime", "the run without faults could not be made");
    let alone = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.map_err(|_| failed())?.block_on(run_alone(form, component, beginning))
    };
    std::thread::scope(|scope| scope.spawn(alone).join().map_err(|_| failed())?)
}

/// One component in a world in which nothing goes wrong.
async fn run_alone(
    form: Form,
    component: &Component,
    beginning: &Beginning,
) -> Result<BTreeMap<Place, Value>, Violation> {
    let mut world = SimulatedCluster::new(beginning, form, 1, None);
    world.gate.open();
    world.start_all();
    let spec = Spec { components: vec![component.clone()] };
    super::user::write(&world, form, &spec);
    for _ in 0..LOOKS_AT_MOST {
        world.pass(LOOK).await;
        world.turn();
        if is_running(&world) {
            let found = objects(&world);
            world.kill(0);
            return Ok(found);
        }
    }
    let state = application(&world).unwrap_or(Value::Null);
    Err(Violation::new("convergence", format!("without any fault {component:?} never runs: {state:#}")))
}
