//! An application's record of owned objects: read from its ResourceTracker, written before anything it names changes.
//!
//! The record carries the content hash of the application and whether that content was completely applied. It only
//! ever forgets an object after the object is gone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use kube::ResourceExt as _;
use kube::api::{ApiResource, DeleteParams, DynamicObject, PostParams, Preconditions};
use vela_crds::{ManagedResource, ResourceTracker, ResourceTrackerSpec, labels};
use vela_engine::application_configuration::{API_VERSION, KIND};
use vela_engine::{LOCAL, ObjectKey};
use vela_runtime::Api;
use vela_runtime::Key;
use vela_runtime::cache::{Change, Informer, Watch};

use crate::context::Context;

/// Longest name the API accepts.
const NAME_BYTES_AT_MOST: usize = 253;

/// Records whose last version is remembered.
const REMEMBERED_AT_MOST: usize = 50_000;

/// Creator of what a workflow step made by a call.
const STEP: &str = "step";

/// Identity of an owned object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Owned {
    /// "" for the cluster that the application is in.
    pub(crate) cluster: String,
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) key: Key,
}

impl Owned {
    /// The identity written in an object, which does not say in which cluster it is: the local one.
    pub(crate) fn of(object: &DynamicObject) -> Self {
        let types = object.types.clone().unwrap_or_default();
        let key = Key::of(object);
        Self { cluster: String::new(), api_version: types.api_version, kind: types.kind, key }
    }

    /// The identity as the engine names it.
    pub(crate) fn object_key(&self) -> ObjectKey {
        let Key { namespace, name } = self.key.clone();
        let local = ObjectKey::local(self.api_version.clone(), self.kind.clone(), namespace, name);
        ObjectKey { cluster: self.cluster.clone(), ..local }
    }

    /// Why nothing can be done to it from here; an object of that name in the local cluster is another one.
    pub(crate) fn out_of_reach(&self) -> Option<String> {
        (!self.cluster.is_empty()).then(|| {
            format!(
                "{} is out of reach: this vela-core knows the local cluster only; delete it there, then take it out of the \
                 application's ResourceTracker",
                self.object_key()
            )
        })
    }

    /// Is it of the kinds that an application in the v1alpha2 form is stored as?
    pub(crate) fn is_stored_form(&self) -> bool {
        self.api_version == API_VERSION && (self.kind == KIND || self.kind == "Component")
    }
}

/// What the record knows of one object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Entry {
    pub(crate) hash: Option<String>,
    pub(crate) uid: Option<String>,
    pub(crate) wave: Option<i32>,
    pub(crate) component: Option<String>,
    pub(crate) trait_type: Option<String>,
    /// The last complete set does not name it: it is to be deleted.
    pub(crate) unwanted: bool,
    /// It stays although a newer revision does not name it.
    pub(crate) retained: bool,
    /// Instead of being deleted it only stops being the application's.
    pub(crate) released: bool,
    /// A workflow step made it by a call: no set names it, and it goes with the application.
    pub(crate) by_step: bool,
}

/// The record of one application.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Record {
    pub(crate) identity: Option<String>,
    pub(crate) complete: bool,
    pub(crate) generation: Option<i64>,
    pub(crate) entries: BTreeMap<Owned, Entry>,
}

/// Writes the record of one application while a set is applied.
pub(crate) struct RecordWriter {
    /// As this reconcile is going to leave it.
    pub(crate) record: Record,
    /// The version on the server.
    pub(crate) stored: ResourceTracker,
    /// What this reconcile meant to create, and may not.
    pub(crate) refused: Vec<Owned>,
}

impl RecordWriter {
    /// Starts with this record; `stored` is the version on the server.
    pub(crate) fn new(record: Record, stored: ResourceTracker) -> Self {
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
            self.stored = records.write(application, &self.record, Some(self.stored.clone())).await?;
        }
        Ok(())
    }

    /// Forget what was refused: it was never made, and nobody might be allowed to see that when the application goes.
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
        self.stored = records.write(application, &self.record, Some(self.stored.clone())).await?;
        Ok(())
    }

    /// Forget which object had this name, before another one is made in its place: the former uid would make the new
    /// object somebody else's if the reconcile ended before the new uid is written.
    pub(crate) async fn forget_former(
        &mut self,
        records: &Records,
        application: &Key,
        owned: &Owned,
    ) -> Result<(), kube::Error> {
        if let Some(entry) = self.record.entries.get_mut(owned) {
            entry.uid = None;
        }
        self.stored = records.write(application, &self.record, Some(self.stored.clone())).await?;
        Ok(())
    }
}

