//! Literal text of CUE in, its value out; and values in, literal text out.
//!
//! Strings and bytes are given as *segments*: the raw source between the opening quotes, the interpolations and the
//! closing quotes. A literal without interpolation has one segment.

use num_bigint::BigInt;

use crate::number::{Decimal, NumberError};

/// A malformed literal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiteralError {
    /// Which segment (0 for numbers and for literals without interpolation).
    pub segment: usize,
    /// Byte offset inside that segment (for numbers and [`unquote`]: inside the whole text).
    pub offset: usize,
    /// What is wrong, as a lower-case clause.
    pub message: String,
}

impl LiteralError {
    /// Whether half of a surrogate pair is missing: the grammar has no word on it, only the value cannot be made.
    pub fn is_unpaired_surrogate(&self) -> bool {
        self.message == UNPAIRED
    }
}

/// The complaint about half a surrogate pair.
const UNPAIRED: &str = "unmatched surrogate pair";

impl std::fmt::Display for LiteralError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for LiteralError {}

fn fail<T>(segment: usize, offset: usize, message: impl Into<String>) -> Result<T, LiteralError> {
    Err(LiteralError { segment, offset, message: message.into() })
}

/// Which values a quoted literal makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuoteKind {
    /// `"…"`: Unicode text.
    String,
    /// `'…'`: bytes.
    Bytes,
}

/// The delimiters of a quoted literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quotes {
    /// String or bytes.
    pub kind: QuoteKind,
    /// Number of `#` before the opening and after the closing quotes.
    pub hashes: usize,
    /// Whether the quotes are tripled.
    pub multiline: bool,
}

impl Quotes {
    /// Reads the opening delimiter at the start of `text`; gives its length in bytes (the newline after `"""` not counted).
    pub fn opening(text: &str) -> Option<(Self, usize)> {
        let hashes = text.bytes().take_while(|b| *b == b'#').count();
        let rest = &text.as_bytes()[hashes..];
        let kind = match rest.first()? {
            b'"' => QuoteKind::String,
            b'\'' => QuoteKind::Bytes,
            _ => return None,
        };
        let quote = rest[0];
        // `"""#` with hashes before is an empty-looking start such as #"""#: one quote character in single quotes.
        let multiline = rest.len() > 3 && rest[1] == quote && rest[2] == quote && rest[3] != b'#';
        Some((Self { kind, hashes, multiline }, hashes + if multiline { 3 } else { 1 }))
    }

    /// The closing delimiter.
    pub fn closing(&self) -> String {
        let quote = if self.kind == QuoteKind::String { "\"" } else { "'" };
        let mut text = quote.repeat(if self.multiline { 3 } else { 1 });
        text.push_str(&"#".repeat(self.hashes));
        text
    }

    fn character(&self) -> u8 {
        if self.kind == QuoteKind::String { b'"' } else { b'\'' }
    }
}

/// The value of a quoted literal without interpolation.
pub fn unquote(text: &str) -> Result<(QuoteKind, Vec<u8>), LiteralError> {
    let Some((quotes, start)) = Quotes::opening(text) else {
        return fail(0, 0, "not a string literal");
    };
    let closing = quotes.closing();
    if text.len() < start + closing.len() || !text.ends_with(&closing) {
        return fail(0, text.len(), "string literal not terminated");
    }
    let body = &text[start..text.len() - closing.len()];
    let mut parts = unquote_segments(quotes, &[body]).map_err(|mut e| {
        e.offset += start;
        e
    })?;
    Ok((quotes.kind, parts.pop().unwrap_or_default()))
}

/// Whether the closing quotes stand on a line of their own, which the newest release asks of multi-line literals.
pub fn check_closing(quotes: Quotes, segments: &[&str]) -> Result<(), LiteralError> {
    let closing = segments.last().copied().unwrap_or_default();
    let content = closing.trim_end_matches(|c: char| c.is_whitespace() && c != '\n');
    match quotes.multiline && !content.ends_with('\n') {
        true => fail(
            segments.len().saturating_sub(1),
            content.len(),
            "expected a newline before the closing quotes of a multi-line string",
        ),
        false => Ok(()),
    }
}

