//! Kinds that applications own → one watch a kind, which wakes the owner an object names.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use kube::api::DynamicObject;
use vela_crds::{annotations, labels};
use vela_engine::policy::shared_resource::{Remaining, without_sharer};
use vela_runtime::cache::{Index, Informer, NotSynced, Watch};
use vela_runtime::queue::{Priority, Queue};
use vela_runtime::{Key, Kind};

use super::inventory::Owned;
use super::resource_tracker;
use crate::author::Actor;
use crate::context::Context;

/// The watches of owned objects; they start when a kind is first applied.
#[derive(Clone)]
pub(crate) struct OwnedKinds {
    context: Context,
    owner: fn(&DynamicObject) -> Option<Key>,
    woken: Arc<Mutex<HashSet<Watch>>>,
    indices: Arc<Mutex<HashMap<Watch, Index>>>,
    queue: Arc<Mutex<Option<Arc<Queue<Key>>>>>,
}

impl OwnedKinds {
    /// No watch yet; `owner` tells whom a changed object wakes.
    pub(crate) fn new(context: &Context, owner: fn(&DynamicObject) -> Option<Key>) -> Self {
        let (woken, indices, queue) = Default::default();
        Self { context: context.clone(), owner, woken, indices, queue }
    }

    /// Wake applications through this queue.
    pub(crate) fn wake(&self, queue: Arc<Queue<Key>>) {
        *self.queue.lock().unwrap_or_else(PoisonError::into_inner) = Some(queue);
    }

    /// The synced copy of a kind's owned objects.
    pub(crate) async fn informer(&self, kind: &Kind) -> Result<Arc<Informer>, NotSynced> {
        let watch = Watch::full(kind.resource.clone()).labelled(labels::APP_NAME);
        let informer = self.context.cache.informer(watch.clone());
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(queue) = queue {
            // The lock is held until the handler is in place: no reader may see the copy before it wakes.
            let owner = self.owner;
            let mut woken = self.woken.lock().unwrap_or_else(PoisonError::into_inner);
            if woken.insert(watch) {
                informer.on_change(Arc::new(move |change| {
                    // Every application is reconciled at the start anyway.
                    if change.initial {
                        return;
                    }
                    if let Some(key) = change.object().and_then(|object| owner(object)) {
                        queue.add_with(key, Priority::Normal);
                    }
                }));
            }
        }
        informer.synced().await?;
        Ok(informer)
    }

    /// The objects of a kind that say they belong to this owner; no other object is looked at.
    pub(crate) async fn owned_by(
        &self,
        kind: &Kind,
        owner: &Key,
    ) -> Result<Vec<Arc<DynamicObject>>, NotSynced> {
        let informer = self.informer(kind).await?;
        Ok(self.index(&informer).find(&owner_term(owner)))
    }

    /// The objects of a kind in a namespace that carry the label of this component, likewise.
    pub(crate) async fn of_component(
        &self,
        kind: &Kind,
        namespace: &str,
        component: &str,
    ) -> Result<Vec<Arc<DynamicObject>>, NotSynced> {
        let informer = self.informer(kind).await?;
        Ok(self.index(&informer).find(&component_term(namespace, component)))
    }

    /// The index of a kind, which begins with the first question.
    fn index(&self, informer: &Arc<Informer>) -> Index {
        let mut indices = self.indices.lock().unwrap_or_else(PoisonError::into_inner);
        let owner = self.owner;
        let index = indices.entry(informer.watch().clone()).or_insert_with(|| {
            informer.index(move |object| {
                let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
                let labels = object.metadata.labels.as_ref();
                let component = labels.and_then(|all| all.get(labels::APP_COMPONENT));
                let component = component.map(|component| component_term(namespace, component));
                owner(object).map(|owner| owner_term(&owner)).into_iter().chain(component).collect()
            })
        });
        index.clone()
    }
}

/// The terms of the index; neither begins like the other.
fn owner_term(owner: &Key) -> String {
    format!("owner {owner}")
}

fn component_term(namespace: &str, component: &str) -> String {
    format!("component {namespace} {component}")
}

/// The application an object says it belongs to.
pub(crate) fn application_of(object: &DynamicObject) -> Option<Key> {
    let labels = object.metadata.labels.as_ref()?;
    let name = labels.get(labels::APP_NAME)?;
    let namespace = labels.get(labels::APP_NAMESPACE).or(object.metadata.namespace.as_ref())?;
    Some(Key::new(namespace.clone(), name.clone()))
}

