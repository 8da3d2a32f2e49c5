//! YAML text in, data out: exact numbers, field order kept, the core types of YAML 1.1 and 1.2 as the reference reads them.

use granit_parser::{Event, Parser, ScalarStyle, Span};
use rustc_hash::FxHashMap;

use super::super::{Data, Failure};
use crate::literal::parse_number;
use crate::number::Decimal;

/// Deepest nesting that is read.
const MAX_DEPTH: usize = 500;

/// Most nodes that a text makes, aliases counted as often as they are used.
const MAX_NODES: usize = 2_000_000;

/// The only document of a text; an empty text is null.
pub fn read(text: &str) -> Result<Data, Failure> {
    let mut documents = read_stream(text)?;
    match documents.len() {
        0 => Ok(Data::Null),
        1 => Ok(documents.remove(0)),
        count => Err(Failure::error(format!("expected one YAML document, found {count}"))),
    }
}

/// All documents of a text.
pub fn read_stream(text: &str) -> Result<Vec<Data>, Failure> {
    let mut reader = Reader { parser: Parser::new_from_str(text), anchors: FxHashMap::default(), nodes: 0 };
    let mut documents = Vec::new();
    loop {
        let (event, span) = reader.next()?;
        match event {
            Event::StreamEnd => return Ok(documents),
            Event::DocumentStart(..) => {
                reader.anchors.clear();
                let (event, span) = reader.next()?;
                documents.push(reader.node(event, span, 0)?);
            }
            Event::StreamStart | Event::DocumentEnd => {}
            _ => return Err(failure(span, "expected a document")),
        }
    }
}

/// Whether an unquoted text is read as a string.
pub(super) fn is_plain_text(text: &str) -> bool {
    // Booleans of YAML 1.1 and base-60 numbers are strings when read but quoted when written, for other readers' sake.
    const OLD_BOOLEANS: [&str; 10] = ["y", "n", "t", "f", "yes", "no", "on", "off", "true", "false"];
    let lower = text.to_ascii_lowercase();
    let cased = text == lower || text == text.to_ascii_uppercase() || text.get(1..) == lower.get(1..);
    if cased && OLD_BOOLEANS.contains(&lower.as_str()) {
        return false;
    }
    let base_60 = text.contains(':')
        && text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b':' | b'.' | b'_' | b'+' | b'-'));
    if base_60
        && text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-'))
        && !text.ends_with(':')
    {
        return false;
    }
    if is_timestamp(text)
        || text.starts_with("0o") && text.len() > 2 && text[2..].bytes().all(|b| b.is_ascii_digit())
    {
        return false;
    }
    matches!(plain(text), Ok(Data::String(_)))
}

fn is_timestamp(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 8
        && bytes[..4].iter().all(u8::is_ascii_digit)
        && bytes[4] == b'-'
        && bytes
            .iter()
            .all(|b| b.is_ascii_digit() || matches!(b, b'-' | b':' | b'.' | b'T' | b't' | b'Z' | b'+' | b' '))
        && bytes.iter().filter(|b| **b == b'-').count() >= 2
}

fn failure(span: Span, message: impl std::fmt::Display) -> Failure {
    Failure::Error(format!("invalid YAML at {}:{}: {message}", span.start.line(), span.start.col() + 1))
}

