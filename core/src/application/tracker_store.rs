//! The records of all applications: read from a watch of ResourceTrackers, written before anything they name changes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use kube::ResourceExt as _;
use kube::api::{ApiResource, DeleteParams, DynamicObject, PostParams, Preconditions};
use vela_crds::{ResourceTracker, ResourceTrackerSpec, finalizers, labels};
use vela_runtime::Api;
use vela_runtime::Key;
use vela_runtime::cache::{Change, Index, Informer, Watch};

use super::inventory::{Entry, Owned, Record};
use super::resource_tracker::{self, Trackers};
use crate::context::Context;

/// Records whose last version is remembered.
const REMEMBERED_AT_MOST: usize = 50_000;

/// Writes the record of one application while a set is applied.
pub(crate) struct RecordWriter {
    /// As this reconcile is going to leave it.
    pub(crate) record: Record,
    /// The version on the server.
    pub(crate) stored: Trackers,
    /// Objects that this reconcile meant to create, and may not.
    pub(crate) refused: Vec<Owned>,
}

impl RecordWriter {
    /// Starts with this record; `stored` is the version on the server.
    pub(crate) fn new(record: Record, stored: Trackers) -> Self {
        Self { record, stored, refused: Vec::new() }
    }

    /// Record an object before it is made by a call of a workflow step.
    pub(crate) async fn add(
        &mut self,
        records: &Records,
        application: &Key,
        (owned, entry): (Owned, Entry),
    ) -> Result<(), kube::Error> {
        let known = self.record.entries.get(&owned);
        let uid = known.and_then(|known| known.uid.clone());
        let entry = Entry { uid, ..entry };
        if known != Some(&entry) {
            self.record.entries.insert(owned, entry);
            self.write(records, application).await?;
        }
        Ok(())
    }

    /// Forgets a refused object: it was never made, and the account might not be allowed to see that when the
    /// application goes.
    pub(crate) async fn forget_refused(
        &mut self,
        records: &Records,
        application: &Key,
    ) -> Result<(), kube::Error> {
        if self.refused.is_empty() {
            return Ok(());
        }
        for owned in std::mem::take(&mut self.refused) {
            if self.record.entries.get(&owned).is_some_and(|entry| entry.uid.is_none()) {
                self.record.entries.remove(&owned);
            }
        }
        self.record.complete = false;
        self.write(records, application).await
    }

    /// Forgets which object had this name, before another one is made in its place: the former uid would make the new
    /// object a foreign one if the reconcile ended before the new uid is written.
    pub(crate) async fn forget_former(
        &mut self,
        records: &Records,
        application: &Key,
        owned: &Owned,
    ) -> Result<(), kube::Error> {
        if let Some(entry) = self.record.entries.get_mut(owned) {
            entry.uid = None;
        }
        self.write(records, application).await
    }

    async fn write(&mut self, records: &Records, application: &Key) -> Result<(), kube::Error> {
        self.stored = records.write(application, &self.record, self.stored.clone()).await?;
        Ok(())
    }
}

/// Where records are kept.
#[derive(Clone)]
pub(crate) struct Records {
    context: Context,
    trackers: Arc<Informer>,
    /// By the application that a tracker names.
    of_application: Index,
    /// The version of each tracker that was written here last.
    written: Arc<Mutex<BTreeMap<Key, String>>>,
}

impl Records {
    /// The records of the cluster; starts their watch.
    pub(crate) fn new(context: &Context) -> Self {
        let resource = ApiResource::erase::<ResourceTracker>(&());
        let trackers = context.cache.informer(Watch::full(resource));
        let of_application =
            trackers.index(|tracker| application_of(tracker).map(|of| of.to_string()).into_iter().collect());
        Self { context: context.clone(), trackers, of_application, written: Arc::default() }
    }

    /// The watch of all records.
    pub(crate) fn stored(&self) -> &Arc<Informer> {
        &self.trackers
    }

    /// The application whose record another writer changed: a rollout, or a former leader, whose request was on its way for
    /// long. The copy of the record may be out of date.
    pub(crate) fn overwritten(&self, change: &Change) -> Option<Key> {
        let tracker = change.new.as_deref().filter(|_| !change.initial)?;
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if tracker.metadata.resource_version.as_ref() == written.get(&Key::of(tracker)) {
            return None;
        }
        application_of(tracker)
    }

    /// The record of an application, as the cache has it, with the trackers to write against.
    pub(crate) fn read(&self, application: &Key) -> Result<(Record, Trackers), serde_json::Error> {
        let mut all = Vec::new();
        for tracker in self.of_application.find(&application.to_string()) {
            all.push(serde_json::from_value(serde_json::to_value(&*tracker)?)?);
        }
        let stored = Trackers::of(all);
        Ok((stored.record()?, stored))
    }

