//! Finds the objects that an earlier reconcile recorded and no component wants any more, and decides whether they may
//! be deleted.

use std::collections::BTreeSet;

use serde_json::Value as Json;
use vela_crds::{annotations, labels};

use super::apply_once::ApplyOnce;
use super::graph::Graph;
use super::render::RenderedObject;
use super::resource_names::is_of_all_revisions;
use super::{items, text};
use crate::observed::ObjectKey;
use crate::successor;

/// A recorded object that is not wanted any more.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Garbage {
    /// The object; references name no namespace, so it is the configuration's.
    pub key: ObjectKey,
    /// The component it was made for.
    pub component: String,
    /// The revision it was made for.
    pub revision: String,
    /// Is it a workload, or a trait?
    pub workload: bool,
    /// The workload that takes its place under another name: until that one is ready, this one stays.
    pub successor: Option<ObjectKey>,
}

/// The key of the comparison: a reference names no namespace, so an object that moved to another one is not garbage
/// here, and a withdrawn version counts as the one that followed, so that an upgraded cluster makes no garbage.
type Reference = (String, String, String);

fn reference(key: &ObjectKey) -> Reference {
    let current = successor::version(&key.api_version, &key.kind).unwrap_or(&key.api_version);
    (current.to_owned(), key.kind.clone(), key.name.clone())
}

impl Graph {
    /// Objects the previous status names that are not wanted any more, each once. Workloads that carry a revision in
    /// their name, or whose component keeps one workload per revision, stay: traits and rollouts look after them. In a
    /// configuration that is stored for all revisions of an Application they have no such owner, so there they go.
    pub fn garbage(&self) -> Vec<Garbage> {
        let configuration = self.rendered().document();
        let wanted: BTreeSet<Reference> =
            self.objects().map(RenderedObject::key).map(|key| reference(&key)).collect();
        let mut garbage = Vec::new();
        for entry in items(configuration.value(), &["status", "workloads"]) {
            let component = text(entry, &["componentName"]);
            let mut add = |recorded: &Json, workload: bool| {
                let part = |field| text(recorded, &[field]).to_owned();
                let key = ObjectKey::local(
                    part("apiVersion"),
                    part("kind"),
                    self.rendered().namespace(),
                    part("name"),
                );
                let kept = workload && self.is_of_a_revision(component, &key.name);
                let revision = text(entry, &["componentRevisionName"]).to_owned();
                let successor = self.successor(component, &key).filter(|_| workload);
                let found = Garbage { key, component: component.to_owned(), revision, workload, successor };
                let known = garbage.iter().any(|other: &Garbage| other.key == found.key);
                if !wanted.contains(&reference(&found.key)) && !kept && !known {
                    garbage.push(found);
                }
            };
            if let Some(recorded) = entry.get("workloadRef") {
                add(recorded, true);
            }
            for recorded in items(entry, &["traits"]).iter().filter_map(|trait_| trait_.get("traitRef")) {
                add(recorded, false);
            }
        }
        garbage
    }

    /// Objects that no owner reference reaches: of kinds without namespaces, or in another namespace.
    pub fn elsewhere(&self) -> impl Iterator<Item = &RenderedObject> {
        self.objects().filter(|object| object.key().namespace != self.rendered().namespace())
    }

    /// The live object as garbage, if it is none of those that are wanted: one that moved to another namespace has the
    /// name and the kind of one that is.
    pub fn left_elsewhere(&self, live: &Json) -> Option<Garbage> {
        let label = |key: &str| text(live, &["metadata", "labels", key]).to_owned();
        let (key, component) = (ObjectKey::of(live), label(labels::APP_COMPONENT));
        let workload = label(labels::RESOURCE_TYPE) == labels::RESOURCE_TYPE_WORKLOAD;
        let wanted = self.objects().any(|object| object.key() == key);
        let kept = workload && self.is_of_a_revision(&component, &key.name);
        let revision = label(labels::APP_COMPONENT_REVISION);
        let successor = self.successor(&component, &key).filter(|_| workload);
        (!wanted && !kept).then_some(Garbage { key, component, revision, workload, successor })
    }

    fn is_of_a_revision(&self, component: &str, workload: &str) -> bool {
        if is_of_all_revisions(self.rendered().document().value()) {
            return false;
        }
        workload.strip_prefix(component).is_some_and(|rest| rest.starts_with('-'))
            || self.components().iter().any(|other| other.name == component && other.revision_enabled)
    }

    /// The workload of the same kind that the component has now, where names of workloads can change.
    fn successor(&self, component: &str, former: &ObjectKey) -> Option<ObjectKey> {
        if !is_of_all_revisions(self.rendered().document().value()) {
            return None;
        }
        let now = self.components().iter().find(|other| other.name == component)?.workload.key();
        (now.kind == former.kind && now.name != former.name).then_some(now)
    }
}

/// Why an unwanted object stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Retained {
    /// It is not this configuration's.
    Foreign(String),
    /// It still runs, and what was applied once is not taken away while it runs.
    Running(i64),
}

impl std::fmt::Display for Retained {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Foreign(reason) => f.write_str(reason),
            Self::Running(replicas) => {
                write!(f, "can't delete workload with replicas {replicas} in apply once only mode")
            }
        }
    }
}

/// The configuration that an object says it belongs to where no owner reference can: namespace, name and uid.
pub fn mark(object: &Json) -> Option<(&str, &str, &str)> {
    let mark = text(object, &["metadata", "annotations", annotations::CONFIGURATION]);
    let (namespace, rest) = mark.split_once('/')?;
    let (name, uid) = rest.rsplit_once('/')?;
    (!uid.is_empty()).then_some((namespace, name, uid))
}

/// Is the object, which has no controller, one that the configuration of this uid made elsewhere?
pub fn is_marked(object: &Json, uid: &str) -> bool {
    let owners = items(object, &["metadata", "ownerReferences"]);
    let is_controlled = owners.iter().any(|owner| owner.get("controller") == Some(&Json::Bool(true)));
    !is_controlled && !uid.is_empty() && mark(object).is_some_and(|(_, _, marked)| marked == uid)
}

/// May the configuration of this uid delete the live object? `applied` holds the uids of what this reconcile applied: an
/// object can be read under an old and a new version of its kind, and is wanted then.
///
/// # Errors
/// Why it has to stay.
pub fn deletable(
    live: &Json,
    uid: &str,
    applied: &BTreeSet<String>,
    mode: ApplyOnce,
) -> Result<(), Retained> {
    let controlled = !uid.is_empty()
        && items(live, &["metadata", "ownerReferences"])
            .iter()
            .any(|owner| owner.get("controller") == Some(&Json::Bool(true)) && text(owner, &["uid"]) == uid);
    if !controlled && !is_marked(live, uid) {
        return Err(Retained::Foreign("it is not controlled by this configuration".to_owned()));
    }
    if applied.contains(text(live, &["metadata", "uid"])) {
        return Err(Retained::Foreign("it is wanted under another version of its kind".to_owned()));
    }
    let role = text(live, &["metadata", "labels", labels::RESOURCE_TYPE]);
    let replicas = live.get("spec").and_then(|spec| spec.get("replicas")).and_then(Json::as_i64);
    match replicas {
        Some(replicas)
            if replicas > 0 && mode != ApplyOnce::Off && role == labels::RESOURCE_TYPE_WORKLOAD =>
        {
            Err(Retained::Running(replicas))
        }
        _ => Ok(()),
    }
}