/// The values of all segments of a literal. Quotes that close behind text are read as older releases read them; see
/// [`check_closing`].
pub fn unquote_segments(quotes: Quotes, segments: &[&str]) -> Result<Vec<Vec<u8>>, LiteralError> {
    let last = segments.len().saturating_sub(1);
    let mut indent = "";
    let mut end = segments.last().map_or(0, |s| s.len());
    if quotes.multiline {
        let first = segments.first().copied().unwrap_or_default();
        if !first.starts_with('\n') && !first.starts_with("\r\n") {
            return fail(0, 0, "expected a newline after the opening quotes of a multi-line string");
        }
        let closing = segments.last().copied().unwrap_or_default();
        let content = closing.trim_end_matches(|c: char| c.is_whitespace() && c != '\n');
        indent = &closing[content.len()..];
        // Closed behind text, as older releases read it, the last line belongs to the value as it is.
        if content.ends_with('\n') {
            end = content.len() - 1;
            if content[..end].ends_with('\r') {
                end -= 1;
            }
        }
    }
    let mut values = Vec::with_capacity(segments.len());
    for (index, segment) in segments.iter().enumerate() {
        let mut start = 0;
        if quotes.multiline && index == 0 {
            start = segment.find('\n').map_or(0, |at| at + 1);
            if last == 0 && start > end {
                // Only the one newline between the quotes: the empty string.
                values.push(Vec::new());
                continue;
            }
        }
        let stop = if index == last { end } else { segment.len() };
        let mut reader =
            Reader { quotes, indent, segment: index, text: &segment[..stop], at: start, value: Vec::new() };
        if quotes.multiline && index == 0 {
            reader.line_start()?;
        }
        reader.run()?;
        values.push(reader.value);
    }
    Ok(values)
}

struct Reader<'a> {
    quotes: Quotes,
    indent: &'a str,
    segment: usize,
    text: &'a str,
    at: usize,
    value: Vec<u8>,
}

