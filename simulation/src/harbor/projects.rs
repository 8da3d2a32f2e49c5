//! Judges what the operator does for namespaces that ask for a project: their PullSecretBindings and their ServiceAccounts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use http::Method;
use serde_json::Value;
use vela_apiserver::store::{Entry, Event, EventKind};

use super::model::{BINDINGS, PROJECT, controller};
use crate::network::{Performed, Process};
use crate::violation::Violation;

const NAMESPACES: &str = "namespaces";
const ACCOUNTS: &str = "serviceaccounts";
/// How a read of one namespace begins.
const NAMESPACE_PATH: &str = "/api/v1/namespaces/";

/// The namespaces of a schedule as they were, and when they were read.
#[derive(Default)]
pub(super) struct Projects {
    /// Whether a namespace asked for a project, by the revision at which that began.
    asked: BTreeMap<String, Vec<(u64, bool)>>,
    /// Every namespace that ever was.
    uids: BTreeSet<String>,
    /// When a process last read a namespace past its caches.
    confirmed: BTreeMap<(Process, String), u64>,
}

impl Projects {
    pub(super) fn record(&mut self, resource: &str, entry: &Arc<Entry>, (gone, revision): (bool, u64)) {
        let Some(name) = entry["metadata"]["name"].as_str().filter(|_| resource == NAMESPACES) else {
            return;
        };
        let asks = !gone && entry["metadata"]["annotations"][PROJECT].is_string();
        self.asked.entry(name.to_owned()).or_default().push((revision, asks));
        self.uids.extend(entry["metadata"]["uid"].as_str().map(str::to_owned));
    }

    /// A read that went past the caches.
    pub(super) fn looked(&mut self, request: &Performed) {
        let name = request.path.split('?').next().and_then(|path| path.strip_prefix(NAMESPACE_PATH));
        if let Some(name) = name.filter(|name| !name.contains('/') && request.method == Method::GET) {
            self.confirmed.insert((request.process, name.to_owned()), request.revisions.0);
        }
    }

    /// One change that the operator made.
    pub(super) fn judge(&self, request: &Performed, event: &Event, what: &str) -> Result<(), Violation> {
        match event.key.resource.as_ref() {
            BINDINGS if event.kind == EventKind::Deleted => self.deletion(request, event, what),
            BINDINGS if request.path.contains("/status") => Ok(()),
            BINDINGS => self.is_owned(event, what),
            ACCOUNTS => keeps_its_secrets(event, what),
            _ => Ok(()),
        }
    }

    /// A binding goes with its namespace.
    fn is_owned(&self, event: &Event, what: &str) -> Result<(), Violation> {
        let owner = controller(&event.entry).and_then(|owner| owner["uid"].as_str());
        match owner.is_some_and(|uid| self.uids.contains(uid)) {
            true => Ok(()),
            false => Err(Violation::new("orphan", format!("{what} is written and no namespace controls it"))),
        }
    }

    /// A binding is deleted only where the namespace, as it was read past all caches just before, asks for none.
    fn deletion(&self, request: &Performed, event: &Event, what: &str) -> Result<(), Violation> {
        let wrong = |why: &str| Err(Violation::new("wrongful delete", format!("{what} is deleted, {why}")));
        let namespace = event.entry["metadata"]["namespace"].as_str().unwrap_or_default();
        let Some(read) = self.confirmed.get(&(request.process, namespace.to_owned())) else {
            return wrong("without a look at its namespace past the caches");
        };
        let states = self.asked.get(namespace).into_iter().flatten();
        match states.rev().find(|(from, _)| from <= read) {
            Some((from, true)) => wrong(&format!("and its namespace asks for a project since {from}")),
            _ => Ok(()),
        }
    }
}

/// A ServiceAccount keeps what others named in it.
fn keeps_its_secrets(event: &Event, what: &str) -> Result<(), Violation> {
    let Some(before) = &event.previous else { return Ok(()) };
    let named = |account: &Value| account["imagePullSecrets"].as_array().cloned().unwrap_or_default();
    let after = named(&event.entry);
    match named(before).iter().find(|secret| !after.contains(secret)) {
        Some(secret) => Err(Violation::new("foreign", format!("{what} loses {secret}"))),
        None => Ok(()),
    }
}
