//! The record of an application ↔ its ResourceTrackers, in the shape that upstream gives them; asks no server.
//!
//! Upstream has a tracker for each generation (`versioned`) and one for what stays as long as the application (`root`). Here
//! one tracker follows the generations: every change of the record is written against the version of it that was read, so it
//! is the lock of the record. Other trackers of upstream are read as part of the record, and removed when the record holds
//! their content.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use vela_crds::{ManagedResource, ResourceTracker, ResourceTrackerSpec, labels};
use vela_engine::LOCAL;
use vela_runtime::Key;
use vela_runtime::apply::text_hash;

use super::inventory::{Entry, Marks, Owned, POLICY, Record, STEP};
use crate::compression;

/// Longest name the API accepts.
const NAME_BYTES_AT_MOST: usize = 253;

/// Type of a tracker of what stays while it is named.
const VERSIONED: &str = "versioned";
/// Type of the tracker of what stays as long as the application.
const ROOT: &str = "root";
/// Type of the tracker of a former upstream's revisions of components, which stay as long.
const COMPONENT_REVISION: &str = "component-revision";

/// The trackers of one application, as they are on the server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trackers {
    /// Which content was applied, and what stays while it is named.
    pub(super) main: Option<ResourceTracker>,
    /// The objects that stay as long as the application.
    pub(super) root: Option<ResourceTracker>,
    /// The other trackers of upstream, the oldest first.
    pub(super) former: Vec<ResourceTracker>,
}

impl Trackers {
    /// Which is which of all trackers that name an application.
    pub(super) fn of(all: Vec<ResourceTracker>) -> Self {
        let mut all: Vec<ResourceTracker> = all.into_iter().filter(is_record).collect();
        all.sort_by_key(|tracker| {
            let name = tracker.metadata.name.clone();
            (tracker.spec.identity.is_some(), tracker.spec.application_generation, name)
        });
        let main = all.iter().rposition(|tracker| may_be_main(&tracker.spec)).map(|at| all.remove(at));
        let root = all.iter().rposition(|tracker| is_of(&tracker.spec, ROOT)).map(|at| all.remove(at));
        Self { main, root, former: all }
    }

    /// Is nothing recorded?
    pub(crate) fn is_empty(&self) -> bool {
        self.main.is_none() && self.root.is_none() && self.former.is_empty()
    }

    /// All of them.
    pub(super) fn into_all(self) -> impl Iterator<Item = ResourceTracker> {
        self.former.into_iter().chain(self.root).chain(self.main)
    }

    /// The merged content of both. The younger one counts, but what one of them keeps as long as the application stays so
    /// long: a process may have ended before it took it from there.
    ///
    /// # Errors
    /// The content of one of them cannot be read. The reconcile does nothing then, since the owned objects are unknown.
    pub(super) fn record(&self) -> Result<Record, serde_json::Error> {
        let mut record = Record::default();
        if let Some(main) = &self.main {
            record.identity.clone_from(&main.spec.identity);
            record.complete = main.spec.complete;
            record.generation = main.spec.application_generation;
            let label = |name| main.metadata.labels.as_ref().and_then(|all| all.get(name)).cloned();
            record.marks = Marks { uid: label(labels::APP_UID), revision: label(labels::APP_REVISION) };
        }
        for tracker in self.former.iter().chain(&self.main).chain(&self.root) {
            // Objects of other trackers of upstream stay as long as the application.
            let stays = !may_be_main(&tracker.spec);
            for (owned, entry) in managed_resources(tracker)?.iter().map(entry) {
                add(&mut record.entries, owned, entry, stays);
            }
        }
        Ok(record)
    }
}

/// Is it one that says in its spec what is owned? Before release 1.2 of upstream objects were owned by trackers without types,
/// and would be collected with them.
fn is_record(tracker: &ResourceTracker) -> bool {
    let types = [VERSIONED, ROOT, COMPONENT_REVISION];
    let is_of_old = tracker.status.as_ref().is_some_and(|status| !status.tracked_resources.is_empty());
    !is_of_old && (tracker.spec.identity.is_some() || types.iter().any(|one| is_of(&tracker.spec, one)))
}

