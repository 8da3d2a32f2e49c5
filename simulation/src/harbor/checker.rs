//! Checks each change that the operator made in a step; finds the first broken promise.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use http::Method;
use serde_json::Value;
use vela_apiserver::ApiServer;
use vela_apiserver::store::{Entry, Event, EventKind};

use super::model::{self, ASKING, BINDINGS, CERTIFICATES, HARBOR, HARBORS, OWNED, controller};
use super::projects::Projects;
use super::registry::Registry;
use crate::network::{Performed, Process};
use crate::new_events;
use crate::violation::Violation;

/// Parts that wait for Core.
const AFTER_CORE: [&str; 2] = ["jobservices.goharbor.io", "exporters.goharbor.io"];
const CORES: &str = "cores.goharbor.io";

/// A state, or that there is none, and the revision at which it began.
type Since = (u64, Option<Arc<Entry>>);

/// What is known of one schedule's objects, so that each change can be judged.
pub(super) struct Checker {
    seen: u64,
    /// States of the Harbor by the revision at which they began.
    harbor: Vec<Since>,
    /// Every object of goharbor.io that ever was.
    owners: BTreeSet<String>,
    /// Whether one ever was ready, by resource: what waits for it may come then.
    was_ready: BTreeSet<String>,
    /// Objects that people made.
    foreign: BTreeSet<String>,
    /// What namespaces asked for.
    projects: Projects,
    /// When a process last read the Harbor past its caches.
    confirmed: BTreeMap<Process, u64>,
    /// Write requests of the operator.
    pub(super) writes: u64,
    /// The last of them, for messages.
    pub(super) last_write: String,
}

impl Checker {
    pub(super) fn new(server: &ApiServer) -> Self {
        let store = server.store();
        let mut checker = Self {
            seen: store.revision(),
            harbor: Vec::new(),
            owners: BTreeSet::new(),
            was_ready: BTreeSet::new(),
            foreign: BTreeSet::new(),
            projects: Projects::default(),
            confirmed: BTreeMap::new(),
            writes: 0,
            last_write: String::new(),
        };
        for (resource, _) in store.resources() {
            for entry in store.list(&resource, None).0 {
                checker.record(&resource, &entry, (false, checker.seen));
            }
        }
        checker
    }

    /// An object that people made and the operator may not touch.
    pub(super) fn foreign(&mut self, uid: &Value) {
        self.foreign.extend(uid.as_str().map(str::to_owned));
    }

    /// Judges everything since the last call.
    pub(super) fn check(
        &mut self,
        (server, registry): (&ApiServer, &Registry),
        performed: &[Performed],
    ) -> Result<(), Violation> {
        if let Some((promise, what)) = registry.wrong(&ASKING) {
            return Err(Violation::new(promise, what));
        }
        let mut events = new_events::after(server, &mut self.seen).into_iter().peekable();
        for request in performed {
            // What happened before it was the doing of people or of the cluster.
            while let Some(event) = events.next_if(|event| event.revision <= request.revisions.0) {
                self.apply(&event);
            }
            self.projects.looked(request);
            if request.method == Method::GET {
                if request
                    .path
                    .split('?')
                    .next()
                    .is_some_and(|path| path.ends_with(&format!("/harbors/{HARBOR}")))
                {
                    self.confirmed.insert(request.process, request.revisions.0);
                }
                continue;
            }
            self.writes += 1;
            self.last_write = format!("{} {}", request.method, request.path);
            while let Some(event) = events.next_if(|event| event.revision <= request.revisions.1) {
                self.judge(request, &event)?;
                self.apply(&event);
            }
        }
        events.for_each(|event| self.apply(&event));
        Ok(())
    }

    fn apply(&mut self, event: &Event) {
        let gone = event.kind == EventKind::Deleted;
        self.record(event.key.resource.as_ref(), &event.entry, (gone, event.revision));
    }

    fn record(&mut self, resource: &str, entry: &Arc<Entry>, (gone, revision): (bool, u64)) {
        self.projects.record(resource, entry, (gone, revision));
        if resource == HARBORS {
            self.harbor.push((revision, (!gone).then(|| entry.clone())));
        }
        if resource.ends_with(".goharbor.io") {
            self.owners.extend(entry["metadata"]["uid"].as_str().map(str::to_owned));
        }
        let issued = resource == CERTIFICATES && model::is_issued(entry.value());
        if issued || resource == CORES && model::is_ready(entry.value()) {
            self.was_ready.insert(resource.to_owned());
        }
    }

