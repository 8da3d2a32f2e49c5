//! Typed walks over objects: the field set of an object, the difference of two, their merge, and removal of a set.
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::node::{Node, Shape};
use super::set::{Element, Set, path_text};

/// Applied objects nested deeper than this are refused, so that the walks below stay within the stack.
pub(crate) const MAX_DEPTH: usize = 200;

/// The fields an object sets; lists and objects merged as a whole count as one field.
pub(crate) fn field_set(node: &Node<'_>, value: &Value) -> Set {
    let mut out = Set::default();
    match (node.shape(value), value) {
        (Shape::Leaf, _) | (Shape::Object, Value::String(_) | Value::Number(_) | Value::Bool(_)) => {
            out.member = true;
        }
        (Shape::Object, Value::Object(map)) => {
            for (name, inner) in map {
                let (child, declared) = node.field(name).unwrap_or((Node::Deduced, false));
                let mut set = field_set(&child, inner);
                let hollow = inner.is_null() || inner.as_object().is_some_and(Map::is_empty);
                set.member |= hollow || !declared;
                if !set.is_empty() {
                    out.children.insert(Element::Field(name.clone()), set);
                }
            }
        }
        (Shape::Set(_), Value::Array(list)) => {
            for item in list {
                out.children.entry(Element::Value(item.clone())).or_default().member = true;
            }
        }
        (Shape::Keyed(keys, item_node), Value::Array(list)) => {
            for item in list {
                if let Ok(key) = item_node.key_of(keys, item) {
                    let mut set = field_set(&item_node, item);
                    set.member = true;
                    let slot = out.children.entry(key).or_default();
                    *slot = slot.union(&set);
                }
            }
        }
        _ => {}
    }
    out
}

/// The fields of one object that the other lacks, and those that differ.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    pub(crate) added: Set,
    pub(crate) modified: Set,
    pub(crate) removed: Set,
}

/// Compares two objects of one type.
pub(crate) fn compare(node: &Node<'_>, before: &Value, after: &Value) -> Comparison {
    let mut out = Comparison::default();
    compare_at(node, Some(before), Some(after), &mut Vec::new(), &mut out);
    out
}

fn is_hollow(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::Array(list)) => list.is_empty(),
        Some(Value::Object(map)) => map.is_empty(),
        Some(_) => false,
    }
}

fn compare_leaf(before: Option<&Value>, after: Option<&Value>, path: &[Element], out: &mut Comparison) {
    match (before, after) {
        (None, _) => out.added.insert(path),
        (_, None) => out.removed.insert(path),
        (Some(a), Some(b)) if a != b => out.modified.insert(path),
        _ => {}
    }
}

fn compare_at(
    node: &Node<'_>,
    before: Option<&Value>,
    after: Option<&Value>,
    path: &mut Vec<Element>,
    out: &mut Comparison,
) {
    let Some(sample) = after.or(before) else { return };
    // A value that changed its kind is compared as what it is now.
    let shape = match (node.shape(sample), before, after) {
        (Shape::Leaf, Some(b), Some(_)) if b.is_object() => {
            if let Shape::Object = node.shape(b) {
                compare_children(node, Some(b), None, path, out);
            }
            Shape::Leaf
        }
        (shape, ..) => shape,
    };
    if matches!(shape, Shape::Leaf) || (is_hollow(before) && is_hollow(after)) {
        compare_leaf(before, after, path, out);
        return;
    }
    compare_children(node, before, after, path, out);
    if !path.is_empty() {
        match (before, after) {
            (None, _) => out.added.insert(path),
            (_, None) => out.removed.insert(path),
            _ => {}
        }
    }
}

fn compare_children(
    node: &Node<'_>,
    before: Option<&Value>,
    after: Option<&Value>,
    path: &mut Vec<Element>,
    out: &mut Comparison,
) {
    let Some(sample) = after.filter(|v| !v.is_null()).or(before) else { return };
    match node.shape(sample) {
        Shape::Leaf => {}
        Shape::Object => {
            let none = Map::new();
            let a = before.and_then(Value::as_object).unwrap_or(&none);
            let b = after.and_then(Value::as_object).unwrap_or(&none);
            let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for name in names {
                let (child, _) = node.field(name).unwrap_or((Node::Deduced, false));
                path.push(Element::Field(name.clone()));
                compare_at(&child, a.get(name), b.get(name), path, out);
                path.pop();
            }
        }
        Shape::Set(item) => {
            compare_items(&item, before, after, path, out, &|v| Some(Element::Value(v.clone())))
        }
        Shape::Keyed(keys, item) => {
            compare_items(&item, before, after, path, out, &|v| item.key_of(keys, v).ok());
        }
    }
}

