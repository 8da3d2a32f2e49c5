//! Paths of data flow (field paths, JSONPaths and places inside a JSON text), by which values are found and written.

use std::borrow::Cow;

use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, PatchOperation, RemoveOperation, ReplaceOperation};
use jsonpath_rust::parser::model::{JpQuery, Segment as Step, Selector};
use jsonpath_rust::parser::parse_json_path;
use jsonpath_rust::query::js_path_process;
use serde_json::{Map, Value as Json};

use super::limits::PATH_LIMIT;
use crate::field_path::{self, Error, INDEX_LIMIT, Segment, type_name};

/// The effect of an operation on the place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Sets a field, inserts into or appends to a list.
    Add,
    /// Takes away; what is not there is taken away already. Also written `delete`.
    Remove,
    /// Sets a field or an element.
    Replace,
}

/// The parts of a JSONPath that may multiply the work (`..`, `?`, `,`); a path with more of them is refused.
const BRANCH_LIMIT: usize = 4;
/// Deeper brackets in a JSONPath are refused, so that parsing it cannot run out of stack.
const BRACKET_LIMIT: usize = 8;

/// Where a value stands in an object.
#[derive(Debug, Clone)]
pub struct Path {
    text: String,
    steps: Steps,
}

#[derive(Debug, Clone)]
enum Steps {
    /// One place.
    Field(Vec<Segment>),
    /// A JSONPath that may match several.
    Query(JpQuery),
}

impl PartialEq for Path {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl Path {
    /// Reads a field path or, when it begins with `$`, a JSONPath.
    ///
    /// # Errors
    /// Describes the error in the path.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > PATH_LIMIT {
            return Err(format!("the path is longer than {PATH_LIMIT} bytes"));
        }
        let steps = match text.starts_with('$') {
            true => query(text)?,
            false => Steps::Field(field_path::parse(text).map_err(|error| error.to_string())?),
        };
        Ok(Self { text: text.to_owned(), steps })
    }

    /// The path as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The value; nothing if there is none. A scalar where the path needs an object or a list is an error.
    pub(super) fn find<'a>(&self, value: &'a Json) -> Result<Option<Cow<'a, Json>>, Error> {
        match &self.steps {
            Steps::Field(segments) => match field_path::get_at(value, segments) {
                Ok(found) => Ok(Some(Cow::Borrowed(found))),
                Err(Error::NotFound(_)) => Ok(None),
                Err(error) => Err(error),
            },
            Steps::Query(query) => {
                let found: Vec<Json> = matches(query, value).into_iter().cloned().collect();
                Ok((!found.is_empty()).then_some(Cow::Owned(Json::Array(found))))
            }
        }
    }

    /// The places it names in this object: one, or what a JSONPath matches.
    pub(super) fn places(&self, value: &Json) -> Vec<Vec<Segment>> {
        match &self.steps {
            Steps::Field(segments) => vec![segments.clone()],
            Steps::Query(query) => places(query, value),
        }
    }

    /// Do two paths name places one of which holds the other? JSONPaths may name anything.
    pub(super) fn overlaps(&self, other: &Place) -> bool {
        match (&self.steps, &other.0) {
            (Steps::Field(read), PlaceSteps::Tokens(written)) => {
                let token = |segment: &Segment| match segment {
                    Segment::Field(name) => name.clone(),
                    Segment::Index(index) => index.to_string(),
                };
                read.iter().map(token).zip(written).all(|(read, written)| read == *written)
            }
            _ => true,
        }
    }
}

fn query(text: &str) -> Result<Steps, String> {
    let count = |part: &str| text.matches(part).count();
    if count("..") + count("?") + count(",") > BRANCH_LIMIT || count("..") > 1 || count("$") > 1 {
        return Err(format!(
            "the JSONPath branches too often: at most one `..`, one `$` at its beginning, and {BRANCH_LIMIT} of `..`, \
             `?` and `,` together"
        ));
    }
    if text.matches(['[', '(']).count() > BRACKET_LIMIT + BRANCH_LIMIT && deepest(text) > BRACKET_LIMIT {
        return Err(format!("the JSONPath has brackets deeper than {BRACKET_LIMIT}"));
    }
    let query = parse_json_path(text).map_err(|error| format!("{text:?} is not a JSONPath: {error}"))?;
    let definite = query.segments.iter().map(|step| match step {
        Step::Selector(Selector::Name(name)) => Some(Segment::Field(unquoted(name))),
        Step::Selector(Selector::Index(index)) => usize::try_from(*index).ok().map(Segment::Index),
        _ => None,
    });
    Ok(match definite.collect::<Option<Vec<Segment>>>() {
        Some(segments) if !segments.is_empty() => Steps::Field(segments),
        _ => Steps::Query(query),
    })
}

