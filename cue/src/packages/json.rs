//! Package `encoding/json`: data in, JSON text out, and back with number digits and field order kept.

use super::arguments::{any, bytes, list, text};
use super::{ANY, BYTES, Data, Failure, Kinds, Package, Special, TEXT, function, special};
use crate::number::Decimal;

type Outcome = Result<Data, Failure>;

const S: Kinds = Kinds::STRING;
const B: Kinds = Kinds::BOOL;

/// Deepest nesting that is read or written.
const MAX_DEPTH: usize = 1000;

pub(super) static PACKAGE: Package = Package {
    path: "encoding/json",
    constants: &[],
    declarations: "",
    functions: &[
        function("Valid", &[BYTES], B, |a| Ok(Data::Bool(whole(bytes(a, 0)?, true).is_ok()))),
        function("Compact", &[BYTES], S, |a| layout(bytes(a, 0)?, None)),
        function("Indent", &[BYTES, TEXT, TEXT], S, |a| {
            layout(bytes(a, 0)?, Some((text(a, 1)?, text(a, 2)?)))
        }),
        function("HTMLEscape", &[BYTES], S, |a| {
            Ok(Data::String(html_safe(&String::from_utf8_lossy(bytes(a, 0)?))))
        }),
        function("Marshal", &[ANY], S, |a| marshal(any(a, 0)?).map(Data::String)),
        function("MarshalStream", &[ANY], S, |a| {
            let mut out = String::new();
            for item in list(a, 0)? {
                out.push_str(&marshal(item)?);
                out.push('\n');
            }
            Ok(Data::String(out))
        }),
        function("UnmarshalStream", &[BYTES], Kinds::TOP, |a| {
            let mut parser = Parser { text: bytes(a, 0)?, at: 0, lone_surrogates: false };
            let mut items = Vec::new();
            while parser.peek().is_some() {
                items.push(parser.value(0)?);
            }
            Data::List(items).with_names_once()
        }),
        function("Unmarshal", &[BYTES], Kinds::TOP, |a| read(bytes(a, 0)?)),
        special("Validate", &[BYTES, ANY], B, Special::JsonValidate),
    ],
};

/// JSON on one line, fields in order.
///
/// # Errors
/// The data are nested too deeply.
pub fn marshal(value: &Data) -> Result<String, Failure> {
    let mut out = String::new();
    write(&mut out, value, None, 0)?;
    Ok(out)
}

/// JSON with each element on its own line, as `cue export` prints it.
///
/// # Errors
/// The data are nested too deeply.
pub fn marshal_indented(value: &Data, indent: &str) -> Result<String, Failure> {
    let mut out = String::new();
    write(&mut out, value, Some(indent), 0)?;
    Ok(out)
}

fn write(out: &mut String, value: &Data, indent: Option<&str>, depth: usize) -> Result<(), Failure> {
    if depth > MAX_DEPTH {
        return Err(Failure::error(format!("value is nested deeper than {MAX_DEPTH}")));
    }
    let newline = |out: &mut String, depth: usize| {
        if let Some(unit) = indent {
            out.push('\n');
            (0..depth).for_each(|_| out.push_str(unit));
        }
    };
    match value {
        Data::Null => out.push_str("null"),
        Data::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Data::Number { value, .. } => out.push_str(&value.to_string()),
        Data::String(text) => quote(out, text),
        Data::Bytes(bytes) => {
            use base64::Engine as _;
            quote(out, &base64::engine::general_purpose::STANDARD.encode(bytes));
        }
        Data::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                newline(out, depth + 1);
                write(out, item, indent, depth + 1)?;
            }
            if !items.is_empty() {
                newline(out, depth);
            }
            out.push(']');
        }
        Data::Struct(fields) => {
            out.push('{');
            for (index, (name, item)) in fields.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                newline(out, depth + 1);
                quote(out, name);
                out.push_str(if indent.is_some() { ": " } else { ":" });
                write(out, item, indent, depth + 1)?;
            }
            if !fields.is_empty() {
                newline(out, depth);
            }
            out.push('}');
        }
        Data::Opaque(number) => return Err(Failure::Incomplete(*number)),
    }
    Ok(())
}

