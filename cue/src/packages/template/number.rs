//! Constants of templates: numbers, characters and quoted texts in, values out.

use super::super::float;
use super::lexer::{Kind, Mistake, Token};

/// A constant number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    Int(i64),
    Float(f64),
    /// An integer that only an unsigned type holds.
    TooLarge,
}

/// The value of a number or character constant.
pub(super) fn number(token: Token<'_>) -> Result<Number, Mistake> {
    let bad = |what: &str| Err((token.at, format!("{what}: {:?}", token.text)));
    if token.kind == Kind::Character {
        let inner = &token.text[1..token.text.len() - 1];
        let value = unescaped(inner, '\'');
        let mut characters = value.iter().flat_map(|text| text.chars());
        return match (characters.next(), characters.next()) {
            (Some(c), None) => Ok(Number::Int(i64::from(u32::from(c)))),
            _ => bad("malformed character constant"),
        };
    }
    if let Some(value) = integer(token.text) {
        return match i64::try_from(value) {
            Ok(small) => Ok(Number::Int(small)),
            Err(_) if value >= 0 && u64::try_from(value).is_ok() => Ok(Number::TooLarge),
            Err(_) => bad("integer overflow"),
        };
    }
    let clean = token.text.replace('_', "");
    if clean.contains(['x', 'X']) {
        return float::parse(&clean)
            .filter(|f| f.is_finite())
            .map_or_else(|| bad("illegal number syntax"), |f| Ok(Number::Float(f)));
    }
    let is_float = clean.contains(['.', 'e', 'E']);
    match clean.parse::<f64>() {
        Ok(value) if is_float && value.is_finite() => Ok(Number::Float(value)),
        Ok(_) if !is_float => bad("integer overflow"),
        _ => bad("illegal number syntax"),
    }
}

/// An integer with an optional sign, a prefix for its base, and `_` between digits.
fn integer(text: &str) -> Option<i128> {
    let (negative, body) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (digits, radix) = match body.get(..2).unwrap_or_default() {
        "0x" | "0X" => (&body[2..], 16),
        "0o" | "0O" => (&body[2..], 8),
        "0b" | "0B" => (&body[2..], 2),
        _ if body.len() > 1 && body.starts_with('0') => (&body[1..], 8),
        _ => (body, 10),
    };
    let clean = digits.replace('_', "");
    if clean.starts_with(['+', '-']) {
        return None;
    }
    let value = i128::from_str_radix(&clean, radix).ok()?;
    Some(if negative { -value } else { value })
}

/// The text of a quoted or raw string.
pub(super) fn unquoted(token: Token<'_>) -> Result<String, Mistake> {
    let inner = &token.text[1..token.text.len() - 1];
    if token.kind == Kind::RawString {
        return Ok(inner.replace('\r', ""));
    }
    unescaped(inner, '"').ok_or_else(|| (token.at, "invalid syntax".to_string()))
}

/// The text that escapes of a Go literal stand for; none when one of them is wrong.
fn unescaped(text: &str, quote: char) -> Option<String> {
    let mut bytes: Vec<u8> = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if c == '\\' {
            rest = escape(rest, quote, &mut bytes)?;
        } else {
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    // Bytes that are no text are shown as replacement characters, as any output of CUE is.
    Some(String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
}

/// Reads the escape that `text` begins with, and gives what follows it.
fn escape<'t>(text: &'t str, quote: char, out: &mut Vec<u8>) -> Option<&'t str> {
    let letter = text.chars().next()?;
    let rest = &text[letter.len_utf8()..];
    let (digits, radix) = match letter {
        'x' => (rest.get(..2)?, 16),
        'u' => (rest.get(..4)?, 16),
        'U' => (rest.get(..8)?, 16),
        '0'..='7' => (text.get(..3)?, 8),
        _ => {
            out.push(match letter {
                'a' => 7,
                'b' => 8,
                'f' => 12,
                'n' => b'\n',
                'r' => b'\r',
                't' => b'\t',
                'v' => 11,
                '\\' => b'\\',
                c if c == quote => u8::try_from(c).ok()?,
                _ => return None,
            });
            return Some(rest);
        }
    };
    if digits.starts_with('+') {
        return None;
    }
    let value = u32::from_str_radix(digits, radix).ok()?;
    if matches!(letter, 'u' | 'U') {
        out.extend_from_slice(char::from_u32(value)?.encode_utf8(&mut [0; 4]).as_bytes());
    } else {
        out.push(u8::try_from(value).ok()?);
    }
    Some(if radix == 8 { &text[3..] } else { &rest[digits.len()..] })
}