impl Reader<'_> {
    fn fail<T>(&self, at: usize, message: impl Into<String>) -> Result<T, LiteralError> {
        fail(self.segment, at, message)
    }

    fn rest(&self) -> &[u8] {
        &self.text.as_bytes()[self.at..]
    }

    /// Every line of a multi-line literal starts with the white space that stands before the closing quotes.
    fn line_start(&mut self) -> Result<(), LiteralError> {
        let rest = &self.text[self.at..];
        if rest.starts_with(self.indent) {
            self.at += self.indent.len();
            return Ok(());
        }
        if rest.is_empty() || rest.starts_with('\n') || rest.starts_with("\r\n") {
            return Ok(());
        }
        let actual = &rest[..rest.len() - rest.trim_start_matches([' ', '\t']).len()];
        self.fail(
            self.at,
            format!(
                "invalid string: non-matching whitespace for multiline string (expected {:?}, got {actual:?})",
                self.indent
            ),
        )
    }

    fn run(&mut self) -> Result<(), LiteralError> {
        while let Some(&byte) = self.rest().first() {
            match byte {
                b'\r' if !self.is_verbatim() => self.at += 1,
                b'\n' if !self.quotes.multiline => return self.fail(self.at, "newline in string literal"),
                b'\n' => {
                    self.at += 1;
                    self.value.push(b'\n');
                    self.line_start()?;
                }
                0 => return self.fail(self.at, "illegal character NUL in string literal"),
                b'\\' if self.starts_escape() => self.escape()?,
                _ => {
                    self.value.push(byte);
                    self.at += 1;
                }
            }
        }
        Ok(())
    }

    /// A literal on one line without escapes keeps its carriage returns.
    fn is_verbatim(&self) -> bool {
        !self.quotes.multiline && self.quotes.hashes == 0 && !self.text.contains('\\')
    }

    fn starts_escape(&self) -> bool {
        let hashes = self.rest()[1..].iter().take(self.quotes.hashes).take_while(|b| **b == b'#').count();
        hashes == self.quotes.hashes
    }

    fn escape(&mut self) -> Result<(), LiteralError> {
        let start = self.at;
        self.at += 1 + self.quotes.hashes;
        let Some(&letter) = self.rest().first() else {
            return self.fail(start, "unfinished escape sequence");
        };
        let bytes_only = |reader: &Self| match reader.quotes.kind {
            QuoteKind::Bytes => Ok(()),
            QuoteKind::String => reader.fail(start, "this escape sequence is only allowed in bytes literals"),
        };
        self.at += 1;
        match letter {
            b'a' => self.value.push(7),
            b'b' => self.value.push(8),
            b'f' => self.value.push(12),
            b'n' => self.value.push(b'\n'),
            b'r' => self.value.push(b'\r'),
            b't' => self.value.push(b'\t'),
            b'v' => self.value.push(11),
            b'/' | b'\\' => self.value.push(letter),
            b'"' | b'\'' if letter == self.quotes.character() => self.value.push(letter),
            b'x' => {
                bytes_only(self)?;
                let value = self.hexadecimal(start, 2)?;
                self.value.push(u8::try_from(value).unwrap_or(0));
            }
            b'0'..=b'7' => {
                bytes_only(self)?;
                let digits = self.text.get(self.at - 1..self.at + 2).unwrap_or_default();
                let Ok(value) = u8::from_str_radix(digits, 8) else {
                    return self.fail(start, "an octal escape needs three digits, at most \\377");
                };
                self.at += 2;
                self.value.push(value);
            }
            b'u' | b'U' => {
                let mut code = self.hexadecimal(start, if letter == b'u' { 4 } else { 8 })?;
                if (0xD800..0xDC00).contains(&code) {
                    code = self.low_surrogate(start, code)?;
                }
                if (0xDC00..0xE000).contains(&code) {
                    return self.fail(start, UNPAIRED);
                }
                let Some(character) = char::from_u32(code) else {
                    return self.fail(start, "escape sequence is not a Unicode code point");
                };
                self.value.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            _ => return self.fail(start, "unknown escape sequence"),
        }
        Ok(())
    }

    fn hexadecimal(&mut self, start: usize, digits: usize) -> Result<u32, LiteralError> {
        let text = self.text.get(self.at..self.at + digits).unwrap_or_default();
        if text.is_empty() || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return self.fail(start, format!("escape sequence needs {digits} hexadecimal digits"));
        }
        self.at += digits;
        u32::from_str_radix(text, 16).or_else(|_| self.fail(start, "malformed escape sequence"))
    }

    fn low_surrogate(&mut self, start: usize, high: u32) -> Result<u32, LiteralError> {
        let prefix = format!("\\{}", "#".repeat(self.quotes.hashes));
        if !self.text[self.at..].starts_with(&prefix) {
            return self.fail(start, UNPAIRED);
        }
        self.at += prefix.len();
        let digits = match self.rest().first() {
            Some(b'u') => 4,
            Some(b'U') => 8,
            _ => return self.fail(start, UNPAIRED),
        };
        self.at += 1;
        let low = self.hexadecimal(start, digits)?;
        if !(0xDC00..0xE000).contains(&low) {
            return self.fail(start, UNPAIRED);
        }
        Ok(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    }
}

/// A number literal's value and whether it is a float.
#[derive(Debug, Clone)]
pub struct NumberLiteral {
    /// The value.
    pub value: Decimal,
    /// `1.0` and `1e3` are floats, `1.5K` is an integer.
    pub is_float: bool,
}

