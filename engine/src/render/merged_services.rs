//! Merges the Services of one component that are one object.
//!
//! A component that exposes its ports and a trait that leads to them (`gateway`, `expose`) each make the Service of the
//! component's name. Applied one after the other, the later would take away what the earlier says, and the earlier would
//! put it back. Fields of both are merged where they agree; where they do not, both stay, and the render refuses them.

use serde_json::{Map, Value as Json};

use super::{RenderedObject, Role};

/// Joins every Service with an earlier one of the same name.
pub(super) fn merge(objects: Vec<RenderedObject>) -> Vec<RenderedObject> {
    let mut kept: Vec<RenderedObject> = Vec::with_capacity(objects.len());
    for later in objects {
        let is_service = later.object["kind"] == "Service" && later.object["apiVersion"] == "v1";
        let key = later.key();
        let earlier = kept.iter_mut().find(|earlier| is_service && earlier.key() == key);
        let Some(earlier) = earlier else {
            kept.push(later);
            continue;
        };
        match both(&earlier.object, &later.object) {
            Some(object) => put(earlier, later, object),
            None => kept.push(later),
        }
    }
    kept
}

/// The joined object is the trait's, whose health policy looks for it by the trait's name for it.
fn put(earlier: &mut RenderedObject, later: RenderedObject, mut object: Json) {
    if matches!(earlier.role, Role::Auxiliary { .. }) && matches!(later.role, Role::Trait { .. }) {
        if let Some(labels) = later.object.pointer("/metadata/labels") {
            object["metadata"]["labels"] = labels.clone();
        }
        earlier.role = later.role;
        earlier.definition = later.definition;
    } else if let Role::Trait { type_, .. } = later.role {
        earlier.patched_by.push(type_);
    }
    earlier.patched_by.extend(later.patched_by);
    earlier.object = object;
}

/// The common content of both Services; nothing where they disagree.
fn both(earlier: &Json, later: &Json) -> Option<Json> {
    let mut object = earlier.clone();
    let nothing = Map::new();
    let spec = |object: &Json| object.get("spec").and_then(Json::as_object).cloned();
    let mut joined = spec(earlier)?;
    for (name, value) in spec(later)? {
        match (joined.get_mut(&name), name.as_str()) {
            (None, _) => {
                joined.insert(name, value);
            }
            (Some(known), "ports") => ports(known.as_array_mut()?, value.as_array()?)?,
            (Some(known), _) if *known == value => {}
            _ => return None,
        }
    }
    object["spec"] = Json::Object(joined);
    let annotations =
        |object: &Json| object.pointer("/metadata/annotations").and_then(Json::as_object).cloned();
    for (name, value) in annotations(later).unwrap_or(nothing) {
        match object.pointer(&format!("/metadata/annotations/{}", pointer(&name))) {
            None => object["metadata"]["annotations"][name] = value,
            Some(known) if *known == value => {}
            Some(_) => return None,
        }
    }
    Some(object)
}

/// A name as one step of a JSON pointer.
fn pointer(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Adds the ports that are not offered yet. A port that is offered already stays as the earlier one says, which is the
/// component's own word on where it leads.
fn ports(known: &mut Vec<Json>, more: &[Json]) -> Option<()> {
    let offered = |port: &Json| {
        let protocol = port.get("protocol").and_then(Json::as_str).unwrap_or("TCP").to_owned();
        Some((port.get("port")?.clone(), protocol))
    };
    for port in more {
        let wanted = offered(port)?;
        if known.iter().any(|port| offered(port).as_ref() == Some(&wanted)) {
            continue;
        }
        if known.iter().any(|other| other.get("name") == port.get("name")) {
            return None;
        }
        known.push(port.clone());
    }
    Some(())
}
