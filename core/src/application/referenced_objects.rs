//! The objects that components of an Application refer to → the snapshot, read with the rights of its author; may not write.
//!
//! A change of an object that is named wakes the application where its kind is one of those that are watched anyway; what labels
//! select is read again at each reconcile.

use vela_engine::reference::{Reference, Referenced};
use vela_engine::{Document, Secrets, Snapshot, parse};
use vela_runtime::dynamic_watch::TrackedReads;
use vela_runtime::{Key, Kind};
use vela_snapshot::read_referenced;

use super::error::{PhaseError, Stopped};
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
