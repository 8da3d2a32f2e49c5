//! Reads a plain YAML scalar as the clients of Kubernetes do (YAML 1.1 words, number syntax of Go).

use serde_json::{Number, Value as Json};

/// The value of a plain (unquoted) scalar.
///
/// # Errors
/// It means what JSON cannot say: infinity, or no number at all.
pub fn plain(text: &str) -> Result<Json, &'static str> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Json::Null),
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Ok(Json::Bool(true));
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Ok(Json::Bool(false));
        }
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" | "-.inf" | "-.Inf" | "-.INF" | ".nan"
        | ".NaN" | ".NAN" => return Err("infinity and not-a-number cannot be written as JSON"),
        _ => {}
    }
    if text.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '+' | '-' | '.'))
        && let Some(number) = number(text)
    {
        return Ok(Json::Number(number));
    }
    Ok(Json::String(text.to_owned()))
}

/// A number as Go reads it: underscores are ignored; `0x`, `0o`, `0b` and a leading `0` name the base.
fn number(text: &str) -> Option<Number> {
    let text = text.replace('_', "");
    if let Some(integer) = integer(&text) {
        return Some(integer);
    }
    is_float(&text).then(|| text.parse::<f64>().ok()).flatten().and_then(float)
}

fn integer(text: &str) -> Option<Number> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (radix, digits) = match digits.get(..2) {
        Some("0x" | "0X") => (16, &digits[2..]),
        Some("0o" | "0O") => (8, &digits[2..]),
        Some("0b" | "0B") => (2, &digits[2..]),
        Some(_) if digits.starts_with('0') => (8, &digits[1..]),
        _ => (10, digits),
    };
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_alphanumeric()) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, radix).ok()?;
    match negative {
        false => Some(magnitude.into()),
        true => 0i64.checked_sub_unsigned(magnitude).map(Number::from),
    }
}

/// `[-+]? ( .digits | digits [ .digits? ] ) ( e [-+]? digits )?`
fn is_float(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['-', '+']).unwrap_or(exponent))),
        None => (text, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mantissa_ok = match mantissa.split_once('.') {
        Some(("", fraction)) => digits(fraction),
        Some((whole, fraction)) => digits(whole) && (fraction.is_empty() || digits(fraction)),
        None => digits(mantissa),
    };
    mantissa_ok && exponent.is_none_or(digits)
}

/// Whole floats become integers, as they do on their way through JSON text.
fn float(value: f64) -> Option<Number> {
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53: beyond it neighbours are no longer whole numbers apart
    if value.fract() == 0.0 && value.abs() <= EXACT {
        return Some(Number::from(value as i64));
    }
    Number::from_f64(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::plain;

    #[test]
    fn words_and_numbers_mean_what_kubernetes_means() {
        for (text, expected) in [
            ("yes", json!(true)),
            ("Off", json!(false)),
            ("y", json!(true)),
            ("~", json!(null)),
            ("014", json!(12)),
            ("0o14", json!(12)),
            ("0x1F", json!(31)),
            ("1_000", json!(1000)),
            ("08", json!(8)),
            ("-7", json!(-7)),
            ("1e3", json!(1000)),
            ("0.5", json!(0.5)),
            ("1.", json!(1)),
            ("18446744073709551615", json!(18446744073709551615u64)),
            ("2026-11-21", json!("2026-11-21")),
            ("1.27.0", json!("1.27.0")),
            ("nginx:1.27", json!("nginx:1.27")),
            ("12:30", json!("12:30")),
            ("-", json!("-")),
            (".", json!(".")),
        ] {
            assert_eq!(plain(text), Ok(expected), "{text}");
        }
        assert!(plain(".inf").is_err());
    }
}
