//! YAML text in, data out: exact numbers, field order kept, the core types of YAML 1.1 and 1.2 as the reference reads them.

use std::ops::Range;

use granit_parser::{Event, Parser, Placement, ScalarStyle, Span};
use rustc_hash::FxHashMap;

use super::super::{Data, Failure};
use crate::data_file::tree::{Member, Node, Tree, Words};
use crate::literal::parse_number;
use crate::number::Decimal;

/// Deepest nesting that is read.
const MAX_DEPTH: usize = 500;

/// Most nodes that the aliases of a text make beside those that stand in it.
const MAX_ALIASED: usize = 50_000;

/// Bytes of a scalar that count as one node.
const NODE_BYTES: usize = 16;

/// The error in a text, and its byte.
type Mistake = (usize, String);

/// The only document of a text; an empty text is null.
///
/// # Errors
/// Where and why it is no YAML, or how many documents there are.
pub fn read(text: &str) -> Result<Data, Failure> {
    let mut documents = read_stream(text)?;
    match documents.len() {
        0 => Ok(Data::Null),
        1 => Ok(documents.remove(0)),
        count => Err(Failure::error(format!("expected one YAML document, found {count}"))),
    }
}

/// All documents of a text.
///
/// # Errors
/// Where and why it is no YAML.
pub fn read_stream(text: &str) -> Result<Vec<Data>, Failure> {
    let documents = read_tree(text).map_err(|(at, message)| {
        let before = &text.as_bytes()[..at.min(text.len())];
        let line = before.iter().filter(|b| **b == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|b| **b != b'\n').count() + 1;
        Failure::error(format!("invalid YAML at {line}:{column}: {message}"))
    })?;
    documents.into_iter().map(|document| document.into_data().with_names_once()).collect()
}

/// All documents of a text with the places and comments of their parts.
///
/// # Errors
/// At which byte it is no YAML, and why.
pub fn read_tree(text: &str) -> Result<Vec<Node>, (usize, String)> {
    if text.starts_with('\t') && !text.trim_start().is_empty() && !text.trim_start().starts_with('#') {
        return Err((0, "a tab cannot start a token".into()));
    }
    let parser = Parser::new_from_str(text);
    let mut reader = Reader {
        text,
        characters: text.trim_end_matches([' ', '\t']).chars().count(),
        parser,
        anchors: FxHashMap::default(),
        nodes: 0,
        above: Vec::new(),
        behind: Vec::new(),
    };
    let mut documents = Vec::new();
    loop {
        let (event, span) = reader.next()?;
        match event {
            Event::StreamEnd => {
                // A text without any document is one of null.
                if documents.is_empty() {
                    documents.push(Node::new(0..0, Tree::Scalar(Data::Null)));
                }
                return Ok(documents);
            }
            Event::DocumentStart(..) => {
                reader.anchors.clear();
                let (event, span) = reader.next()?;
                documents.push(reader.node(event, span, 0)?);
            }
            Event::StreamStart | Event::DocumentEnd => {}
            _ => return Err(reader.mistake(span, "expected a document")),
        }
    }
}

/// Whether an unquoted text is read as a string.
pub(super) fn is_plain_text(text: &str) -> bool {
    // Digits behind a zero are a text here, but a number for other readers.
    let digits = text.len() > 1 && text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit());
    !digits && matches!(plain(text), Ok(Data::String(_)))
}

/// A comment and its bytes.
type Line = (String, Range<usize>);

