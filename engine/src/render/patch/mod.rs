//! Patches a workload: unification with the list and field strategies that comments ask for.
//!
//! Without a comment a patch is unified into the base: equal scalars agree, different ones conflict, lists
//! match by position. `+patchKey=name` matches list elements by a field's value and appends the others;
//! `+patchStrategy=` `retainKeys` and `replace` take the patch's value instead of the base's;
//! `jsonPatch` (RFC 6902, field `operations`) and `jsonMergePatch` (RFC 7396) replace the whole procedure.

mod tree;

use serde_json::Value as Json;

use self::tree::Key;
pub use self::tree::{Constraint, Field, Incomplete, Markers, Tree};
use crate::field_path;

/// Why a patch does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct Conflict {
    /// Where in the patched object.
    pub path: String,
    /// The conflict.
    pub message: String,
}

/// Patches `base`; `markers` are those of the `patch` field itself.
///
/// # Errors
/// The first place where the two conflict.
pub fn patch(base: &Tree, patch: &Tree, markers: &Markers) -> Result<Tree, Conflict> {
    match markers.strategy.as_deref() {
        Some("jsonPatch") => json_patch(base, patch),
        Some("jsonMergePatch") => {
            let mut value = base.to_json();
            json_patch::merge(&mut value, &patch.to_json());
            Ok(Tree::from(&value))
        }
        _ => {
            let mut result = base.clone();
            merge(&mut result, patch, markers, None, &mut String::new())?;
            Ok(result)
        }
    }
}

fn json_patch(base: &Tree, patch: &Tree) -> Result<Tree, Conflict> {
    let conflict = |message: String| Conflict { path: "patch.operations".to_owned(), message };
    let operations = patch.to_json().get("operations").cloned().unwrap_or(Json::Array(Vec::new()));
    let operations: json_patch::Patch = serde_json::from_value(operations)
        .map_err(|error| conflict(format!("this is not a JSON patch: {error}")))?;
    let mut value = base.to_json();
    json_patch::patch(&mut value, &operations).map_err(|error| conflict(error.to_string()))?;
    Ok(Tree::from(&value))
}

/// Unifies `patch` into `base`. Both trees were built with bounded depth, so the recursion is bounded.
fn merge(
    base: &mut Tree,
    patch: &Tree,
    markers: &Markers,
    inherited: Option<&str>,
    path: &mut String,
) -> Result<(), Conflict> {
    let key = markers.patch_key.as_deref().or(inherited);
    match (markers.strategy.as_deref(), &patch) {
        (Some("retainKeys"), Tree::Scalar(_) | Tree::Struct(_))
        | (Some("replace"), Tree::List(_) | Tree::OpenList(..)) => {
            *base = patch.clone();
            return Ok(());
        }
        _ => {}
    }
    match (&mut *base, patch) {
        (Tree::Open(constraint), other) => {
            let met = meet(&**constraint, &other.to_json(), path)?;
            *base = Tree::from(&met);
            Ok(())
        }
        (_, Tree::Open(constraint)) => constrain(base, &**constraint, path),
        (Tree::Scalar(old), Tree::Scalar(new)) if same(old, new) => Ok(()),
        (Tree::Struct(old), Tree::Struct(new)) => {
            let length = path.len();
            for field in new {
                match old.iter_mut().find(|candidate| candidate.name == field.name) {
                    Some(existing) => {
                        field_path::push_field(path, &field.name);
                        merge(&mut existing.value, &field.value, &field.markers, key, path)?;
                        path.truncate(length);
                    }
                    None => old.push(Field { markers: Markers::default(), ..field.clone() }),
                }
            }
            Ok(())
        }
        (Tree::List(_) | Tree::OpenList(..), Tree::List(_) | Tree::OpenList(..)) => {
            let retain = markers.strategy.as_deref() == Some("retainKeys");
            merge_lists(base, patch, key, retain, path)
        }
        (old, new) => Err(Conflict {
            path: path.clone(),
            message: format!("the patch has {}, the object has {}", new.describe(), old.describe()),
        }),
    }
}

/// The rest of a constraint once there is a value.
fn meet(constraint: &dyn Constraint, value: &Json, path: &str) -> Result<Json, Conflict> {
    constraint.meet(value).map_err(|message| Conflict { path: path.to_owned(), message })
}

/// Adds to `base` what a constraint says of it; what is still open in `base` stays so.
fn constrain(base: &mut Tree, constraint: &dyn Constraint, path: &mut String) -> Result<(), Conflict> {
    let met = meet(constraint, &base.to_json(), path)?;
    merge(base, &Tree::from(&met), &Markers::default(), None, path)
}

