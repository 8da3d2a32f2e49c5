//! JSON in; the same as plain data, and the bytes that takes, out.

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