/// The parser keeps the quotes of `['name']`.
fn unquoted(name: &str) -> String {
    let inner = |quote: char| name.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inner('\'').or_else(|| inner('"')).unwrap_or(name).to_owned()
}

fn deepest(text: &str) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    for c in text.chars() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

fn matches<'a>(query: &JpQuery, value: &'a Json) -> Vec<&'a Json> {
    // The query was parsed before; what fails now (a function with the wrong argument) matches nothing.
    js_path_process(query, value)
        .map(|all| all.into_iter().map(|one| one.val()).collect())
        .unwrap_or_default()
}

/// Where the matches stand: the places in the value whose address is that of a match.
fn places(query: &JpQuery, value: &Json) -> Vec<Vec<Segment>> {
    let wanted: std::collections::BTreeSet<*const Json> =
        matches(query, value).into_iter().map(std::ptr::from_ref).collect();
    let mut found = Vec::new();
    collect(value, &wanted, &mut Vec::new(), &mut found);
    found
}

fn collect(
    value: &Json,
    wanted: &std::collections::BTreeSet<*const Json>,
    here: &mut Vec<Segment>,
    found: &mut Vec<Vec<Segment>>,
) {
    if wanted.contains(&std::ptr::from_ref(value)) {
        found.push(here.clone());
    }
    let mut below = |segment: Segment, value: &Json| {
        here.push(segment);
        collect(value, wanted, here, found);
        here.pop();
    };
    match value {
        Json::Object(fields) => {
            fields.iter().for_each(|(name, field)| below(Segment::Field(name.clone()), field));
        }
        Json::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| below(Segment::Index(index), item));
        }
        _ => {}
    }
}

/// Where an operation changes something: in an object, or in the JSON text that stands there.
#[derive(Debug, Clone)]
pub struct Place(PlaceSteps, String);

#[derive(Debug, Clone)]
enum PlaceSteps {
    /// Names and indices, as in a JSON pointer.
    Tokens(Vec<String>),
    Query(JpQuery),
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        self.1 == other.1
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.1)
    }
}

impl Place {
    /// A place in an object: a field path (with brackets), or names with dots between them (`\.` is a dot).
    ///
    /// # Errors
    /// Describes the error in the path.
    pub fn in_object(text: &str) -> Result<Self, String> {
        match text.contains('[') && !text.starts_with(['$', '/']) {
            true => {
                let segments = field_path::parse(text).map_err(|error| error.to_string())?;
                Ok(Self(PlaceSteps::Tokens(tokens(&segments)), text.to_owned()))
            }
            false => Self::parse(text, false),
        }
    }

    /// A place in a JSON text: names with dots or slashes between them (`\.` is a dot), or a JSON pointer.
    ///
    /// # Errors
    /// Describes the error in the path.
    pub fn in_text(text: &str) -> Result<Self, String> {
        Self::parse(text, true)
    }

    fn parse(text: &str, slashes: bool) -> Result<Self, String> {
        if text.len() > PATH_LIMIT {
            return Err(format!("the path is longer than {PATH_LIMIT} bytes"));
        }
        if text.starts_with('$') {
            let steps = match query(text)? {
                Steps::Field(segments) => PlaceSteps::Tokens(tokens(&segments)),
                Steps::Query(query) => PlaceSteps::Query(query),
            };
            return Ok(Self(steps, text.to_owned()));
        }
        let pieces = match text.strip_prefix('/') {
            Some(pointer) => pointer.split('/').map(str::to_owned).collect::<Vec<_>>(),
            None => pieces(text, slashes),
        };
        if !text.starts_with('/') && pieces.iter().any(String::is_empty) {
            return Err(format!("{text:?} has an empty name: a dot too many?"));
        }
        let tokens = pieces.iter().map(|piece| piece.replace("~1", "/").replace("~0", "~")).collect();
        Ok(Self(PlaceSteps::Tokens(tokens), text.to_owned()))
    }