/// An application as the owner of objects.
#[derive(Clone, Debug)]
pub(crate) struct Application<'a> {
    pub(crate) key: Key,
    /// As the reconcile read it.
    pub(crate) object: &'a DynamicObject,
    /// Configurations that were stored for it and have left their objects to it.
    pub(crate) successor_of: Vec<String>,
    /// On whose behalf its objects are written and deleted.
    pub(crate) acting: Actor,
}

impl<'a> Application<'a> {
    pub(crate) fn of(object: &'a DynamicObject, acting: Actor) -> Self {
        Self { key: Key::of(object), object, successor_of: Vec::new(), acting }
    }

    /// On whose behalf an object of the record is deleted.
    pub(crate) fn acting_on(&self, context: &Context, owned: &Owned) -> Actor {
        match owned.is_stored_form() {
            true => self.acting.for_record(context),
            false => self.acting.clone(),
        }
    }

    /// The controller that an object names, if it is neither this application nor its record.
    fn other_controller(&self, object: &DynamicObject, desired: Option<&DynamicObject>) -> Option<String> {
        let owners = object.metadata.owner_references.as_deref().unwrap_or_default();
        let controller = owners.iter().find(|owner| owner.controller == Some(true))?;
        // A template may name a controller itself.
        let wanted = desired.and_then(|desired| desired.metadata.owner_references.as_deref());
        if wanted.is_some_and(|wanted| wanted.iter().any(|owner| owner.uid == controller.uid)) {
            return None;
        }
        let ours = self.object.metadata.uid.as_deref() == Some(&controller.uid)
            || self.successor_of.contains(&controller.uid)
            // A rollout holds workloads of the application that the label names.
            || controller.kind == "AppRollout" && controller.api_version.starts_with("core.oam.dev/")
            || controller.kind == "ResourceTracker" && resource_tracker::may_be_of(&self.key, &controller.name);
        (!ours).then(|| format!("{} {}", controller.kind, controller.name))
    }
}

/// May this application change the object? The error names whose it is.
pub(crate) fn may_change(
    application: &Application<'_>,
    recorded_uid: Option<&str>,
    desired: &DynamicObject,
    object: &DynamicObject,
) -> Result<(), String> {
    if let Some(controller) = application.other_controller(object, Some(desired)) {
        return Err(format!(
            "it exists and is controlled by {controller}; rename the component, or delete the object there"
        ));
    }
    let key = &application.key;
    match application_of(object) {
        Some(owner) if owner == *key => Ok(()),
        // Two applications that made one object at the same moment both have its uid on record: the label says whose it is.
        Some(owner) => Err(format!(
            "it exists and belongs to application {owner}; rename one of the two, or delete it there first"
        )),
        // It lost its labels; its uid says that it is ours.
        None if recorded_uid.is_some() && object.metadata.uid.as_deref() == recorded_uid => Ok(()),
        None => Err(format!(
            "it exists and was not made by application {key}; rename the component, delete the object, or hand \
             it over with the label {}={}",
            labels::APP_NAME,
            key.name
        )),
    }
}

/// Has the object no owner, so that the application may make it its own where it is asked to?
pub(crate) fn may_take_over(
    application: &Application<'_>,
    desired: &DynamicObject,
    object: &DynamicObject,
) -> bool {
    application_of(object).is_none() && application.other_controller(object, Some(desired)).is_none()
}

/// The applications that share an object, as its annotation lists them.
pub(crate) fn sharers(object: &DynamicObject) -> &str {
    let annotations = object.metadata.annotations.as_ref();
    annotations.and_then(|all| all.get(annotations::SHARED_BY)).map_or("", String::as_str)
}

/// May this application delete the object? Stricter than a change: record and label must both say so.
pub(crate) fn may_delete(
    application: &Application<'_>,
    recorded_uid: Option<&str>,
    object: &DynamicObject,
) -> Result<(), String> {
    if let Some(recorded) = recorded_uid
        && object.metadata.uid.as_deref() != Some(recorded)
    {
        return Err("another object took its name since; that one is kept".to_owned());
    }
    if let Some(controller) = application.other_controller(object, None) {
        return Err(format!("it is controlled by {controller}; it is kept"));
    }
    if let Remaining::Others { sharers, .. } = without_sharer(sharers(object), &application.key.to_string()) {
        return Err(format!("it is shared with {sharers}; it is kept"));
    }
    match application_of(object) {
        Some(owner) if owner == application.key => Ok(()),
        _ => Err(format!("it no longer carries the label of application {}; it is kept", application.key)),
    }
}
