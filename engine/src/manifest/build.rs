//! Builds values with positions from YAML events, without recursion and within the limits.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use granit_parser::{Event, Marker, Options, Parser, ScalarStyle, ScanError};
use serde_json::{Map, Value as Json};

use super::document::Document;
use super::limits::{DEPTH_LIMIT, DOCUMENT_LIMIT, TEXT_LIMIT, VALUE_LIMIT};
use super::places::{Children, Lines, Node, Places, Position};
use super::scalar;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Place, Severity};

/// More syntax errors of one text are not looked for.
const ERROR_LIMIT: usize = 20;
/// The parser's message for a line of a quoted text that stands no further in than the field it belongs to. YAML asks
/// for that; the readers of Kubernetes do not, and published definitions rely on them.
const OUTDENTED: &str = "invalid indentation in multiline quoted scalar";
/// Such lines are moved further in one after the other, and each time the text is read again: until this many bytes
/// were read. A definition of usual size may have thousands of them.
const READ_AGAIN_LIMIT: usize = 64 << 20;

/// Every document that is not empty, or every syntax error.
pub(super) fn documents(file: &Arc<str>, text: &str) -> Result<Vec<Document>, Diagnostics> {
    if text.len() > TEXT_LIMIT {
        let message = format!("the text has {} bytes; the limit is {TEXT_LIMIT}", text.len());
        return Err(at(file, (1, 1), Code::Limit, message).into());
    }
    let mut text = Cow::Borrowed(text.strip_prefix('\u{feff}').unwrap_or(text));
    let mut bytes_read = 0;
    loop {
        bytes_read += text.len();
        match read(file, &text) {
            Ok(documents) => return Ok(documents),
            Err((_, Some(line))) if bytes_read < READ_AGAIN_LIMIT => {
                text = Cow::Owned(indented(&text, line));
            }
            Err((errors, _)) => return Err(errors),
        }
    }
}

/// The text with one line further in than any line before it. Between quotes that changes nothing: a break with the blanks
/// around it is one blank.
fn indented(text: &str, line: usize) -> String {
    let mut result = String::with_capacity(text.len() + 2);
    let mut deepest = 0;
    for (index, content) in text.split_inclusive('\n').enumerate() {
        if index + 1 == line {
            result.extend(std::iter::repeat_n(' ', deepest + 1));
        } else if index < line {
            // A list item's fields stand further in than its `-`.
            let blanks = content.bytes().take_while(|byte| matches!(byte, b' ' | b'-')).count();
            deepest = deepest.max(blanks);
        }
        result.push_str(content);
    }
    result
}

/// The documents, or the errors and the line of a quoted text that the first of them finds too far out.
fn read(file: &Arc<str>, text: &str) -> Result<Vec<Document>, (Diagnostics, Option<usize>)> {
    let mut outdented = None;
    let mut options = Options::default();
    options.set_emit_comments(false);
    let mut parser = Parser::new_from_str_with_options(text, options);
    let mut builder = Builder::empty(file, text);
    loop {
        match parser.next_event() {
            None => break,
            Some(Ok((event, span))) => {
                if builder.event(event, span.start).is_err() {
                    // A limit was passed: reading on could only cost more.
                    break;
                }
            }
            Some(Err(error)) => {
                if builder.errors.is_empty() && error.info() == OUTDENTED {
                    outdented = Some(error.marker().line());
                }
                builder.syntax(&error);
                builder.forget_document();
                if builder.errors.len() >= ERROR_LIMIT || !matches!(parser.proceed_next_document(), Ok(true))
                {
                    break;
                }
            }
        }
    }
    if builder.errors.is_empty() { Ok(builder.documents) } else { Err((builder.errors, outdented)) }
}

fn at(file: &Arc<str>, (line, column): (u32, u32), code: Code, message: impl Into<String>) -> Diagnostic {
    let mut diagnostic = Diagnostic::error(code, message);
    diagnostic.manifest = Some(Place { file: Arc::clone(file), line, column });
    diagnostic
}

