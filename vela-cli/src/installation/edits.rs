//! A live object and the record of the installation that wrote it → whether a user made it what it is now.

use std::collections::BTreeSet;

use kube::api::DynamicObject;
use serde_json::{Value, json};
use vela_engine::DefinitionKind;

use super::record::{Entry, Id, Record};
use crate::cluster::Cluster;
use crate::error::Result;
use crate::ownership::FIELD_MANAGER;

/// Our controllers: what they write into an object is no edit of a user.
const CONTROLLERS: &str = "vela-core";

/// How a definition came to differ from the one that an installation wrote; nothing where it is still that one.
pub(crate) fn edited(record: Option<&Record>, id: &Id, live: &DynamicObject) -> Option<String> {
    match record.map(|record| record.entry(id)) {
        // A record that names everything does not name it.
        Some(None) => Some(not_installed(live)),
        Some(Some(entry)) if !entry.uid.is_empty() => changed_since(entry, live),
        // No installation ended: who wrote its fields decides.
        Some(Some(_)) | None => {
            if !is_written_by_us(live) {
                return Some(not_installed(live));
            }
            (!managers_of_content(live).is_empty()).then(|| format!("it was edited{}", by(live)))
        }
    }
}

/// Why a definition stays as a user made it; nothing where it is the same as the one that would be written.
pub(crate) async fn reason_to_retain(
    cluster: &Cluster,
    record: Option<&Record>,
    id: &Id,
    object: &Value,
    live: &DynamicObject,
) -> Result<Option<String>> {
    if DefinitionKind::from_kind(&id.kind).is_none() {
        return Ok(None);
    }
    let Some(why) = edited(record, id, live) else { return Ok(None) };
    let (_, after) = cluster.apply(object, true, true).await?;
    Ok((content(live) != content(&after)).then_some(why))
}

/// The object without what API servers and controllers write.
pub(crate) fn content(object: &DynamicObject) -> Value {
    let mut content = json!(object);
    if let Some(fields) = content.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = content.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in ["managedFields", "resourceVersion", "generation", "uid", "creationTimestamp"] {
            metadata.remove(field);
        }
    }
    content
}

fn not_installed(live: &DynamicObject) -> String {
    format!("it was not installed by vela{}", by(live))
}

fn changed_since(entry: &Entry, live: &DynamicObject) -> Option<String> {
    if live.metadata.uid.as_deref() != Some(entry.uid.as_str()) {
        return Some(format!("it was deleted and made anew{}", by(live)));
    }
    // Labels and annotations have no part in it; those of users stay anyway.
    let is_changed = live.metadata.generation.unwrap_or_default() != entry.generation;
    is_changed.then(|| format!("it was edited{}", by(live)))
}

fn by(live: &DynamicObject) -> String {
    let managers: Vec<String> = managers_of_content(live).into_iter().collect();
    if managers.is_empty() { String::new() } else { format!(" (by {})", managers.join(", ")) }
}

/// Does this program own fields of the object?
pub(crate) fn is_written_by_us(live: &DynamicObject) -> bool {
    let mut entries = live.metadata.managed_fields.iter().flatten();
    entries.any(|entry| entry.manager.as_deref() == Some(FIELD_MANAGER))
}

/// Who else wrote fields of the object that a user can write.
pub(crate) fn has_other_writers(live: &DynamicObject) -> bool {
    let mut entries = live.metadata.managed_fields.iter().flatten();
    entries.any(|entry| {
        entry.subresource.as_deref() != Some("status")
            && ![Some(FIELD_MANAGER), Some(CONTROLLERS)].contains(&entry.manager.as_deref())
    })
}

/// Who, beside us, owns fields of its `spec`.
fn managers_of_content(live: &DynamicObject) -> BTreeSet<String> {
    let owns_content = |fields: &Value| fields.get("f:spec").is_some();
    let entries = live.metadata.managed_fields.iter().flatten();
    entries
        .filter(|entry| entry.subresource.is_none())
        .filter(|entry| entry.fields_v1.as_ref().is_some_and(|fields| owns_content(&fields.0)))
        .filter_map(|entry| entry.manager.clone())
        .filter(|manager| manager != FIELD_MANAGER && manager != CONTROLLERS)
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn live(uid: &str, generation: i64, managers: &[&str]) -> DynamicObject {
        let entry = |manager: &&str| {
            json!({"manager": manager, "operation": "Update", "apiVersion": "core.oam.dev/v1beta1",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}})
        };
        let entries: Vec<Value> = managers.iter().map(entry).collect();
        let object = json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "TraitDefinition",
            "metadata": {"name": "a", "uid": uid, "generation": generation, "managedFields": entries}});
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn an_edit_is_known_by_record_or_by_field_managers() {
        let id = Id::of(&json!(live("u", 1, &[])));
        let record = |uid: &str, generation| Record {
            version: String::new(),
            flags: Vec::new(),
            entries: vec![Entry { id: id.clone(), uid: uid.to_owned(), generation }],
        };
        let of = |record: Option<Record>, live: &DynamicObject| edited(record.as_ref(), &id, live);
        let ours = live("u", 2, &[FIELD_MANAGER, CONTROLLERS]);
        assert_eq!(of(Some(record("u", 2)), &ours), None);
        assert_eq!(of(Some(record("u", 1)), &ours).as_deref(), Some("it was edited"));
        assert!(of(Some(record("v", 2)), &ours).unwrap().contains("made anew"));
        assert_eq!((of(None, &ours), of(Some(record("", 0)), &ours)), (None, None));
        let edited_by_user = live("u", 2, &[FIELD_MANAGER, "kubectl-edit"]);
        assert_eq!(of(None, &edited_by_user).as_deref(), Some("it was edited (by kubectl-edit)"));
        let by_helm = of(None, &live("u", 1, &["helm"]));
        assert_eq!(by_helm.as_deref(), Some("it was not installed by vela (by helm)"));
        let empty = Record { version: String::new(), flags: Vec::new(), entries: Vec::new() };
        assert!(of(Some(empty), &ours).unwrap().contains("not installed by vela"));
        assert!(has_other_writers(&edited_by_user) && !has_other_writers(&ours));
    }
}