fn is_of(spec: &ResourceTrackerSpec, type_: &str) -> bool {
    spec.tracker_type.as_deref() == Some(type_)
}

/// One that names its content is ours, whatever its type is: earlier releases wrote `root`.
fn may_be_main(spec: &ResourceTrackerSpec) -> bool {
    spec.identity.is_some() || is_of(spec, VERSIONED)
}

fn add(entries: &mut BTreeMap<Owned, Entry>, owned: Owned, entry: Entry, stays: bool) {
    let known = entries.remove(&owned);
    let retained = stays || entry.retained || known.as_ref().is_some_and(|known| known.retained);
    let released = entry.released || known.as_ref().is_some_and(|known| known.released);
    // A tracker of the root adds to a known object only that it stays.
    let entry = known.filter(|_| stays).unwrap_or(entry);
    let unwanted = entry.unwanted && !retained;
    entries.insert(owned, Entry { retained, released, unwanted, ..entry });
}

/// The objects that a tracker names, unpacked where upstream packed it.
fn managed_resources(tracker: &ResourceTracker) -> Result<Vec<ManagedResource>, serde_json::Error> {
    let name = tracker.metadata.name.as_deref().unwrap_or_default();
    let packed = match &tracker.spec.compression {
        Some(compression) => compression::content(compression).map_err(|reason| {
            let what = format!("ResourceTracker {name}: spec.compression: {reason}");
            <serde_json::Error as serde::de::Error>::custom(what)
        })?,
        None => None,
    };
    let mut all = tracker.spec.managed_resources.clone();
    match packed {
        None | Some(Value::Null) => {}
        Some(packed) => all.extend(serde_json::from_value::<Vec<ManagedResource>>(packed)?),
    }
    Ok(all)
}

/// The content of the main tracker for a record.
pub(super) fn main_spec(record: &Record) -> ResourceTrackerSpec {
    ResourceTrackerSpec {
        tracker_type: Some(VERSIONED.to_owned()),
        application_generation: record.generation,
        identity: record.identity.clone(),
        complete: record.complete,
        managed_resources: record.entries.iter().filter(|(_, entry)| !entry.retained).map(managed).collect(),
        compression: None,
    }
}

/// The content of the tracker of the root: none where no object stays as long as the application.
pub(super) fn root_spec(record: &Record) -> ResourceTrackerSpec {
    root(record, |_, entry| entry.retained)
}

/// The same as long as the main tracker does not name what leaves the root: an object is named at all times.
pub(super) fn root_spec_meanwhile(record: &Record, stored: Option<&ResourceTracker>) -> ResourceTrackerSpec {
    let stored = stored.map(managed_resources).and_then(Result::ok).unwrap_or_default();
    let held: BTreeSet<Owned> = stored.iter().map(|managed| entry(managed).0).collect();
    root(record, |owned, entry| entry.retained || held.contains(owned))
}

fn root(record: &Record, is_in: impl Fn(&Owned, &Entry) -> bool) -> ResourceTrackerSpec {
    let named = record.entries.iter().filter(|(owned, entry)| is_in(owned, entry));
    // A reader that finds it here keeps it, also what is only on its way to the other tracker.
    let kept = named.map(|(owned, entry)| managed((owned, &Entry { retained: true, ..entry.clone() })));
    ResourceTrackerSpec {
        tracker_type: Some(ROOT.to_owned()),
        application_generation: Some(0),
        managed_resources: kept.collect(),
        ..ResourceTrackerSpec::default()
    }
}

/// Does a tracker say so already? Its type alone is no reason to write it: earlier releases wrote another one.
pub(super) fn says(stored: &ResourceTrackerSpec, wanted: &ResourceTrackerSpec) -> bool {
    let ResourceTrackerSpec {
        tracker_type: _,
        application_generation,
        identity,
        complete,
        managed_resources,
        compression,
    } = stored;
    let is_packed = compression.as_ref().is_some_and(|compression| compression.data.is_some());
    !is_packed
        && *application_generation == wanted.application_generation
        && *identity == wanted.identity
        && *complete == wanted.complete
        && *managed_resources == wanted.managed_resources
}

