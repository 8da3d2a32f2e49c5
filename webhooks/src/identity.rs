//! An Application and who writes it → the annotations that say whose it is; whatever people wrote there is replaced.

use serde_json::{Map, Value};
use vela_crds::annotations::{GROUP, SERVICE_ACCOUNT_NAME, USERNAME};

use crate::review::{Operation, Review, User};
use crate::verdict::Verdict;

/// The annotations that only admission writes.
pub const STAMPS: [&str; 3] = [USERNAME, GROUP, SERVICE_ACCOUNT_NAME];

/// Groups that the API server gives to everybody of a sort: nobody's own, and `system:masters` may do anything.
const SYSTEM: &str = "system:";

/// Stamps an Application with its author. A write that changes nothing of what its author is answerable for (a
/// finalizer, an owner) keeps the author it had.
pub fn mutate(review: &Review) -> Verdict {
    let mut object = review.object.clone();
    let stamps = match author_stays(review) {
        true => stamps_of(&review.old_object),
        false => stamps(&review.user, review.object_namespace()),
    };
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
        return Verdict::bad_request("metadata", "expected an object");
    };
    let annotations = metadata.entry("annotations").or_insert(Value::Null);
    if annotations.is_null() {
        *annotations = Value::Object(Map::new());
    }
    let Some(annotations) = annotations.as_object_mut() else {
        return Verdict::bad_request("metadata.annotations", "expected a map of strings");
    };
    annotations.retain(|key, _| !STAMPS.contains(&key.as_str()));
    annotations.extend(stamps);
    if annotations.is_empty() {
        match review.object["metadata"].get("annotations") {
            Some(written) if written.as_object().is_none_or(Map::is_empty) => {
                metadata.insert("annotations".to_owned(), written.clone());
            }
            _ => drop(metadata.remove("annotations")),
        }
    }
    Verdict::changed(review, &object)
}

/// Spec, labels and annotations reach what is rendered; the rest of an object does not.
fn author_stays(review: &Review) -> bool {
    let (old, new) = (&review.old_object, &review.object);
    let texts = |object: &Value, field: &str| {
        let mut texts = object["metadata"][field].as_object().cloned().unwrap_or_default();
        texts.retain(|key, _| !STAMPS.contains(&key.as_str()));
        texts
    };
    review.operation == Operation::Update
        && old.is_object()
        && old["spec"] == new["spec"]
        && ["labels", "annotations"].iter().all(|field| texts(old, field) == texts(new, field))
}

fn stamps_of(object: &Value) -> Map<String, Value> {
    let mut annotations = object["metadata"]["annotations"].as_object().cloned().unwrap_or_default();
    annotations.retain(|key, _| STAMPS.contains(&key.as_str()));
    annotations
}

/// What a user is stamped as. A ServiceAccount of another namespace cannot be told by its name alone.
fn stamps(user: &User, namespace: &str) -> Map<String, Value> {
    let mut stamps = Map::new();
    let mut stamp = |key: &str, value: String| {
        if !value.is_empty() {
            stamps.insert(key.to_owned(), Value::String(value));
        }
    };
    stamp(USERNAME, user.username.clone());
    // A comma separates groups, so a group with one in its name would be taken for two.
    let own = |group: &&String| !group.starts_with(SYSTEM) && !group.is_empty() && !group.contains(',');
    stamp(GROUP, user.groups.iter().filter(own).cloned().collect::<Vec<_>>().join(","));
    let account = user.username.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
    if let Some((of, name)) = account
        && of == namespace
    {
        stamp(SERVICE_ACCOUNT_NAME, name.to_owned());
    }
    stamps
}
