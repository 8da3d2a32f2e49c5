//! Field paths (`spec.containers[0].image`, `metadata.labels[app.oam.dev/name]`): parse, read, write in JSON.

use serde_json::{Map, Value as Json};

/// Arrays are not grown beyond this by writing: a path is data from a manifest.
pub const INDEX_LIMIT: usize = 10_000;
/// Longer paths are refused.
const SEGMENT_LIMIT: usize = 128;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Segment {
    /// A field of an object.
    Field(String),
    /// An item of an array.
    Index(usize),
}

/// Why a path cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text of the path is malformed.
    #[error("field path {path:?} is malformed at character {position}: {reason}")]
    Malformed {
        /// The path.
        path: String,
        /// Counted from 1.
        position: usize,
        /// The error at that place.
        reason: &'static str,
    },
    /// There is nothing at the path.
    #[error("{0}: no such field")]
    NotFound(String),
    /// The path leads through a value that is not an object or array.
    #[error("{path}: expected {expected}, found {found}")]
    WrongType {
        /// The part of the path where it happens.
        path: String,
        /// The kind of value that the path needs there.
        expected: &'static str,
        /// The kind of value found there.
        found: &'static str,
    },
    /// An index beyond the limit.
    #[error("{0}: index is larger than {INDEX_LIMIT}")]
    TooLarge(String),
}

/// The steps of a path; the empty path has none.
///
/// # Errors
/// The path is malformed, or an index in it is too large.
pub fn parse(path: &str) -> Result<Vec<Segment>, Error> {
    let malformed =
        |position: usize, reason| Error::Malformed { path: path.to_owned(), position: position + 1, reason };
    let bytes = path.as_bytes();
    let mut segments = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if segments.len() >= SEGMENT_LIMIT {
            return Err(malformed(at, "too many segments"));
        }
        match bytes[at] {
            b'[' => {
                let end = bracket_end(path, at).ok_or_else(|| malformed(at, "`[` is not closed"))?;
                let inside = &path[at + 1..end];
                if inside.is_empty() {
                    return Err(malformed(at, "nothing between the brackets"));
                }
                segments.push(match inside.parse::<u32>() {
                    Ok(index) => Segment::Index(index as usize),
                    Err(_) => Segment::Field(inside.trim_matches(['"', '\'']).to_owned()),
                });
                at = end + 1;
            }
            b'.' => {
                if at == 0 {
                    return Err(malformed(at, "a path does not begin with a dot"));
                }
                match bytes.get(at + 1) {
                    None => return Err(malformed(at, "a path does not end with a dot")),
                    Some(b'.') => return Err(malformed(at, "two dots in a row")),
                    Some(b'[') => return Err(malformed(at, "no dot before `[`")),
                    Some(_) => at += 1,
                }
                at = field(path, at, &mut segments).map_err(|at| malformed(at, "`]` without `[`"))?;
            }
            _ if at == 0 => {
                at = field(path, at, &mut segments).map_err(|at| malformed(at, "`]` without `[`"))?
            }
            _ => return Err(malformed(at, "expected `.` or `[` after `]`")),
        }
    }
    Ok(segments)
}

/// Reads a field name up to the next dot or bracket; gives where it ends, or where it is broken.
fn field(path: &str, start: usize, into: &mut Vec<Segment>) -> Result<usize, usize> {
    let end = path[start..].find(['.', '[']).map_or(path.len(), |length| start + length);
    let name = &path[start..end];
    match name.find(']') {
        Some(offset) => Err(start + offset),
        None => {
            into.push(Segment::Field(name.trim_matches(['"', '\'']).to_owned()));
            Ok(end)
        }
    }
}

/// The closing bracket; a quoted name may hold brackets itself.
fn bracket_end(path: &str, open: usize) -> Option<usize> {
    let rest = &path[open + 1..];
    let quote = rest.chars().next().filter(|first| matches!(first, '"' | '\''));
    match quote {
        Some(quote) => rest[1..].find(&format!("{quote}]")).map(|length| open + 1 + 1 + length + 1),
        None => rest.find(']').map(|length| open + 1 + length),
    }
}

/// Adds a field to the text of a path, quoted where it must be.
pub fn push_field(path: &mut String, name: &str) {
    let plain =
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '/'));
    if plain {
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(name);
    } else {
        path.push_str("[\"");
        path.push_str(name);
        path.push_str("\"]");
    }
}

/// Adds an index to the text of a path.
pub fn push_index(path: &mut String, index: usize) {
    path.push('[');
    path.push_str(&index.to_string());
    path.push(']');
}

/// The text of a path.
pub fn format(segments: &[Segment]) -> String {
    let mut path = String::new();
    for segment in segments {
        match segment {
            Segment::Field(name) => push_field(&mut path, name),
            Segment::Index(index) => push_index(&mut path, *index),
        }
    }
    path
}

/// The value at a path. The empty path reads as null; a scalar on the way is a [`Error::WrongType`].
///
/// # Errors
/// There is nothing, or the path leads through a value of another type.
pub fn get<'a>(value: &'a Json, path: &str) -> Result<&'a Json, Error> {
    get_at(value, &parse(path)?)
}

