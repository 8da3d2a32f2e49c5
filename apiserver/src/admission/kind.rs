//! The changes that a kind makes to its own objects, and the server's notes on every object.

use serde_json::{Map, Value};

use crate::catalog::Resource;
use crate::object::{self, text};
use crate::verbs::Context;
use crate::{builtin, crd};

/// Gives a new object its identity.
pub(super) fn identify(context: &Context<'_>, resource: &Resource, new: &mut Value) {
    object::set_meta(new, "uid", context.ids.next().to_string());
    object::set_meta(new, "creationTimestamp", context.clock.text());
    if resource.generation {
        object::set_meta(new, "generation", 1);
    } else {
        object::remove_meta(new, "generation");
    }
}

/// Counts a change of what the generation counts.
pub(super) fn count_generation(resource: &Resource, old: &Value, new: &mut Value) {
    if resource.generation && content(new, resource.status) != content(old, resource.status) {
        let generation = object::metadata(old).and_then(|m| m.get("generation")).and_then(Value::as_i64);
        object::set_meta(new, "generation", generation.unwrap_or(0) + 1);
    }
}

/// The kind's own change of a new state.
pub(super) fn prepare(context: &Context<'_>, resource: &Resource, old: Option<&Value>, new: &mut Value) {
    if resource.is_custom() {
        return;
    }
    if resource.is_definition() {
        let status = definition_status(context, new);
        if let Some(map) = new.as_object_mut() {
            map.insert("status".into(), status);
        }
    }
    let (api_version, kind) = (resource.api_version.as_str(), resource.kind.as_str());
    match old {
        None => builtin::prepare_create(api_version, kind, new),
        Some(old) => builtin::prepare_update(api_version, kind, old, new),
    }
}

fn definition_status(context: &Context<'_>, definition: &Value) -> Value {
    let catalog = context.catalog.catalog();
    let names = |pointer| text(definition, pointer);
    let taken = catalog.name_taken(
        names("/spec/group"),
        names("/spec/names/plural"),
        names("/spec/names/kind"),
        object::name(definition),
    );
    crd::status(definition, taken, &context.clock.text())
}

/// The part of an object that the generation counts: everything but metadata, and status where it is a subresource.
fn content(object: &Value, status_apart: bool) -> Map<String, Value> {
    let mut map = object.as_object().cloned().unwrap_or_default();
    map.remove("metadata");
    map.remove("apiVersion");
    if status_apart {
        map.remove("status");
    }
    map
}