/// Appends a JSON string; only what JSON demands is escaped, and the two separators that JavaScript does not allow.
pub(crate) fn quote(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            _ if c < ' ' || c == '\u{2028}' || c == '\u{2029}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)))
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}

/// Reads one JSON text.
///
/// # Errors
/// Where and why it is no JSON, or a name that stands for different values.
pub fn read(text: &[u8]) -> Outcome {
    whole(text, false)?.with_names_once()
}

/// Reads one JSON text; half a surrogate pair is valid JSON, but no text.
fn whole(text: &[u8], lone_surrogates: bool) -> Outcome {
    let mut parser = Parser { text, at: 0, lone_surrogates };
    let value = parser.value(0)?;
    if parser.peek().is_some() {
        return parser.fail("unexpected text after the value");
    }
    Ok(value)
}

/// Whether a text is JSON; else at which byte it is not, and why.
///
/// # Errors
/// At which byte it is none, and why.
pub fn check(text: &[u8]) -> Result<(), (usize, String)> {
    let mut parser = Parser { text, at: 0, lone_surrogates: false };
    let result = match parser.value(0) {
        Ok(_) if parser.peek().is_some() => parser.fail("unexpected text after the value"),
        other => other,
    };
    let why = |failure| match failure {
        // The place is told beside it.
        Failure::Error(text) => text.split_once(": ").map_or(text.clone(), |(_, what)| what.to_owned()),
        Failure::Budget(text) => text,
        Failure::Incomplete(_) => "a value is missing".to_owned(),
    };
    result.map(|_| ()).map_err(|failure| (parser.at, why(failure)))
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    lone_surrogates: bool,
}