/// [`get`] with a path that is parsed already.
pub(crate) fn get_at<'a>(value: &'a Json, segments: &[Segment]) -> Result<&'a Json, Error> {
    if segments.is_empty() {
        return Ok(&Json::Null);
    }
    let mut value = value;
    for (depth, segment) in segments.iter().enumerate() {
        let wrong = |expected| Error::WrongType {
            path: format(&segments[..depth]),
            expected,
            found: type_name(value),
        };
        let next = match (segment, value) {
            (Segment::Field(name), Json::Object(object)) => object.get(name),
            (Segment::Index(index), Json::Array(items)) => items.get(*index),
            (_, Json::Null) => None,
            (Segment::Field(_), _) => return Err(wrong("an object")),
            (Segment::Index(_), _) => return Err(wrong("an array")),
        };
        value = next.ok_or_else(|| Error::NotFound(format(&segments[..=depth])))?;
    }
    Ok(value)
}

/// The value at a path, if it is there.
///
/// # Errors
/// The path is malformed, or leads through a value of another type.
pub fn find<'a>(value: &'a Json, path: &str) -> Result<Option<&'a Json>, Error> {
    match get(value, path) {
        Ok(value) => Ok(Some(value)),
        Err(Error::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes `new` at a path, creating objects and arrays on the way; a scalar on the way is an error.
///
/// # Errors
/// The path is malformed, or leads through a value of another type.
pub fn set(value: &mut Json, path: &str, new: Json) -> Result<(), Error> {
    set_at(value, &parse(path)?, new)
}

/// [`set`] with a path that is parsed already.
pub(crate) fn set_at(value: &mut Json, segments: &[Segment], new: Json) -> Result<(), Error> {
    let mut value = value;
    for (depth, segment) in segments.iter().enumerate() {
        let here = || format(&segments[..depth]);
        if value.is_null() {
            *value = match segment {
                Segment::Field(_) => Json::Object(Map::new()),
                Segment::Index(_) => Json::Array(Vec::new()),
            };
        }
        let found = type_name(value);
        value = match (segment, value) {
            (Segment::Field(name), Json::Object(object)) => object.entry(name.clone()).or_insert(Json::Null),
            (Segment::Index(index), Json::Array(items)) => {
                if *index > INDEX_LIMIT {
                    return Err(Error::TooLarge(format(&segments[..=depth])));
                }
                if items.len() <= *index {
                    items.resize(index + 1, Json::Null);
                }
                &mut items[*index]
            }
            (Segment::Field(_), _) => {
                return Err(Error::WrongType { path: here(), expected: "an object", found });
            }
            (Segment::Index(_), _) => {
                return Err(Error::WrongType { path: here(), expected: "an array", found });
            }
        };
    }
    *value = new;
    Ok(())
}

/// The kind of a JSON value, for messages.
pub fn type_name(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "an array",
        Json::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Error, Segment, find, format, get, parse, set};

    fn field(name: &str) -> Segment {
        Segment::Field(name.to_owned())
    }

    #[test]
    fn paths_parse() {
        assert_eq!(
            parse("a.b[0][x.y/z].c").unwrap(),
            [field("a"), field("b"), Segment::Index(0), field("x.y/z"), field("c")]
        );
        assert_eq!(parse("a['b.c']").unwrap(), [field("a"), field("b.c")]);
        assert_eq!(parse("[0]").unwrap(), [Segment::Index(0)]);
        assert_eq!(parse("a[-1]").unwrap(), [field("a"), field("-1")]);
        assert_eq!(parse("").unwrap(), []);
        let path = "metadata.labels[\"a.b/c]\"][2]";
        assert_eq!(format(&parse(path).unwrap()), path);
        for broken in [".a", "a.", "a..b", "a.[0]", "a]", "a[]", "a[0", "a[0]b"] {
            assert!(matches!(parse(broken), Err(Error::Malformed { .. })), "{broken}");
        }
    }

    #[test]
    fn reading_tells_missing_from_wrong() {
        let value = json!({"spec": {"replicas": 2, "list": [1]}});
        assert_eq!(get(&value, "spec.list[0]").unwrap(), &json!(1));
        assert_eq!(get(&value, "").unwrap(), &json!(null));
        assert_eq!(find(&value, "spec.list[4].x").unwrap(), None);
        assert!(matches!(get(&value, "spec.replicas.x"), Err(Error::WrongType { .. })));
        assert!(matches!(get(&value, "spec[0]"), Err(Error::WrongType { .. })));
    }

    #[test]
    fn writing_makes_the_way() {
        let mut value = json!({"spec": {"replicas": 2}});
        set(&mut value, "spec.containers[1].image", json!("nginx")).unwrap();
        set(&mut value, "metadata.labels[a.b/c]", json!("x")).unwrap();
        assert_eq!(
            value,
            json!({"spec": {"replicas": 2, "containers": [null, {"image": "nginx"}]},
                   "metadata": {"labels": {"a.b/c": "x"}}})
        );
        assert!(matches!(set(&mut value, "spec.replicas.x", json!(1)), Err(Error::WrongType { .. })));
        assert!(matches!(set(&mut value, "spec.containers[999999]", json!(1)), Err(Error::TooLarge(_))));
    }
}
