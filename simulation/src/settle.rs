//! Ends a schedule of an application: everything heals, and must come to the end of a run without faults.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use vela_embedded::{Checkpoint, virtual_time};

use crate::cluster::SimulatedCluster;
use crate::comparison::{difference, left, objects};
use crate::model::{APPLICATION, Component, Form, NAMESPACE, Place, Spec, may_stay};
use crate::schedule::Schedule;
use crate::user::{resume, write};
use crate::violation::Violation;
use crate::workflow;

/// Time between two polls.
const POLL: Duration = Duration::from_millis(500);
/// Polls without a change after which nothing more is expected: longer than every delay of a healthy reconcile.
const QUIET_POLLS: usize = 10;
/// Polls at most: longer than the longest pause of a watch that failed often.
const POLLS_AT_MOST: usize = 240;
/// Time in which an unchanged cluster must cost no write: in most schedules, and in some.
const STILL: Duration = Duration::from_secs(20);
const STILL_LONG: Duration = Duration::from_secs(600);

/// The objects of each component after a run without faults, made once.
#[derive(Default)]
pub(crate) struct Expected {
    known: BTreeMap<(Form, Component), BTreeMap<Place, Value>>,
}

/// Heal, settle, compare, wait, delete, compare.
pub(crate) async fn end(
    schedule: &mut Schedule,
    checkpoint: &Checkpoint,
    expected: &mut Expected,
) -> Result<(), Violation> {
    schedule.note(|| "everything heals".to_owned());
    schedule.cluster.start_all();
    schedule.cluster.network.open();
    schedule.user.make_peace(&schedule.cluster);
    if !schedule.user.wants {
        until(schedule, "the old application is gone", |cluster| application(cluster).is_none()).await?;
        let created = schedule.user.create(&schedule.cluster);
        schedule.note(|| created);
    }
    // A lease outlives its holder by seconds in which no controller works: an application that runs already, and no
    // write for a while, would not mean that nothing is left to do.
    until(schedule, "a replica leads", SimulatedCluster::is_led).await?;
    until(schedule, "the application runs", is_running).await?;
    let wanted = expect(schedule.user.form, &schedule.user.spec, checkpoint, expected)?;
    let asked_for = |cluster: &SimulatedCluster| {
        let mut found = objects(cluster);
        found.retain(|place, object| wanted.contains_key(place) || !may_stay(object));
        found
    };
    let equal = |cluster: &SimulatedCluster| asked_for(cluster) == wanted;
    let compared = until(schedule, "the objects are those of a run without faults", equal).await;
    if let Err(violation) = compared {
        let difference = difference(&asked_for(&schedule.cluster), &wanted);
        return Err(Violation { what: format!("{difference}\n{}", violation.what), ..violation });
    }
    quiet(schedule).await?;
    let long = !schedule.brief && schedule.draws.once_in(2);
    still(schedule, if long { STILL_LONG } else { STILL }).await?;
    let deleted = schedule.user.delete(&schedule.cluster);
    schedule.note(|| deleted);
    schedule.user.clean_up(&schedule.cluster);
    until(schedule, "a deleted application leaves nothing", |cluster| left(cluster).is_empty()).await
}

/// Let the healed cluster run until the condition holds.
async fn until(
    schedule: &mut Schedule,
    what: &'static str,
    holds: impl Fn(&SimulatedCluster) -> bool,
) -> Result<(), Violation> {
    for _ in 0..POLLS_AT_MOST {
        if holds(&schedule.cluster) {
            return Ok(());
        }
        poll(schedule).await?;
    }
    let status = application(&schedule.cluster).map(|application| application["status"].clone());
    let state = json!({"status": status, "objects": objects(&schedule.cluster).into_values().collect::<Vec<_>>(), "left": left(&schedule.cluster)});
    Err(Violation::new("convergence", format!("never: {what}; last seen: {state}")))
}

