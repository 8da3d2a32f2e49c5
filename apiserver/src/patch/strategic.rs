//! Strategic merge patch: (target, patch, kind) → patched object; lists merge by the keys of the kind's types.
//!
//! Directives: `$patch` (replace, delete, merge), `$retainKeys`, `$setElementOrder/<field>` and
//! `$deleteFromPrimitiveList/<field>`. The merge keys come from [`crate::builtin::types`].
use serde_json::{Map, Value};

use super::Error;
use crate::builtin::types::{self, Field, Struct, Type};

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ORDER: &str = "$setElementOrder/";
const DELETE_PRIMITIVES: &str = "$deleteFromPrimitiveList/";
/// Objects nested deeper than this are refused; no built-in kind comes near, and the stack stays small.
const MAX_DEPTH: usize = 128;

/// Applies the patch to an object of a built-in kind.
pub(crate) fn apply(target: &Value, patch: &Value, api_version: &str, kind: &str) -> Result<Value, Error> {
    let (Some(target), Some(patch)) = (target.as_object(), patch.as_object()) else {
        return Err(Error::bad_request(
            "error decoding patch: a strategic merge patch must be a JSON object",
        ));
    };
    let ty = types::table()
        .kind_type(api_version, kind)
        .ok_or_else(|| Error::bad_request(format!("{api_version} {kind} has no strategic merge patch")))?;
    Ok(Value::Object(merge_map(target, patch, ty, 0)?))
}

fn struct_of(ty: &Type) -> Option<&'static Struct> {
    match ty {
        Type::Struct(at) => types::table().get(*at),
        _ => None,
    }
}

/// The type of a field and how it is patched.
fn field_of<'a>(ty: &'a Type, name: &str) -> (Option<&'static Field>, &'a Type) {
    static ANY: Type = Type::Any;
    match ty {
        Type::Struct(_) => {
            let field = struct_of(ty).and_then(|s| s.field(name));
            (field, field.map_or(&ANY, |f| &f.ty))
        }
        Type::Map(inner) => (None, inner),
        _ => (None, &ANY),
    }
}

fn merge_map(
    target: &Map<String, Value>,
    patch: &Map<String, Value>,
    ty: &Type,
    depth: usize,
) -> Result<Map<String, Value>, Error> {
    if depth > MAX_DEPTH {
        return Err(Error::bad_request(format!("the patch is nested deeper than {MAX_DEPTH} levels")));
    }
    match patch.get(PATCH) {
        None => {}
        Some(Value::String(directive)) => match directive.as_str() {
            "replace" => return Ok(without_directives(patch)),
            "delete" => return Ok(Map::new()),
            "merge" => {}
            other => return Err(Error::bad_request(format!("Unknown patch type found: {other}"))),
        },
        Some(_) => return Err(Error::bad_request("Unknown patch type found: $patch must be a string")),
    }
    let mut out = target.clone();
    if let Some(keep) = patch.get(RETAIN_KEYS) {
        retain_keys(&mut out, patch, keep)?;
    }
    for (key, value) in patch {
        if let Some(field) = key.strip_prefix(DELETE_PRIMITIVES) {
            delete_primitives(&mut out, field, value)?;
        }
    }
    for (key, value) in patch {
        if is_directive(key) {
            continue;
        }
        if value.is_null() {
            out.remove(key);
            continue;
        }
        let (field, inner) = field_of(ty, key);
        let merged = match (out.get(key), value) {
            (Some(Value::Object(old)), Value::Object(new)) => {
                Value::Object(merge_map(old, new, inner, depth + 1)?)
            }
            (None | Some(Value::Null), Value::Object(new)) => {
                // Deletions of what is not there vanish; what remains is taken.
                Value::Object(merge_map(&Map::new(), new, inner, depth + 1)?)
            }
            (Some(Value::Array(old)), Value::Array(new)) if field.is_some_and(|f| f.patch.merge) => {
                let merge_key = field.and_then(|f| f.patch.key.as_deref());
                Value::Array(merge_list(old, new, merge_key, inner, depth + 1)?)
            }
            (_, Value::Array(new)) => Value::Array(plain_list(new)),
            (_, other) => other.clone(),
        };
        out.insert(key.clone(), merged);
    }
    for (key, order) in patch {
        let Some(name) = key.strip_prefix(SET_ORDER) else { continue };
        let (field, _) = field_of(ty, name);
        let merge_key = field.and_then(|f| f.patch.key.as_deref());
        let order = order.as_array().ok_or_else(|| Error::bad_request(format!("{key} must be a list")))?;
        if let Some(Value::Array(items)) = patch.get(name) {
            check_order(items, order, merge_key)?;
        }
        if let Some(Value::Array(list)) = out.get(name) {
            let before = target.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let sorted = in_order(list.clone(), order, before, merge_key);
            out.insert(name.to_owned(), Value::Array(sorted));
        }
    }
    Ok(out)
}