struct Reader<'a> {
    text: &'a str,
    /// Characters of the text up to its last one that is no blank.
    characters: usize,
    parser: Parser<'a, granit_parser::StrInput<'a>>,
    anchors: FxHashMap<usize, (Node, usize)>,
    nodes: usize,
    /// Comments that wait for the node below them.
    above: Vec<Line>,
    /// Comments behind something that was read just now.
    behind: Vec<Line>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), Mistake> {
        loop {
            match self.parser.next_event() {
                Some(Ok((Event::Comment(text, placement), span))) => {
                    let line = (text.to_string(), self.bytes(span));
                    match placement {
                        Placement::Above => self.above.push(line),
                        Placement::Right => self.behind.push(line),
                        // A comment that stands apart belongs to no field.
                        _ => self.above.clear(),
                    }
                }
                Some(Ok((Event::Anchor(..), _))) => {}
                Some(Ok(pair)) => return Ok(pair),
                Some(Err(e)) => return Err((self.byte(*e.marker()), e.info().to_string())),
                None => return Ok((Event::StreamEnd, Span::default())),
            }
        }
    }

    fn byte(&self, at: granit_parser::Marker) -> usize {
        let known = at.byte_offset();
        known.unwrap_or_else(|| {
            self.text.char_indices().nth(at.index()).map_or(self.text.len(), |(byte, _)| byte)
        })
    }

    fn bytes(&self, span: Span) -> Range<usize> {
        let start = self.byte(span.start);
        start..self.byte(span.end).max(start)
    }

    fn mistake(&self, span: Span, message: impl std::fmt::Display) -> Mistake {
        (self.byte(span.start), message.to_string())
    }

    fn count(&mut self, span: Span, nodes: usize) -> Result<(), Mistake> {
        self.nodes = self.nodes.saturating_add(nodes);
        // Without aliases a text never has more nodes than bytes.
        if self.nodes > self.text.len().saturating_add(MAX_ALIASED) {
            let text = format!("aliases make more than {MAX_ALIASED} nodes");
            return Err(self.mistake(span, text));
        }
        Ok(())
    }

    /// The comments above what comes next.
    fn words(&mut self) -> Words {
        self.behind.clear();
        Words { above: std::mem::take(&mut self.above), behind: None }
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Node, Mistake> {
        if depth > MAX_DEPTH {
            return Err(self.mistake(span, format!("nested deeper than {MAX_DEPTH}")));
        }
        self.count(span, 1)?;
        let before = self.nodes;
        let start = self.bytes(span);
        let (value, anchor) = match event {
            Event::Alias(id) => {
                let Some(size) = self.anchors.get(&id).map(|(_, size)| *size) else {
                    return Err(self.mistake(span, "an alias inside its own anchor"));
                };
                self.count(span, size)?;
                let Some((value, _)) = self.anchors.get(&id).cloned() else {
                    return Err(self.mistake(span, "an alias inside its own anchor"));
                };
                // The alias is what the reader of the text sees here.
                return Ok(Node { at: start, ..value });
            }
            Event::Scalar(text, style, anchor, tag) => {
                let tag = tag.map(|tag| (tag.handle().to_string(), tag.suffix().to_string()));
                let text = self.unterminated(&text, style, span);
                self.count(span, text.len() / NODE_BYTES)?;
                let data = scalar(text, style, tag.as_ref()).map_err(|e| self.mistake(span, e))?;
                (Tree::Scalar(data), anchor)
            }
            Event::SequenceStart(_, anchor, _) => (self.sequence(depth)?, anchor),
            Event::MappingStart(_, anchor, _) => (self.mapping(depth)?, anchor),
            other => return Err(self.mistake(span, format!("unexpected {other:?}"))),
        };
        let node = Node::new(start, value);
        if anchor > 0 {
            self.anchors.insert(anchor, (node.clone(), self.nodes - before + 1));
        }
        Ok(node)
    }

    /// A block text at the very end of a source that has no last line end has none either.
    fn unterminated<'s>(&self, text: &'s str, style: ScalarStyle, span: Span) -> &'s str {
        let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        let open = self.text.rsplit('\n').next().is_some_and(|line| !line.trim().is_empty());
        let last = block && open && span.end.index() >= self.characters;
        if last { text.strip_suffix('\n').unwrap_or(text) } else { text }
    }

    fn sequence(&mut self, depth: usize) -> Result<Tree, Mistake> {
        let mut items: Vec<Node> = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if let Some(last) = items.last_mut() {
                take_behind(&mut last.words, last.at.end, &mut self.behind, self.text);
            }
            if matches!(event, Event::SequenceEnd) {
                return Ok(Tree::List(items));
            }
            let words = self.words();
            let item = self.node(event, span, depth + 1)?;
            items.push(Node { words, ..item });
        }
    }

    /// The text of a field's name.
    fn name(&mut self, event: &Event<'a>, span: Span, depth: usize) -> Result<String, Mistake> {
        let name = match event {
            Event::Scalar(text, ScalarStyle::Plain, ..) if text == "~" => "null".into(),
            Event::Scalar(text, ..) => text.to_string(),
            Event::Alias(_) => match self.node(event.clone(), span, depth)?.value {
                Tree::Scalar(Data::String(text)) => text,
                _ => return Err(self.mistake(span, "a field name must be a scalar")),
            },
            _ => return Err(self.mistake(span, "a field name must be a scalar")),
        };
        if let Event::Scalar(_, _, anchor @ 1.., _) = event {
            let node = Node::new(self.bytes(span), Tree::Scalar(Data::String(name.clone())));
            self.anchors.insert(*anchor, (node, 1));
        }
        Ok(name)
    }

    fn mapping(&mut self, depth: usize) -> Result<Tree, Mistake> {
        let mut fields: Vec<Member> = Vec::new();
        let mut merged: Vec<Member> = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if let Some(last) = fields.last_mut() {
                take_behind(&mut last.words, last.value.at.end, &mut self.behind, self.text);
            }
            if matches!(event, Event::MappingEnd) {
                break;
            }
            let words = self.words();
            let merge = matches!(&event, Event::Scalar(text, ScalarStyle::Plain, _, None) if text == "<<");
            let name = self.name(&event, span, depth)?;
            let at = self.bytes(span);
            let (event, span) = self.next()?;
            let value = self.node(event, span, depth + 1)?;
            if !merge {
                fields.push(Member { name, at, value, words });
                continue;
            }
            let sources = match value.value {
                Tree::List(items) => items,
                _ => vec![value],
            };
            for source in sources {
                match source.value {
                    Tree::Struct(inner) => merged.extend(inner),
                    _ => {
                        let text = "map merge requires map or sequence of maps as the value";
                        return Err(self.mistake(span, text));
                    }
                }
            }
        }
        if merged.is_empty() {
            return Ok(Tree::Struct(fields));
        }
        // Own fields win over merged ones, earlier merged ones over later.
        let mut result: Vec<Member> = Vec::new();
        for member in merged {
            if !fields.iter().chain(&result).any(|known| known.name == member.name) {
                result.push(member);
            }
        }
        result.extend(fields);
        Ok(Tree::Struct(result))
    }
}

