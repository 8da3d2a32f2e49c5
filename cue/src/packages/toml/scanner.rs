//! TOML text in, its words out: keys, strings, numbers and dates, each from the place where it begins.

use super::super::{Data, time};
use crate::literal::parse_number;

/// The error in a text, and its byte.
pub(super) type Mistake = (usize, String);

/// A place in a text.
pub(super) struct Scanner<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
}

impl<'t> Scanner<'t> {
    pub(super) fn fail<T>(&self, message: impl Into<String>) -> Result<T, Mistake> {
        Err((self.at, message.into()))
    }

    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn accept(&mut self, word: &str) -> bool {
        let found = self.rest().starts_with(word);
        if found {
            self.at += word.len();
        }
        found
    }

    pub(super) fn expect(&mut self, word: &str) -> Result<(), Mistake> {
        if self.accept(word) {
            return Ok(());
        }
        match self.rest().chars().next() {
            Some(c) => self.fail(format!("expected {word:?}, found {c:?}")),
            None => self.fail(format!("expected {word:?}, but the text ends here")),
        }
    }

    pub(super) fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    /// A comment up to the end of its line.
    pub(super) fn skip_comment(&mut self) -> Result<(), Mistake> {
        if self.peek() != Some(b'#') {
            return Ok(());
        }
        let length = self.rest().find('\n').unwrap_or(self.rest().len());
        let comment = self.rest()[..length].trim_end_matches('\r');
        if let Some(wrong) = comment.find(is_control) {
            return Err((self.at + wrong, "invalid character in comment".into()));
        }
        self.at += length;
        Ok(())
    }

    /// Blanks, comments and line ends, as they may stand inside arrays.
    pub(super) fn skip_lines(&mut self) -> Result<(), Mistake> {
        loop {
            self.skip_blanks();
            self.skip_comment()?;
            if !self.accept("\r\n") && !self.accept("\n") {
                return Ok(());
            }
        }
    }

    /// The parts of `a."b c".d`, each with its place.
    pub(super) fn key(&mut self) -> Result<Vec<(String, usize)>, Mistake> {
        let mut parts = Vec::new();
        loop {
            self.skip_blanks();
            let at = self.at;
            let name = match self.peek() {
                Some(b'"') => self.basic()?,
                Some(b'\'') => self.literal()?,
                _ => self.bare_key()?,
            };
            parts.push((name, at));
            self.skip_blanks();
            if !self.accept(".") {
                return Ok(parts);
            }
        }
    }

    fn bare_key(&mut self) -> Result<String, Mistake> {
        let part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        let length = self.rest().bytes().take_while(|b| part(*b)).count();
        if length == 0 {
            return match self.rest().chars().next() {
                Some(c) => self.fail(format!("invalid character at start of key: {c:?}")),
                None => self.fail("expected a key, but the text ends here"),
            };
        }
        let name = self.rest()[..length].to_string();
        self.at += length;
        Ok(name)
    }

    /// A string in any of its four forms.
    pub(super) fn string(&mut self) -> Result<String, Mistake> {
        if self.rest().starts_with("\"\"\"") {
            self.long("\"\"\"", true)
        } else if self.rest().starts_with("'''") {
            self.long("'''", false)
        } else if self.peek() == Some(b'"') {
            self.basic()
        } else {
            self.literal()
        }
    }

    fn literal(&mut self) -> Result<String, Mistake> {
        let body = &self.rest()[1..];
        let end = body.find(['\'', '\n']).filter(|end| body.as_bytes()[*end] == b'\'');
        let Some(end) = end else { return self.fail("unterminated literal string") };
        if let Some(wrong) = body[..end].find(is_control) {
            return Err((self.at + 1 + wrong, "invalid character in string".into()));
        }
        self.at += end + 2;
        Ok(body[..end].to_string())
    }

