//! Whether a body has the types of its kind; the message is the one of the real API server's decoder.
use serde_json::Value;

use super::types::{self, Scalar, Type};

/// Bodies nested deeper than this are refused, so that walks stay within the stack.
const MAX_DEPTH: usize = 200;

/// The first value of the wrong type, in words.
///
/// # Errors
/// The field, the type that it has, and the one that is expected.
pub fn check_types(api_version: &str, kind: &str, object: &Value) -> Result<(), String> {
    let Some(ty) = types::table().kind_type(api_version, kind) else { return Ok(()) };
    let version = api_version.rsplit('/').next().unwrap_or(api_version);
    walk(object, ty, "", kind, 0)
        .map_err(|why| format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}"))
}

fn walk(value: &Value, ty: &Type, path: &str, owner: &str, depth: usize) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!("{path} is nested deeper than {MAX_DEPTH} levels"));
    }
    let wrong = |wanted: &str| {
        let found = match value {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        Err(format!("json: cannot unmarshal {found} into Go struct field {owner}.{path} of type {wanted}"))
    };
    match (ty, value) {
        (_, Value::Null) | (Type::Any, _) => Ok(()),
        (Type::Scalar(scalar), _) => match scalar {
            Scalar::String if !value.is_string() => wrong("string"),
            Scalar::Bool if !value.is_boolean() => wrong("bool"),
            Scalar::Int32 if value.as_i64().is_none_or(|n| i32::try_from(n).is_err()) => wrong("int32"),
            Scalar::Int64 if !value.is_i64() => wrong("int64"),
            Scalar::Number if !value.is_number() => wrong("float64"),
            Scalar::Bytes => match value.as_str() {
                Some(text) => base64_error(text).map_or(Ok(()), Err),
                None => wrong("[]uint8"),
            },
            Scalar::Time => match value.as_str() {
                Some(text) if text.parse::<jiff::Timestamp>().is_err() => Err(format!(
                    "parsing time {text:?} as \"2006-01-02T15:04:05Z07:00\": cannot parse {text:?}"
                )),
                Some(_) => Ok(()),
                None => wrong("time.Time"),
            },
            Scalar::Quantity => {
                if value.as_str().map_or_else(|| value.is_number(), is_quantity) {
                    Ok(())
                } else {
                    Err("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
                        .to_owned())
                }
            }
            Scalar::IntOrString if !value.is_i64() && !value.is_string() => wrong("intstr.IntOrString"),
            _ => Ok(()),
        },
        (Type::Struct(at), Value::Object(map)) => {
            let Some(known) = types::table().get(*at) else { return Ok(()) };
            let owner = known.name.rsplit('.').next().unwrap_or(&known.name);
            for (name, inner) in map {
                if let Some(field) = known.field(name) {
                    let here = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    walk(inner, &field.ty, &here, owner, depth + 1)?;
                }
            }
            Ok(())
        }
        (Type::List(item), Value::Array(list)) => {
            list.iter().try_for_each(|inner| walk(inner, item, path, owner, depth + 1))
        }
        (Type::Map(item), Value::Object(map)) => {
            map.values().try_for_each(|inner| walk(inner, item, path, owner, depth + 1))
        }
        (Type::Struct(at), _) => {
            let name = types::table().get(*at).map_or("object", |s| s.name.as_str());
            let (package, short) = name.rsplit_once('.').unwrap_or(("", name));
            wrong(&format!("{}.{short}", package.rsplit('.').next().unwrap_or(package)))
        }
        (Type::List(_), _) => wrong("[]object"),
        (Type::Map(_), _) => wrong("map[string]string"),
    }
}

pub(crate) fn base64_error(text: &str) -> Option<String> {
    use base64::Engine as _;
    match base64::engine::general_purpose::STANDARD.decode(text) {
        Ok(_) => None,
        Err(base64::DecodeError::InvalidByte(at, _)) => {
            Some(format!("illegal base64 data at input byte {at}"))
        }
        Err(_) => Some(format!("illegal base64 data at input byte {}", text.len())),
    }
}

/// Whether a text is a number with an optional unit, as resource quantities are written.
pub(crate) fn is_quantity(text: &str) -> bool {
    quantity(text).is_some()
}

/// The value of a quantity.
pub(crate) fn quantity(text: &str) -> Option<f64> {
    let split =
        text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '+' | '-')).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: f64 = number.parse().ok()?;
    let factor = match unit {
        "" => 1.0,
        "n" => 1e-9,
        "u" => 1e-6,
        "m" => 1e-3,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "P" => 1e15,
        "E" => 1e18,
        "Ki" => 1024.0,
        "Mi" => 1_048_576.0,
        "Gi" => 1_073_741_824.0,
        "Ti" => 1_099_511_627_776.0,
        "Pi" => 1_125_899_906_842_624.0,
        "Ei" => 1_152_921_504_606_846_976.0,
        exponent => {
            let power: i32 = exponent.strip_prefix(['e', 'E'])?.parse().ok()?;
            10f64.powi(power)
        }
    };
    Some(number * factor)
}