/// Where records are kept.
#[derive(Clone)]
pub(crate) struct Records {
    context: Context,
    trackers: Arc<Informer>,
    /// The version of each record that was written here last.
    written: Arc<Mutex<BTreeMap<Key, String>>>,
}

impl Records {
    /// The records of the cluster; starts their watch.
    pub(crate) fn new(context: &Context) -> Self {
        let resource = ApiResource::erase::<ResourceTracker>(&());
        Self {
            context: context.clone(),
            trackers: context.cache.informer(Watch::full(resource)),
            written: Arc::default(),
        }
    }

    /// The watch of all records.
    pub(crate) fn stored(&self) -> &Arc<Informer> {
        &self.trackers
    }

    /// The application whose record somebody else wrote: a rollout, or a process that was leading before, whose request was
    /// on its way for long. What it says may not be so any more.
    pub(crate) fn overwritten(&self, change: &Change) -> Option<Key> {
        let tracker = change.new.as_deref().filter(|_| !change.initial)?;
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if tracker.metadata.resource_version.as_ref() == written.get(&Key::of(tracker)) {
            return None;
        }
        let label = |name: &str| tracker.metadata.labels.as_ref()?.get(name).cloned();
        Some(Key::new(label(labels::APP_NAMESPACE)?, label(labels::APP_NAME)?))
    }

    fn note(&self, tracker: &ResourceTracker) {
        let Some(version) = tracker.metadata.resource_version.clone() else { return };
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if written.len() >= REMEMBERED_AT_MOST {
            // The price is a reconcile that finds nothing to do.
            written.clear();
        }
        written.insert(Key::new("", tracker.name_any()), version);
    }

    /// The record of an application, as the cache has it, with the version to write against.
    pub(crate) fn read(
        &self,
        application: &Key,
    ) -> Result<(Record, Option<ResourceTracker>), serde_json::Error> {
        let Some(tracker) = self.trackers.get(&Key::new("", name(application))) else {
            return Ok((Record::default(), None));
        };
        let tracker: ResourceTracker = serde_json::from_value(serde_json::to_value(&*tracker)?)?;
        let entries = tracker.spec.managed_resources.iter().map(entry).collect();
        let record = Record {
            identity: tracker.spec.identity.clone(),
            complete: tracker.spec.complete,
            generation: tracker.spec.application_generation,
            entries,
        };
        Ok((record, Some(tracker)))
    }

    /// Write the record if it differs from what is stored; fails when somebody else wrote meanwhile.
    pub(crate) async fn write(
        &self,
        application: &Key,
        record: &Record,
        stored: Option<ResourceTracker>,
    ) -> Result<ResourceTracker, kube::Error> {
        let spec = ResourceTrackerSpec {
            tracker_type: Some("root".to_owned()),
            application_generation: record.generation,
            identity: record.identity.clone(),
            complete: record.complete,
            managed_resources: record.entries.iter().map(managed).collect(),
            compression: None,
        };
        let api: Api<ResourceTracker> = Api::all(self.context.client.clone());
        let params = PostParams {
            field_manager: Some(crate::context::FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        let written = match stored {
            Some(stored) if stored.spec == spec => return Ok(stored),
            Some(mut stored) => {
                stored.spec = spec;
                api.replace(&name(application), &params, &stored).await?
            }
            None => {
                let mut tracker = ResourceTracker::new(&name(application), spec);
                let labels = tracker.labels_mut();
                labels.insert(labels::APP_NAME.to_owned(), application.name.clone());
                labels.insert(labels::APP_NAMESPACE.to_owned(), application.namespace.clone());
                api.create(&params, &tracker).await?
            }
        };
        self.note(&written);
        if let Ok(object) = serde_json::to_value(&written).and_then(serde_json::from_value) {
            self.trackers.observe(object);
        }
        Ok(written)
    }

    /// Forget the record, exactly as it was read; only after everything in it is gone.
    pub(crate) async fn remove(&self, stored: &ResourceTracker) -> Result<(), kube::Error> {
        let name = stored.name_any();
        let api: Api<ResourceTracker> = Api::all(self.context.client.clone());
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: stored.metadata.uid.clone(),
                resource_version: stored.metadata.resource_version.clone(),
            }),
            ..DeleteParams::default()
        };
        match api.delete(&name, &params).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => return Err(error),
        }
        self.trackers.forget(&Key::new("", name));
        Ok(())
    }
}

