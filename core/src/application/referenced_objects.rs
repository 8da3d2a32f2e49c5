//! The objects that components of an Application refer to, in the cluster or by URL → the snapshot; those of the cluster are read
//! with the rights of its author. May not write.
//!
//! A change of an object that is named wakes the application where its kind is one of those that are watched anyway; what labels
//! select is read again at each reconcile.

use serde_json::Value;
use vela_engine::reference::{Reference, Referenced};
use vela_engine::{Document, Secrets, Snapshot, parse, revision};
use vela_runtime::dynamic_watch::TrackedReads;
use vela_runtime::{Key, Kind};
use vela_snapshot::read_referenced;

use super::error::{PhaseError, Stopped};
use super::http_requests;
use super::reconciler::ApplicationReconciler;
use crate::author::Actor;

/// Kinds whose metadata controllers watch cheaply, and may watch everywhere.
const WATCHED: [(&str, &str); 6] = [
    ("", "ConfigMap"),
    ("", "Secret"),
    ("", "Service"),
    ("apps", "DaemonSet"),
    ("apps", "Deployment"),
    ("apps", "StatefulSet"),
];

impl ApplicationReconciler {
    /// Adds what the cluster has of each reference; the parser reports what is missing at its line. `secrets` learns what no
    /// message may repeat.
    pub(super) async fn add_referenced(
        &self,
        (key, acting): (&Key, &Actor),
        (document, look): (&Document, &TrackedReads),
        snapshot: &mut Snapshot,
        secrets: &mut Secrets,
    ) -> Result<(), Stopped> {
        for reference in parse::referenced(document, snapshot.bounds()) {
            let live = self.cluster.reader().source().live();
            let found = match live.referenced_kind(&reference).await.map_err(PhaseError::from)? {
                None => Referenced::UnknownKind,
                Some(kind) => {
                    note(look, &kind, &reference).await;
                    let reach = (key.namespace.as_str(), snapshot.bounds());
                    let found = read_referenced(&acting.client(), &kind, &reference, reach).await;
                    found.map_err(|error| {
                        let why = format!("cannot read {reference}: {}", acting.explain(&error));
                        Stopped::unavailable(PhaseError::Parse, &why)
                    })?
                }
            };
            if let Referenced::Objects(objects) = &found {
                objects.iter().for_each(|object| secrets.add(object));
            }
            snapshot.insert_referenced(reference, found);
        }
        Ok(())
    }

    /// Adds the objects of the URLs that components name; each is asked once for what the author wrote, whatever
    /// policies make of it.
    pub(super) async fn add_manifests(
        &self,
        key: &Key,
        (written, document): (&Document, &Document),
        snapshot: &mut Snapshot,
        secrets: &mut Secrets,
    ) -> Result<(), Stopped> {
        let urls = parse::manifest_urls(document);
        if urls.is_empty() {
            return Ok(());
        }
        let content = revision::asked_hash(written);
        let (known, mut answers) = self.manifests.of(key);
        if known != content {
            answers.clear();
        }
        let loaded = http_requests::load_all(&self.context.egress, &urls, &mut answers).await;
        self.manifests.insert(key, &content, &answers);
        loaded.map_err(|error| Stopped::unavailable(PhaseError::Parse, &error))?;
        for url in urls.keys() {
            let objects = answers.get(&http_requests::url_request(url)).and_then(Value::as_array);
            let objects = objects.cloned().unwrap_or_default();
            objects.iter().for_each(|object| secrets.add(object));
            snapshot.insert_manifests(url, Ok(objects));
        }
        Ok(())
    }
}

/// From now on a change of the object wakes the application. Without the watch, the next reconcile sees the change.
async fn note(look: &TrackedReads, kind: &Kind, reference: &Reference) {
    let resource = &kind.resource;
    if reference.name.is_empty() || !WATCHED.contains(&(resource.group.as_str(), resource.kind.as_str())) {
        return;
    }
    let name = Key::new(reference.namespace.clone(), reference.name.clone());
    if let Err(error) = look.metadata(&resource.api_version, &resource.kind, &name).await {
        tracing::debug!(%reference, %error, "not watched");
    }
}
