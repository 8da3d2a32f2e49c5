//! JSON in; the same as plain data, and the bytes that takes, out; and plain data back.

use crate::packages::Data;

/// Bytes that JSON takes as plain data.
pub(crate) fn data_size(value: &serde_json::Value) -> usize {
    use serde_json::Value as Json;
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) => 0,
        Json::String(text) => text.len(),
        Json::Array(items) => items.iter().map(|item| size_of::<Data>() + data_size(item)).sum(),
        Json::Object(fields) => fields
            .iter()
            .map(|(name, value)| size_of::<(String, Data)>() + name.len() + data_size(value))
            .sum(),
    }
}

/// JSON as plain data; numbers without a fraction are ints.
pub(crate) fn json_data(value: &serde_json::Value) -> Data {
    use serde_json::Value as Json;
    match value {
        Json::Null => Data::Null,
        Json::Bool(b) => Data::Bool(*b),
        Json::Number(number) => {
            if let Some(i) = number.as_i64() {
                return Data::int(i);
            }
            match crate::number::Decimal::parse(&number.to_string()) {
                Ok(value) => Data::Number { is_float: !number.is_u64(), value },
                Err(_) => Data::Null,
            }
        }
        Json::String(s) => Data::String(s.clone()),
        Json::Array(items) => Data::List(items.iter().map(json_data).collect()),
        Json::Object(fields) => Data::Struct(fields.iter().map(|(k, v)| (k.clone(), json_data(v))).collect()),
    }
}

/// Plain data as JSON; numbers JSON cannot hold exactly become the nearest float.
pub(crate) fn data_json(data: &Data) -> serde_json::Value {
    use serde_json::Value as Json;
    match data {
        Data::Null | Data::Opaque(_) => Json::Null,
        Data::Bool(b) => Json::Bool(*b),
        Data::Number { value, .. } => match (value.to_i64(), value.to_u64()) {
            (Some(i), _) => Json::from(i),
            (None, Some(u)) => Json::from(u),
            _ => serde_json::Number::from_f64(value.to_f64()).map_or(Json::Null, Json::Number),
        },
        Data::String(s) => Json::String(s.clone()),
        Data::Bytes(b) => {
            use base64::Engine as _;
            Json::String(base64::engine::general_purpose::STANDARD.encode(b))
        }
        Data::List(items) => Json::Array(items.iter().map(data_json).collect()),
        Data::Struct(fields) => Json::Object(fields.iter().map(|(k, v)| (k.clone(), data_json(v))).collect()),
    }
}