fn compare_items(
    item: &Node<'_>,
    before: Option<&Value>,
    after: Option<&Value>,
    path: &mut Vec<Element>,
    out: &mut Comparison,
    key: &dyn Fn(&Value) -> Option<Element>,
) {
    let index = |list: Option<&Value>| {
        let mut map: BTreeMap<Element, Vec<Value>> = BTreeMap::new();
        for value in list.and_then(Value::as_array).into_iter().flatten() {
            if let Some(element) = key(value) {
                map.entry(element).or_default().push(value.clone());
            }
        }
        map
    };
    let a = index(before);
    let b = index(after);
    let elements: BTreeSet<&Element> = a.keys().chain(b.keys()).collect();
    for element in elements {
        let left = a.get(element).map(Vec::as_slice).unwrap_or_default();
        let right = b.get(element).map(Vec::as_slice).unwrap_or_default();
        path.push(element.clone());
        match (left.len(), right.len()) {
            (0 | 1, 0 | 1) => compare_at(item, left.first(), right.first(), path, out),
            (2.., 2..) => {
                if left != right {
                    out.modified.insert(path);
                }
            }
            (2.., _) => {
                if let Some(new) = right.first() {
                    compare_at(item, None, Some(new), path, out);
                }
                out.removed.insert(path);
            }
            _ => {
                if let Some(old) = left.first() {
                    compare_at(item, Some(old), None, path, out);
                }
                out.added.insert(path);
            }
        }
        path.pop();
    }
}

/// Puts the applied object over the live one. Items the applied list names come in its order.
pub(crate) fn merge(node: &Node<'_>, live: Option<&Value>, applied: Option<&Value>) -> Option<Value> {
    let sample = applied.or(live)?;
    let shape = node.shape(sample);
    if matches!(shape, Shape::Leaf) || (is_hollow(live) && is_hollow(applied)) {
        return applied.or(live).cloned();
    }
    match shape {
        Shape::Leaf => None,
        Shape::Object => {
            let none = Map::new();
            let a = live.and_then(Value::as_object).unwrap_or(&none);
            let b = applied.and_then(Value::as_object).unwrap_or(&none);
            let mut out = Map::new();
            for name in a.keys().chain(b.keys()) {
                if out.contains_key(name) {
                    continue;
                }
                let (child, _) = node.field(name).unwrap_or((Node::Deduced, false));
                if let Some(value) = merge(&child, a.get(name), b.get(name)) {
                    out.insert(name.clone(), value);
                }
            }
            Some(Value::Object(out))
        }
        Shape::Set(item) => merge_items(&item, live, applied, &|v| Some(Element::Value(v.clone()))),
        Shape::Keyed(keys, item) => merge_items(&item, live, applied, &|v| item.key_of(keys, v).ok()),
    }
}

/// Live items stay where they are relative to their live neighbours; shared ones take the applied order.
fn merge_items(
    item: &Node<'_>,
    live: Option<&Value>,
    applied: Option<&Value>,
    key: &dyn Fn(&Value) -> Option<Element>,
) -> Option<Value> {
    let list = |v: Option<&Value>| -> Vec<(Element, Value)> {
        let items = v.and_then(Value::as_array).into_iter().flatten();
        items.filter_map(|v| Some((key(v)?, v.clone()))).collect()
    };
    let left = list(live);
    let right = list(applied);
    let find = |items: &[(Element, Value)], element: &Element| -> Option<Value> {
        let mut hits = items.iter().filter(|(e, _)| e == element);
        // Duplicates of the live list cannot be merged with; the applied item takes their place.
        match (hits.next(), hits.next()) {
            (Some((_, v)), None) => Some(v.clone()),
            _ => None,
        }
    };
    let in_right: BTreeSet<&Element> = right.iter().map(|(e, _)| e).collect();
    let in_left: BTreeSet<&Element> = left.iter().map(|(e, _)| e).collect();
    let mut shared = right.iter().map(|(e, _)| e).filter(|e| in_left.contains(e));
    let mut next_shared = shared.next();
    let mut merged: BTreeSet<&Element> = BTreeSet::new();
    let mut out = Vec::new();
    let (mut l, mut r) = (0, 0);
    while l < left.len() || r < right.len() {
        if let (Some((le, lv)), Some((re, rv))) = (left.get(l), right.get(r)) {
            if le == re {
                merged.insert(le);
                let old = find(&left, le).map(|_| lv);
                out.extend(merge(item, old, Some(rv)));
                l += 1;
                r += 1;
                next_shared = shared.next();
                continue;
            }
            if in_right.contains(le) && next_shared.is_some_and(|e| e != le) {
                l += 1;
                continue;
            }
        }
        if let Some((le, lv)) = left.get(l) {
            if !in_right.contains(le) {
                out.extend(merge(item, Some(lv), None));
                l += 1;
                continue;
            }
            if merged.contains(le) {
                l += 1;
            }
        }
        if let Some((re, rv)) = right.get(r) {
            merged.insert(re);
            out.extend(merge(item, find(&left, re).as_ref(), Some(rv)));
            r += 1;
            if next_shared == Some(re) {
                next_shared = shared.next();
            }
        }
    }
    (!out.is_empty()).then_some(Value::Array(out))
}

