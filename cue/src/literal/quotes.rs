//! The quotes of a literal, and what is wrong with one.

/// A malformed literal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiteralError {
    /// Which segment (0 for numbers and for literals without interpolation).
    pub segment: usize,
    /// Byte offset inside that segment (for numbers and [`unquote`](super::unquote): inside the whole text).
    pub offset: usize,
    /// The error, as a lower-case clause.
    pub message: String,
}

impl LiteralError {
    /// Whether half of a surrogate pair is missing: the grammar has no word on it, only the value cannot be made.
    pub fn is_unpaired_surrogate(&self) -> bool {
        self.message == UNPAIRED
    }
}

/// The complaint about half a surrogate pair.
pub(super) const UNPAIRED: &str = "unmatched surrogate pair";

impl std::fmt::Display for LiteralError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for LiteralError {}

pub(super) fn fail<T>(segment: usize, offset: usize, message: impl Into<String>) -> Result<T, LiteralError> {
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

    pub(super) fn character(&self) -> u8 {
        if self.kind == QuoteKind::String { b'"' } else { b'\'' }
    }
}