/// The labels by which a tracker is found, and those that tell more.
pub(super) fn labels_of(application: &Key, marks: &Marks) -> BTreeMap<String, String> {
    let named = [(labels::APP_NAME, &application.name), (labels::APP_NAMESPACE, &application.namespace)];
    let more = [(labels::APP_UID, marks.uid.as_ref()), (labels::APP_REVISION, marks.revision.as_ref())];
    // A value that is no label would make the whole tracker one that cannot be written.
    let more =
        more.into_iter().filter_map(|(name, value)| Some((name, value.filter(|value| is_value(value))?)));
    named.into_iter().chain(more).map(|(name, value)| (name.to_owned(), value.clone())).collect()
}

fn is_value(text: &str) -> bool {
    const LENGTH_AT_MOST: usize = 63;
    text.len() <= LENGTH_AT_MOST
}

/// The name of a main tracker that is made now: upstream's, `<app>-v<N>-<ns>`, where it is free. Two applications may mean
/// the same by it, so that another one is at hand.
pub(super) fn main_name(
    application: &Key,
    generation: Option<i64>,
    is_taken: impl Fn(&str) -> bool,
) -> String {
    let Key { namespace, name } = application;
    let usual = format!("{name}-v{}-{namespace}", generation.unwrap_or(1));
    match usual.len() <= NAME_BYTES_AT_MOST && !is_taken(&usual) {
        true => usual,
        false => own_name(application),
    }
}

/// The name of a tracker of the root that is made now: upstream's, `<app>-<ns>`, likewise.
pub(super) fn root_name(application: &Key, is_taken: impl Fn(&str) -> bool) -> String {
    let Key { namespace, name } = application;
    let usual = format!("{name}-{namespace}");
    match usual.len() <= NAME_BYTES_AT_MOST && !is_taken(&usual) {
        true => usual,
        false => hashed(&format!("{}.{ROOT}", own_name(application))),
    }
}

/// The name that earlier releases gave to every record. A namespace has no dot, so the last dot parts the two and no two
/// applications share a record.
fn own_name(application: &Key) -> String {
    let name = format!("{}.{}", application.name, application.namespace);
    // An application's name may fill the limit alone; a hash in place of its end keeps names apart.
    if name.len() <= NAME_BYTES_AT_MOST { name } else { hashed(&name) }
}

fn hashed(name: &str) -> String {
    let hash = text_hash(name);
    let head: String = name.chars().take(NAME_BYTES_AT_MOST - hash.len() - 1).collect();
    format!("{head}.{hash}")
}

/// The names that this application's trackers have or had: ours, upstream's, and those of release 1.0.
pub(super) fn may_be_of(application: &Key, tracker: &str) -> bool {
    let Key { namespace, name } = application;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let version = tracker
        .strip_prefix(name.as_str())
        .and_then(|rest| rest.strip_prefix("-v"))
        .and_then(|rest| rest.strip_suffix(namespace.as_str()))
        .and_then(|rest| rest.strip_suffix('-'));
    tracker == format!("{namespace}-{name}")
        || tracker == format!("{name}-{namespace}")
        || tracker == own_name(application)
        || version.is_some_and(is_number)
}

