//! The text between quotes in; its value out, escapes resolved.

use super::quotes::{LiteralError, QuoteKind, Quotes, UNPAIRED, fail};

pub(super) struct Reader<'a> {
    pub(super) quotes: Quotes,
    pub(super) indent: &'a str,
    pub(super) segment: usize,
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) value: Vec<u8>,
}

impl Reader<'_> {
    fn fail<T>(&self, at: usize, message: impl Into<String>) -> Result<T, LiteralError> {
        fail(self.segment, at, message)
    }

    fn rest(&self) -> &[u8] {
        &self.text.as_bytes()[self.at..]
    }

    /// Every line of a multi-line literal starts with the white space that stands before the closing quotes.
    pub(super) fn line_start(&mut self) -> Result<(), LiteralError> {
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

    pub(super) fn run(&mut self) -> Result<(), LiteralError> {
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
