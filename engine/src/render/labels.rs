//! Gives a rendered object its name, its namespace and the labels by which everybody finds it.

use serde_json::{Map, Value as Json, json};
use vela_crds::{annotations, labels};

use super::{RenderedObject, Role};
use crate::parse::{AppFile, Component};
use crate::placement::Placement;

/// Annotations of an application that are its own business.
const NOT_PASSED: &[&str] = &[
    "kubectl.kubernetes.io/last-applied-configuration",
    annotations::LAST_APPLIED_CONFIGURATION,
    annotations::LAST_APPLIED_TIME,
    annotations::WORKLOAD_NAMES,
    // The last author is no content; the account's name is passed on as by the peer.
    annotations::USERNAME,
    annotations::GROUP,
];

/// Kinds of Kubernetes itself that live outside namespaces. Discovery knows the others: the applier of the objects
/// drops the namespace there.
const CLUSTER_SCOPED: &[(&str, &str)] = &[
    ("v1", "Namespace"),
    ("v1", "Node"),
    ("v1", "PersistentVolume"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
    ("storage.k8s.io/v1", "StorageClass"),
    ("storage.k8s.io/v1", "CSIDriver"),
    ("scheduling.k8s.io/v1", "PriorityClass"),
    ("networking.k8s.io/v1", "IngressClass"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("apiregistration.k8s.io/v1", "APIService"),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
    ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"),
];

/// The owner of the object.
pub(super) struct Owner<'a> {
    pub(super) app: &'a AppFile,
    pub(super) component: &'a Component,
    pub(super) placement: &'a Placement,
    /// "" in a dry run.
    pub(super) revision: &'a str,
    /// Its objects say where their values were written.
    pub(super) traced: bool,
}

/// Names and labels an object. The template's own name and namespace are kept, its other labels too.
pub(super) fn assign(rendered: &mut RenderedObject, owner: &Owner<'_>) {
    let name = match &rendered.role {
        Role::Workload | Role::Auxiliary { .. } | Role::Policy { .. } => owner.component.name.clone(),
        Role::Trait { type_, index, resource } => {
            let middle = type_.split('.').next().unwrap_or(type_).replacen("@v", "-v", 1).to_lowercase();
            let apart = match resource.as_str() {
                // In 0.3 an edit of a trait changed its object in place, and with it what a controller made of the object.
                "" => before(owner.component, type_, *index).to_string(),
                _ => rendered.object.to_string(),
            };
            format!("{}-{middle}-{}", owner.component.name, short_hash(&[type_, resource, &apart]))
        }
    };
    // Whatever is not an object was refused when it was rendered.
    let kind = |field: &str| rendered.object.get(field).and_then(Json::as_str).unwrap_or("");
    let namespaced = !CLUSTER_SCOPED.contains(&(kind("apiVersion"), kind("kind")));
    // Whatever is not an object was refused when it was rendered.
    let Some(metadata) = rendered.object.as_object_mut().and_then(|object| child(object, "metadata")) else {
        return;
    };
    set_if_empty(metadata, "name", &name);
    match owner.placement.namespace.as_str() {
        _ if !namespaced => {}
        "" => set_if_empty(metadata, "namespace", owner.app.namespace()),
        // Where people place a component counts more than where its template would.
        namespace => {
            metadata.insert("namespace".to_owned(), json!(namespace));
        }
    }
    let Some(all) = child(metadata, "labels") else { return };
    let mut set = |key: &str, value: &str| {
        all.insert(key.to_owned(), json!(value));
    };
    set(labels::APP_NAME, owner.app.name());
    set(labels::APP_NAMESPACE, owner.app.namespace());
    set(labels::APP_REVISION, owner.revision);
    // It belongs to no component, and rules that select objects by component or trait are not about it.
    if matches!(rendered.role, Role::Policy { .. }) {
        return;
    }
    set(labels::APP_COMPONENT, &owner.component.name);
    if !owner.placement.replica.is_empty() {
        set(labels::REPLICA_KEY, &owner.placement.replica);
    }
    match &rendered.role {
        Role::Workload => {
            set(labels::RESOURCE_TYPE, labels::RESOURCE_TYPE_WORKLOAD);
            set(labels::WORKLOAD_TYPE, &owner.component.type_.replacen("@v", "-v", 1));
        }
        Role::Auxiliary { resource } => {
            set(labels::RESOURCE_TYPE, labels::RESOURCE_TYPE_TRAIT);
            set(labels::TRAIT_TYPE, labels::TRAIT_TYPE_AUXILIARY);
            set(labels::TRAIT_RESOURCE, resource);
        }
        Role::Policy { .. } => {}
        Role::Trait { type_, resource, .. } => {
            set(labels::RESOURCE_TYPE, labels::RESOURCE_TYPE_TRAIT);
            set(labels::TRAIT_TYPE, &type_.replacen("@v", "-v", 1));
            if !resource.is_empty() {
                set(labels::TRAIT_RESOURCE, resource);
            }
        }
    }
    let application = owner.app.document().value().get("metadata");
    let passed = |field: &str| application.and_then(|metadata| metadata.get(field)).and_then(Json::as_object);
    for (key, value) in passed("labels").into_iter().flatten() {
        all.insert(key.clone(), value.clone());
    }
    for (key, value) in
        passed("annotations").into_iter().flatten().filter(|(key, _)| !NOT_PASSED.contains(&key.as_str()))
    {
        if let Some(all) = child(metadata, "annotations") {
            all.insert(key.clone(), value.clone());
        }
    }
}

/// How many traits of this type stand before the one at `index`.
fn before(component: &Component, type_: &str, index: usize) -> usize {
    component.traits.iter().take(index).filter(|other| other.type_ == type_).count()
}

/// The object under a field, made if it is missing or something else.
fn child<'a>(object: &'a mut Map<String, Json>, field: &str) -> Option<&'a mut Map<String, Json>> {
    let value = object.entry(field).or_insert_with(|| Json::Object(Map::new()));
    if !value.is_object() {
        *value = Json::Object(Map::new());
    }
    value.as_object_mut()
}

fn set_if_empty(object: &mut Map<String, Json>, field: &str, value: &str) {
    if object.get(field).and_then(Json::as_str).is_none_or(str::is_empty) {
        object.insert(field.to_owned(), json!(value));
    }
}

/// A short text that is safe in names, the same for the same parts.
pub(crate) fn short_hash(parts: &[&str]) -> String {
    // The alphabet Kubernetes uses for generated names: no vowels, so no words.
    const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut hash: u32 = 0x811c_9dc5;
    for byte in parts.iter().flat_map(|part| part.bytes().chain([0])) {
        hash = (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    }
    hash.to_string().bytes().map(|digit| char::from(ALPHABET[usize::from(digit) % ALPHABET.len()])).collect()
}