fn position(marker: &Marker) -> (u32, u32) {
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    (number(marker.line()), number(marker.col().saturating_add(1)))
}

/// A finished value.
#[derive(Clone)]
struct Built {
    value: Json,
    node: Node,
    /// Values inside, itself included.
    size: usize,
    /// Levels inside, itself included.
    depth: usize,
}

/// A collection whose end has not been seen.
enum Frame {
    Sequence {
        items: Vec<Json>,
        nodes: Vec<Node>,
    },
    Mapping {
        object: Map<String, Json>,
        nodes: BTreeMap<String, Node>,
        key: Option<(Key, (u32, u32))>,
        merged: Vec<Built>,
    },
}

enum Key {
    Name(String),
    Merge,
}

struct Open {
    frame: Frame,
    at: (u32, u32),
    anchor: usize,
    size: usize,
    depth: usize,
}

struct Builder<'a> {
    file: &'a Arc<str>,
    /// The rest of the text, and the number of its first line.
    rest: (u32, &'a str),
    documents: Vec<Document>,
    errors: Diagnostics,
    /// Of the document that is being read.
    warnings: Diagnostics,
    stack: Vec<Open>,
    anchors: HashMap<usize, Built>,
    root: Option<Built>,
    values: usize,
}

/// A limit was passed; the finding is already noted.
struct Stop;

impl<'a> Builder<'a> {
    fn empty(file: &'a Arc<str>, text: &'a str) -> Self {
        Self {
            file,
            rest: (1, text),
            documents: Vec::new(),
            errors: Diagnostics::new(),
            warnings: Diagnostics::new(),
            stack: Vec::new(),
            anchors: HashMap::new(),
            root: None,
            values: 0,
        }
    }

    fn syntax(&mut self, error: &ScanError) {
        self.error(position(error.marker()), Code::Syntax, format!("this is not YAML: {}", error.info()));
    }

    fn error(&mut self, place: (u32, u32), code: Code, message: impl Into<String>) {
        if self.errors.len() < ERROR_LIMIT {
            self.errors.push(at(self.file, place, code, message));
        }
    }

    fn limit(&mut self, place: (u32, u32), message: String) -> Result<(), Stop> {
        self.error(place, Code::Limit, message);
        Err(Stop)
    }

    /// As the readers of Kubernetes take it, the last one holds.
    fn twice(&mut self, name: &str, first: (u32, u32), place: (u32, u32)) {
        if self.warnings.len() >= ERROR_LIMIT {
            return;
        }
        let message = format!("field {name:?} is written twice in one mapping; the last one holds");
        let mut warning = at(self.file, place, Code::DuplicateName, message);
        warning.severity = Severity::Warning;
        self.warnings
            .push(warning.hint(format!("the other one is at {}:{}:{}", self.file, first.0, first.1)));
    }

    fn forget_document(&mut self) {
        self.warnings = Diagnostics::new();
        self.stack.clear();
        self.anchors.clear();
        self.root = None;
    }