/// Unifies two lists: by key where the patch names one, else by position. A base list may grow; a patch list only where
/// it ends in `...`. A constraint of either on further elements holds for those of the other.
fn merge_lists(
    base: &mut Tree,
    patch: &Tree,
    key: Option<&str>,
    retain: bool,
    path: &mut String,
) -> Result<(), Conflict> {
    let (mut old, of_old) = match std::mem::replace(base, Tree::List(Vec::new())) {
        Tree::List(old) => (old, Vec::new()),
        Tree::OpenList(old, rest) => (old, rest),
        _ => return Ok(()),
    };
    let (new, of_new) = match patch {
        Tree::List(new) => (new, None),
        Tree::OpenList(new, rest) => (new, Some(rest.as_slice())),
        _ => return Ok(()),
    };
    let before = old.len();
    // A list that only says what all elements are has no element to line up.
    let only_type = of_new.is_some() && new.is_empty();
    let line = key.filter(|_| !only_type).and_then(|keys| line_up(&old, new, keys));
    // As upstream does: what a list says of further elements is lost when it is matched by key.
    let of_new = match line {
        Some(_) => &[][..],
        None if of_new.is_none() && new.len() < before => {
            let message = format!("the patch list has {} elements, the object's has {before}", new.len());
            return Err(Conflict { path: path.clone(), message });
        }
        None => of_new.unwrap_or_default(),
    };
    match &line {
        Some(line) => by_key(&mut old, new, line, key, retain, path)?,
        None => by_position(&mut old, new, key, path)?,
    }
    let further = |(index, element): (usize, &mut Tree)| {
        let of_old = of_old.iter().filter(|_| index >= before);
        for constraint in of_old.chain(of_new.iter().filter(|_| index >= new.len())) {
            let length = path.len();
            field_path::push_index(path, index);
            constrain(element, &**constraint, path)?;
            path.truncate(length);
        }
        Ok(())
    };
    old.iter_mut().enumerate().try_for_each(further)?;
    let rest: Vec<_> = of_old.into_iter().chain(of_new.iter().cloned()).collect();
    *base = if rest.is_empty() { Tree::List(old) } else { Tree::OpenList(old, rest) };
    Ok(())
}

/// A patch list in the order of the base list it changes.
struct Line {
    /// For each element of the base the element of the patch it is unified with, if any; then the new ones.
    places: Vec<Option<usize>>,
    /// The elements of the base that are in the patch.
    matched: Vec<usize>,
}

/// Lines the patch list up with the base list by the literals at `keys`. Gives nothing when no element of the patch has
/// a key, or when some key is not a literal: then lists match by position.
///
/// As upstream does: base elements without the key take no place in the line, so those behind them move up; each of
/// several keys adds a place for every base element that has it; patch elements without any key are left out.
fn line_up(base: &[Tree], patch: &[Tree], keys: &str) -> Option<Line> {
    let mut line = Line { places: Vec::new(), matched: Vec::new() };
    let mut waiting: Vec<(&str, &Json, usize)> = Vec::new();
    for key in keys.split(',') {
        let mut found = false;
        for (index, element) in patch.iter().enumerate() {
            let value = match element.key(key) {
                Key::None => continue,
                Key::Other => return None,
                Key::Literal(value) => value,
            };
            found = true;
            // Of two patches of one element the last one holds.
            waiting.retain(|(other, known, _)| *other != key || *known != value);
            waiting.push((key, value, index));
        }
        if !found {
            if patch.is_empty() {
                continue;
            }
            return None;
        }
        for (at, element) in base.iter().enumerate() {
            let value = match element.key(key) {
                Key::None => continue,
                Key::Other => return None,
                Key::Literal(value) => value,
            };
            match waiting.iter().position(|(other, wanted, _)| *other == key && *wanted == value) {
                Some(found) => {
                    line.places.push(Some(waiting.remove(found).2));
                    line.matched.push(at);
                }
                None => line.places.push(None),
            }
        }
    }
    let new = (0..patch.len()).filter(|index| waiting.iter().any(|(.., waiting)| waiting == index));
    line.places.extend(new.map(Some));
    Some(line)
}

fn by_key(
    base: &mut Vec<Tree>,
    patch: &[Tree],
    line: &Line,
    key: Option<&str>,
    retain: bool,
    path: &mut String,
) -> Result<(), Conflict> {
    if retain {
        for at in &line.matched {
            base[*at] = Tree::Struct(Vec::new());
        }
    }
    let length = path.len();
    for (place, element) in line.places.iter().enumerate() {
        let element = element.and_then(|index| patch.get(index));
        match (base.get_mut(place), element) {
            (Some(existing), Some(element)) => {
                field_path::push_index(path, place);
                merge(existing, element, &Markers::default(), key, path)?;
                path.truncate(length);
            }
            (None, element) => base.push(element.cloned().unwrap_or(Tree::Struct(Vec::new()))),
            (Some(_), None) => {}
        }
    }
    Ok(())
}

