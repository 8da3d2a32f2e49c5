//! Removes from an object the fields that its kind does not declare, as a refused server-side apply names them.
//!
//! A create or a merge patch with such a field succeeds: the API server drops it without a word. Server-side apply
//! refuses the whole object. People's objects carry such fields (written for another version of a kind, misspelt), so
//! the applier leaves them out as the API server would, and says so.

use crate::api::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::Status;
use serde_json::Value;

use crate::cache::Key;

/// How often an object is sent again without the fields that its kind does not declare. A real API server names all of
/// them at once.
const TRIES: usize = 16;

/// The text of the API server behind the path of a field.
const NOT_DECLARED: &str = ": field not declared in schema";

/// Applies the patch; fields that the kind does not declare are left out, as the API server leaves them out of any
/// other write.
pub(super) async fn patch(
    api: &Api<DynamicObject>,
    key: &Key,
    params: &PatchParams,
    patch: &Value,
) -> Result<DynamicObject, kube::Error> {
    let mut sent = patch.clone();
    for _ in 0..TRIES {
        let refused = match api.patch(&key.name, params, &Patch::Apply(&sent)).await {
            Err(kube::Error::Api(status)) => status,
            other => return other,
        };
        let fields = fields(&refused);
        let mut removed = false;
        for field in &fields {
            removed |= remove(&mut sent, field);
        }
        if !removed {
            return Err(kube::Error::Api(refused));
        }
        tracing::warn!(object = %key, fields = fields.join(" "), "left out what its kind does not declare");
    }
    api.patch(&key.name, params, &Patch::Apply(&sent)).await
}

/// The paths of the fields that are not declared, as the API server writes them (`.spec.list[name="a"].field`).
fn fields(status: &Status) -> Vec<String> {
    let lines = status.message.lines().filter_map(|line| line.trim_end().strip_suffix(NOT_DECLARED));
    // A single field stands behind what was tried: `failed to create … Kind=Web): .spec.field`.
    let path = |line: &str| line.rsplit(": ").next().map(|path| path.trim().to_owned());
    lines.filter_map(path).filter(|path| path.starts_with('.')).collect()
}

/// Removes the field at `path`; true when there was one.
fn remove(value: &mut Value, path: &str) -> bool {
    match value {
        Value::Object(map) => {
            let Some(rest) = path.strip_prefix('.') else { return false };
            if map.remove(rest).is_some() {
                return true;
            }
            // Names may hold dots themselves, so the names that are there decide where one ends.
            map.iter_mut().any(|(name, inner)| match rest.strip_prefix(name.as_str()) {
                Some(rest) if rest.starts_with(['.', '[']) => remove(inner, rest),
                _ => false,
            })
        }
        Value::Array(list) => {
            let Some((item, rest)) = selected(path) else { return false };
            let mut removed = false;
            for (index, inner) in list.iter_mut().enumerate() {
                if item.is(index, inner) {
                    removed |= remove(inner, rest);
                }
            }
            removed
        }
        _ => false,
    }
}

/// Which items of a list a path means.
enum Selected<'a> {
    /// `[3]`
    At(usize),
    /// `[name="a",port=1]`: names with JSON values.
    With(Vec<(&'a str, Value)>),
}

impl Selected<'_> {
    fn is(&self, index: usize, item: &Value) -> bool {
        match self {
            Self::At(at) => *at == index,
            Self::With(keys) => keys.iter().all(|(name, value)| item.get(name) == Some(value)),
        }
    }
}

/// The selection at the beginning of a path, and the path behind it.
fn selected(path: &str) -> Option<(Selected<'_>, &str)> {
    let inner = path.strip_prefix('[')?;
    let mut quoted = false;
    let end = inner.char_indices().find(|(_, char)| {
        quoted ^= *char == '"';
        *char == ']' && !quoted
    })?;
    let (inner, rest) = (&inner[..end.0], &inner[end.0 + 1..]);
    if let Ok(at) = inner.parse() {
        return Some((Selected::At(at), rest));
    }
    let key = |pair: &str| -> Option<(usize, Value)> {
        let (name, value) = pair.split_once('=')?;
        Some((name.len(), serde_json::from_str(value).ok()?))
    };
    let keys: Option<Vec<(&str, Value)>> =
        inner.split(',').map(|pair| key(pair).map(|(end, value)| (&pair[..end], value))).collect();
    Some((Selected::With(keys?), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn status(message: &str) -> Status {
        Status { message: message.to_owned(), ..Status::default() }
    }

    #[test]
    fn one_field_or_many_are_read_from_the_refusal() {
        let one = "failed to create typed patch object (ns/web; a.b/v1, Kind=Web): .spec.x: field not declared in schema";
        assert_eq!(fields(&status(one)), [".spec.x"]);
        let many = "failed to create typed patch object (ns/web; a.b/v1, Kind=Web): errors:\n  .spec.x: field not declared in schema\n  .spec.list[name=\"a\"].y: field not declared in schema";
        assert_eq!(fields(&status(many)), [".spec.x", ".spec.list[name=\"a\"].y"]);
        assert_eq!(fields(&status("Web is invalid: spec.x: Required value")), Vec::<String>::new());
    }

    #[test]
    fn exactly_the_named_fields_go() {
        let mut value = json!({"spec": {"a.b": {"x": 1, "y": 2}, "list": [{"name": "a, ]", "x": 1}, {"name": "b", "x": 1}], "plain": [{"x": 1}, {"x": 1}]}});
        assert!(remove(&mut value, ".spec.a.b.x"));
        assert!(remove(&mut value, ".spec.list[name=\"b\"].x"));
        assert!(remove(&mut value, ".spec.plain[1].x"));
        assert!(!remove(&mut value, ".spec.none"));
        assert_eq!(
            value,
            json!({"spec": {"a.b": {"y": 2}, "list": [{"name": "a, ]", "x": 1}, {"name": "b"}], "plain": [{"x": 1}, {}]}})
        );
    }
}
