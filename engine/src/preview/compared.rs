//! What a preview compares of rendered objects with those that are there: which fields are written by a manifest, which
//! objects are meant, and which are wanted no more.

use std::collections::BTreeSet;

use serde_json::Value as Json;
use vela_crds::labels;

use crate::dry_run;
use crate::render::{Rendered, RenderedComponent, State};

/// The manager that the controller writes as.
pub const CONTROLLER: &str = "vela-core";
/// Metadata that the server or the controller writes, and no manifest.
const NOT_WRITTEN: [&str; 8] = [
    "managedFields",
    "resourceVersion",
    "generation",
    "uid",
    "creationTimestamp",
    "ownerReferences",
    "finalizers",
    "selfLink",
];
/// What the controller adds to labels and annotations while it applies.
const OF_CONTROLLER: [&str; 2] = ["app.oam.dev/", "oam.dev/"];

/// The object without what no manifest writes.
pub fn written_fields(object: &Json) -> Json {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        NOT_WRITTEN.iter().for_each(|name| drop(metadata.remove(*name)));
    }
    object
}

/// Labels and annotations that a render for a preview leaves open become as they are in the live object.
pub fn as_controller_writes(object: &mut Json, live: &Json) {
    for map in ["labels", "annotations"] {
        let Some(found) = live["metadata"][map].as_object() else { continue };
        for (name, value) in
            found.iter().filter(|(name, _)| OF_CONTROLLER.iter().any(|ours| name.starts_with(ours)))
        {
            let written = &object["metadata"][map][name];
            if written.is_null() || *written == "" {
                object["metadata"][map][name] = value.clone();
            }
        }
    }
    for field in ["ownerReferences", "finalizers"] {
        if let Some(found) = live["metadata"].get(field) {
            object["metadata"][field] = found.clone();
        }
    }
}

/// An object that an application made, as its status names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// Its API version.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace; empty for that of the application, or for none.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// What an application would make by a render, against what is there of it.
#[derive(Debug)]
pub struct Made {
    /// The objects that it would make.
    pub objects: Vec<Json>,
    /// The components that wait for values of others: what they make then is not known.
    pub open: BTreeSet<String>,
    /// The objects that it made before and would make no more, unless a component that waits makes them.
    pub left_out: Vec<Reference>,
}

impl Made {
    /// `live` is the application that is stored; null where there is none.
    pub fn new(rendered: &Rendered, live: &Json) -> Self {
        let app = rendered.app_file();
        let namespace = app.document().namespace();
        let objects = dry_run::list(rendered)["items"].as_array().cloned().unwrap_or_default();
        let described: BTreeSet<_> =
            objects.iter().map(|object| key(object, "/metadata", namespace)).collect();
        let is_open = |component: &&RenderedComponent| {
            !matches!(component.state, State::Ready(_)) || !component.deferred.is_empty()
        };
        let open = rendered.components().iter().filter(is_open);
        let open = open.map(|component| app.components()[component.index].name.clone()).collect();
        let applied = live.pointer("/status/appliedResources").and_then(Json::as_array);
        let gone = applied.into_iter().flatten().filter(|one| !described.contains(&key(one, "", namespace)));
        Self { left_out: gone.map(Reference::of).collect(), objects, open }
    }

    /// Would the application make this object no more? `live` is what is there of a [`Reference`] of `left_out`.
    pub fn is_left_out(&self, live: &Json) -> bool {
        let component = &live["metadata"]["labels"][labels::APP_COMPONENT];
        !component.as_str().is_some_and(|name| self.open.contains(name))
    }
}

impl Reference {
    fn of(value: &Json) -> Self {
        let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        Self {
            api_version: text("apiVersion"),
            kind: text("kind"),
            namespace: text("namespace"),
            name: text("name"),
        }
    }
}

/// Kind, namespace and name. The version is none of it: an object is the same in all.
fn key(object: &Json, at: &str, namespace: &str) -> (String, String, String) {
    let text = |path: &str| object.pointer(path).and_then(Json::as_str).unwrap_or_default();
    let group = text("/apiVersion").rsplit_once('/').map_or("", |(group, _)| group);
    let place = Some(text(&format!("{at}/namespace"))).filter(|name| !name.is_empty()).unwrap_or(namespace);
    let kind = format!("{}.{group}", text("/kind"));
    (kind, place.to_owned(), text(&format!("{at}/name")).to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_no_manifest_writes_is_no_difference() {
        let object = json!({"kind": "A", "metadata": {"name": "a", "uid": "b"}, "status": {}, "data": {}});
        assert_eq!(written_fields(&object), json!({"kind": "A", "metadata": {"name": "a"}, "data": {}}));
        let mut made = json!({"metadata": {"labels": {"app.oam.dev/revision": ""}}});
        let live =
            json!({"metadata": {"labels": {"app.oam.dev/revision": "r", "other": "o"}, "finalizers": ["f"]}});
        as_controller_writes(&mut made, &live);
        let expected = json!({"metadata": {"labels": {"app.oam.dev/revision": "r"}, "finalizers": ["f"]}});
        assert_eq!(made, expected);
    }
}