    /// The value there; nothing if there is none, or no way to it.
    pub(super) fn find<'a>(&self, value: &'a Json) -> Option<&'a Json> {
        match &self.0 {
            PlaceSteps::Tokens(tokens) => tokens.iter().try_fold(value, |value, token| match value {
                Json::Object(fields) => fields.get(token),
                Json::Array(items) => items.get(token.parse::<usize>().ok()?),
                _ => None,
            }),
            PlaceSteps::Query(query) => matches(query, value).into_iter().next(),
        }
    }

    /// Changes the value there. `settled`: a list that has the value already does not get it again.
    pub(super) fn change(
        &self,
        value: &mut Json,
        verb: Verb,
        new: Json,
        settled: bool,
    ) -> Result<(), String> {
        match &self.0 {
            PlaceSteps::Tokens(tokens) => change(value, tokens, verb, new, settled),
            PlaceSteps::Query(query) => {
                let mut found: Vec<_> = places(query, value).iter().map(|place| tokens(place)).collect();
                if found.is_empty() && verb != Verb::Remove {
                    return Err(format!("{} matches nothing", self.1));
                }
                // From the end, so that taking an element away does not move the next.
                found.reverse();
                let verb = if verb == Verb::Remove { verb } else { Verb::Replace };
                found.iter().try_for_each(|tokens| change(value, tokens, verb, new.clone(), settled))
            }
        }
    }
}

fn tokens(segments: &[Segment]) -> Vec<String> {
    let token = |segment: &Segment| match segment {
        Segment::Field(name) => name.clone(),
        Segment::Index(index) => index.to_string(),
    };
    segments.iter().map(token).collect()
}

fn pieces(text: &str, slashes: bool) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&'.') => {
                chars.next();
                pieces.last_mut().into_iter().for_each(|piece| piece.push('.'));
            }
            '.' => pieces.push(String::new()),
            '/' if slashes => pieces.push(String::new()),
            c => pieces.last_mut().into_iter().for_each(|piece| piece.push(c)),
        }
    }
    pieces
}

/// One JSON patch operation, after the objects on the way have been made.
fn change(value: &mut Json, tokens: &[String], verb: Verb, new: Json, settled: bool) -> Result<(), String> {
    let path = || PointerBuf::from_tokens(tokens);
    let Some((last, parents)) = tokens.split_last() else { return Err("the path is empty".to_owned()) };
    let Some(parent) = parent(value, parents, verb != Verb::Remove)? else { return Ok(()) };
    let operation = match (&*parent, verb) {
        (Json::Object(fields), Verb::Remove) if !fields.contains_key(last) => return Ok(()),
        (Json::Array(items), Verb::Remove) => match last.parse::<usize>() {
            Ok(index) if index < items.len() => PatchOperation::Remove(RemoveOperation { path: path() }),
            _ => return Ok(()),
        },
        (_, Verb::Remove) => PatchOperation::Remove(RemoveOperation { path: path() }),
        (Json::Array(items), Verb::Add) if settled && items.contains(&new) => return Ok(()),
        (Json::Array(items), Verb::Add) if items.len() >= INDEX_LIMIT => {
            return Err(format!("the list has {INDEX_LIMIT} elements already"));
        }
        (Json::Array(_), Verb::Replace) => {
            PatchOperation::Replace(ReplaceOperation { path: path(), value: new })
        }
        (Json::Object(_) | Json::Array(_), _) => {
            PatchOperation::Add(AddOperation { path: path(), value: new })
        }
        (other, _) => {
            return Err(format!(
                "{}: expected an object or a list, found {}",
                parents.join("."),
                type_name(other)
            ));
        }
    };
    json_patch::patch(value, &json_patch::Patch(vec![operation]))
        .map_err(|error| format!("{}: {}", tokens.join("."), error.kind))
}

/// The parent of the last token; objects are made on the way where `make` says so.
fn parent<'a>(value: &'a mut Json, tokens: &[String], make: bool) -> Result<Option<&'a mut Json>, String> {
    let mut value = value;
    for (depth, token) in tokens.iter().enumerate() {
        if value.is_null() && make {
            *value = Json::Object(Map::new());
        }
        let found = type_name(value);
        let next = match value {
            Json::Object(fields) => match make {
                true => Some(fields.entry(token.clone()).or_insert(Json::Null)),
                false => fields.get_mut(token),
            },
            Json::Array(items) => token.parse::<usize>().ok().and_then(|index| items.get_mut(index)),
            _ if make => {
                let here = tokens[..depth].join(".");
                return Err(format!("{here}: expected an object or a list, found {found}"));
            }
            _ => None,
        };
        value = match next {
            Some(next) => next,
            None if make => return Err(format!("{}: no such element", tokens[..=depth].join("."))),
            None => return Ok(None),
        };
    }
    if value.is_null() && make {
        *value = Json::Object(Map::new());
    }
    Ok(Some(value))
}
