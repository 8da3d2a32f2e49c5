//! Package `strconv`: numbers and quoted Go strings to and from text.

use num_bigint::{BigInt, Sign};

use super::arguments::{any, boolean, integer, number, text};
use super::{ANY, Data, Failure, INTEGER, Kinds, NUMBER, Package, TEXT, function, required};
use crate::literal::{is_printable, parse_number};
use crate::number::Decimal;

type Outcome = Result<Data, Failure>;

const S: Kinds = Kinds::STRING;
const B: Kinds = Kinds::BOOL;
const I: Kinds = Kinds::INT;

pub(super) static PACKAGE: Package = Package {
    path: "strconv",
    constants: &[("IntSize", "64")],
    declarations: "",
    functions: &[
        function("Unquote", &[TEXT], S, unquote),
        function("ParseBool", &[TEXT], B, parse_bool),
        function("FormatBool", &[required(B)], S, |a| Ok(Data::text(boolean(a, 0)?.to_string()))),
        function("ParseFloat", &[TEXT, INTEGER], Kinds::NUMBER, parse_float),
        function("ParseNumber", &[TEXT], Kinds::NUMBER, parse_decimal),
        function("ParseUint", &[TEXT, INTEGER, INTEGER], I, parse_uint),
        function("ParseInt", &[TEXT, INTEGER, INTEGER], I, parse_int),
        function("Atoi", &[TEXT], I, |a| {
            let source = text(a, 0)?;
            big(source, 10).map(Data::int).ok_or_else(|| syntax("Atoi", source))
        }),
        function("FormatFloat", &[NUMBER, ANY, INTEGER, INTEGER], S, format_float),
        function("FormatUint", &[INTEGER, INTEGER], S, format_int),
        function("FormatInt", &[INTEGER, INTEGER], S, format_int),
        function("Quote", &[TEXT], S, |a| Ok(Data::String(go_quote(text(a, 0)?, '"', false)))),
        function("QuoteToASCII", &[TEXT], S, |a| Ok(Data::String(go_quote(text(a, 0)?, '"', true)))),
        function("QuoteToGraphic", &[TEXT], S, |a| Ok(Data::String(go_quote(text(a, 0)?, '"', false)))),
        function("QuoteRune", &[INTEGER], S, |a| quote_rune(a, false)),
        function("QuoteRuneToASCII", &[INTEGER], S, |a| quote_rune(a, true)),
        function("QuoteRuneToGraphic", &[INTEGER], S, |a| quote_rune(a, false)),
        function("IsPrint", &[INTEGER], B, |a| Ok(Data::Bool(rune(a)?.is_some_and(is_printable)))),
        function("IsGraphic", &[INTEGER], B, |a| {
            // Graphic is printable plus all space separators.
            Ok(Data::Bool(rune(a)?.is_some_and(|c| {
                is_printable(c)
                    || (c.is_whitespace() && !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}'))
            })))
        }),
    ],
};

fn failure(function: &str, source: &str, what: &str) -> Failure {
    Failure::error(format!("strconv.{function}: parsing {}: {what}", go_quote(source, '"', false)))
}

fn syntax(function: &str, source: &str) -> Failure {
    failure(function, source, "invalid syntax")
}

fn range(function: &str, source: &str) -> Failure {
    failure(function, source, "value out of range")
}

fn rune(a: &[Data]) -> Result<Option<char>, Failure> {
    Ok(u32::try_from(integer(a, 0)?).ok().and_then(char::from_u32))
}

fn parse_bool(a: &[Data]) -> Outcome {
    match text(a, 0)? {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Data::Bool(true)),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Data::Bool(false)),
        other => Err(syntax("ParseBool", other)),
    }
}

fn parse_float(a: &[Data]) -> Outcome {
    let (source, bits) = (text(a, 0)?, integer(a, 1)?);
    let value = super::float::parse(source).ok_or_else(|| syntax("ParseFloat", source))?;
    #[allow(clippy::cast_possible_truncation)]
    let value = if bits == 32 { f64::from(value as f32) } else { value };
    let value = Decimal::from_f64(value).ok_or_else(|| range("ParseFloat", source))?;
    Ok(Data::float(value))
}

fn parse_decimal(a: &[Data]) -> Outcome {
    let source = text(a, 0)?;
    let (negative, digits) = match source.as_bytes().first() {
        Some(b'-') => (true, &source[1..]),
        Some(b'+') => (false, &source[1..]),
        _ => (false, source),
    };
    let literal = parse_number(digits).map_err(|e| failure("ParseNumber", source, &e.message))?;
    Ok(Data::number(if negative { literal.value.neg() } else { literal.value }))
}

/// An integer of any size; base 0 reads the base and `_` from the text, as source code would.
fn big(source: &str, base: i64) -> Option<BigInt> {
    let (sign, mut digits) = match source.as_bytes().first()? {
        b'-' => (Sign::Minus, &source[1..]),
        b'+' => (Sign::Plus, &source[1..]),
        _ => (Sign::Plus, source),
    };
    let mut radix = u32::try_from(base).ok()?;
    let clean;
    if radix == 0 {
        radix = 10;
        for (prefix, value) in [("0x", 16), ("0X", 16), ("0b", 2), ("0B", 2), ("0o", 8), ("0O", 8)] {
            if let Some(rest) = digits.strip_prefix(prefix) {
                (radix, digits) = (value, rest.strip_prefix('_').unwrap_or(rest));
            }
        }
        if radix == 10 && digits.len() > 1 && digits.starts_with('0') {
            (radix, digits) = (8, digits[1..].strip_prefix('_').unwrap_or(&digits[1..]));
        }
        if digits.starts_with('_') || digits.ends_with('_') || digits.contains("__") {
            return None;
        }
        clean = digits.replace('_', "");
        digits = &clean;
    }
    if !(2..=MAX_RADIX).contains(&radix) || digits.is_empty() || digits.len() > crate::number::MAX_DIGITS {
        return None;
    }
    let values: Option<Vec<u8>> = digits.bytes().map(|b| digit_value(b, radix)).collect();
    let magnitude = BigInt::from_radix_be(Sign::Plus, &values?, radix)?;
    Some(if sign == Sign::Minus { -magnitude } else { magnitude })
}