/// Reads `42`, `0x1F`, `1_000.50`, `.5`, `1e-7`, `1.5Ki`.
pub fn parse_number(text: &str) -> Result<NumberLiteral, LiteralError> {
    let malformed = |offset, what: &str| fail(0, offset, format!("{what} {text:?}"));
    if let Some((radix, digits)) = based(text) {
        let (clean, _) = separated(text, 2, digits, |b| (b as char).is_digit(radix))?;
        if clean.is_empty() || clean.len() != digits.bytes().filter(|b| *b != b'_').count() {
            return malformed(2, "illegal number");
        }
        let Some(value) = BigInt::parse_bytes(clean.as_bytes(), radix) else {
            return malformed(2, "illegal number");
        };
        return Ok(NumberLiteral { value: Decimal::from(value), is_float: false });
    }
    let digit = |b: u8| b.is_ascii_digit();
    let (whole, mut at) = separated(text, 0, text, digit)?;
    let mut clean = whole.clone();
    let mut is_float = false;
    if text[at..].starts_with('.') {
        is_float = true;
        let (fraction, length) = separated(text, at + 1, &text[at + 1..], digit)?;
        at += 1 + length;
        clean.push('.');
        clean.push_str(&fraction);
    }
    if whole.is_empty() && clean.len() < 2 {
        return malformed(0, "illegal number start");
    }
    let mut multiplier = None;
    if text[at..].starts_with(['e', 'E']) {
        is_float = true;
        at += 1;
        clean.push('e');
        if let Some(sign) = text[at..].chars().next().filter(|c| matches!(c, '+' | '-')) {
            clean.push(sign);
            at += 1;
        }
        let (exponent, length) = separated(text, at, &text[at..], digit)?;
        if exponent.is_empty() {
            return malformed(at, "illegal exponent");
        }
        clean.push_str(&exponent);
        at += length;
    } else if let Some(power) = text[at..].chars().next().and_then(|c| "KMGTP".find(c)) {
        at += 1;
        let binary = text[at..].starts_with('i');
        at += usize::from(binary);
        is_float = false;
        multiplier =
            Some(BigInt::from(if binary { 1024 } else { 1000 }).pow(u32::try_from(power).unwrap_or(0) + 1));
    }
    if at < text.len() {
        return malformed(at, "illegal number");
    }
    if !is_float && multiplier.is_none() && whole.len() > 1 && whole.starts_with('0') {
        return malformed(0, "illegal integer number");
    }
    let mut value = Decimal::parse(&clean).or_else(|e| match e {
        NumberError::Syntax => fail(0, 0, format!("illegal number {text:?}")),
        other => fail(0, 0, other.to_string()),
    })?;
    if let Some(multiplier) = multiplier {
        let Some(product) = Decimal::new(value.coefficient() * multiplier, value.exponent()).to_bigint()
        else {
            return fail(0, 0, "number cannot be represented as int");
        };
        value = Decimal::from(product);
    }
    Ok(NumberLiteral { value, is_float })
}

fn based(text: &str) -> Option<(u32, &str)> {
    let radix = match text.get(..2)? {
        "0x" | "0X" => 16,
        "0b" => 2,
        "0o" => 8,
        _ => return None,
    };
    Some((radix, &text[2..]))
}

/// The run of digits at the start of `rest` without its `_`, and the length of the run.
fn separated(
    text: &str,
    offset: usize,
    rest: &str,
    is_digit: impl Fn(u8) -> bool,
) -> Result<(String, usize), LiteralError> {
    let mut clean = String::new();
    let mut last = 0;
    let mut length = 0;
    for byte in rest.bytes() {
        if byte == b'_' {
            if last == b'_' {
                return fail(0, offset + length, format!("illegal '_' in number {text:?}"));
            }
        } else if is_digit(byte) {
            clean.push(byte as char);
        } else {
            break;
        }
        last = byte;
        length += 1;
    }
    if last == b'_' {
        return fail(0, offset + length - 1, format!("illegal '_' in number {text:?}"));
    }
    Ok((clean, length))
}

/// `text` as a string literal on one line.
pub fn quote_string(text: &str) -> String {
    quoted(QuoteKind::String, text.as_bytes(), None)
}

