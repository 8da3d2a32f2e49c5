//! The part that the reconcilers of workloads and traits share: an object of one kind → its controlled objects applied
//! and removed, its status, and events.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::api::{ApiResource, DynamicObject};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use vela_crds::{ApplicationConfiguration, Condition, Conditioned, TypedReference};
use vela_runtime::apply::{self, Applied, Conflicts, Deletion, Guard, Outcome};
use vela_runtime::cache::Watch;
use vela_runtime::confirm::{Seen, confirm};
use vela_runtime::dynamic_watch::{DynamicWatches, TrackedReads};
use vela_runtime::owner::{controlled_by, controller_of};
use vela_runtime::{Action, Applier, Controller, Failure, Informer, Key, Reconciler, events};

use super::error::ReconcileError;
use crate::author::Actor;
use crate::context::Context;
use crate::status;

/// The base of one reconciler; cheap to clone.
#[derive(Clone)]
pub(crate) struct ReconcilerBase {
    pub(crate) context: Context,
    /// The objects this controller reconciles.
    pub(crate) objects: Arc<Informer>,
    pub(crate) interests: DynamicWatches,
    /// On whose behalf things are made, changed and deleted.
    pub(crate) acting: Actor,
    applier: Applier,
    configurations: Arc<Informer>,
    /// Is the kind's status written by itself?
    has_status_subresource: bool,
}

/// Something that went well and changed something; becomes an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) reason: &'static str,
    pub(crate) text: String,
}

impl Note {
    /// The effect of a write, unless it did nothing.
    pub(crate) fn of(applied: &Applied, reason: &'static str) -> Option<Self> {
        let done = match applied.outcome {
            Outcome::Created => "created",
            Outcome::Configured => "changed",
            Outcome::Unchanged => return None,
        };
        Some(Self { reason, text: format!("{} {done}", apply::describe(&applied.object)) })
    }
}

