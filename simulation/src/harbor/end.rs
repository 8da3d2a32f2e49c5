//! Ends a schedule: everything heals, comes to the end of a run without faults, rests, and leaves nothing when it is deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use vela_embedded::{Checkpoint, virtual_time};

use super::bound;
use super::calm::{POLL, POLLS_AT_MOST, is_ready, run_until_ready};
use super::cluster::{Cluster, path};
use super::model::{ASKING, HARBOR, HARBORS, NAMESPACE, OF_PEOPLE, OWNED, Wish};
use super::schedule::Schedule;
use super::user::User;
use crate::violation::Violation;

/// Polls without a change after which nothing more is expected.
const QUIET_POLLS: usize = 10;
/// The same where a Harbor that refused is asked again only later.
const POLLS_OF_NAMESPACES_AT_MOST: usize = 900;
/// Time in which an unchanged cluster must cost no write.
const STILL: Duration = Duration::from_secs(20);

type Place = (String, String);

/// What each wish comes to without faults, made once by each thread.
#[derive(Default)]
pub(crate) struct Expected {
    known: BTreeMap<Wish, BTreeMap<Place, Value>>,
}

/// Heals, settles, compares, rests, deletes.
pub(super) async fn end(
    schedule: &mut Schedule,
    checkpoint: &Checkpoint,
    expected: &mut Expected,
) -> Result<(), Violation> {
    schedule.note(|| "everything heals".to_owned());
    schedule.start()?;
    schedule.cluster.network.open();
    schedule.user.make_peace(&schedule.cluster);
    if !schedule.user.wants {
        until(schedule, "the old Harbor is gone", |cluster| User::harbor(cluster).is_none()).await?;
        let made = schedule.user.create(&schedule.cluster);
        schedule.note(|| made);
    }
    until(schedule, "the Harbor is ready", is_ready).await?;
    let wanted = expect(schedule.user.wish, checkpoint, expected);
    let wanted = wanted.map_err(|error| Violation::new("convergence", error))?;
    let equal = |cluster: &Cluster| objects(cluster) == wanted;
    let compared = until(schedule, "the objects are those of a run without faults", equal).await;
    if let Err(violation) = compared {
        let difference = difference(&objects(&schedule.cluster), &wanted);
        return Err(Violation::new(violation.promise, format!("{difference}\n{}", violation.what)));
    }
    in_each(schedule, bound::lacks).await?;
    rest(schedule).await?;
    schedule.note(|| "people delete the Harbor".to_owned());
    schedule.cluster.person(Method::DELETE, &path(HARBORS, HARBOR), None);
    until(schedule, "a deleted Harbor leaves nothing", |cluster| objects(cluster).is_empty()).await?;
    for namespace in ASKING {
        let said = User::ask(&schedule.cluster, namespace, false);
        schedule.note(|| said);
    }
    in_each(schedule, bound::left).await
}

/// Waits until each namespace that may ask for a project is as it should be.
async fn in_each(
    schedule: &mut Schedule,
    wrong: fn(&Cluster, &str) -> Option<String>,
) -> Result<(), Violation> {
    let mut last = None;
    for _ in 0..POLLS_OF_NAMESPACES_AT_MOST {
        last = ASKING.iter().find_map(|namespace| wrong(&schedule.cluster, namespace));
        if last.is_none() {
            return Ok(());
        }
        poll(schedule).await?;
    }
    Err(Violation::new("convergence", last.unwrap_or_default()))
}

async fn until(
    schedule: &mut Schedule,
    what: &'static str,
    holds: impl Fn(&Cluster) -> bool,
) -> Result<(), Violation> {
    for _ in 0..POLLS_AT_MOST {
        if holds(&schedule.cluster) {
            return Ok(());
        }
        poll(schedule).await?;
    }
    let status = User::harbor(&schedule.cluster).map(|harbor| harbor["status"].clone());
    let left: Vec<Place> = objects(&schedule.cluster).into_keys().collect();
    Err(Violation::new("convergence", format!("never: {what}; last seen: {status:?}, {left:?}")))
}