async fn poll(schedule: &mut Schedule) -> Result<(), Violation> {
    if schedule.user.form == Form::Workflow {
        resume(&schedule.cluster, &mut schedule.checker);
    }
    schedule.cluster.pass(POLL).await;
    schedule.cluster.turn();
    schedule.cluster.restart_ended();
    schedule.check()
}

/// Until nothing is written any more.
async fn quiet(schedule: &mut Schedule) -> Result<(), Violation> {
    let mut same = 0;
    let mut before = schedule.checker.writes;
    for _ in 0..POLLS_AT_MOST {
        poll(schedule).await?;
        same = if schedule.checker.writes == before { same + 1 } else { 0 };
        before = schedule.checker.writes;
        if same >= QUIET_POLLS {
            return Ok(());
        }
    }
    Err(Violation::new("quiet", format!("never at rest; last: {}", schedule.checker.last_write)))
}

/// An unchanged cluster costs no write, however often the controllers look at it.
async fn still(schedule: &mut Schedule, time: Duration) -> Result<(), Violation> {
    let before = schedule.checker.writes;
    let parts = if schedule.brief { 1 } else { 4 };
    for part in 0..parts {
        let touched = schedule.user.touch_a_definition(&schedule.cluster);
        schedule.note(|| touched);
        // A process with empty caches looks at everything.
        if time == STILL_LONG && part == 2 {
            schedule.cluster.kill(0);
            schedule.cluster.start(0);
        }
        schedule.cluster.pass(time / parts).await;
        schedule.cluster.turn();
        schedule.check()?;
    }
    if schedule.checker.writes != before {
        let what = format!(
            "{} writes to an unchanged cluster; last: {}",
            schedule.checker.writes - before,
            schedule.checker.last_write
        );
        return Err(Violation::new("quiet", what));
    }
    Ok(())
}

fn application(cluster: &SimulatedCluster) -> Option<Value> {
    let store = cluster.store();
    let find = |form: Form| store.find(form.resource(), NAMESPACE, APPLICATION);
    let found = find(Form::Application).or_else(|| find(Form::Configuration))?;
    let mut value = found.value().clone();
    value["metadata"]["managedFields"] = Value::Null;
    Some(value)
}

fn is_running(cluster: &SimulatedCluster) -> bool {
    application(cluster).is_some_and(|application| {
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

/// The objects of a run without faults: components of the simulation do not know each other.
fn expect(
    form: Form,
    spec: &Spec,
    checkpoint: &Checkpoint,
    expected: &mut Expected,
) -> Result<BTreeMap<Place, Value>, Violation> {
    let mut all = BTreeMap::new();
    for component in &spec.components {
        let key = (form, component.clone());
        if !expected.known.contains_key(&key) {
            // Whether it is known already must not show in the schedule's time.
            let made = virtual_time::run_apart(|| run_alone(form, component, checkpoint));
            let made = made.map_err(|error| Violation::new("runtime", error.to_string()))??;
            expected.known.insert(key.clone(), made);
        }
        if let Some(known) = expected.known.get(&key) {
            all.extend(known.iter().map(|(place, object)| (place.clone(), object.clone())));
        }
    }
    Ok(all)
}

/// One component in a cluster in which nothing goes wrong.
async fn run_alone(
    form: Form,
    component: &Component,
    checkpoint: &Checkpoint,
) -> Result<BTreeMap<Place, Value>, Violation> {
    let mut cluster = SimulatedCluster::calm(checkpoint, form);
    cluster.network.open();
    cluster.start_all();
    let spec = Spec { components: vec![component.clone()] };
    write(&cluster, form, &spec);
    for _ in 0..POLLS_AT_MOST {
        workflow::resume(&cluster);
        cluster.pass(POLL).await;
        cluster.turn();
        if is_running(&cluster) {
            let found = objects(&cluster);
            cluster.kill(0);
            return Ok(found);
        }
    }
    let state = application(&cluster).unwrap_or(Value::Null);
    Err(Violation::new("convergence", format!("without any fault {component:?} never runs: {state:#}")))
}