impl ReconcilerBase {
    /// A base for objects of kind `K`. `manager` signs the fields of what is made for them: one name for all objects of a
    /// kind, so that the applier remembers what it wrote. Objects can be looked up by `labels`.
    pub(crate) fn new<K>(context: &Context, manager: &str, labels: &'static [&'static str]) -> Self
    where
        K: kube::Resource<DynamicType = ()>,
    {
        let watch = |resource| context.cache.informer(Watch::full(resource));
        let (client, discovery) = (context.client.clone(), &context.discovery);
        Self {
            context: context.clone(),
            acting: Actor::own(context),
            objects: watch(ApiResource::erase::<K>(&())),
            interests: DynamicWatches::new(client.clone(), &context.cache, discovery, labels),
            applier: Applier::new(client, discovery.clone(), manager),
            configurations: watch(ApiResource::erase::<ApplicationConfiguration>(&())),
            has_status_subresource: true,
        }
    }

    /// The same on behalf of the object's author: objects are made, changed and deleted for it in that name.
    pub(crate) async fn for_author(&self, live: &DynamicObject) -> Result<Self, ReconcileError> {
        let reason = "cannot act for its author";
        // Applications are written by people; what is made for one is made in its author's name, and stamped so.
        let acting = Actor::for_object(&self.context, live, || None).await;
        let acting = acting.map_err(|error| ReconcileError::retry(reason, apply::explain(&error)))?;
        let acting = acting.map_err(|unknown| ReconcileError::wrong(reason, unknown))?;
        Ok(Self { applier: self.applier.through(acting.client()), acting, ..self.clone() })
    }

    /// Whether the author may read an object: its content is reported in the status, or decides what is made. No right is
    /// asked for where the controllers act for themselves.
    pub(crate) async fn may_read(&self, reference: &TypedReference, namespace: &str) -> Result<(), String> {
        if self.acting.user().is_none() {
            return Ok(());
        }
        let TypedReference { api_version, kind, name, uid: _ } = reference;
        let known = self.context.discovery.resolve(api_version, kind).await;
        let api = known.map_err(|error| error.to_string())?.api(self.acting.client(), namespace);
        let read = api.get_opt(name).await;
        read.map(drop).map_err(|error| format!("{kind} {namespace}/{name}: {}", self.acting.explain(&error)))
    }

    /// The same for a kind whose status is no subresource.
    pub(crate) fn without_status_subresource(self) -> Self {
        Self { has_status_subresource: false, ..self }
    }

    /// The controller: wakes for its objects and for whatever they looked at.
    pub(crate) fn controller<R: Reconciler>(&self, name: &str, reconciler: R, workers: usize) -> Controller {
        let controller = Controller::new(name, reconciler).for_kind(&self.objects).workers(workers);
        self.interests.wake(controller.queue());
        controller
    }

    /// The object of a key, unless it is gone or goes: everything it controls goes with it.
    pub(crate) fn live(&self, key: &Key) -> Option<Arc<DynamicObject>> {
        let live = self.objects.get(key).filter(|live| live.metadata.deletion_timestamp.is_none());
        if live.is_none() {
            self.interests.forget(key);
        }
        live
    }

    /// Brings an object that `owner` controls to the desired state; an object of another controller is left alone.
    pub(crate) async fn apply(
        &self,
        look: &TrackedReads,
        owner: &DynamicObject,
        desired: Value,
        reason: &'static str,
    ) -> Result<Applied, ReconcileError> {
        let uid = owner.metadata.uid.clone().unwrap_or_default();
        self.apply_guarded(look, desired, reason, &|live| controlled_by(live, &uid)).await
    }

    /// The same with a guard of the caller's own.
    pub(crate) async fn apply_guarded(
        &self,
        look: &TrackedReads,
        desired: Value,
        reason: &'static str,
        guard: Guard<'_>,
    ) -> Result<Applied, ReconcileError> {
        let desired: DynamicObject =
            serde_json::from_value(desired).map_err(|error| ReconcileError::wrong(reason, error))?;
        let types = desired.types.clone().unwrap_or_default();
        let live = look.get(&types.api_version, &types.kind, &Key::of(&desired)).await;
        let live = live.map_err(|error| ReconcileError::look(reason, &error))?;
        let applied = self.applier.apply(&desired, live, false, Conflicts::Force, guard).await;
        let applied = applied.map_err(|error| ReconcileError::apply(reason, &error, &self.acting))?;
        if applied.outcome != Outcome::Unchanged {
            look.observe(&applied.object);
        }
        Ok(applied)
    }

    /// The same for a kind of which a cluster has too many objects to watch: the server is asked.
    pub(crate) async fn apply_unwatched(
        &self,
        desired: Value,
        reason: &'static str,
        guard: Guard<'_>,
    ) -> Result<Applied, ReconcileError> {
        let desired: DynamicObject =
            serde_json::from_value(desired).map_err(|error| ReconcileError::wrong(reason, error))?;
        let applied = self.applier.apply(&desired, None, false, Conflicts::Force, guard).await;
        applied.map_err(|error| ReconcileError::apply(reason, &error, &self.acting))
    }

    /// Removes an object that `owner` controls and no longer wants; true when it was there and is gone or going. The
    /// owner is read anew before: what it wants now is not removed because of what it wanted a moment ago.
    pub(crate) async fn remove(
        &self,
        look: &TrackedReads,
        owner: &DynamicObject,
        object: &Arc<DynamicObject>,
        reason: &'static str,
    ) -> Result<bool, ReconcileError> {
        let uid = owner.metadata.uid.clone().unwrap_or_default();
        self.remove_guarded(look, owner, object, reason, &|live| controlled_by(live, &uid)).await
    }

    /// The same with a guard of the caller's own.
    pub(crate) async fn remove_guarded(
        &self,
        look: &TrackedReads,
        owner: &DynamicObject,
        object: &Arc<DynamicObject>,
        reason: &'static str,
        guard: Guard<'_>,
    ) -> Result<bool, ReconcileError> {
        if guard(object).is_err() || object.metadata.deletion_timestamp.is_some() {
            return Ok(false);
        }
        let seen = Seen { resource: &self.objects.watch().resource, object: owner };
        match confirm(&self.context.cache, &[seen]).await {
            Ok(Some(_)) => self.delete(look, object, reason, guard).await,
            Ok(None) => Err(ReconcileError::changed(reason)),
            Err(error) => Err(ReconcileError::retry(reason, apply::explain(&error))),
        }
    }

    /// Deletes an object that the guard allows; true when it was there.
    pub(crate) async fn delete(
        &self,
        look: &TrackedReads,
        object: &Arc<DynamicObject>,
        reason: &'static str,
        guard: Guard<'_>,
    ) -> Result<bool, ReconcileError> {
        let (types, key) = (object.types.clone().unwrap_or_default(), Key::of(object));
        let deleted =
            self.applier.delete(&types.api_version, &types.kind, &key, Some(object.clone()), guard).await;
        match deleted {
            Ok(Deletion::Gone) => {
                look.forget(&types.api_version, &types.kind, &key);
                Ok(true)
            }
            Ok(Deletion::Going) => Ok(true),
            Err(apply::Error::Foreign { .. }) => Ok(false),
            Err(error) => Err(ReconcileError::apply(reason, &error, &self.acting)),
        }
    }

    /// The subject of an event: the application of the object, or the object where it belongs to none.
    fn subject(&self, live: &DynamicObject) -> ObjectReference {
        let namespace = live.metadata.namespace.clone().unwrap_or_default();
        let parent = controller_of(live).filter(|owner| owner.api_version.starts_with("core.oam.dev/"));
        match parent.map(|owner| (owner.kind.as_str(), owner)) {
            Some(("ApplicationConfiguration", owner)) => {
                let found = self.configurations.get(&Key::new(namespace, owner.name.clone()));
                let found = found.filter(|found| found.metadata.uid.as_ref() == Some(&owner.uid));
                found.map_or_else(|| events::reference(live), |found| events::reference(&found))
            }
            Some(("ApplicationContext", owner)) => ObjectReference {
                api_version: Some(owner.api_version.clone()),
                kind: Some(owner.kind.clone()),
                name: Some(owner.name.clone()),
                namespace: Some(namespace),
                uid: Some(owner.uid.clone()),
                ..ObjectReference::default()
            },
            _ => events::reference(live),
        }
    }

    /// Ends a reconcile: `Synced` in the status, one event for each thing that changed, one warning for a new error.
    pub(crate) async fn report<S>(
        &self,
        live: &DynamicObject,
        mut status: S,
        outcome: Result<Vec<Note>, ReconcileError>,
    ) -> Result<Action, Failure>
    where
        S: Conditioned + Serialize,
    {
        match outcome {
            Ok(notes) => {
                status.set_condition(Condition::reconcile_success(status::now()));
                self.write(live, &status).await?;
                self.publish_events(live, &notes).await;
                Ok(Action::Done)
            }
            Err(error) => self.report_error(live, status, error).await,
        }
    }

    /// Ends a reconcile that failed.
    pub(crate) async fn report_error<S>(
        &self,
        live: &DynamicObject,
        mut status: S,
        error: ReconcileError,
    ) -> Result<Action, Failure>
    where
        S: Conditioned + Serialize,
    {
        if error.is_quiet() {
            return error.end();
        }
        let sentence = error.sentence();
        let news = status.set_condition(Condition::reconcile_error(sentence.clone(), status::now()));
        self.write(live, &status).await?;
        if news {
            self.context.events.warning(&self.subject(live), error.reason, &sentence).await;
        }
        error.end()
    }

    /// One event for each thing that changed.
    pub(crate) async fn publish_events(&self, live: &DynamicObject, notes: &[Note]) {
        let subject = self.subject(live);
        for note in notes {
            self.context.events.normal(&subject, note.reason, &note.text).await;
        }
    }

    /// Writes the status if it differs.
    pub(crate) async fn write(&self, live: &DynamicObject, status: &impl Serialize) -> Result<bool, Failure> {
        match self.has_status_subresource {
            true => status::write_typed(&self.context, &self.objects, live, status).await,
            false => status::write_whole(&self.context, &self.objects, live, status).await,
        }
    }
}

/// An object with its type.
pub(crate) fn typed<K: DeserializeOwned>(live: &DynamicObject) -> Result<K, Failure> {
    let value = json_of(live);
    serde_json::from_value(value).map_err(Failure::terminal)
}

/// An object as plain data.
pub(crate) fn json_of(object: &DynamicObject) -> Value {
    // An object that came as JSON can be written as JSON.
    serde_json::to_value(object).unwrap_or_default()
}