impl Parser<'_> {
    fn fail<T>(&self, what: &str) -> Result<T, Failure> {
        let before = &self.text[..self.at.min(self.text.len())];
        let line = before.iter().filter(|b| **b == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|b| **b != b'\n').count() + 1;
        Err(Failure::Error(format!("invalid JSON at {line}:{column}: {what}")))
    }

    fn peek(&mut self) -> Option<u8> {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn value(&mut self, depth: usize) -> Outcome {
        if depth > MAX_DEPTH {
            return self.fail("nested too deep");
        }
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Data::String),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => {
                for (word, value) in
                    [("null", Data::Null), ("true", Data::Bool(true)), ("false", Data::Bool(false))]
                {
                    if self.text[self.at..].starts_with(word.as_bytes()) {
                        self.at += word.len();
                        return Ok(value);
                    }
                }
                self.fail("expected a value")
            }
            None => self.fail("unexpected end, expected a value"),
        }
    }

    fn object(&mut self, depth: usize) -> Outcome {
        self.at += 1;
        let mut fields: Vec<(String, Data)> = Vec::new();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Data::Struct(fields));
        }
        loop {
            if self.peek() != Some(b'"') {
                return self.fail("expected a quoted field name");
            }
            let name = self.string()?;
            if self.peek() != Some(b':') {
                return self.fail("expected ':' after the field name");
            }
            self.at += 1;
            let value = self.value(depth + 1)?;
            fields.push((name, value));
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Data::Struct(fields));
                }
                _ => return self.fail("expected ',' or '}'"),
            }
        }
    }

    fn array(&mut self, depth: usize) -> Outcome {
        self.at += 1;
        let mut items = Vec::new();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Data::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Data::List(items));
                }
                _ => return self.fail("expected ',' or ']'"),
            }
        }
    }

    fn number(&mut self) -> Outcome {
        let start = self.at;
        let sign = usize::from(self.text.get(start) == Some(&b'-'));
        // A number that begins with 0 goes on only with a point or an exponent.
        if self.text.get(start + sign) == Some(&b'0') {
            self.at += sign + 1;
        }
        let alone = self.at > start && !matches!(self.text.get(self.at), Some(b'.' | b'e' | b'E'));
        while !alone && matches!(self.text.get(self.at), Some(b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'))
        {
            self.at += 1;
        }
        let text = std::str::from_utf8(&self.text[start..self.at]).unwrap_or_default();
        let digits = text.strip_prefix('-').unwrap_or(text);
        let is_float = text.contains(['.', 'e', 'E']);
        let bare_point = digits.starts_with('.')
            || digits.ends_with('.')
            || digits.contains(".e")
            || digits.contains(".E");
        match Decimal::parse(text) {
            Ok(value) if !bare_point && !text.starts_with('+') => Ok(Data::Number { value, is_float }),
            _ => {
                self.at = start;
                self.fail("malformed number")
            }
        }
    }

    fn string(&mut self) -> Result<String, Failure> {
        self.at += 1;
        let mut value = Vec::new();
        loop {
            let Some(&byte) = self.text.get(self.at) else {
                return self.fail("string not terminated");
            };
            self.at += 1;
            match byte {
                b'"' => break,
                b'\\' => self.escape(&mut value)?,
                0..=0x1f => return self.fail("control character in string"),
                _ => value.push(byte),
            }
        }
        // JSON text that is not UTF-8 is read with replacement characters.
        Ok(String::from_utf8(value).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
    }

    fn escape(&mut self, value: &mut Vec<u8>) -> Result<(), Failure> {
        let Some(&letter) = self.text.get(self.at) else {
            return self.fail("string not terminated");
        };
        self.at += 1;
        value.push(match letter {
            b'"' | b'\\' | b'/' => letter,
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'b' => 8,
            b'f' => 12,
            b'u' => {
                let mut code = self.hexadecimal()?;
                if (0xD800..0xDC00).contains(&code) && self.text[self.at..].starts_with(b"\\u") {
                    let rewind = self.at;
                    self.at += 2;
                    let low = self.hexadecimal()?;
                    if (0xDC00..0xE000).contains(&low) {
                        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
                    } else {
                        self.at = rewind;
                    }
                }
                if (0xD800..0xE000).contains(&code) && !self.lone_surrogates {
                    return self.fail("invalid string: unmatched surrogate pair");
                }
                let c = char::from_u32(code).unwrap_or('\u{fffd}');
                value.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return self.fail("unknown escape sequence"),
        });
        Ok(())
    }

    fn hexadecimal(&mut self) -> Result<u32, Failure> {
        let digits =
            self.text.get(self.at..self.at + 4).and_then(|d| std::str::from_utf8(d).ok()).unwrap_or_default();
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return self.fail("\\u needs four hexadecimal digits");
        }
        self.at += 4;
        u32::from_str_radix(digits, 16).or_else(|_| self.fail("malformed escape sequence"))
    }
}

/// Re-spaces a JSON text without touching its numbers and strings.
fn layout(source: &[u8], indent: Option<(&str, &str)>) -> Outcome {
    whole(source, true)?;
    let text = std::str::from_utf8(source).map_err(|_| Failure::error("JSON text is not valid UTF-8"))?;
    let mut out = String::new();
    let (mut depth, mut in_string, mut escaped, mut opened) = (0usize, false, false, false);
    let newline = |out: &mut String, depth: usize| {
        if let Some((prefix, unit)) = indent {
            out.push('\n');
            out.push_str(prefix);
            (0..depth).for_each(|_| out.push_str(unit));
        }
    };
    for c in text.trim_start_matches([' ', '\t', '\n', '\r']).chars() {
        if in_string {
            out.push(c);
            in_string = escaped || c != '"';
            escaped = c == '\\' && !escaped;
            continue;
        }
        if matches!(c, ' ' | '\t' | '\n' | '\r') {
            if depth == 0 && indent.is_some() && !out.is_empty() {
                out.push(c);
            }
            continue;
        }
        if opened && !matches!(c, ']' | '}') {
            newline(&mut out, depth);
        }
        match c {
            '{' | '[' => {
                depth += 1;
                out.push(c);
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                if !opened {
                    newline(&mut out, depth);
                }
                out.push(c);
            }
            ',' => {
                out.push(c);
                newline(&mut out, depth);
            }
            ':' => out.push_str(if indent.is_some() { ": " } else { ":" }),
            _ => {
                in_string = c == '"';
                out.push(c);
            }
        }
        opened = matches!(c, '{' | '[');
    }
    Ok(Data::String(out))
}

fn html_safe(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    for c in source.chars() {
        if matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}') {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}