    fn event(&mut self, event: Event<'_>, marker: Marker) -> Result<(), Stop> {
        let place = position(&marker);
        match event {
            Event::DocumentStart(..) => self.forget_document(),
            Event::DocumentEnd => return self.end_document(place),
            Event::Scalar(text, style, anchor, tag) => {
                let tag = tag.as_ref().and_then(|tag| tag.core_suffix().map(str::to_owned));
                let value = self.scalar(&text, style, tag.as_deref(), place);
                let is_merge = style == ScalarStyle::Plain && text == "<<" && tag.is_none();
                let mut built = leaf(value, place);
                if style == ScalarStyle::Literal
                    && let Some(indent) = self.indent(place.0, &text)
                {
                    let before = place.0.saturating_sub(1);
                    built.node.children = Children::Lines(Lines { before, indent });
                }
                return self.value(built, anchor, is_merge, place);
            }
            Event::SequenceStart(_, anchor, _) => {
                return self.open(Frame::Sequence { items: Vec::new(), nodes: Vec::new() }, place, anchor);
            }
            Event::MappingStart(_, anchor, _) => {
                let frame = Frame::Mapping {
                    object: Map::new(),
                    nodes: BTreeMap::new(),
                    key: None,
                    merged: Vec::new(),
                };
                return self.open(frame, place, anchor);
            }
            Event::SequenceEnd | Event::MappingEnd => return self.close(place),
            Event::Alias(anchor) => match self.anchors.get(&anchor) {
                Some(built) if self.values.saturating_add(built.size) <= VALUE_LIMIT => {
                    let mut built = built.clone();
                    built.node.at = Position { key: place, value: place };
                    self.values += built.size - 1;
                    return self.value(built, 0, false, place);
                }
                Some(_) => {
                    return self.limit(
                        place,
                        format!("with its aliases written out the text has more than {VALUE_LIMIT} values"),
                    );
                }
                None => {
                    self.error(place, Code::Syntax, "an alias inside its own anchor");
                    return self.value(leaf(Json::Null, place), 0, false, place);
                }
            },
            _ => {}
        }
        Ok(())
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, tag: Option<&str>, place: (u32, u32)) -> Json {
        if tag == Some("str") || (style != ScalarStyle::Plain && tag.is_none()) {
            return Json::String(text.to_owned());
        }
        match scalar::plain(text) {
            Ok(value) => value,
            Err(reason) => {
                self.error(place, Code::WrongType, format!("{text}: {reason}"));
                Json::Null
            }
        }
    }

    /// By how many columns a text below `|`, whose first line this is, is moved in.
    fn indent(&mut self, line: u32, text: &str) -> Option<u32> {
        let blank = |line: &str| line.trim().is_empty();
        let (number, first) = text.lines().enumerate().find(|(_, line)| !blank(line))?;
        // Texts are met in order, so that the file is walked once.
        let wanted = line.saturating_add(u32::try_from(number).ok()?);
        while self.rest.0 < wanted {
            let (_, rest) = self.rest.1.split_once('\n')?;
            self.rest = (self.rest.0 + 1, rest);
        }
        let written = self.rest.1.lines().next().filter(|_| self.rest.0 == wanted)?;
        let lead = |line: &str| line.len() - line.trim_start_matches(' ').len();
        u32::try_from(lead(written).checked_sub(lead(first))?).ok()
    }

    fn open(&mut self, frame: Frame, at: (u32, u32), anchor: usize) -> Result<(), Stop> {
        if self.stack.len() >= DEPTH_LIMIT {
            return self.limit(at, format!("nested deeper than {DEPTH_LIMIT} levels"));
        }
        self.stack.push(Open { frame, at, anchor, size: 1, depth: 1 });
        Ok(())
    }

    fn close(&mut self, place: (u32, u32)) -> Result<(), Stop> {
        let Some(Open { frame, at, anchor, size, depth }) = self.stack.pop() else { return Ok(()) };
        let (value, children) = match frame {
            Frame::Sequence { items, nodes } => (Json::Array(items), Children::Items(nodes)),
            Frame::Mapping { mut object, mut nodes, key: _, merged } => {
                for built in merged {
                    self.merge(built, &mut object, &mut nodes);
                }
                (Json::Object(object), Children::Fields(nodes))
            }
        };
        let node = Node { at: Position { key: at, value: at }, children };
        self.value(Built { value, node, size, depth }, anchor, false, place)
    }

