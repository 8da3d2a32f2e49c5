//! A built-in object in the protobuf form, which some clients send, in; the same object as JSON out.
//!
//! Only reading is offered: answers are always JSON, which the same clients accept.

use std::collections::HashMap;
use std::sync::OnceLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::builtin::types::{self, Scalar, Type};
use crate::status::{ApiError, ApiResult};

/// The first bytes of every body in this form.
const MAGIC: &[u8] = b"k8s\0";
/// Messages within messages: deeper than any built-in type.
const DEPTH_MAX: usize = 32;

/// Field numbers of one message.
type Numbers = HashMap<u64, Slot>;

#[derive(Debug)]
enum Slot {
    /// A field; `counts` says whether its empty value means something.
    Field { name: String, counts: bool },
    /// A message whose fields lie in the same JSON object.
    Inline(String),
}

fn numbers() -> &'static HashMap<String, Numbers> {
    static NUMBERS: OnceLock<HashMap<String, Numbers>> = OnceLock::new();
    NUMBERS.get_or_init(|| {
        let mut all: HashMap<String, Numbers> = HashMap::new();
        let mut current = String::new();
        for line in include_str!("protobuf.txt").lines().filter(|l| !l.starts_with(';')) {
            if let Some(name) = line.strip_prefix('#') {
                current = name.to_owned();
                continue;
            }
            let Some((number, name)) = line.split_once(' ') else { continue };
            let Ok(number) = number.parse() else { continue };
            let slot = match name.strip_prefix('>') {
                Some(inner) => Slot::Inline(inner.to_owned()),
                None => {
                    Slot::Field { name: name.trim_end_matches('*').to_owned(), counts: name.ends_with('*') }
                }
            };
            all.entry(current.clone()).or_default().insert(number, slot);
        }
        all
    })
}

/// Reads one object.
pub(crate) fn read(body: &[u8]) -> ApiResult<Value> {
    decode(body).ok_or_else(|| {
        ApiError::bad_request("the body is not a readable protobuf object of a built-in kind; send JSON")
    })
}