    fn basic(&mut self) -> Result<String, Mistake> {
        let start = self.at;
        self.at += 1;
        let mut value = String::new();
        loop {
            match self.rest().chars().next() {
                None | Some('\n') => return Err((start, "basic string not terminated by \"".into())),
                Some('"') => {
                    self.at += 1;
                    return Ok(value);
                }
                Some('\\') => value.push(self.escape()?),
                Some(c) if is_control(c) => return self.fail("invalid character in string"),
                Some(c) => {
                    self.at += c.len_utf8();
                    value.push(c);
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, Mistake> {
        let letter = self.rest()[1..].chars().next();
        let length = match letter {
            Some('u') => 4,
            Some('U') => 8,
            _ => 0,
        };
        if length > 0 {
            let digits = self.rest().get(2..2 + length).unwrap_or_default();
            let hexadecimal = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
            let c = u32::from_str_radix(digits, 16).ok().filter(|_| hexadecimal).and_then(char::from_u32);
            let Some(c) = c else { return self.fail("escape sequence is no Unicode code point") };
            self.at += 2 + length;
            return Ok(c);
        }
        let c = match letter {
            Some(c @ ('"' | '\\')) => c,
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('e') => '\u{1b}',
            Some(c) => return self.fail(format!("invalid escaped character {c:?}")),
            None => return self.fail("string not terminated"),
        };
        self.at += 2;
        Ok(c)
    }

    /// A string of several lines; a line end right behind the opening quotes is no part of it.
    fn long(&mut self, quotes: &str, escapes: bool) -> Result<String, Mistake> {
        let start = self.at;
        self.at += 3;
        if !self.accept("\r\n") {
            self.accept("\n");
        }
        let mut value = String::new();
        loop {
            if self.accept(quotes) {
                // Up to two quotes more belong to the text.
                let quote = quotes.chars().next().unwrap_or('"');
                for _ in 0..2 {
                    if self.accept(&quotes[..1]) {
                        value.push(quote);
                    }
                }
                if self.peek() == quotes.bytes().next() {
                    return self.fail(format!("{quotes} not allowed in a string of several lines"));
                }
                return Ok(value);
            }
            match self.rest().chars().next() {
                None => return Err((start, format!("string not terminated by {quotes}"))),
                Some('\\') if escapes => {
                    if !self.line_break() {
                        value.push(self.escape()?);
                    }
                }
                Some('\r') if self.rest().starts_with("\r\n") => {
                    self.at += 2;
                    value.push_str("\r\n");
                }
                Some(c) if is_control(c) && c != '\n' => return self.fail("invalid character in string"),
                Some(c) => {
                    self.at += c.len_utf8();
                    value.push(c);
                }
            }
        }
    }

    /// A backslash at the end of a line takes away all blanks and line ends that follow.
    fn line_break(&mut self) -> bool {
        let after = self.rest()[1..].trim_start_matches([' ', '\t']);
        if !after.starts_with('\n') && !after.starts_with("\r\n") {
            return false;
        }
        self.at = self.text.len() - after.trim_start_matches([' ', '\t', '\r', '\n']).len();
        true
    }

    /// A number or a date.
    pub(super) fn scalar(&mut self) -> Result<Data, Mistake> {
        let part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'+' | b'-' | b'.' | b':');
        let mut length = self.rest().bytes().take_while(|b| part(*b)).count();
        let word = &self.rest()[..length];
        if length == 10 && word.as_bytes()[4] == b'-' {
            // A blank may stand between date and time.
            let time = self.rest()[10..].strip_prefix(' ').unwrap_or_default();
            if time.len() > 2
                && time.is_char_boundary(3)
                && time[..2].bytes().all(|b| b.is_ascii_digit())
                && time[2..].starts_with(':')
            {
                length += 1 + time.bytes().take_while(|b| part(*b)).count();
            }
        }
        let word = &self.rest()[..length];
        if word.is_empty() {
            return self.fail("expected a value");
        }
        let data = match layout(word) {
            Some(layout) if time::fits(word, layout) => Ok(Data::text(word)),
            Some(_) => self.fail(format!("invalid time {word:?}")),
            None => match number(word) {
                Some(number) => Ok(number),
                None => self.fail(format!("illegal number {word:?}")),
            },
        };
        self.at += length;
        data
    }
}

fn is_control(c: char) -> bool {
    (c < ' ' && c != '\t') || c == '\u{7f}'
}

/// The layout of a date, a time or both; none for a number.
fn layout(word: &str) -> Option<&'static str> {
    let bytes = word.as_bytes();
    let digits = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    match (digits, bytes.get(digits)) {
        (2, Some(b':')) => Some("15:04:05"),
        (4, Some(b'-')) if word.contains([':', 'T', 't']) => {
            let zone = word.len() > 11 && word[11..].contains(['Z', 'z', '+', '-']);
            Some(if zone { "2006-01-02T15:04:05Z07:00" } else { "2006-01-02T15:04:05" })
        }
        (4, Some(b'-')) => Some("2006-01-02"),
        _ => None,
    }
}

fn number(word: &str) -> Option<Data> {
    let (negative, body) = match word.as_bytes().first()? {
        b'-' => (true, &word[1..]),
        b'+' => (false, &word[1..]),
        _ => (false, word),
    };
    let body = body.trim_start_matches('_');
    // Units such as `1K` are a matter of the language alone.
    let based = body.starts_with("0x") || body.starts_with("0o") || body.starts_with("0b");
    let plain =
        body.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-' | b'_'));
    if !based && !plain {
        return None;
    }
    let literal = parse_number(body).ok()?;
    let value = if negative { literal.value.neg() } else { literal.value };
    Some(Data::Number { value, is_float: literal.is_float })
}