    /// One change that the operator made.
    fn judge(&self, request: &Performed, event: &Event) -> Result<(), Violation> {
        let resource = event.key.resource.as_ref();
        let what = format!("{resource} {}", event.key.name);
        // What people made gets a status as all others do.
        let reports = resource == BINDINGS && request.path.contains("/status");
        if !reports && event.entry["metadata"]["uid"].as_str().is_some_and(|uid| self.foreign.contains(uid)) {
            return Err(Violation::new(
                "foreign",
                format!("{what} was made by people and is changed or deleted"),
            ));
        }
        self.projects.judge(request, event, &what)?;
        if !OWNED.contains(&resource) {
            return Ok(());
        }
        let going = |entry: &Entry| !entry["metadata"]["deletionTimestamp"].is_null();
        let was_going = event.previous.as_ref().is_some_and(|previous| going(previous));
        match event.kind {
            EventKind::Deleted if !was_going => self.deletion(request, event, &what),
            EventKind::Modified if going(&event.entry) && !was_going => self.deletion(request, event, &what),
            EventKind::Added => self.creation(event, &what),
            EventKind::Modified => {
                self.is_owned(event, &what)?;
                keeps_its_secrets(event, &what)
            }
            EventKind::Deleted => Ok(()),
        }
    }

    /// What is made names its owner, and comes after what it waits for.
    fn creation(&self, event: &Event, what: &str) -> Result<(), Violation> {
        self.is_owned(event, what)?;
        let resource = event.key.resource.as_ref();
        let waits_for = match resource {
            CORES => CERTIFICATES,
            resource if AFTER_CORE.contains(&resource) => CORES,
            _ => return Ok(()),
        };
        match self.was_ready.contains(waits_for) {
            true => Ok(()),
            false => {
                Err(Violation::new("order", format!("{what} is made, and none of {waits_for} was ready")))
            }
        }
    }

    /// Nothing is left behind that no object of goharbor.io owns.
    fn is_owned(&self, event: &Event, what: &str) -> Result<(), Violation> {
        let owner = controller(&event.entry).and_then(|owner| owner["uid"].as_str());
        match owner.is_some_and(|uid| self.owners.contains(uid)) {
            true => Ok(()),
            false => {
                Err(Violation::new("orphan", format!("{what} is written and has no owner that ever was")))
            }
        }
    }

    /// Nothing is deleted that the Harbor, as it was read past all caches just before, asks for.
    fn deletion(&self, request: &Performed, event: &Event, what: &str) -> Result<(), Violation> {
        let wrong = |why: &str| Err(Violation::new("wrongful delete", format!("{what} is deleted, {why}")));
        let Some(owner) = controller(&event.entry) else { return wrong("and belongs to no object") };
        if owner["kind"] != "Harbor" {
            return wrong("and no part leaves out a child in this simulation");
        }
        let Some(read) = self.confirmed.get(&request.process) else {
            return wrong("without a look at the Harbor past the caches");
        };
        let then =
            self.harbor.iter().rev().find(|(from, _)| from <= read).and_then(|(_, state)| state.clone());
        let Some(then) = then.filter(|then| then["metadata"]["uid"] == owner["uid"]) else { return Ok(()) };
        let lives = then["metadata"]["deletionTimestamp"].is_null();
        match lives && model::wants(then.value(), &event.key.resource) {
            true => {
                wrong(&format!("and the Harbor wants it at generation {}", then["metadata"]["generation"]))
            }
            false => Ok(()),
        }
    }
}

/// Passwords that were made once are not made again.
fn keeps_its_secrets(event: &Event, what: &str) -> Result<(), Violation> {
    let Some(before) = event.previous.as_ref().filter(|_| event.key.resource.as_ref() == "secrets") else {
        return Ok(());
    };
    let changed = before["data"]
        .as_object()
        .into_iter()
        .flatten()
        .find(|(key, value)| event.entry["data"][key.as_str()] != **value);
    match changed {
        Some((key, _)) => Err(Violation::new("secret", format!("{what} gets another {key}"))),
        None => Ok(()),
    }
}