fn decode(body: &[u8]) -> Option<Value> {
    let mut envelope = Reader(body.strip_prefix(MAGIC)?);
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    while let Some(field) = envelope.next()? {
        match field {
            (1, Wire::Bytes(meta)) => {
                let mut meta = Reader(meta);
                while let Some(field) = meta.next()? {
                    match field {
                        (1, Wire::Bytes(text)) => api_version = text_of(text)?,
                        (2, Wire::Bytes(text)) => kind = text_of(text)?,
                        _ => {}
                    }
                }
            }
            (2, Wire::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let table = types::table();
    let ty = table.kind_type(&api_version, &kind)?;
    let Type::Struct(at) = ty else { return None };
    let mut map = Map::new();
    message(raw, *at, &table.get(*at)?.name, &mut map, 0)?;
    map.insert("apiVersion".into(), api_version.into());
    map.insert("kind".into(), kind.into());
    Some(Value::Object(map))
}

/// Reads the fields of message `name` into an object of type `at`.
fn message(bytes: &[u8], at: usize, name: &str, out: &mut Map<String, Value>, depth: usize) -> Option<()> {
    if depth > DEPTH_MAX {
        return None;
    }
    let known = types::table().get(at)?;
    let slots = numbers().get(name);
    let mut reader = Reader(bytes);
    while let Some((number, wire)) = reader.next()? {
        // Fields of newer versions are left out, as an older server would.
        match slots.and_then(|slots| slots.get(&number)) {
            None => {}
            Some(Slot::Inline(inner)) => {
                let Wire::Bytes(bytes) = wire else { return None };
                message(bytes, at, inner, out, depth + 1)?;
            }
            Some(Slot::Field { name, counts }) => {
                let Some(field) = known.field(name) else { continue };
                field_value(&field.ty, wire, name, *counts, out, depth)?;
            }
        }
    }
    Some(())
}

fn field_value(
    ty: &Type,
    wire: Wire<'_>,
    name: &str,
    counts: bool,
    out: &mut Map<String, Value>,
    depth: usize,
) -> Option<()> {
    match ty {
        Type::List(item) => {
            let value = single(item, wire, depth)?;
            out.entry(name).or_insert_with(|| Value::Array(Vec::new())).as_array_mut()?.push(value);
        }
        Type::Map(item) => {
            let Wire::Bytes(bytes) = wire else { return None };
            let (mut key, mut value) = (String::new(), empty(item));
            let mut entry = Reader(bytes);
            while let Some((number, wire)) = entry.next()? {
                match (number, wire) {
                    (1, Wire::Bytes(text)) => key = text_of(text)?,
                    (2, wire) => value = single(item, wire, depth)?,
                    _ => {}
                }
            }
            out.entry(name).or_insert_with(|| Value::Object(Map::new())).as_object_mut()?.insert(key, value);
        }
        ty => {
            let value = single(ty, wire, depth)?;
            let nothing = match &value {
                Value::Null => true,
                Value::String(text) => text.is_empty(),
                Value::Bool(set) => !set,
                Value::Number(number) => number.as_i64() == Some(0),
                Value::Object(map) => map.is_empty(),
                Value::Array(_) => false,
            };
            if counts && !value.is_null() || !nothing {
                out.insert(name.to_owned(), value);
            }
        }
    }
    Some(())
}

fn empty(ty: &Type) -> Value {
    match ty {
        Type::Scalar(Scalar::String | Scalar::Bytes) => "".into(),
        _ => Value::Null,
    }
}

fn single(ty: &Type, wire: Wire<'_>, depth: usize) -> Option<Value> {
    Some(match (ty, wire) {
        (Type::Struct(at), Wire::Bytes(bytes)) => {
            let mut map = Map::new();
            message(bytes, *at, &types::table().get(*at)?.name, &mut map, depth + 1)?;
            Value::Object(map)
        }
        (Type::List(item), Wire::Bytes(bytes)) => {
            // A list within a list is a message whose first field repeats.
            let mut list = Vec::new();
            let mut reader = Reader(bytes);
            while let Some((number, wire)) = reader.next()? {
                if number == 1 {
                    list.push(single(item, wire, depth + 1)?);
                }
            }
            Value::Array(list)
        }
        (Type::Any, Wire::Bytes(bytes)) => {
            // Free-form JSON is carried as text in the first field.
            let mut reader = Reader(bytes);
            let mut value = Value::Null;
            while let Some(field) = reader.next()? {
                if let (1, Wire::Bytes(json)) = field {
                    value = serde_json::from_slice(json).ok()?;
                }
            }
            value
        }
        (Type::Scalar(scalar), wire) => scalar_value(*scalar, wire)?,
        _ => return None,
    })
}

fn scalar_value(scalar: Scalar, wire: Wire<'_>) -> Option<Value> {
    Some(match (scalar, wire) {
        (Scalar::String, Wire::Bytes(bytes)) => text_of(bytes)?.into(),
        (Scalar::Bytes, Wire::Bytes(bytes)) => STANDARD.encode(bytes).into(),
        (Scalar::Bool, Wire::Varint(n)) => (n != 0).into(),
        // Negative numbers are written as their 64-bit two's complement.
        (Scalar::Int32 | Scalar::Int64 | Scalar::Number, Wire::Varint(n)) => n.cast_signed().into(),
        (Scalar::Number, Wire::Fixed64(bits)) => f64::from_bits(bits).into(),
        (Scalar::Quantity, Wire::Bytes(bytes)) => first_text(bytes)?.into(),
        (Scalar::Time, Wire::Bytes(bytes)) => {
            let (mut seconds, mut nanos) = (0, 0);
            let mut reader = Reader(bytes);
            while let Some(field) = reader.next()? {
                match field {
                    (1, Wire::Varint(n)) => seconds = n.cast_signed(),
                    (2, Wire::Varint(n)) => nanos = i32::try_from(n.cast_signed()).ok()?,
                    _ => {}
                }
            }
            if bytes.is_empty() {
                return Some(Value::Null);
            }
            let at = jiff::Timestamp::new(seconds, nanos).ok()?;
            if nanos == 0 {
                crate::clock::seconds(at)
            } else {
                at.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
            }
            .into()
        }
        (Scalar::IntOrString, Wire::Bytes(bytes)) => {
            let (mut is_text, mut number, mut text) = (false, 0, String::new());
            let mut reader = Reader(bytes);
            while let Some(field) = reader.next()? {
                match field {
                    (1, Wire::Varint(n)) => is_text = n == 1,
                    (2, Wire::Varint(n)) => number = n.cast_signed(),
                    (3, Wire::Bytes(bytes)) => text = text_of(bytes)?,
                    _ => {}
                }
            }
            if is_text { text.into() } else { number.into() }
        }
        _ => return None,
    })
}

fn first_text(bytes: &[u8]) -> Option<String> {
    let mut reader = Reader(bytes);
    let mut text = String::new();
    while let Some(field) = reader.next()? {
        if let (1, Wire::Bytes(bytes)) = field {
            text = text_of(bytes)?;
        }
    }
    Some(text)
}

fn text_of(bytes: &[u8]) -> Option<String> {
    std::str::from_utf8(bytes).ok().map(str::to_owned)
}

/// One value as it is written.
enum Wire<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32,
    Bytes(&'a [u8]),
}

/// The fields of one message, in the order in which they were written.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// The next field; `Some(None)` at the end and `None` if the bytes make no sense.
    #[allow(clippy::should_implement_trait)] // An iterator could not tell the end from a mistake.
    fn next(&mut self) -> Option<Option<(u64, Wire<'a>)>> {
        if self.0.is_empty() {
            return Some(None);
        }
        let tag = self.varint()?;
        let wire = match tag & 7 {
            0 => Wire::Varint(self.varint()?),
            1 => Wire::Fixed64(u64::from_le_bytes(self.take(8)?.try_into().ok()?)),
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                Wire::Bytes(self.take(length)?)
            }
            5 => {
                self.take(4)?;
                Wire::Fixed32
            }
            _ => return None,
        };
        Some(Some((tag >> 3, wire)))
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(number: u8, inner: &[u8]) -> Vec<u8> {
        let mut out = vec![(number << 3) | 2, u8::try_from(inner.len()).expect("short")];
        out.extend_from_slice(inner);
        out
    }

    fn envelope(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
        let meta = [bytes(1, api_version.as_bytes()), bytes(2, kind.as_bytes())].concat();
        [MAGIC.to_vec(), bytes(1, &meta), bytes(2, raw)].concat()
    }

    #[test]
    fn maps_pointers_and_empty_values() {
        let metadata = bytes(1, &bytes(1, b"a"));
        let data = bytes(2, &[bytes(1, b"key"), bytes(2, b"value")].concat());
        let read = read(&envelope("v1", "ConfigMap", &[metadata, data].concat())).expect("readable");
        let want = serde_json::json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" },
                                       "data": { "key": "value" } });
        assert_eq!(read, want);
        // replicas: 0 is said on purpose, minReadySeconds: 0 is not.
        let spec = bytes(2, &[vec![1 << 3, 0], vec![5 << 3, 0]].concat());
        let read = super::read(&envelope("apps/v1", "Deployment", &spec)).expect("readable");
        assert_eq!(read["spec"], serde_json::json!({ "replicas": 0 }));
    }

    #[test]
    fn inner_messages_share_the_object_and_lists_do_not() {
        let path = bytes(1, b"/tmp");
        let volume = [bytes(1, b"v"), bytes(2, &bytes(1, &path))].concat();
        let spec = bytes(2, &bytes(1, &volume));
        let read = super::read(&envelope("v1", "Pod", &spec)).expect("readable");
        let want = serde_json::json!([{ "name": "v", "hostPath": { "path": "/tmp" } }]);
        assert_eq!(read["spec"]["volumes"], want);
        let webhooks = bytes(2, &bytes(1, b"a.example.com"));
        let envelope =
            envelope("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", &webhooks);
        let read = super::read(&envelope).expect("readable");
        assert_eq!(read["webhooks"], serde_json::json!([{ "name": "a.example.com" }]));
    }

    #[test]
    fn broken_bytes_are_refused() {
        let head = envelope("v1", "ConfigMap", b"").len();
        let good = envelope("v1", "ConfigMap", &bytes(1, &bytes(1, b"a")));
        for end in (0..head - 2).chain(head..good.len()) {
            // Where a field ends the rest may be missing: that is a smaller object, not a broken one.
            let whole = good.get(end - end.min(1)).is_some()
                && read(&good[..end]).is_ok_and(|o| o["metadata"].is_null());
            assert!(whole || read(&good[..end]).is_err(), "cut at {end}");
        }
        assert!(read(b"k8s\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff").is_err());
    }
}