/// `bytes` as a bytes literal on one line.
pub fn quote_bytes(bytes: &[u8]) -> String {
    quoted(QuoteKind::Bytes, bytes, None)
}

/// A literal that is tripled when the value has a newline; its lines are indented by so many tabs.
pub fn quote_indented(kind: QuoteKind, bytes: &[u8], tabs: usize) -> String {
    quoted(kind, bytes, bytes.contains(&b'\n').then_some(tabs))
}

/// A multi-line literal, its lines indented by so many tabs.
pub fn quote_multiline(kind: QuoteKind, bytes: &[u8], tabs: usize) -> String {
    quoted(kind, bytes, Some(tabs))
}

fn quoted(kind: QuoteKind, bytes: &[u8], tabs: Option<usize>) -> String {
    let quote = if kind == QuoteKind::String { '"' } else { '\'' };
    let triple: String = std::iter::repeat_n(quote, 3).collect();
    let hashes = tabs.map_or(0, |_| needed_hashes(bytes, triple.as_bytes()));
    let (hash, indent) = ("#".repeat(hashes), "\t".repeat(tabs.unwrap_or(0)));
    let mut out = hash.clone();
    let escape = format!("\\{hash}");
    if tabs.is_some() {
        out.push_str(&triple);
        out.push('\n');
        if bytes.is_empty() {
            return out + &indent + &triple;
        }
        if bytes[0] != b'\n' {
            out.push_str(&indent);
        }
    } else {
        out.push(quote);
    }
    let mut chunks = bytes.utf8_chunks().peekable();
    while let Some(chunk) = chunks.next() {
        let mut characters = chunk.valid().chars().peekable();
        while let Some(c) = characters.next() {
            if c == '\n' && tabs.is_some() {
                out.push('\n');
                let at_end =
                    characters.peek().is_none() && chunk.invalid().is_empty() && chunks.peek().is_none();
                if !at_end && characters.peek() != Some(&'\n') {
                    out.push_str(&indent);
                }
            } else {
                escaped(&mut out, c, kind, (tabs.is_none()).then_some(quote), &escape);
            }
        }
        for byte in chunk.invalid() {
            if kind == QuoteKind::Bytes {
                out.push_str(&format!("{escape}x{byte:02x}"));
            } else {
                out.push('\u{fffd}');
            }
        }
    }
    if tabs.is_some() {
        out.push('\n');
        out.push_str(&indent);
        out.push_str(&triple);
    } else {
        out.push(quote);
    }
    out + &hash
}

fn escaped(out: &mut String, c: char, kind: QuoteKind, quote: Option<char>, escape: &str) {
    if Some(c) == quote || c == '\\' {
        out.push_str(escape);
        out.push(c);
        return;
    }
    if is_printable(c) {
        out.push(c);
        return;
    }
    out.push_str(escape);
    match c {
        '\u{7}' => out.push('a'),
        '\u{8}' => out.push('b'),
        '\u{c}' => out.push('f'),
        '\n' => out.push('n'),
        '\r' => out.push('r'),
        '\t' => out.push('t'),
        '\u{b}' => out.push('v'),
        _ if c < ' ' && kind == QuoteKind::Bytes => out.push_str(&format!("x{:02x}", c as u32)),
        _ if (c as u32) < 0x10000 => out.push_str(&format!("u{:04x}", c as u32)),
        _ => out.push_str(&format!("U{:08x}", c as u32)),
    }
}

/// Letters, marks, numbers, punctuation, symbols and the plain space.
pub fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return (' '..='~').contains(&c);
    }
    // The leading letter keeps combining marks, which are printable here, from being escaped.
    let mut pair = String::from("a");
    pair.push(c);
    pair.escape_debug().count() == 2
}

/// A multi-line literal that contains its own closing quotes needs `#` marks to tell them apart.
fn needed_hashes(bytes: &[u8], triple: &[u8]) -> usize {
    let (mut hashes, mut at) = (0, 0);
    while at + 3 <= bytes.len() {
        if &bytes[at..at + 3] != triple {
            at += 1;
            continue;
        }
        at += 3;
        at += bytes[at..].iter().take_while(|b| **b == triple[0]).count();
        let following = bytes[at..].iter().take_while(|b| **b == b'#').count();
        at += following;
        hashes = hashes.max(following + 1);
    }
    hashes
}