struct Reader<'a> {
    parser: Parser<'a, granit_parser::StrInput<'a>>,
    anchors: FxHashMap<usize, (Data, usize)>,
    nodes: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), Failure> {
        loop {
            match self.parser.next_event() {
                Some(Ok((Event::Comment(..) | Event::Anchor(..), _))) => {}
                Some(Ok(pair)) => return Ok(pair),
                Some(Err(e)) => {
                    let at = e.marker();
                    return Err(Failure::Error(format!(
                        "invalid YAML at {}:{}: {}",
                        at.line(),
                        at.col() + 1,
                        e.info()
                    )));
                }
                None => return Ok((Event::StreamEnd, Span::default())),
            }
        }
    }

    fn count(&mut self, span: Span, nodes: usize) -> Result<(), Failure> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > MAX_NODES {
            return Err(failure(
                span,
                format!("more than {MAX_NODES} nodes, aliases counted as often as they are used"),
            ));
        }
        Ok(())
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Data, Failure> {
        if depth > MAX_DEPTH {
            return Err(failure(span, format!("nested deeper than {MAX_DEPTH}")));
        }
        self.count(span, 1)?;
        let before = self.nodes;
        let (value, anchor) = match event {
            Event::Alias(id) => {
                let Some((value, size)) = self.anchors.get(&id).cloned() else {
                    return Err(failure(span, "an alias inside its own anchor"));
                };
                self.count(span, size)?;
                return Ok(value);
            }
            Event::Scalar(text, style, anchor, tag) => {
                let tag = tag.map(|tag| (tag.handle().to_string(), tag.suffix().to_string()));
                (scalar(&text, style, tag.as_ref()).map_err(|e| failure(span, e))?, anchor)
            }
            Event::SequenceStart(_, anchor, _) => {
                let mut items = Vec::new();
                loop {
                    let (event, span) = self.next()?;
                    if matches!(event, Event::SequenceEnd) {
                        break;
                    }
                    items.push(self.node(event, span, depth + 1)?);
                }
                (Data::List(items), anchor)
            }
            Event::MappingStart(_, anchor, _) => (self.mapping(depth)?, anchor),
            other => return Err(failure(span, format!("unexpected {other:?}"))),
        };
        if anchor > 0 {
            self.anchors.insert(anchor, (value.clone(), self.nodes - before + 1));
        }
        Ok(value)
    }

    fn mapping(&mut self, depth: usize) -> Result<Data, Failure> {
        let mut fields: Vec<(String, Data)> = Vec::new();
        let mut merged: Vec<(String, Data)> = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::MappingEnd) {
                break;
            }
            let merge = matches!(&event, Event::Scalar(text, ScalarStyle::Plain, _, None) if text == "<<");
            let name = match &event {
                Event::Scalar(text, ..) => text.to_string(),
                Event::Alias(_) => match self.node(event.clone(), span, depth)? {
                    Data::String(text) => text,
                    _ => return Err(failure(span, "a field name must be a scalar")),
                },
                _ => return Err(failure(span, "a field name must be a scalar")),
            };
            if let Event::Scalar(_, _, anchor @ 1.., _) = &event {
                self.anchors.insert(*anchor, (Data::String(name.clone()), 1));
            }
            let (event, span) = self.next()?;
            let value = self.node(event, span, depth + 1)?;
            if !merge {
                fields.push((name, value));
                continue;
            }
            let sources = match value {
                Data::List(items) => items,
                other => vec![other],
            };
            for source in sources {
                match source {
                    Data::Struct(inner) => merged.extend(inner),
                    _ => {
                        return Err(failure(span, "map merge requires map or sequence of maps as the value"));
                    }
                }
            }
        }
        if merged.is_empty() {
            return Ok(Data::Struct(fields));
        }
        // Own fields win over merged ones, earlier merged ones over later.
        let mut result: Vec<(String, Data)> = Vec::new();
        for (name, value) in merged {
            if !fields.iter().chain(&result).any(|(known, _)| *known == name) {
                result.push((name, value));
            }
        }
        result.extend(fields);
        Ok(Data::Struct(result))
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
        Some(_) => plain(text),
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
    Ok(number(text).unwrap_or_else(|| Data::text(text)))
}

fn number(text: &str) -> Option<Data> {
    let (negative, body) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        b'0'..=b'9' | b'.' => (false, text),
        _ => return None,
    };
    if body.starts_with('_') || !body.bytes().any(|b| b.is_ascii_digit()) {
        return None;
    }
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
        (Decimal::parse(&clean).ok()?, clean.contains(['.', 'e', 'E']))
    };
    let value = if negative { value.neg() } else { value };
    Some(Data::Number { value, is_float })
}
