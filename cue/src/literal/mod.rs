//! Literal text of CUE in, its value out; and values in, literal text out.
//!
//! Strings and bytes are given as *segments*: the raw source between the opening quotes, the interpolations and the
//! closing quotes. A literal without interpolation has one segment.

mod number;
mod quote;
mod quotes;
mod read;

use self::quotes::fail;
use self::read::Reader;

pub use self::number::{NumberLiteral, parse_number};
pub use self::quote::{
    is_identifier, is_printable, quote_bytes, quote_indented, quote_multiline, quote_string,
};
pub use self::quotes::{LiteralError, QuoteKind, Quotes};

/// The value of a quoted literal without interpolation.
///
/// # Errors
/// It is no literal, is not closed, or has an escape or an indentation that is none.
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
///
/// # Errors
/// They stand behind text.
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
///
/// # Errors
/// An escape or an indentation is none.
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

#[cfg(test)]
mod tests;
