//! (workload, patch) → workload: unification with the list and field strategies that comments ask for.
//!
//! Without a comment a patch is unified into the base: equal scalars agree, different ones conflict, lists
//! match by position. `+patchKey=name` matches list elements by a field's value and appends the others;
//! `+patchStrategy=` `retainKeys` and `replace` take the patch's value instead of the base's;
//! `jsonPatch` (RFC 6902, field `operations`) and `jsonMergePatch` (RFC 7396) replace the whole procedure.

use serde_json::{Map, Value as Json};

use crate::field_path;

/// A value as patches see it: markers kept.
#[derive(Debug, Clone)]
pub enum Tree {
    /// Null, boolean, number or string.
    Scalar(Json),
    /// A struct; fields in their order.
    Struct(Vec<Field>),
    /// A list.
    List(Vec<Tree>),
}

/// A field of a struct with the `+key=value` markers in its comments.
#[derive(Debug, Clone)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Tree,
    /// What its comments ask for.
    pub markers: Markers,
}

/// What comments ask of a patch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Markers {
    /// Fields that identify list elements (`a,b` are tried in turn); inherited by everything below.
    pub patch_key: Option<String>,
    /// `retainKeys`, `replace`, `jsonPatch` or `jsonMergePatch`.
    pub strategy: Option<String>,
}

/// Why a patch does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct Conflict {
    /// Where in the patched object.
    pub path: String,
    /// What happens there.
    pub message: String,
}

impl From<&Json> for Tree {
    fn from(value: &Json) -> Self {
        match value {
            Json::Array(items) => Self::List(items.iter().map(Tree::from).collect()),
            Json::Object(fields) => Self::Struct(
                fields
                    .iter()
                    .map(|(name, value)| Field {
                        name: name.clone(),
                        value: value.into(),
                        markers: Markers::default(),
                    })
                    .collect(),
            ),
            scalar => Self::Scalar(scalar.clone()),
        }
    }
}

impl Tree {
    /// The value as JSON.
    pub fn to_json(&self) -> Json {
        match self {
            Self::Scalar(value) => value.clone(),
            Self::List(items) => Json::Array(items.iter().map(Tree::to_json).collect()),
            Self::Struct(fields) => Json::Object(
                fields.iter().map(|field| (field.name.clone(), field.value.to_json())).collect::<Map<_, _>>(),
            ),
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Scalar(value) => value.to_string(),
            Self::Struct(_) => "a struct".to_owned(),
            Self::List(_) => "a list".to_owned(),
        }
    }

    /// The literal at a dotted path; nothing if there is none.
    fn literal(&self, path: &str) -> Option<&Json> {
        let mut tree = self;
        for name in path.split('.') {
            let Self::Struct(fields) = tree else { return None };
            tree = &fields.iter().find(|field| field.name == name)?.value;
        }
        match tree {
            Self::Scalar(value) => Some(value),
            _ => None,
        }
    }
}

/// Patches `base`; `markers` are those of the `patch` field itself.
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
        (Some("retainKeys"), Tree::Scalar(_) | Tree::Struct(_)) | (Some("replace"), Tree::List(_)) => {
            *base = patch.clone();
            return Ok(());
        }
        _ => {}
    }
    match (&mut *base, patch) {
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
        (Tree::List(old), Tree::List(new)) => {
            let retain = markers.strategy.as_deref() == Some("retainKeys");
            match key.and_then(|key| matches(old, new, key)) {
                Some(matched) => by_key(old, new, &matched, key, retain, path),
                None => by_position(old, new, key, path),
            }
        }
        (old, new) => Err(Conflict {
            path: path.clone(),
            message: format!("the patch has {}, the object has {}", new.describe(), old.describe()),
        }),
    }
}

/// For each patch element the base element it belongs to; nothing when some key value is not a literal,
/// which turns matching off.
fn matches(base: &[Tree], patch: &[Tree], keys: &str) -> Option<Vec<Option<usize>>> {
    let mut matched = vec![None; patch.len()];
    for key in keys.split(',').map(str::trim) {
        for (index, element) in patch.iter().enumerate() {
            if matched[index].is_none()
                && let Some(value) = element.literal(key)
            {
                matched[index] =
                    base.iter().position(|candidate| candidate.literal(key).is_some_and(|v| same(v, value)));
            }
        }
    }
    let any_key =
        patch.iter().any(|element| keys.split(',').any(|key| element.literal(key.trim()).is_some()));
    (any_key || patch.is_empty()).then_some(matched)
}

fn by_key(
    base: &mut Vec<Tree>,
    patch: &[Tree],
    matched: &[Option<usize>],
    key: Option<&str>,
    retain: bool,
    path: &mut String,
) -> Result<(), Conflict> {
    let length = path.len();
    for (element, position) in patch.iter().zip(matched) {
        match position {
            Some(position) if retain => base[*position] = element.clone(),
            Some(position) => {
                field_path::push_index(path, *position);
                merge(&mut base[*position], element, &Markers::default(), key, path)?;
                path.truncate(length);
            }
            None => base.push(element.clone()),
        }
    }
    Ok(())
}

/// The base list is open, the patch list is not: it may be longer, but not shorter.
fn by_position(
    base: &mut Vec<Tree>,
    patch: &[Tree],
    key: Option<&str>,
    path: &mut String,
) -> Result<(), Conflict> {
    if patch.len() < base.len() {
        let message = format!("the patch list has {} elements, the object's has {}", patch.len(), base.len());
        return Err(Conflict { path: path.clone(), message });
    }
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