/// Letters of both cases are digits; they differ only beyond 36.
const MAX_RADIX: u32 = 62;

fn digit_value(byte: u8, radix: u32) -> Option<u8> {
    let value = match byte {
        b'0'..=b'9' => byte - b'0',
        b'a'..=b'z' => byte - b'a' + 10,
        b'A'..=b'Z' if radix > 36 => byte - b'A' + 36,
        b'A'..=b'Z' => byte - b'A' + 10,
        _ => return None,
    };
    Some(value).filter(|value| u32::from(*value) < radix)
}

fn parse_uint(a: &[Data]) -> Outcome {
    let (source, bits) = (text(a, 0)?, integer(a, 2)?);
    let value = big(source, integer(a, 1)?).ok_or_else(|| syntax("ParseUint", source))?;
    let wide = bits == 0 || i64::try_from(value.bits()).unwrap_or(i64::MAX) <= bits;
    if value.sign() == Sign::Minus || !wide {
        return Err(range("ParseUint", source));
    }
    Ok(Data::int(value))
}

fn parse_int(a: &[Data]) -> Outcome {
    let (source, bits) = (text(a, 0)?, integer(a, 2)?);
    let value = big(source, integer(a, 1)?).ok_or_else(|| syntax("ParseInt", source))?;
    // -2^(n-1) is in range: its successor needs one bit less.
    let needed = if value.sign() == Sign::Minus { (&value + BigInt::from(1)).bits() } else { value.bits() };
    if bits < 0 || (bits > 0 && i64::try_from(needed).unwrap_or(i64::MAX) > bits - 1) {
        return Err(range("ParseInt", source));
    }
    Ok(Data::int(value))
}

fn format_int(a: &[Data]) -> Outcome {
    let value = number(a, 0)?.to_bigint().ok_or_else(|| Failure::error("argument 1 is not an integer"))?;
    let base = integer(a, 1)?;
    match u32::try_from(base) {
        Ok(radix @ 2..=36) => Ok(Data::String(value.to_str_radix(radix))),
        Ok(radix @ 37..=MAX_RADIX) => {
            const DIGITS: &[u8; 62] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
            let (sign, digits) = value.to_radix_be(radix);
            let mut text = String::from(if sign == Sign::Minus { "-" } else { "" });
            text.extend(digits.iter().filter_map(|d| DIGITS.get(usize::from(*d))).map(|b| char::from(*b)));
            Ok(Data::String(text))
        }
        _ => Err(Failure::error(format!("base {base} is not in the range 2 to {MAX_RADIX}"))),
    }
}

fn format_float(a: &[Data]) -> Outcome {
    let form = match any(a, 1)? {
        Data::String(form) if form.len() == 1 => form.as_bytes()[0],
        Data::String(_) => return Err(Failure::error("expected single character string")),
        Data::Number { value, is_float: false } => value
            .to_u64()
            .and_then(|n| u8::try_from(n).ok())
            .ok_or_else(|| Failure::error("format value out of range [0, 255]"))?,
        _ => return Err(Failure::error("argument 2 must be a format character or its code as an int")),
    };
    let (precision, bits) = (integer(a, 2)?, integer(a, 3)?);
    if bits != 32 && bits != 64 {
        return Err(Failure::error("strconv: illegal AppendFloat/FormatFloat bitSize"));
    }
    if precision > 2000 {
        return Err(Failure::error("precision is larger than 2000"));
    }
    let value = number(a, 0)?.to_f64();
    Ok(Data::String(super::float::format(value, form as char, usize::try_from(precision).ok(), bits == 32)))
}

fn quote_rune(a: &[Data], ascii: bool) -> Outcome {
    let c = rune(a)?.unwrap_or('\u{fffd}');
    Ok(Data::String(go_quote(c.encode_utf8(&mut [0; 4]), '\'', ascii)))
}

/// A Go string literal.
pub(super) fn go_quote(text: &str, quote: char, ascii: bool) -> String {
    let mut out = String::from(quote);
    for c in text.chars() {
        match c {
            _ if c == quote || c == '\\' => out.extend(['\\', c]),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            _ if is_printable(c) && (!ascii || c.is_ascii()) => out.push(c),
            _ if c < ' ' || c == '\u{7f}' => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            _ if u32::from(c) < 0x10000 => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            _ => out.push_str(&format!("\\U{:08x}", u32::from(c))),
        }
    }
    out.push(quote);
    out
}

fn unquote(a: &[Data]) -> Outcome {
    let source = text(a, 0)?;
    let invalid = || Failure::error("invalid syntax");
    // The literals of the language itself are read, strings and bytes alike.
    let (_, bytes) = crate::literal::unquote(source).map_err(|_| invalid())?;
    let value = String::from_utf8(bytes).map_err(|_| invalid())?;
    Ok(Data::String(value))
}
