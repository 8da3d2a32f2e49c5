//! Changes single fields of an object as a program does that writes by server-side apply only and under one name.
//!
//! Finds in `metadata.managedFields` which fields are its own, and claims more of them. A change of one field applies what
//! the program owns already ([`owned`]) with that one change: what an apply does not mention is given up. Where a program
//! wrote by updates under the same name before, the server takes that for another writer; [`claim`] makes one of both.

use kube::ResourceExt as _;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Map, Value, json};

use crate::api::Api;

/// How managed fields name an apply, and an update.
const APPLY: &str = "Apply";
const UPDATE: &str = "Update";
/// Steps from an object to one of its fields.
pub type Path<'a> = &'a [&'a str];
/// `fieldsV1` says with this key that the value itself belongs to its writer, beside parts of it.
const ITSELF: &str = ".";
/// Objects nested deeper than this are refused by API servers long before.
const DEEPEST: usize = 128;
/// How often a change is tried again when another writer (mostly a controller that reports) wrote the object meanwhile.
const TRIES_AT_MOST: usize = 10;

/// Changes a few fields of an object that exists, as `manager`: gives each its value, or takes it away from its writer. It
/// is written by server-side apply, so that applies of the same manager can follow in any order.
///
/// # Errors
/// The answer of the API server; a conflict (409) where other writers were faster each time.
pub async fn change(
    api: &Api<DynamicObject>,
    name: &str,
    fields: &[(Path<'_>, Option<Value>)],
    manager: &str,
) -> Result<DynamicObject, kube::Error> {
    let mut tries = 0;
    loop {
        tries += 1;
        match write(api, name, fields, manager).await {
            // Force leaves only one kind of conflict: the object was written between our look and our write.
            Err(kube::Error::Api(status)) if status.code == 409 && tries < TRIES_AT_MOST => {}
            outcome => return outcome,
        }
    }
}

/// One try, which is refused when the object is written meanwhile.
async fn write(
    api: &Api<DynamicObject>,
    name: &str,
    fields: &[(Path<'_>, Option<Value>)],
    manager: &str,
) -> Result<DynamicObject, kube::Error> {
    let taken: Vec<Path<'_>> = fields.iter().map(|(path, _)| *path).collect();
    let object = claimed(api, api.get(name).await?, &taken, manager).await?;
    let mut owned = owned(&json!(object), &entries(&object), manager);
    for (path, value) in fields {
        set(&mut owned, path, value.clone());
    }
    set(&mut owned, &["metadata", "resourceVersion"], object.resource_version().map(Value::from));
    let params = PatchParams { force: true, ..PatchParams::apply(manager) };
    api.patch(name, &params, &Patch::Apply(&owned)).await
}

/// The object with every field that the manager wrote, and those at `taken`, recorded as applied by it.
///
/// # Errors
/// The answer of the API server.
pub async fn claimed(
    api: &Api<DynamicObject>,
    object: DynamicObject,
    taken: &[Path<'_>],
    manager: &str,
) -> Result<DynamicObject, kube::Error> {
    let Some(entries) = claim(&entries(&object), taken, manager) else { return Ok(object) };
    let patch = json!({"metadata": {"resourceVersion": object.resource_version(), "managedFields": entries}});
    let params = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
    api.patch(&object.name_any(), &params, &Patch::Merge(&patch)).await
}

/// Who wrote which fields of an object.
fn entries(object: &DynamicObject) -> Vec<Value> {
    object.metadata.managed_fields.iter().flatten().map(|entry| json!(entry)).collect()
}

/// The entries with everything that the manager wrote by update in the entry of what it applied, and with the fields at `taken`
/// (and below) moved there from every other writer; nothing when that changes nothing.
fn claim(entries: &[Value], taken: &[Path<'_>], manager: &str) -> Option<Vec<Value>> {
    let mut ours = entries.iter().find(|entry| is_ours(entry, manager, APPLY)).cloned();
    let mut fields = ours.as_ref().map(fields).unwrap_or_default();
    let mut others = Vec::new();
    let mut is_changed = false;
    for entry in entries.iter().filter(|entry| !is_ours(entry, manager, APPLY)) {
        let mut entry = entry.clone();
        if is_ours(&entry, manager, UPDATE) {
            merge(&mut fields, &self::fields(&entry), 0);
            ours.get_or_insert(entry);
            is_changed = true;
            continue;
        }
        let mut theirs = self::fields(&entry);
        if text(&entry, "/subresource").is_empty() {
            for path in taken {
                is_changed |= move_field(&mut theirs, &mut fields, path);
            }
        }
        if !theirs.is_empty() {
            entry["fieldsV1"] = Value::Object(theirs);
            others.push(entry);
        }
    }
    if !is_changed {
        return None;
    }
    let mut ours = ours.or_else(|| entries.first().cloned())?;
    // The entry that it is made of may be of a report about the object, which is another matter.
    ours.as_object_mut()?.remove("subresource");
    ours["manager"] = manager.into();
    ours["operation"] = APPLY.into();
    ours["fieldsV1"] = Value::Object(fields);
    others.push(ours);
    Some(others)
}

/// What an object holds of the fields that the manager applied: the object which, applied again, changes nothing.
fn owned(object: &Value, entries: &[Value], manager: &str) -> Value {
    let fields = entries.iter().find(|entry| is_ours(entry, manager, APPLY)).map(fields).unwrap_or_default();
    let mut owned = if fields.is_empty() { Value::Object(Map::new()) } else { part(object, &fields, 0) };
    for pointer in ["/apiVersion", "/kind", "/metadata/name", "/metadata/namespace"] {
        let value = text(object, pointer);
        if !value.is_empty() {
            let path: Vec<&str> = pointer.split('/').skip(1).collect();
            set(&mut owned, &path, Some(value.into()));
        }
    }
    owned
}

/// Sets the field at `path`, with the objects on the way to it, or takes it away.
pub fn set(object: &mut Value, path: Path<'_>, value: Option<Value>) {
    let Some((last, parents)) = path.split_last() else { return };
    let mut at = object;
    for parent in parents {
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        if value.is_none() && at.get(parent).is_none() {
            return;
        }
        at = &mut at[*parent];
    }
    match (value, at) {
        (Some(value), at) => {
            if !at.is_object() {
                *at = Value::Object(Map::new());
            }
            at[*last] = value;
        }
        (None, Value::Object(at)) => {
            at.remove(*last);
        }
        (None, _) => {}
    }
}

/// Did the manager write this entry in this way, through the object itself?
fn is_ours(entry: &Value, manager: &str, operation: &str) -> bool {
    text(entry, "/manager") == manager
        && text(entry, "/operation") == operation
        && text(entry, "/subresource").is_empty()
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn fields(entry: &Value) -> Map<String, Value> {
    entry.get("fieldsV1").and_then(Value::as_object).cloned().unwrap_or_default()
}

/// Adds the fields of `more`.
fn merge(into: &mut Map<String, Value>, more: &Map<String, Value>, depth: usize) {
    if depth == DEEPEST {
        return;
    }
    for (key, below) in more {
        match (into.get_mut(key).and_then(Value::as_object_mut), below.as_object()) {
            (Some(mine), Some(below)) => merge(mine, below, depth + 1),
            _ => {
                into.insert(key.clone(), below.clone());
            }
        }
    }
}

/// Moves what is at `path` from one writer's fields to another's; whether there was anything.
fn move_field(from: &mut Map<String, Value>, to: &mut Map<String, Value>, path: Path<'_>) -> bool {
    let Some((first, rest)) = path.split_first() else { return false };
    let key = format!("f:{first}");
    let Some(below) = from.get_mut(&key).and_then(Value::as_object_mut) else { return false };
    let mine = to.entry(&key).or_insert_with(|| Value::Object(Map::new()));
    let Some(mine) = mine.as_object_mut() else { return false };
    if rest.is_empty() {
        merge(mine, below, 0);
        from.remove(&key);
        return true;
    }
    let is_moved = move_field(below, mine, rest);
    // An empty set would say that the whole value belongs to its writer.
    if below.is_empty() {
        from.remove(&key);
    }
    if mine.is_empty() {
        to.remove(&key);
    }
    is_moved
}

/// The part of a value that `fields` names.
fn part(value: &Value, fields: &Map<String, Value>, depth: usize) -> Value {
    let names_parts = fields.keys().any(|key| key != ITSELF);
    match value {
        _ if fields.is_empty() || depth == DEEPEST => value.clone(),
        Value::Object(object) => {
            let named = |(key, below): (&String, &Value)| {
                let name = key.strip_prefix("f:")?;
                Some((name.to_owned(), part(object.get(name)?, below.as_object()?, depth + 1)))
            };
            Value::Object(fields.iter().filter_map(named).collect())
        }
        Value::Array(items) if names_parts => {
            let of_item = |(index, item): (usize, &Value)| {
                let (_, below) = fields.iter().find(|(key, _)| is_item(key, index, item))?;
                Some(part(item, below.as_object()?, depth + 1))
            };
            Value::Array(items.iter().enumerate().filter_map(of_item).collect())
        }
        Value::Array(_) => Value::Array(Vec::new()),
        scalar => scalar.clone(),
    }
}

/// Does a key of `fieldsV1` name this item of a list: by its keys, its value or its place?
fn is_item(key: &str, index: usize, item: &Value) -> bool {
    let Some((how, what)) = key.split_once(':') else { return false };
    let what = serde_json::from_str::<Value>(what).unwrap_or_default();
    match (how, &what) {
        ("k", Value::Object(keys)) => keys.iter().all(|(name, value)| item.get(name) == Some(value)),
        ("v", value) => item == value,
        ("i", place) => place.as_u64() == u64::try_from(index).ok(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: &str = "vela-cli";

    fn entry(manager: &str, operation: &str, fields: Value) -> Value {
        json!({"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields})
    }

    #[test]
    fn what_we_updated_becomes_what_we_applied() {
        let applied = entry("vela-cli", "Apply", json!({"f:data": {".": {}, "f:a": {}}}));
        let updated = entry("vela-cli", "Update", json!({"f:data": {"f:a": {}, "f:b": {}}}));
        let other = entry("kubectl", "Update", json!({"f:data": {"f:b": {}, "f:c": {}}}));
        let both = entry("vela-cli", "Apply", json!({"f:data": {".": {}, "f:a": {}, "f:b": {}}}));
        let claimed = claim(&[applied.clone(), updated.clone(), other.clone()], &[], US);
        assert_eq!(claimed, Some(vec![other.clone(), both]));
        let alone = entry("vela-cli", "Apply", json!({"f:data": {"f:a": {}, "f:b": {}}}));
        assert_eq!(claim(&[updated], &[], US), Some(vec![alone]));
        assert_eq!(claim(&[applied, other], &[], US), None, "nothing to do");
        let status = json!({"manager": "vela-cli", "operation": "Update", "subresource": "status", "fieldsV1": {"f:status": {}}});
        assert_eq!(claim(&[status], &[], US), None, "another door is another matter");
    }

    #[test]
    fn what_is_to_go_is_taken_from_everybody() {
        let other = entry("kubectl", "Update", json!({"f:spec": {"f:plan": {"f:paused": {}}, "f:name": {}}}));
        let claimed = claim(&[other], &[&["spec", "plan", "paused"]], US);
        let left = entry("kubectl", "Update", json!({"f:spec": {"f:name": {}}}));
        let ours = entry("vela-cli", "Apply", json!({"f:spec": {"f:plan": {"f:paused": {}}}}));
        assert_eq!(claimed, Some(vec![left, ours]));
        let whole = entry("kubectl", "Update", json!({"f:spec": {"f:plan": {".": {}}}}));
        let ours = entry("vela-cli", "Apply", json!({"f:spec": {"f:plan": {".": {}}}}));
        assert_eq!(claim(&[whole], &[&["spec"]], US), Some(vec![ours]));
    }

    #[test]
    fn what_is_taken_is_ours_though_a_report_stands_first() {
        let report = json!({"manager": "core", "operation": "Update", "subresource": "status", "fieldsV1": {"f:status": {}}});
        let other = entry("kubectl", "Update", json!({"f:spec": {"f:paused": {}}}));
        let claimed = claim(&[report.clone(), other], &[&["spec", "paused"]], US).unwrap();
        assert_eq!(claimed[0], report);
        assert!(is_ours(&claimed[1], US, APPLY), "{}", claimed[1]);
        assert_eq!(fields(&claimed[1]), *json!({"f:spec": {"f:paused": {}}}).as_object().unwrap());
    }

    #[test]
    fn applying_what_is_owned_changes_nothing() {
        let object = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "b", "uid": "c", "labels": {"d": "e", "f": "g"}},
            "spec": {"containers": [{"name": "x", "image": "i", "tty": true}, {"name": "y"}], "list": [1, 2], "set": ["p", "q"], "no": {}},
        });
        let fields = json!({
            "f:metadata": {"f:labels": {"f:d": {}, "f:gone": {}}},
            "f:spec": {
                "f:containers": {r#"k:{"name":"x"}"#: {".": {}, "f:name": {}, "f:image": {}}},
                "f:list": {}, "f:set": {r#"v:"q""#: {}}, "f:no": {},
            },
        });
        let owned = owned(&object, &[entry("vela-cli", "Apply", fields)], US);
        let expected = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "b", "labels": {"d": "e"}},
            "spec": {"containers": [{"name": "x", "image": "i"}], "list": [1, 2], "set": ["q"], "no": {}},
        });
        assert_eq!(owned, expected);
    }

    #[test]
    fn fields_are_set_and_taken_away() {
        let mut object = json!({"a": {"b": 1}});
        set(&mut object, &["a", "c", "d"], Some(json!(2)));
        set(&mut object, &["a", "b"], None);
        set(&mut object, &["x", "y"], None);
        assert_eq!(object, json!({"a": {"c": {"d": 2}}}));
    }
}