async fn poll(schedule: &mut Schedule) -> Result<(), Violation> {
    schedule.cluster.pass(POLL).await;
    schedule.cluster.turn();
    schedule.cluster.issue();
    schedule.check()
}

/// An unchanged cluster costs no write, also where a new process looks at everything.
async fn rest(schedule: &mut Schedule) -> Result<(), Violation> {
    let (mut same, mut before, mut polls) = (0, schedule.checker.writes, 0);
    while same < QUIET_POLLS {
        poll(schedule).await?;
        same = if schedule.checker.writes == before { same + 1 } else { 0 };
        before = schedule.checker.writes;
        polls += 1;
        if polls > POLLS_AT_MOST {
            return Err(Violation::new(
                "quiet",
                format!("never at rest; last: {}", schedule.checker.last_write),
            ));
        }
    }
    // A new process looks at everything, and each child says what the former one applied.
    let before = (schedule.cluster.store().revision(), schedule.checker.writes);
    schedule.cluster.kill();
    schedule.start()?;
    schedule.cluster.pass(STILL).await;
    schedule.cluster.turn();
    schedule.check()?;
    let after = (schedule.cluster.store().revision(), schedule.checker.writes);
    match before == after {
        true => Ok(()),
        false => {
            let last = &schedule.checker.last_write;
            let what = format!("an unchanged cluster is written: {before:?}, then {after:?}; last: {last}");
            Err(Violation::new("quiet", what))
        }
    }
}

fn expect(
    wish: Wish,
    checkpoint: &Checkpoint,
    expected: &mut Expected,
) -> Result<BTreeMap<Place, Value>, String> {
    if let Some(known) = expected.known.get(&wish) {
        return Ok(known.clone());
    }
    // Whether it is known already must not show in the schedule's time.
    let made = virtual_time::run_apart(|| async {
        let mut cluster = Cluster::new(checkpoint, None);
        cluster.network.open();
        cluster.start()?;
        cluster.person(Method::PATCH, &path(HARBORS, HARBOR), Some(&wish.patch()));
        run_until_ready(&mut cluster).await?;
        let found = objects(&cluster);
        cluster.kill();
        Ok::<BTreeMap<Place, Value>, String>(found)
    });
    let made = made.map_err(|error| error.to_string())??;
    expected.known.insert(wish, made.clone());
    Ok(made)
}

/// What the operator made, without what differs from run to run.
pub(super) fn objects(cluster: &Cluster) -> BTreeMap<Place, Value> {
    let mut found = BTreeMap::new();
    for resource in OWNED {
        for entry in cluster.store().list(resource, Some(NAMESPACE)).0 {
            let name = entry["metadata"]["name"].as_str().unwrap_or_default();
            if name != "kube-root-ca.crt" && entry["metadata"]["labels"][OF_PEOPLE].is_null() {
                found.insert((resource.to_owned(), name.to_owned()), content(entry.value()));
            }
        }
    }
    found
}

/// Passwords differ from run to run, and so do the versions by which pods roll.
fn content(object: &Value) -> Value {
    let mut spec = object["spec"].clone();
    for field in ["clusterIP", "clusterIPs"] {
        spec.as_object_mut().map(|spec| spec.remove(field));
    }
    if let Some(metadata) = spec.pointer_mut("/template/metadata").and_then(Value::as_object_mut) {
        metadata.remove("annotations");
    }
    let keys = |data: &Value| data.as_object().map(|data| data.keys().cloned().collect::<Vec<_>>());
    match object["type"].is_string() {
        true => json!(keys(&object["data"])),
        false => json!({"spec": spec, "data": object["data"], "binaryData": object["binaryData"]}),
    }
}

fn difference(found: &BTreeMap<Place, Value>, wanted: &BTreeMap<Place, Value>) -> String {
    let places: BTreeSet<&Place> = found.keys().chain(wanted.keys()).collect();
    let differ = places.into_iter().filter(|place| found.get(*place) != wanted.get(*place));
    let lines = differ
        .map(|place| format!("{place:?}: found {:?}, wanted {:?}", found.get(place), wanted.get(place)));
    lines.collect::<Vec<_>>().join("\n")
}