/// Gives a field or element the comment behind it, when that stands on the line on which it ends.
fn take_behind(words: &mut Words, end: usize, behind: &mut Vec<Line>, text: &str) {
    if words.behind.is_some() || behind.is_empty() {
        return;
    }
    let (line, at) = behind.remove(0);
    if text.get(end..at.start).is_some_and(|between| !between.contains('\n')) {
        words.behind = Some((line, at));
    }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&(String, String)>) -> Result<Data, String> {
    let name = tag.map(|(handle, suffix)| format!("{handle}{suffix}"));
    match name.as_deref() {
        None if style != ScalarStyle::Plain => Ok(Data::text(text)),
        None => plain(text),
        Some("tag:yaml.org,2002:str" | "!") => Ok(Data::text(text)),
        Some("tag:yaml.org,2002:binary") => {
            use base64::Engine as _;
            let clean: String = text.split_whitespace().collect();
            base64::engine::general_purpose::STANDARD
                .decode(clean)
                .map(Data::Bytes)
                .map_err(|e| format!("!!binary value contains invalid base64 data: {e}"))
        }
        Some("tag:yaml.org,2002:int") => match plain(text)? {
            number @ Data::Number { is_float: false, .. } => Ok(number),
            _ => Err(format!("cannot decode {text:?} as !!int")),
        },
        Some("tag:yaml.org,2002:float") => match plain(text)? {
            Data::Number { value, .. } => Ok(Data::float(value)),
            _ => Err(format!("cannot decode {text:?} as !!float")),
        },
        Some("tag:yaml.org,2002:null") => Ok(Data::Null),
        Some("tag:yaml.org,2002:bool") => match plain(text)? {
            Data::Bool(value) => Ok(Data::Bool(value)),
            _ => Err(format!("cannot decode {text:?} as !!bool")),
        },
        Some(name) if name.starts_with("tag:yaml.org,2002:") => plain(text),
        Some(name) => Err(format!("cannot unmarshal tag {name:?}")),
    }
}

/// The value of an unquoted scalar.
fn plain(text: &str) -> Result<Data, String> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Data::Null),
        "true" | "True" | "TRUE" => return Ok(Data::Bool(true)),
        "false" | "False" | "FALSE" => return Ok(Data::Bool(false)),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" | "-.inf" | "-.Inf" | "-.INF" | ".nan"
        | ".NaN" | ".NAN" => {
            return Err(format!("{text} has no value in CUE"));
        }
        _ => {}
    }
    Ok(number(text)?.unwrap_or_else(|| Data::text(text)))
}

/// A number; an error for what looks like one, but is none in CUE.
fn number(text: &str) -> Result<Option<Data>, String> {
    let (negative, body) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        Some(b'0'..=b'9' | b'.') => (false, text),
        _ => return Ok(None),
    };
    if body.starts_with('_') || !body.bytes().any(|b| b.is_ascii_digit()) {
        return Ok(None);
    }
    let found = unsigned(body).map(|(value, is_float)| {
        let value = if negative { value.neg() } else { value };
        Data::Number { value, is_float }
    });
    let is_integer = matches!(&found, Some(Data::Number { is_float: false, .. }));
    let zero_first = body.len() > 1 && body.len() < text.len() && body.bytes().all(|b| b.is_ascii_digit());
    let misplaced = body.ends_with('_') || body.contains("__");
    if is_integer && (misplaced || body.starts_with("0B") || (zero_first && body.starts_with('0'))) {
        return Err(format!("cannot decode {text:?} as !!int: illegal number"));
    }
    Ok(found)
}

fn unsigned(body: &str) -> Option<(Decimal, bool)> {
    let clean = body.replace('_', "");
    let lower = clean.to_ascii_lowercase();
    let octal = lower.strip_prefix("0o").or_else(|| lower.strip_prefix('0').filter(|d| !d.is_empty()));
    let is_octal = octal.is_some_and(|d| !d.is_empty() && d.bytes().all(|b| (b'0'..=b'7').contains(&b)));
    let (value, is_float) = if is_octal {
        let digits = octal.unwrap_or_default();
        (parse_number(&format!("0o{digits}")).ok()?.value, false)
    } else if lower.starts_with("0x") || lower.starts_with("0b") {
        (parse_number(&lower).ok()?.value, false)
    } else if clean.len() > 1 && clean.starts_with('0') && clean.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    } else {
        if !clean.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-')) {
            return None;
        }
        let value = Decimal::parse(&clean).ok()?;
        // A float beyond all binary floats is a text.
        let is_float = clean.contains(['.', 'e', 'E']);
        if is_float && !value.to_f64().is_finite() {
            return None;
        }
        (value, is_float)
    };
    Some((value, is_float))
}