/// A namespace has no dot, so the last dot parts the two and no two applications share a record.
pub(crate) fn name(application: &Key) -> String {
    let name = format!("{}.{}", application.name, application.namespace);
    if name.len() <= NAME_BYTES_AT_MOST {
        return name;
    }
    // An application's name may fill the limit alone; a hash in place of its end keeps names apart.
    let hash = vela_runtime::apply::text_hash(&name);
    let head: String = name.chars().take(NAME_BYTES_AT_MOST - hash.len() - 1).collect();
    format!("{head}.{hash}")
}

fn entry(managed: &ManagedResource) -> (Owned, Entry) {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let owned = Owned {
        cluster: text(&managed.cluster.clone().filter(|cluster| cluster != LOCAL)),
        api_version: text(&managed.api_version),
        kind: text(&managed.kind),
        key: Key::new(text(&managed.namespace), text(&managed.name)),
    };
    let entry = Entry {
        hash: managed.hash.clone(),
        uid: managed.uid.clone(),
        wave: managed.wave,
        component: managed.component.clone(),
        trait_type: managed.trait_type.clone(),
        unwanted: managed.deleted,
        retained: managed.retained,
        released: managed.skip_gc,
        by_step: managed.creator.as_deref() == Some(STEP),
    };
    (owned, entry)
}

fn managed((owned, entry): (&Owned, &Entry)) -> ManagedResource {
    ManagedResource {
        cluster: Some(owned.cluster.clone()).filter(|cluster| !cluster.is_empty()),
        api_version: Some(owned.api_version.clone()),
        kind: Some(owned.kind.clone()),
        namespace: Some(owned.key.namespace.clone()).filter(|namespace| !namespace.is_empty()),
        name: Some(owned.key.name.clone()),
        uid: entry.uid.clone(),
        hash: entry.hash.clone(),
        wave: entry.wave,
        component: entry.component.clone(),
        trait_type: entry.trait_type.clone(),
        deleted: entry.unwanted,
        retained: entry.retained,
        skip_gc: entry.released,
        creator: Some(if entry.by_step { STEP } else { "workflow" }.to_owned()),
        ..ManagedResource::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_names_other_clusters_only() {
        let recorded = |cluster: Option<&str>| ManagedResource {
            cluster: cluster.map(str::to_owned),
            api_version: Some("v1".to_owned()),
            kind: Some("ConfigMap".to_owned()),
            namespace: Some("ns".to_owned()),
            name: Some("a".to_owned()),
            ..ManagedResource::default()
        };
        let read = |cluster| entry(&recorded(cluster)).0;
        assert_eq!(read(None), read(Some("local")), "one place, however it was written");
        let (local, far) = (read(None), read(Some("far")));
        assert_ne!(local, far, "one name in two clusters is two objects");
        let written = |owned: &Owned| managed((owned, &Entry::default())).cluster;
        assert_eq!((written(&local), written(&far)), (None, Some("far".to_owned())));
        assert_eq!(local.out_of_reach(), None);
        assert!(far.out_of_reach().is_some_and(|why| why.contains("ConfigMap ns/a in cluster far")));
    }

    #[test]
    fn no_two_applications_share_a_record() {
        let long = |end: char| Key::new("ns", "a".repeat(NAME_BYTES_AT_MOST - 1) + &end.to_string());
        let keys = [
            Key::new("c", "a-b"),
            Key::new("b-c", "a"),
            Key::new("c", "a.b"),
            Key::new("b", "a.c"),
            Key::new("", "a"),
            long('x'),
            long('y'),
        ];
        let names: std::collections::BTreeSet<String> = keys.iter().map(name).collect();
        assert_eq!(names.len(), keys.len(), "{names:?}");
        assert!(names.iter().all(|name| name.len() <= NAME_BYTES_AT_MOST));
    }
}