/// Whether a field of this name can be written without quotes.
pub fn is_identifier(name: &str) -> bool {
    let rest = name.strip_prefix("_#").or_else(|| name.strip_prefix('#')).unwrap_or(name);
    if rest.is_empty() {
        return !name.is_empty() && name != "_" && !name.contains('#') || name == "#" || name == "_#";
    }
    let mut characters = rest.chars();
    characters.next().is_some_and(|c| c == '_' || c == '$' || c.is_alphabetic())
        && characters.all(|c| c == '_' || c == '$' || c.is_alphabetic() || c.is_numeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Literals with the text the reference command `cue eval` prints for them.
    #[test]
    fn number_literals_print_as_the_reference_prints_them() {
        for (text, expected) in [
            ("1.50", "1.50"),
            ("1e3", "1e+3"),
            ("1_000.50", "1000.50"),
            ("1.5Ki", "1536"),
            ("1e100", "1e+100"),
            ("0.0000001", "1e-7"),
            ("0.000001", "0.000001"),
            ("0x1F", "31"),
            ("1.5M", "1500000"),
            ("2.", "2.0"),
            (".5", "0.5"),
            ("1.23e2", "123.0"),
            ("1.0e-10", "1.0e-10"),
            ("1000000000000000000000.0", "1000000000000000000000.0"),
        ] {
            let number = parse_number(text).map(|n| n.value.to_cue(n.is_float));
            assert_eq!(number.as_deref(), Ok(expected), "{text}");
        }
        for text in ["01", "0x", "1__0", "1_", "0xFG", "1.5e", "1.0001K", "", "1e99999999999", "0b12", "1Kx"]
        {
            assert!(parse_number(text).is_err(), "{text}");
        }
    }

    #[test]
    fn strings_are_read() {
        for (text, expected) in [
            (r#""a\nb\u00e9\U0001F600""#, "a\nb\u{e9}\u{1F600}"),
            (r##"#"a\n\#n"\"#"##, "a\\n\n\"\\"),
            ("\"\"\"\n\t\ta\n\t\t  b\n\n\t\t\"\"\"", "a\n  b\n"),
            ("\"\"\"\n\t\"\"\"", ""),
            (r#""\ud83d\ude00""#, "\u{1F600}"),
            (r"'\x41\102'", "AB"),
        ] {
            assert_eq!(unquote(text).map(|u| u.1), Ok(expected.as_bytes().to_vec()), "{text}");
        }
        for text in [
            r#""\q""#,
            r#""\x41""#,
            r#""\ud83d""#,
            "\"a",
            "\"a\nb\"",
            "\"\"\"\n\ta\n b\n\t\"\"\"",
            "\"\"\"a\n\"\"\"",
        ] {
            assert!(unquote(text).is_err(), "{text}");
        }
        // Closed behind text, the last line and all indentation belong to the value.
        assert_eq!(unquote("\"\"\"\n\tx {\n\t}\"\"\"").map(|u| u.1), Ok(b"\tx {\n\t}".to_vec()));
        assert!(unquote("\"\"\"\n\ty  \"\"\"").is_err());
    }

    #[test]
    fn quoting_reads_back() {
        for text in ["", "a", "a\"b\\", "tab\tbell\u{7}\u{1}", "é\u{301}\u{200b}", "x\ny\n\nz\n", "\"\"\"#\n"]
        {
            for literal in [quote_string(text), quote_multiline(QuoteKind::String, text.as_bytes(), 2)] {
                assert_eq!(unquote(&literal).map(|u| u.1), Ok(text.as_bytes().to_vec()), "{literal}");
            }
        }
        assert_eq!(quote_bytes(b"a'\xff\x01"), r"'a\'\xff\x01'");
    }
}