/// The object without the fields of the set; nothing, if nothing is left.
pub(crate) fn remove(node: &Node<'_>, value: &Value, gone: &Set) -> Option<Value> {
    match (node.shape(value), value) {
        (Shape::Object, Value::Object(map)) if !map.is_empty() => {
            let mut out = Map::new();
            for (name, inner) in map {
                let element = Element::Field(name.clone());
                match gone.below(&element) {
                    Some(set) if set.member => {}
                    Some(set) => {
                        let (child, _) = node.field(name).unwrap_or((Node::Deduced, false));
                        if let Some(rest) = remove(&child, inner, set) {
                            out.insert(name.clone(), rest);
                        }
                    }
                    None => {
                        out.insert(name.clone(), inner.clone());
                    }
                }
            }
            (!out.is_empty()).then_some(Value::Object(out))
        }
        (Shape::Set(_), Value::Array(list)) if !list.is_empty() => {
            let keep = |v: &&Value| !gone.below(&Element::Value((*v).clone())).is_some_and(|s| s.member);
            let out: Vec<Value> = list.iter().filter(keep).cloned().collect();
            (!out.is_empty()).then_some(Value::Array(out))
        }
        (Shape::Keyed(keys, item), Value::Array(list)) if !list.is_empty() => {
            let mut out = Vec::new();
            for value in list {
                match item.key_of(keys, value).ok().and_then(|key| gone.below(&key).cloned()) {
                    Some(set) if set.member => {}
                    Some(set) => out.extend(remove(&item, value, &set)),
                    None => out.push(value.clone()),
                }
            }
            (!out.is_empty()).then_some(Value::Array(out))
        }
        // Whole lists and objects go as a whole when the path to something inside them is to go.
        (Shape::Leaf, Value::Array(_) | Value::Object(_)) => None,
        _ => Some(value.clone()),
    }
}

/// The set with the declared fields on the way to each path added.
pub(crate) fn with_declared_parents(node: &Node<'_>, set: &Set) -> Set {
    let mut out = set.clone();
    for (element, child) in &mut out.children {
        let (inner, declared) = match (element, node.shape(&Value::Object(Map::new()))) {
            (Element::Field(name), _) => match node.field(name) {
                Some(found) => found,
                None => (Node::Deduced, false),
            },
            (_, Shape::Set(item) | Shape::Keyed(_, item)) => (item, false),
            _ => (Node::Deduced, false),
        };
        let below = with_declared_parents(&inner, child);
        let has_children = !below.children.is_empty();
        *child = below;
        child.member |= declared && has_children;
    }
    out
}

/// The first thing in an applied object that its type does not allow, in words.
pub(crate) fn check(node: &Node<'_>, value: &Value) -> Result<(), String> {
    check_at(node, value, &mut Vec::new())
}

fn check_at(node: &Node<'_>, value: &Value, path: &mut Vec<Element>) -> Result<(), String> {
    if path.len() > MAX_DEPTH {
        return Err(format!("{}: nested deeper than {MAX_DEPTH} levels", path_text(path)));
    }
    let wrong = |expected: &str, path: &[Element]| {
        Err(format!("{}: expected {expected}, got {}", path_text(path), shown(value)))
    };
    if value.is_null() {
        return Ok(());
    }
    if let Some(expected) = node.expected_scalar(value) {
        return wrong(expected, path);
    }
    match node.container() {
        Some(true) if !value.is_object() => return wrong("map", path),
        Some(false) if !value.is_array() => return wrong("list", path),
        _ => {}
    }
    match value {
        Value::Object(map) => {
            for (name, inner) in map {
                path.push(Element::Field(name.clone()));
                match node.field(name) {
                    Some((child, _)) => check_at(&child, inner, path)?,
                    None => return Err(format!("{}: field not declared in schema", path_text(path))),
                }
                path.pop();
            }
        }
        Value::Array(list) => {
            let shape = node.shape(value);
            let mut seen = BTreeSet::new();
            for (i, inner) in list.iter().enumerate() {
                let (element, child, unique) = match &shape {
                    Shape::Set(item) => (Element::Value(inner.clone()), *item, true),
                    Shape::Keyed(keys, item) => match item.key_of(keys, inner) {
                        Ok(key) => (key, *item, true),
                        Err(why) => return Err(format!("{}: element {i}: {why}", path_text(path))),
                    },
                    _ => (Element::Index(i64::try_from(i).unwrap_or(i64::MAX)), node.item(), false),
                };
                if unique && !seen.insert(element.clone()) {
                    return Err(format!("{}: duplicate entries for key {element}", path_text(path)));
                }
                path.push(element);
                check_at(&child, inner, path)?;
                path.pop();
            }
        }
        _ => {}
    }
    Ok(())
}

fn shown(value: &Value) -> &'static str {
    match value {
        Value::Null => "nil",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "map",
    }
}
