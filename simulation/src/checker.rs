//! Checks each change that a controller made in a step, by the simulation's own model; finds the first broken promise.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use http::Method;
use serde_json::Value;
use vela_apiserver::ApiServer;
use vela_apiserver::store::{Entry, Event, EventKind};

use crate::model::{self, OWNED, Place};
use crate::network::{Performed, Process, identity};
use crate::new_events;
use crate::rollout::RolloutChecker;
use crate::violation::Violation;
use crate::workflow::WorkflowChecker;

const APPLICATIONS: &str = "applications.core.oam.dev";
const TRACKERS: &str = "resourcetrackers.core.oam.dev";
const LEASES: &str = "leases.coordination.k8s.io";
/// The label that names an object's application.
const APP_NAME: &str = "app.oam.dev/name";

/// A state, or that there is none, and the revision at which it began.
type Since = (u64, Option<Arc<Entry>>);

/// The known state of one schedule's objects, so that each change can be judged.
pub(crate) struct Checker {
    seen: u64,
    elected: bool,
    /// States of each application by the revision at which they began; nothing while there is none.
    applications: BTreeMap<String, Vec<Since>>,
    /// The owner of each record, and the objects it names.
    trackers: BTreeMap<String, (String, BTreeSet<Place>)>,
    /// Holders of the lease by the revision at which they began.
    holders: Vec<(u64, String)>,
    /// Objects that users made.
    foreign: BTreeSet<String>,
    /// When a process last read an application past its caches, since it last wrote for it.
    confirmed: BTreeMap<(Process, String), u64>,
    /// Write requests of controllers, without the lease.
    pub(crate) writes: u64,
    /// The last of them, for messages.
    pub(crate) last_write: String,
    /// The checker of rollouts, where there are any.
    pub(crate) rollouts: Option<RolloutChecker>,
    /// The checker of workflows, where there are any.
    pub(crate) workflows: Option<WorkflowChecker>,
}

impl Checker {
    pub(crate) fn new(server: &ApiServer, elected: bool) -> Self {
        Self {
            seen: server.store().revision(),
            elected,
            applications: BTreeMap::new(),
            trackers: BTreeMap::new(),
            holders: Vec::new(),
            foreign: BTreeSet::new(),
            confirmed: BTreeMap::new(),
            writes: 0,
            last_write: String::new(),
            rollouts: None,
            workflows: None,
        }
    }