fn by_position(
    base: &mut Vec<Tree>,
    patch: &[Tree],
    key: Option<&str>,
    path: &mut String,
) -> Result<(), Conflict> {
    let length = path.len();
    for (index, element) in patch.iter().enumerate() {
        match base.get_mut(index) {
            Some(existing) => {
                field_path::push_index(path, index);
                merge(existing, element, &Markers::default(), key, path)?;
                path.truncate(length);
            }
            None => base.push(element.clone()),
        }
    }
    Ok(())
}

/// Equal as values: 1 and 1.0 are one number.
fn same(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::{Field, Markers, Tree, patch};

    fn marked(patch_key: Option<&str>, strategy: Option<&str>) -> Markers {
        Markers { patch_key: patch_key.map(str::to_owned), strategy: strategy.map(str::to_owned) }
    }

    /// A patch of one field with markers on it.
    fn field(name: &str, value: &Json, markers: Markers) -> Tree {
        Tree::Struct(vec![Field { name: name.to_owned(), value: Tree::from(value), markers }])
    }

    fn apply(base: &Json, change: &Tree) -> Result<Json, String> {
        let patched = patch(&Tree::from(base), change, &Markers::default());
        patched.map(|tree| tree.to_json()).map_err(|conflict| conflict.to_string())
    }

    #[test]
    fn lists_match_by_key_where_the_comment_says_so() {
        let base = json!({"l": [{"name": "a", "x": 1}, {"name": "b"}]});
        let change = field("l", &json!([{"name": "b", "y": 2}, {"name": "c"}]), marked(Some("name"), None));
        let expected = json!({"l": [{"name": "a", "x": 1}, {"name": "b", "y": 2}, {"name": "c"}]});
        assert_eq!(apply(&base, &change), Ok(expected));
        let change = field("l", &json!([{"name": "a", "y": 2}]), marked(Some("name"), Some("retainKeys")));
        assert_eq!(apply(&base, &change), Ok(json!({"l": [{"name": "a", "y": 2}, {"name": "b"}]})));
        let change = field("l", &json!([1]), marked(None, Some("replace")));
        assert_eq!(apply(&base, &change), Ok(json!({"l": [1]})));
    }

    #[test]
    fn elements_without_the_key_take_no_place_in_the_line() {
        let named = |base: &Json, change: &Json, keys| {
            let change = field("l", change, marked(Some(keys), None));
            apply(&json!({ "l": base }), &change).map(|patched| patched["l"].clone())
        };
        let base = json!([{"x": 1}]);
        assert_eq!(named(&base, &json!([{"name": "a"}]), "name"), Ok(json!([{"name": "a", "x": 1}])));
        let base = json!([{"name": "a"}]);
        assert_eq!(
            named(&base, &json!([{}, {"name": "b"}]), "name"),
            Ok(json!([{"name": "a"}, {"name": "b"}]))
        );
        let base = json!([{"k": "a", "o": "b"}]);
        let both = json!({"k": "a", "o": "b", "x": 1});
        assert_eq!(named(&base, &json!([both]), "k,o"), Ok(json!([both, both])));
        let base = json!([{"c": {"n": "a"}, "x": 1}]);
        let expected = json!([{"c": {"n": "a"}, "x": 1, "y": 2}]);
        assert_eq!(named(&base, &json!([{"c": {"n": "a"}, "y": 2}]), "c.n"), Ok(expected));
    }

    #[test]
    fn without_a_comment_values_must_agree() {
        let base = json!({"n": 1, "l": [1, 2]});
        let none = Markers::default;
        assert_eq!(apply(&base, &field("n", &json!(1.0), none())), Ok(base.clone()));
        assert_eq!(
            apply(&base, &field("n", &json!(2), none())),
            Err("n: the patch has 2, the object has 1".to_owned())
        );
        assert_eq!(apply(&base, &field("l", &json!([1, 2, 3]), none())), Ok(json!({"n": 1, "l": [1, 2, 3]})));
        assert!(apply(&base, &field("l", &json!([1]), none())).is_err());
        assert_eq!(
            apply(&base, &field("n", &json!(2), marked(None, Some("retainKeys")))),
            Ok(json!({"n": 2, "l": [1, 2]}))
        );
    }

    #[test]
    fn json_patches_replace_the_procedure() {
        let base = Tree::from(&json!({"a": 1, "b": 2}));
        let merge = Tree::from(&json!({"a": null, "c": 3}));
        let merged = patch(&base, &merge, &marked(None, Some("jsonMergePatch"))).unwrap().to_json();
        assert_eq!(merged, json!({"b": 2, "c": 3}));
        let operations = Tree::from(&json!({"operations": [{"op": "remove", "path": "/a"}]}));
        let patched = patch(&base, &operations, &marked(None, Some("jsonPatch"))).unwrap().to_json();
        assert_eq!(patched, json!({"b": 2}));
        let broken = Tree::from(&json!({"operations": [{"op": "remove", "path": "/x"}]}));
        assert!(patch(&base, &broken, &marked(None, Some("jsonPatch"))).is_err());
    }
}
