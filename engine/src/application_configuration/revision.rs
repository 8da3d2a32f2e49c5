//! Decides which ControllerRevision of a Component to create and which old ones to delete.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};
use vela_crds::labels;

use super::compose::owner_reference;
use super::text;

/// A revision to create, and the status to write on the Component once it exists.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRevision {
    /// `<component>-vN`.
    pub name: String,
    /// N.
    pub number: i64,
    /// The ControllerRevision object.
    pub object: Json,
    /// `status` of the Component.
    pub status: Json,
}

/// Name of the revision a Component calls its latest.
pub fn latest(component: &Json) -> Option<(&str, i64)> {
    let latest = component.get("status")?.get("latestRevision")?;
    Some((latest.get("name")?.as_str()?, latest.get("revision")?.as_i64()?))
}

/// The revision to cut. `stored` is the ControllerRevision the Component calls its latest, if it was found.
pub fn revision(component: &Json, stored: Option<&Json>) -> Option<NewRevision> {
    let spec = component.get("spec");
    let current = latest(component).map_or(0, |(_, number)| number);
    let unchanged = stored.is_some_and(|stored| stored.get("data").and_then(|data| data.get("spec")) == spec);
    if unchanged && current > 0 {
        return None;
    }
    let number = current.saturating_add(1);
    let component_name = text(component, &["metadata", "name"]);
    let name = format!("{component_name}-v{number}");
    let mut status =
        component.get("status").filter(|status| status.is_object()).cloned().unwrap_or_else(|| json!({}));
    status["latestRevision"] = json!({"name": name, "revision": number});
    if let Some(generation) = component.get("metadata").and_then(|metadata| metadata.get("generation")) {
        status["observedGeneration"] = generation.clone();
    }
    let mut data = component.clone();
    data["status"] = status.clone();
    if let Some(metadata) = data.get_mut("metadata").and_then(Json::as_object_mut) {
        metadata.remove("managedFields");
        metadata.remove("resourceVersion");
    }
    // Readers know what is in it, and the era's own writer left it out.
    if let Some(fields) = data.as_object_mut() {
        fields.remove("apiVersion");
        fields.remove("kind");
    }
    let mut metadata = json!({
        "name": name,
        "namespace": text(component, &["metadata", "namespace"]),
        "labels": {labels::CONTROLLER_REVISION_COMPONENT: component_name},
    });
    if let Some(mut owner) = owner_reference(component) {
        // A component may go before its revisions are collected.
        owner.as_object_mut().map(|owner| owner.remove("blockOwnerDeletion"));
        metadata["ownerReferences"] = json!([owner]);
    }
    let object = json!({
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": metadata,
        "revision": number,
        "data": data,
    });
    Some(NewRevision { name, number, object, status })
}

/// Names of the revisions to delete: the oldest beyond `limit` plus every pinned one; pinned ones stay, and so does
/// the latest, which says whether the next one must be cut.
pub fn superfluous(revisions: &[Json], pinned: &BTreeSet<String>, latest: &str, limit: usize) -> Vec<String> {
    let mut surplus = revisions.len().saturating_sub(limit.saturating_add(pinned.len()));
    let mut sorted: Vec<&Json> = revisions.iter().collect();
    sorted.sort_by_key(|revision| revision.get("revision").and_then(Json::as_i64));
    let mut names = Vec::new();
    for revision in sorted {
        let name = text(revision, &["metadata", "name"]);
        if surplus > 0 && !pinned.contains(name) && name != latest {
            names.push(name.to_owned());
            surplus -= 1;
        }
    }
    names
}

/// N of a revision name `<component>-vN`.
pub fn number_of(revision: &str) -> Option<u64> {
    let (component, last) = revision.rsplit_once('-')?;
    last.strip_prefix('v')?.parse().ok().filter(|_| !component.is_empty())
}

/// The component a revision name belongs to: `<component>-vN` without its last part.
pub fn component_of(revision: &str) -> &str {
    revision.rsplit_once('-').map_or(revision, |(component, _)| component)
}