    /// The same for a cluster in which an application is there already, whose workloads are rolled out.
    pub(crate) fn of_rollouts(server: &ApiServer, elected: bool, rollouts: RolloutChecker) -> Self {
        let mut checker = Self::new(server, elected);
        for resource in [APPLICATIONS, TRACKERS] {
            for entry in server.store().list(resource, None).0 {
                let name = entry["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                checker.record(resource, name, &entry, (false, checker.seen));
            }
        }
        checker.rollouts = Some(rollouts);
        checker
    }

    /// An object that a user made and no controller may touch.
    pub(crate) fn foreign(&mut self, uid: &str) {
        self.foreign.insert(uid.to_owned());
    }

    /// Judge everything since the last call.
    pub(crate) fn check(&mut self, server: &ApiServer, performed: &[Performed]) -> Result<(), Violation> {
        let mut events = new_events::after(server, &mut self.seen).into_iter().peekable();
        for request in performed {
            // What happened before it was the user's or the cluster's doing.
            while let Some(event) = events.next_if(|event| event.revision <= request.revisions.0) {
                self.apply(&event)?;
            }
            if request.method == Method::GET {
                if let Some(name) = application_of_path(&request.path) {
                    self.confirmed.insert((request.process, name.to_owned()), request.revisions.0);
                }
                self.rollouts.iter_mut().for_each(|checker| checker.note_read(request));
                continue;
            }
            // One that changes nothing counts, too: it would be sent again at every look.
            if !request.path.contains("/leases") {
                self.writes += 1;
                self.last_write = format!("{} {}", request.method, request.path);
            }
            while let Some(event) = events.next_if(|event| event.revision <= request.revisions.1) {
                self.judge(request, &event)?;
                self.apply(&event)?;
            }
            self.rollouts.iter_mut().for_each(|checker| checker.note_read(request));
        }
        for event in events {
            self.apply(&event)?;
        }
        self.workflows.as_ref().map_or(Ok(()), WorkflowChecker::judge_outside)?;
        self.rollouts.as_mut().map_or(Ok(()), RolloutChecker::judge_pods)
    }

    /// Records what is true from this event on.
    fn apply(&mut self, event: &Event) -> Result<(), Violation> {
        let gone = event.kind == EventKind::Deleted;
        let (resource, name) = (event.key.resource.as_ref(), event.key.name.clone());
        self.record(resource, name, &event.entry, (gone, event.revision));
        self.workflows.iter_mut().for_each(|checker| checker.apply(event));
        self.rollouts.as_mut().map_or(Ok(()), |checker| checker.apply(event))
    }

    fn record(&mut self, resource: &str, name: String, entry: &Arc<Entry>, (gone, revision): (bool, u64)) {
        match resource {
            APPLICATIONS | model::CONFIGURATIONS => {
                let now = (!gone).then(|| entry.clone());
                self.applications.entry(name).or_default().push((revision, now));
            }
            TRACKERS if gone => {
                self.trackers.remove(&name);
            }
            TRACKERS => {
                let of = entry["metadata"]["labels"][APP_NAME].as_str().unwrap_or_default().to_owned();
                self.trackers.insert(name, (of, recorded(entry)));
            }
            LEASES if !gone => {
                let holder = entry["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned();
                if self.holders.last().is_none_or(|(_, last)| *last != holder) {
                    self.holders.push((revision, holder));
                }
            }
            _ => {}
        }
    }

    /// One change that a controller made.
    fn judge(&mut self, request: &Performed, event: &Event) -> Result<(), Violation> {
        let resource = event.key.resource.as_ref();
        if resource == LEASES {
            return Ok(());
        }
        self.single_writer(request, event)?;
        self.rollouts.as_ref().map_or(Ok(()), |checker| checker.judge(request, event))?;
        self.workflows.as_mut().map_or(Ok(()), |checker| checker.judge(event))?;
        // What is written about definitions that everybody uses is no application's.
        if event.entry["metadata"]["namespace"] == "vela-system" {
            return Ok(());
        }
        if !OWNED.contains(&resource) {
            if resource == TRACKERS {
                self.confirmed.retain(|(process, _), _| *process != request.process);
            }
            return Ok(());
        }
        let uid = event.entry["metadata"]["uid"].as_str().unwrap_or_default();
        let what = format!("{resource} {}", event.key.name);
        if self.foreign.contains(uid) {
            return Err(Violation::new(
                "foreign",
                format!("{what} was made by a user and is changed or deleted"),
            ));
        }
        let going = |entry: &Entry| !entry["metadata"]["deletionTimestamp"].is_null();
        let was_going = event.previous.as_ref().is_some_and(|previous| going(previous));
        match event.kind {
            EventKind::Deleted if !was_going => self.deletion(request, event, &what),
            EventKind::Modified if going(&event.entry) && !was_going => self.deletion(request, event, &what),
            EventKind::Added => self.is_recorded(event, &what),
            _ => {
                self.confirmed.retain(|(process, _), _| *process != request.process);
                Ok(())
            }
        }
    }

    /// No writer but the one who led when it sent the write.
    fn single_writer(&self, request: &Performed, event: &Event) -> Result<(), Violation> {
        if !self.elected {
            return Ok(());
        }
        let holder =
            self.holders.iter().rev().find(|(from, _)| *from <= request.sent).map(|(_, holder)| holder);
        let writer = identity(request.process);
        if holder != Some(&writer) {
            let what =
                format!("{writer} writes {} {} while {holder:?} leads", event.key.resource, event.key.name);
            return Err(Violation::new("single writer", what));
        }
        Ok(())
    }

    /// Nothing is deleted that its application, as it was read past all caches just before, wants.
    fn deletion(&self, request: &Performed, event: &Event, what: &str) -> Result<(), Violation> {
        let owner = controller(&event.entry);
        let label = event.entry["metadata"]["labels"][APP_NAME].as_str();
        let Some(name) = owner.map_or(label, |owner| owner["name"].as_str()) else {
            return Err(Violation::new(
                "foreign",
                format!("{what} belongs to no application and is deleted"),
            ));
        };
        let lives = |entry: &Option<Arc<Entry>>| {
            entry.as_ref().is_some_and(|entry| entry["metadata"]["deletionTimestamp"].is_null())
        };
        let history = self.applications.get(name).map(Vec::as_slice).unwrap_or_default();
        if !history.last().is_some_and(|(_, now)| lives(now)) {
            return Ok(());
        }
        if let Some(rollouts) = &self.rollouts {
            if rollouts.is_retired(event) {
                return Ok(());
            }
            return Err(Violation::new(
                "wrongful delete",
                format!("{what} is deleted, and no user asked for that"),
            ));
        }
        let Some(read) = self.confirmed.get(&(request.process, name.to_owned())) else {
            let what = format!("{what} is deleted without a look at application {name} past the caches");
            return Err(Violation::new("wrongful delete", what));
        };
        if changed_after(event, *read) {
            let what = format!("{what} is deleted, and it was changed after the look that decided so");
            return Err(Violation::new("wrongful delete", what));
        }
        let then = history.iter().rev().find(|(from, _)| from <= read).and_then(|(_, state)| state.clone());
        let Some(then) = then else { return Ok(()) };
        let place = (event.key.resource.to_string(), event.key.name.clone());
        if then["metadata"]["deletionTimestamp"].is_null() && model::wanted(&then).contains(&place) {
            let generation = &then["metadata"]["generation"];
            let what =
                format!("{what} is deleted, and application {name} wants it at generation {generation}");
            return Err(Violation::new("wrongful delete", what));
        }
        Ok(())
    }

    /// Nothing is made that the record does not name already.
    fn is_recorded(&self, event: &Event, what: &str) -> Result<(), Violation> {
        // What a configuration makes names it as its controller, which is record enough; so do the values of a workflow.
        let owner = controller(&event.entry).map_or(&Value::Null, |owner| &owner["kind"]);
        if owner == "ApplicationConfiguration" || owner == "Application" {
            return Ok(());
        }
        let name = event.entry["metadata"]["labels"][APP_NAME].as_str().unwrap_or_default();
        let place = (event.key.resource.to_string(), event.key.name.clone());
        if self.trackers.values().any(|(of, places)| of == name && places.contains(&place)) {
            return Ok(());
        }
        Err(Violation::new(
            "record",
            format!("{what} is made before the record of application {name} names it"),
        ))
    }
}

/// Is what the event took away of a later version than that look?
fn changed_after(event: &Event, look: u64) -> bool {
    let before = event.previous.as_deref().unwrap_or(&event.entry);
    let version = before["metadata"]["resourceVersion"].as_str().and_then(|version| version.parse().ok());
    version.is_some_and(|version: u64| version > look)
}

/// The owner that controls an object.
fn controller(object: &Value) -> Option<&Value> {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners.into_iter().flatten().find(|owner| owner["controller"] == true)
}

/// The name in `…/applications/NAME`.
fn application_of_path(path: &str) -> Option<&str> {
    let path = path.split('?').next()?;
    let (_, rest) =
        path.split_once("/applications/").or_else(|| path.split_once("/applicationconfigurations/"))?;
    (!rest.contains('/')).then_some(rest)
}

/// The places a record names.
fn recorded(tracker: &Value) -> BTreeSet<Place> {
    let entries = tracker["spec"]["managedResources"].as_array();
    let place = |entry: &Value| {
        let resource = match entry["kind"].as_str()? {
            "ConfigMap" => "configmaps",
            "PersistentVolumeClaim" => "persistentvolumeclaims",
            "StatefulSet" => "statefulsets.apps",
            "Deployment" => "deployments.apps",
            "Service" => "services",
            _ => return None,
        };
        Some((resource.to_owned(), entry["name"].as_str()?.to_owned()))
    };
    entries.into_iter().flatten().filter_map(place).collect()
}
