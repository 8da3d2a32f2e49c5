//! A rendered object → the same with its name, namespace and the labels everybody finds it by.

use serde_json::{Map, Value as Json, json};

use super::{RenderedObject, Role};
use crate::parse::{AppFile, Component};

/// Type that objects made by a component's own `outputs` carry.
pub(super) const AUXILIARY: &str = "AuxiliaryWorkload";

/// Whose object it is.
pub(super) struct Owner<'a> {
    pub(super) app: &'a AppFile,
    pub(super) component: &'a Component,
    /// "" in a dry run.
    pub(super) revision: &'a str,
}

/// Names and labels an object. The template's own name and namespace are kept, its other labels too.
pub(super) fn assign(rendered: &mut RenderedObject, owner: &Owner<'_>) {
    let name = match &rendered.role {
        Role::Workload | Role::Auxiliary { .. } => owner.component.name.clone(),
        Role::Trait { type_, resource, .. } => {
            let middle = type_.split('.').next().unwrap_or(type_).to_lowercase();
            format!(
                "{}-{middle}-{}",
                owner.component.name,
                short_hash(&[type_, resource, &rendered.object.to_string()])
            )
        }
    };
    // Whatever is not an object was refused when it was rendered.
    let Some(metadata) = object_at(&mut rendered.object, "metadata") else { return };
    set_if_empty(metadata, "name", &name);
    set_if_empty(metadata, "namespace", owner.app.namespace());
    let labels = metadata.entry("labels").or_insert_with(|| Json::Object(Map::new()));
    if !labels.is_object() {
        *labels = Json::Object(Map::new());
    }
    let Some(labels) = labels.as_object_mut() else { return };
    let mut set = |key: &str, value: &str| {
        labels.insert(key.to_owned(), json!(value));
    };
    set("app.oam.dev/name", owner.app.name());
    set("app.oam.dev/namespace", owner.app.namespace());
    set("app.oam.dev/component", &owner.component.name);
    set("app.oam.dev/appRevision", owner.revision);
    match &rendered.role {
        Role::Workload => {
            set("app.oam.dev/resourceType", "WORKLOAD");
            set("workload.oam.dev/type", &owner.component.type_.replacen("@v", "-v", 1));
        }
        Role::Auxiliary { resource } => {
            set("app.oam.dev/resourceType", "TRAIT");
            set("trait.oam.dev/type", AUXILIARY);
            set("trait.oam.dev/resource", resource);
        }
        Role::Trait { type_, resource, .. } => {
            set("app.oam.dev/resourceType", "TRAIT");
            set("trait.oam.dev/type", &type_.replacen("@v", "-v", 1));
            if !resource.is_empty() {
                set("trait.oam.dev/resource", resource);
            }
        }
    }
}

fn object_at<'a>(value: &'a mut Json, field: &str) -> Option<&'a mut Map<String, Json>> {
    let object = value.as_object_mut()?;
    let value = object.entry(field.to_owned()).or_insert_with(|| Json::Object(Map::new()));
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