fn entry(managed: &ManagedResource) -> (Owned, Entry) {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let owned = Owned {
        cluster: text(&managed.cluster.clone().filter(|cluster| cluster != LOCAL)),
        api_version: text(&managed.api_version),
        kind: text(&managed.kind),
        key: Key::new(text(&managed.namespace), text(&managed.name)),
    };
    let by_policy = managed.creator.as_deref() == Some(POLICY);
    let entry = Entry {
        hash: managed.hash.clone(),
        uid: managed.uid.clone(),
        wave: managed.wave,
        component: managed.component.clone(),
        trait_type: managed.trait_type.clone(),
        unwanted: managed.deleted,
        retained: managed.retained,
        released: managed.skip_gc,
        // Upstream names no component where a step made the object, and no set names it either.
        by_step: managed.creator.as_deref() == Some(STEP) || (managed.component.is_none() && !by_policy),
        by_policy,
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
        creator: Some(entry.creator().to_owned()),
        ..ManagedResource::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A tracker as a server stores it; names and types as upstream writes them.
    fn tracker(name: &str, spec: Value) -> ResourceTracker {
        let object = json!({
            "apiVersion": "core.oam.dev/v1beta1", "kind": "ResourceTracker", "metadata": {"name": name}, "spec": spec,
        });
        serde_json::from_value(object).unwrap()
    }

    fn map(name: &str, component: Option<&str>) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "namespace": "ns", "name": name, "component": component})
    }

    fn entry_of<'r>(record: &'r Record, name: &str) -> &'r Entry {
        record.entries.iter().find(|(owned, _)| owned.key.name == name).unwrap().1
    }

    /// The state of the server after the record is written, however often.
    fn written(record: &Record) -> Trackers {
        let named = |name, spec| ResourceTracker::new(name, spec);
        let root = Some(root_spec(record)).filter(|spec| !spec.managed_resources.is_empty());
        Trackers {
            main: Some(named("shop-v1-ns", main_spec(record))),
            root: root.map(|spec| named("shop-ns", spec)),
            former: Vec::new(),
        }
    }

    #[test]
    fn what_upstream_left_is_one_record() {
        let versioned = |generation: i64, resources: Value| {
            let spec = json!({
                "type": "versioned", "applicationGeneration": generation, "compression": {},
                "managedResources": resources,
            });
            tracker(&format!("shop-v{generation}-ns"), spec)
        };
        let stays = json!({"type": "root", "applicationGeneration": 0, "managedResources": [
            map("stays", Some("front")),
            {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "ns", "name": "ever", "component": "front", "skipGC": true},
        ]});
        let gone = json!({"apiVersion": "v1", "kind": "ConfigMap", "namespace": "ns", "name": "gone",
            "component": "front", "deleted": true});
        let trackers = Trackers::of(vec![
            versioned(2, json!([map("front", Some("front")), map("of-a-step", None), gone])),
            tracker("shop-ns", stays),
            versioned(1, json!([map("former", Some("back"))])),
            // Release 1.1 owned objects by trackers of this shape.
            tracker("shop-v0-ns", json!({"applicationGeneration": 0})),
        ]);
        assert_eq!(trackers.main.as_ref().unwrap().metadata.name.as_deref(), Some("shop-v2-ns"));
        assert_eq!(trackers.former.len(), 1, "the one of release 1.1 is left alone: {trackers:?}");
        let record = trackers.record().unwrap();
        assert_eq!((record.generation, &record.identity, record.complete), (Some(2), &None, false));
        assert_eq!(record.entries.len(), 6);
        assert!(entry_of(&record, "stays").retained && !entry_of(&record, "stays").released);
        assert!(entry_of(&record, "ever").retained && entry_of(&record, "ever").released);
        assert!(entry_of(&record, "of-a-step").by_step, "no set names it: {record:?}");
        assert!(entry_of(&record, "gone").unwanted);
        let former = entry_of(&record, "former");
        assert!(!former.unwanted && !former.retained, "only a complete set says what is unwanted");
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut record = Record {
            identity: Some("abc".to_owned()),
            complete: true,
            generation: Some(3),
            ..Record::default()
        };
        let owned = |name: &str| entry(&serde_json::from_value(map(name, Some("front"))).unwrap());
        for (name, retained) in [("named", false), ("stays", true)] {
            let (owned, known) = owned(name);
            record.entries.insert(owned, Entry { retained, hash: Some("h".to_owned()), ..known });
        }
        let trackers = written(&record);
        assert_eq!(trackers.record().unwrap(), record);
        let main = &trackers.main.as_ref().unwrap().spec;
        assert!(says(main, &main_spec(&record)));
        assert_eq!((main.tracker_type.as_deref(), main.managed_resources.len()), (Some(VERSIONED), 1));
        assert_eq!(trackers.root.as_ref().unwrap().spec.tracker_type.as_deref(), Some(ROOT));
        record.complete = false;
        assert!(!says(main, &main_spec(&record)));
    }

    #[test]
    fn what_leaves_the_root_is_named_at_all_times() {
        let mut record = Record::default();
        let (owned, known) = entry(&serde_json::from_value(map("a", Some("front"))).unwrap());
        record.entries.insert(owned.clone(), Entry { retained: true, ..known.clone() });
        let before = written(&record);
        record.entries.insert(owned.clone(), known);
        let meanwhile = root_spec_meanwhile(&record, before.root.as_ref());
        assert_eq!(meanwhile.managed_resources.len(), 1, "the main tracker does not name it yet");
        assert!(root_spec(&record).managed_resources.is_empty());
        // A process that ends between the two has it in both.
        let main = Some(ResourceTracker::new("shop-v1-ns", main_spec(&record)));
        let both = Trackers { main, ..before };
        let read = both.record().unwrap();
        assert!(read.entries[&owned].retained && !read.entries[&owned].unwanted, "it stays: {read:?}");
        // Deleted objects are not named again.
        record.entries.clear();
        assert!(root_spec_meanwhile(&record, both.root.as_ref()).managed_resources.is_empty());
    }

    #[test]
    fn an_old_record_is_read_and_not_rewritten_for_its_type() {
        let spec = json!({
            "type": "root", "identity": "abc", "complete": true, "applicationGeneration": 4,
            "managedResources": [
                {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "ns", "name": "a", "component": "front",
                    "creator": "workflow", "hash": "h", "uid": "u", "wave": 0},
            ],
        });
        let trackers = Trackers::of(vec![tracker("shop.ns", spec)]);
        let record = trackers.record().unwrap();
        let a = entry_of(&record, "a");
        assert_eq!((a.uid.as_deref(), a.retained, a.by_step), (Some("u"), false, false));
        assert_eq!((record.identity.as_deref(), record.complete), (Some("abc"), true));
        assert!(says(&trackers.main.as_ref().unwrap().spec, &main_spec(&record)));
        assert!(trackers.root.is_none() && trackers.former.is_empty());
    }

    #[test]
    fn a_record_that_cannot_be_unpacked_says_which() {
        let spec = json!({"type": "versioned", "applicationGeneration": 1,
            "compression": {"type": "lzma", "data": "AAAA"}});
        let error = Trackers::of(vec![tracker("shop-v1-ns", spec)]).record().unwrap_err().to_string();
        assert!(error.contains("ResourceTracker shop-v1-ns") && error.contains("lzma"), "{error}");
    }

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
    fn trackers_have_the_names_of_upstream_where_those_are_free() {
        let key = Key::new("ns", "shop");
        assert_eq!(main_name(&key, Some(3), |_| false), "shop-v3-ns");
        assert_eq!(root_name(&key, |_| false), "shop-ns");
        assert_eq!(main_name(&key, Some(3), |_| true), "shop.ns");
        let (taken, other) = (root_name(&key, |_| true), root_name(&Key::new("shop", "ns"), |_| true));
        assert!(taken != other && taken.len() <= NAME_BYTES_AT_MOST, "{taken}");
        for name in ["shop-v3-ns", "shop-ns", "shop.ns", "ns-shop"] {
            assert!(may_be_of(&key, name), "{name}");
        }
        for name in ["shop-v-ns", "shop-vx-ns", "shop-v3-other", "shopping-v3-ns"] {
            assert!(!may_be_of(&key, name), "{name}");
        }
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
        let names: BTreeSet<String> = keys.iter().map(own_name).collect();
        assert_eq!(names.len(), keys.len(), "{names:?}");
        assert!(names.iter().all(|name| name.len() <= NAME_BYTES_AT_MOST));
    }
}
