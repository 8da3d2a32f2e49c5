//! A pod and the newest template of its workload → the pod with new images, where nothing else has changed (OpenKruise).
use jiff::Timestamp;
use serde_json::{Value, json};

use super::object::{set, stamp, text};
use super::{Action, View, revision};

/// Where a pod reports its last change in place.
const IN_PLACE_STATE: &str = "apps.kruise.io/inplace-update-state";

/// The write that makes a pod new without replacing it, where only images, labels and annotations have changed.
pub(super) fn changed(
    view: &dyn View,
    owner: &Value,
    pod: &Value,
    newest: &str,
    now: Timestamp,
) -> Option<Action> {
    let new = owner.pointer("/spec/template")?;
    let was = text(pod, "/metadata/labels/controller-revision-hash");
    let old = revision::template(view, owner, was)?;
    if without_what_may_change(&old) != without_what_may_change(new) {
        return None;
    }
    let mut next = pod.clone();
    // Its status is written in the same step, which must not refuse this write.
    if let Some(metadata) = next.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("resourceVersion");
    }
    let image_of = |name: &str| {
        let containers = new.pointer("/spec/containers").and_then(Value::as_array);
        containers.into_iter().flatten().find(|c| text(c, "/name") == name).map(|c| c["image"].clone())
    };
    for container in next.pointer_mut("/spec/containers").and_then(Value::as_array_mut)? {
        if let Some(image) = image_of(text(container, "/name")) {
            set(container, &["image"], image);
        }
    }
    for field in ["labels", "annotations"] {
        let values = new.pointer(&format!("/metadata/{field}")).and_then(Value::as_object);
        for (name, value) in values.into_iter().flatten() {
            set(&mut next, &["metadata", field, name], value.clone());
        }
    }
    let state = json!({"revision": newest, "updateTimestamp": stamp(now)});
    set(&mut next, &["metadata", "annotations", IN_PLACE_STATE], state.to_string().into());
    set(&mut next, &["metadata", "labels", "controller-revision-hash"], newest.into());
    Some(Action::Update { resource: "pods".to_owned(), object: next })
}

/// A template without images, labels and annotations.
fn without_what_may_change(template: &Value) -> Value {
    let mut left = template.get("spec").cloned().unwrap_or(Value::Null);
    let containers = left.pointer_mut("/containers").and_then(Value::as_array_mut);
    for container in containers.into_iter().flatten().filter_map(Value::as_object_mut) {
        container.remove("image");
    }
    left
}