fn is_directive(key: &str) -> bool {
    key == PATCH || key == RETAIN_KEYS || key.starts_with(SET_ORDER) || key.starts_with(DELETE_PRIMITIVES)
}

fn without_directives(map: &Map<String, Value>) -> Map<String, Value> {
    map.iter()
        .filter(|(key, value)| !is_directive(key) && !value.is_null())
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// A list taken whole from the patch: elements that are only directives are not data.
fn plain_list(list: &[Value]) -> Vec<Value> {
    list.iter()
        .filter(|item| item.get(PATCH).is_none())
        .map(|item| match item {
            Value::Object(map) => Value::Object(without_directives(map)),
            other => other.clone(),
        })
        .collect()
}

fn retain_keys(out: &mut Map<String, Value>, patch: &Map<String, Value>, keep: &Value) -> Result<(), Error> {
    let keep: Vec<&str> = keep
        .as_array()
        .map(|list| list.iter().filter_map(Value::as_str).collect())
        .ok_or_else(|| Error::bad_request("$retainKeys must be a list of field names"))?;
    if let Some(stray) =
        patch.iter().find(|(k, v)| !is_directive(k) && !v.is_null() && !keep.contains(&k.as_str()))
    {
        return Err(Error::bad_request(format!(
            "$retainKeys must name every field of the patch, but not {}",
            stray.0
        )));
    }
    out.retain(|key, _| keep.contains(&key.as_str()));
    Ok(())
}

fn delete_primitives(out: &mut Map<String, Value>, field: &str, gone: &Value) -> Result<(), Error> {
    let gone = gone
        .as_array()
        .ok_or_else(|| Error::bad_request(format!("{DELETE_PRIMITIVES}{field} must be a list")))?;
    if let Some(Value::Array(list)) = out.get_mut(field) {
        list.retain(|item| !gone.contains(item));
    }
    Ok(())
}

fn merge_list(
    old: &[Value],
    new: &[Value],
    merge_key: Option<&str>,
    ty: &Type,
    depth: usize,
) -> Result<Vec<Value>, Error> {
    let item_type = match ty {
        Type::List(inner) => inner.as_ref(),
        other => other,
    };
    let Some(merge_key) = merge_key else {
        let mut out = old.to_vec();
        for item in new {
            if !out.contains(item) {
                out.push(item.clone());
            }
        }
        return Ok(in_order(out, new, old, None));
    };
    if new.iter().any(|item| item.get(PATCH).and_then(Value::as_str) == Some("replace")) {
        return Ok(plain_list(new));
    }
    let mut out = old.to_vec();
    let mut kept = Vec::with_capacity(new.len());
    for item in new {
        let map = item.as_object().ok_or_else(|| {
            Error::bad_request(format!("a list merged by {merge_key:?} may hold only objects"))
        })?;
        let key = map.get(merge_key).ok_or_else(|| {
            Error::unprocessable(format!("map: {item} does not contain declared merge key: {merge_key}"))
        })?;
        if map.get(PATCH).and_then(Value::as_str) == Some("delete") {
            out.retain(|o| o.get(merge_key) != Some(key));
            continue;
        }
        let found = out.iter().position(|o| o.get(merge_key) == Some(key));
        let before = found.and_then(|i| out.get(i)).and_then(Value::as_object).cloned().unwrap_or_default();
        let merged = Value::Object(merge_map(&before, map, item_type, depth + 1)?);
        match found.and_then(|i| out.get_mut(i)) {
            Some(slot) => *slot = merged,
            None => out.push(merged),
        }
        kept.push(item.clone());
    }
    Ok(in_order(out, &kept, old, Some(merge_key)))
}

fn same(a: &Value, b: &Value, merge_key: Option<&str>) -> bool {
    match merge_key {
        Some(key) => a.get(key).is_some() && a.get(key) == b.get(key),
        None => a == b,
    }
}

/// The items of a patch must come in the order it asks for.
fn check_order(items: &[Value], order: &[Value], merge_key: Option<&str>) -> Result<(), Error> {
    let kept = items.iter().filter(|item| item.get(PATCH).is_none());
    let places: Vec<Option<usize>> =
        kept.map(|item| order.iter().position(|o| same(o, item, merge_key))).collect();
    if places.contains(&None) || !places.is_sorted() {
        let (items, order) = (Value::from(items), Value::from(order));
        return Err(Error::bad_request(format!(
            "the order in the patch list {items} does not match the {SET_ORDER} list {order}"
        )));
    }
    Ok(())
}

/// Items named in `order` come in that order; the others keep their place among them as in `before`.
fn in_order(list: Vec<Value>, order: &[Value], before: &[Value], merge_key: Option<&str>) -> Vec<Value> {
    let place = |item: &Value, list: &[Value]| list.iter().position(|o| same(o, item, merge_key));
    let (mut named, others): (Vec<Value>, Vec<Value>) =
        list.into_iter().partition(|item| place(item, order).is_some());
    named.sort_by_key(|item| place(item, order));
    let mut out = Vec::with_capacity(named.len() + others.len());
    let mut others = others.into_iter().peekable();
    let mut named = named.into_iter().peekable();
    while let (Some(other), Some(next)) = (others.peek(), named.peek()) {
        let earlier = matches!((place(other, before), place(next, before)), (Some(a), Some(b)) if a < b);
        out.extend(if earlier { others.next() } else { named.next() });
    }
    out.extend(named);
    out.extend(others);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin;

    #[test]
    fn directives_do_what_the_real_server_makes_of_them() {
        let recorded: Value = serde_json::from_str(include_str!("../../tests/data/strategic.json")).unwrap();
        let live = &recorded["live"];
        let mut wrong = Vec::new();
        for case in recorded["cases"].as_array().unwrap() {
            let name = case["name"].as_str().unwrap();
            if let Some(known) = case.get("known") {
                println!("known difference: {name}: {known}");
                continue;
            }
            let ours = apply(live, &case["patch"], "apps/v1", "Deployment");
            match (ours, case["code"] == 200) {
                (Ok(mut object), true) => {
                    builtin::prune("apps/v1", "Deployment", &mut object);
                    builtin::apply_defaults("apps/v1", "Deployment", &mut object);
                    let metadata = ["labels", "finalizers"]
                        .map(|f| object["metadata"].get(f).filter(|v| **v != serde_json::json!({})).cloned());
                    let theirs = ["labels", "finalizers"].map(|f| case["metadata"].get(f).cloned());
                    if object["spec"] != case["spec"] {
                        let diff = json_patch::diff(&case["spec"], &object["spec"]);
                        wrong.push(format!("{name}: {}", serde_json::json!(diff)));
                    } else if metadata != theirs {
                        wrong.push(format!("{name}: ours {metadata:?} theirs {theirs:?}"));
                    }
                }
                (Err(_), false) => {}
                (Ok(_), false) => wrong.push(format!("{name}: taken, but {}", case["message"])),
                (Err(error), true) => wrong.push(format!("{name}: refused: {error}")),
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
