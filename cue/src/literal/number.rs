//! The text of a number literal in; the number out.

use num_bigint::BigInt;

use super::quotes::{LiteralError, fail};
use crate::number::{Decimal, NumberError};

/// A number literal's value and whether it is a float.
#[derive(Debug, Clone)]
pub struct NumberLiteral {
    /// The value.
    pub value: Decimal,
    /// `1.0` and `1e3` are floats, `1.5K` is an integer.
    pub is_float: bool,
}

/// Reads `42`, `0x1F`, `1_000.50`, `.5`, `1e-7`, `1.5Ki`.
///
/// # Errors
/// It is no number, or one that is too large.
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
