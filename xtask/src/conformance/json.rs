//! Reads JSON with every digit of its numbers, so that results are compared exactly.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

/// Nesting beyond this is refused: no case is that deep, and reading recurses.
const DEPTH: usize = 512;

/// A JSON value with numbers as normalized decimals.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// Sign, digits without outer zeros, and exponent of the last digit.
    Number(bool, String, i64),
    /// Text.
    String(String),
    /// Items in order.
    Array(Vec<Json>),
    /// Fields; order does not matter.
    Object(BTreeMap<String, Json>),
}

impl Json {
    /// Reads a whole text.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let raw: &RawValue = serde_json::from_str(text).map_err(|e| e.to_string())?;
        Self::from_raw(raw, 0)
    }

    fn from_raw(raw: &RawValue, depth: usize) -> Result<Self, String> {
        if depth > DEPTH {
            return Err(format!("JSON nested deeper than {DEPTH}"));
        }
        let text = raw.get();
        let error = |e: serde_json::Error| e.to_string();
        Ok(match text.as_bytes().first() {
            Some(b'{') => {
                let map: BTreeMap<String, &RawValue> = serde_json::from_str(text).map_err(error)?;
                let fields = map.into_iter().map(|(k, v)| Ok((k, Self::from_raw(v, depth + 1)?)));
                Self::Object(fields.collect::<Result<_, String>>()?)
            }
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(text).map_err(error)?;
                Self::Array(
                    items.into_iter().map(|v| Self::from_raw(v, depth + 1)).collect::<Result<_, _>>()?,
                )
            }
            Some(b'"') => Self::String(serde_json::from_str(text).map_err(error)?),
            Some(b't') => Self::Bool(true),
            Some(b'f') => Self::Bool(false),
            Some(b'n') => Self::Null,
            _ => Self::number(text).ok_or_else(|| format!("not a number: {text}"))?,
        })
    }

    /// A decimal literal as sign, digits and exponent, equal for equal values.
    pub(crate) fn number(text: &str) -> Option<Self> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((m, e)) => (m, e.trim_start_matches('+').parse::<i64>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let digits = digits.trim_start_matches('0');
        let significant = digits.trim_end_matches('0');
        if significant.is_empty() {
            return Some(Self::Number(false, "0".to_owned(), 0));
        }
        let trimmed = i64::try_from(digits.len() - significant.len()).ok()?;
        let fraction = i64::try_from(fraction.len()).ok()?;
        Some(Self::Number(
            negative,
            significant.to_owned(),
            exponent.checked_sub(fraction)?.checked_add(trimmed)?,
        ))
    }

    /// The field `name` of an object.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(map) => map.get(name),
            _ => None,
        }
    }

    /// The text of a string.
    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The items of an array; nothing for any other value.
    pub(crate) fn items(&self) -> &[Self] {
        match self {
            Self::Array(items) => items,
            _ => &[],
        }
    }

    /// Whether this is `true`.
    pub(crate) fn is_true(&self) -> bool {
        *self == Self::Bool(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_equal_when_their_values_are_and_only_then() {
        let equal = [
            ("1", "1.0"),
            ("100", "1e2"),
            ("0.10", "1E-1"),
            ("-0", "0"),
            ("12345678901234567890", "12345678901234567890.0"),
        ];
        for (a, b) in equal {
            assert_eq!(Json::parse(a), Json::parse(b), "{a} {b}");
        }
        assert_ne!(Json::parse("12345678901234567890"), Json::parse("12345678901234567891"));
        assert_ne!(Json::parse("1"), Json::parse("\"1\""));
        assert_ne!(Json::parse("1"), Json::parse("-1"));
    }
}