    /// Writes the record if it differs from the stored one; fails when another client wrote meanwhile. At every moment
    /// each object is named by one tracker at least.
    pub(crate) async fn write(
        &self,
        application: &Key,
        record: &Record,
        stored: Trackers,
    ) -> Result<Trackers, kube::Error> {
        let Trackers { main, root, former } = stored;
        let labels = resource_tracker::labels_of(application, &record.marks);
        let is_taken = |name: &str| self.trackers.get(&Key::new("", name)).is_some();
        let new_root = |spec| ResourceTracker::new(&resource_tracker::root_name(application, is_taken), spec);
        let spec = resource_tracker::root_spec_meanwhile(record, root.as_ref());
        let root = match root {
            None if spec.managed_resources.is_empty() => None,
            root => Some(self.put(root, spec, &labels, new_root).await?),
        };
        let new_main = |spec| {
            ResourceTracker::new(&resource_tracker::main_name(application, record.generation, is_taken), spec)
        };
        let main = self.put(main, resource_tracker::main_spec(record), &labels, new_main).await?;
        let root = match root {
            None => None,
            root => Some(self.put(root, resource_tracker::root_spec(record), &labels, new_root).await?),
        };
        for former in former {
            self.remove_tracker(former).await?;
        }
        Ok(Trackers { main: Some(main), root, former: Vec::new() })
    }

    /// Forget the record, exactly as it was read; only after everything in it is gone.
    pub(crate) async fn remove(&self, stored: Trackers) -> Result<(), kube::Error> {
        for tracker in stored.into_all() {
            self.remove_tracker(tracker).await?;
        }
        Ok(())
    }

    /// Write a tracker that says something else, or make the one that is not there.
    async fn put(
        &self,
        stored: Option<ResourceTracker>,
        spec: ResourceTrackerSpec,
        labels: &BTreeMap<String, String>,
        new: impl Fn(ResourceTrackerSpec) -> ResourceTracker,
    ) -> Result<ResourceTracker, kube::Error> {
        let written = match stored {
            Some(stored) if resource_tracker::says(&stored.spec, &spec) => return Ok(stored),
            Some(mut stored) => {
                stored.spec = spec;
                dress(&mut stored, labels);
                self.api().replace(&stored.name_any(), &params(), &stored).await?
            }
            None => {
                let mut tracker = new(spec);
                dress(&mut tracker, labels);
                self.api().create(&params(), &tracker).await?
            }
        };
        self.note(&written);
        Ok(written)
    }

    /// Remove one tracker, exactly as it was read.
    async fn remove_tracker(&self, mut stored: ResourceTracker) -> Result<(), kube::Error> {
        let name = stored.name_any();
        let held = stored.metadata.finalizers.clone().unwrap_or_default();
        let others: Vec<String> = held.iter().filter(|held| *held != finalizers::TRACKER).cloned().collect();
        if others.len() != held.len() {
            stored.metadata.finalizers = Some(others);
            match self.api().replace(&name, &params(), &stored).await {
                Ok(written) => stored = written,
                Err(kube::Error::Api(status)) if status.code == 404 => {
                    self.forget(&name);
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
            self.note(&stored);
        }
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: stored.metadata.uid.clone(),
                resource_version: stored.metadata.resource_version.clone(),
            }),
            ..DeleteParams::default()
        };
        match self.api().delete(&name, &params).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => return Err(error),
        }
        self.forget(&name);
        Ok(())
    }

    fn forget(&self, name: &str) {
        self.trackers.forget(&Key::new("", name));
    }

    /// Remembers the written record: it wakes no reconcile, and is read from now on.
    fn note(&self, tracker: &ResourceTracker) {
        if let Some(version) = tracker.metadata.resource_version.clone() {
            let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
            if written.len() >= REMEMBERED_AT_MOST {
                // The price is a reconcile that finds nothing to do.
                written.clear();
            }
            written.insert(Key::new("", tracker.name_any()), version);
        }
        if let Ok(object) = serde_json::to_value(tracker).and_then(serde_json::from_value) {
            self.trackers.observe(object);
        }
    }

    fn api(&self) -> Api<ResourceTracker> {
        Api::all(self.context.client.clone())
    }
}

/// The application that a tracker names by its labels.
fn application_of(tracker: &DynamicObject) -> Option<Key> {
    let label = |name: &str| tracker.metadata.labels.as_ref()?.get(name).cloned();
    Some(Key::new(label(labels::APP_NAMESPACE)?, label(labels::APP_NAME)?))
}

/// Labels, and the finalizer that upstream asks for: the deleter of a tracker first looks for the objects that it
/// names.
fn dress(tracker: &mut ResourceTracker, labels: &BTreeMap<String, String>) {
    tracker.labels_mut().extend(labels.clone());
    let is_going = tracker.metadata.deletion_timestamp.is_some();
    let held = tracker.finalizers_mut();
    if !is_going && !held.iter().any(|held| held == finalizers::TRACKER) {
        held.push(finalizers::TRACKER.to_owned());
    }
}

fn params() -> PostParams {
    PostParams { field_manager: Some(crate::context::FIELD_MANAGER.to_owned()), ..PostParams::default() }
}