    /// `<<: *other`: fields of the other mapping that this one does not have itself.
    fn merge(&mut self, built: Built, object: &mut Map<String, Json>, nodes: &mut BTreeMap<String, Node>) {
        let place = built.node.at.value;
        match (built.value, built.node.children) {
            (Json::Object(fields), Children::Fields(mut places)) => {
                for (name, value) in fields {
                    if !object.contains_key(&name) {
                        nodes.insert(name.clone(), places.remove(&name).unwrap_or_default());
                        object.insert(name, value);
                    }
                }
            }
            (Json::Array(items), Children::Items(places)) => {
                for (value, node) in items.into_iter().zip(places) {
                    if value.is_object() {
                        self.merge(Built { value, node, size: 0, depth: 0 }, object, nodes);
                    } else {
                        self.error(place, Code::WrongType, "`<<` merges mappings only");
                    }
                }
            }
            _ => self.error(place, Code::WrongType, "`<<` merges mappings only"),
        }
    }

    /// A value is complete: it becomes a key, a field, an item or the document.
    fn value(&mut self, built: Built, anchor: usize, is_merge: bool, place: (u32, u32)) -> Result<(), Stop> {
        self.values += 1;
        if self.values > VALUE_LIMIT {
            return self.limit(place, format!("more than {VALUE_LIMIT} values"));
        }
        if self.stack.len() + built.depth > DEPTH_LIMIT {
            return self.limit(place, format!("nested deeper than {DEPTH_LIMIT} levels"));
        }
        if anchor > 0 {
            self.anchors.insert(anchor, built.clone());
        }
        let Some(open) = self.stack.last_mut() else {
            self.root = Some(built);
            return Ok(());
        };
        open.size += built.size;
        open.depth = open.depth.max(built.depth + 1);
        let (mut error, mut twice) = (None, None);
        match &mut open.frame {
            Frame::Sequence { items, nodes } => {
                items.push(built.value);
                nodes.push(built.node);
            }
            Frame::Mapping { object, nodes, key, merged } => match key.take() {
                None => match key_name(&built.value) {
                    _ if is_merge => *key = Some((Key::Merge, place)),
                    Some(name) => {
                        if let Some(first) = nodes.get(&name) {
                            twice = Some((name.clone(), first.at.key));
                        }
                        *key = Some((Key::Name(name), built.node.at.value));
                    }
                    None => {
                        error = Some("a mapping or list cannot be the name of a field".to_owned());
                        *key = Some((Key::Name(String::new()), place));
                    }
                },
                Some((Key::Merge, _)) => merged.push(built),
                Some((Key::Name(name), at)) => {
                    let mut node = built.node;
                    node.at.key = at;
                    nodes.insert(name.clone(), node);
                    object.insert(name, built.value);
                }
            },
        }
        if let Some(message) = error {
            self.error(place, Code::Syntax, message);
        }
        if let Some((name, first)) = twice {
            self.twice(&name, first, place);
        }
        Ok(())
    }

    fn end_document(&mut self, place: (u32, u32)) -> Result<(), Stop> {
        self.stack.clear();
        self.anchors.clear();
        let Some(built) = self.root.take() else { return Ok(()) };
        if built.value.is_null() {
            return Ok(());
        }
        if self.documents.len() >= DOCUMENT_LIMIT {
            return self.limit(place, format!("more than {DOCUMENT_LIMIT} documents"));
        }
        let warnings = std::mem::take(&mut self.warnings);
        let places = Places::new(Arc::clone(self.file), built.node);
        self.documents.push(Document::new(built.value, places).with_warnings(warnings));
        Ok(())
    }
}

fn leaf(value: Json, place: (u32, u32)) -> Built {
    let node = Node { at: Position { key: place, value: place }, children: Children::None };
    Built { value, node, size: 1, depth: 1 }
}

/// Names of fields are strings in JSON: numbers and booleans become their text.
fn key_name(value: &Json) -> Option<String> {
    match value {
        Json::String(name) => Some(name.clone()),
        Json::Number(number) => Some(number.to_string()),
        Json::Bool(value) => Some(value.to_string()),
        Json::Null => Some("null".to_owned()),
        Json::Array(_) | Json::Object(_) => None,
    }
}
