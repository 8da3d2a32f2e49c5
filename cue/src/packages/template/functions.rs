//! The functions that every template knows: values in, a value or what is wrong out.

use std::cmp::Ordering;
use std::rc::Rc;

use super::printf::{print, printf};
use super::text::{js_escape, text_html_escape};
use super::value::{Value, Width};

/// Names of all functions; `and` and `or` are done where arguments are evaluated, as they need not evaluate all.
const NAMES: [&str; 19] = [
    "and", "call", "html", "index", "slice", "js", "len", "not", "or", "print", "printf", "println",
    "urlquery", "eq", "ge", "gt", "le", "lt", "ne",
];

pub(super) fn is_known(name: &str) -> bool {
    NAMES.contains(&name)
}

/// Least and most arguments of a function.
pub(super) fn arity(name: &str) -> (usize, usize) {
    match name {
        "len" | "not" => (1, 1),
        "ne" | "lt" | "le" | "gt" | "ge" => (2, 2),
        "print" | "println" | "html" | "js" | "urlquery" => (0, usize::MAX),
        _ => (1, usize::MAX),
    }
}

type Outcome = Result<Value, String>;

/// Calls a function; texts longer than `limit` may be cut, for the caller to refuse.
pub(super) fn call(name: &str, arguments: &[Value], limit: usize) -> Outcome {
    let first = arguments.first().unwrap_or(&Value::Missing);
    match name {
        "print" => Ok(Value::text(print(arguments, false))),
        "println" => Ok(Value::text(print(arguments, true))),
        "printf" => match first {
            Value::Text(format) => Ok(Value::text(printf(format, &arguments[1..], limit))),
            _ => Err("expected string".into()),
        },
        "html" => Ok(Value::text(text_html_escape(&joined(arguments)))),
        "js" => Ok(Value::text(js_escape(&joined(arguments)))),
        "urlquery" => Ok(Value::text(query_escape(&joined(arguments)))),
        "not" => Ok(Value::Bool(!first.is_true())),
        "len" => length(first).map(Value::int),
        "index" => index(first, &arguments[1..]),
        "slice" => slice(first, &arguments[1..]),
        "eq" => equal_any(first, &arguments[1..]).map(Value::Bool),
        "ne" => equal_any(first, &arguments[1..]).map(|equal| Value::Bool(!equal)),
        "lt" => order(arguments).map(|order| Value::Bool(order.is_lt())),
        "le" => order(arguments).map(|order| Value::Bool(order.is_le())),
        "gt" => order(arguments).map(|order| Value::Bool(order.is_gt())),
        "ge" => order(arguments).map(|order| Value::Bool(order.is_ge())),
        "call" if first.is_nil() => Err("call of nil".into()),
        "call" => Err(format!("non-function of type {}", first.type_name())),
        _ => Err(format!("function {name:?} is not known")),
    }
}

/// The arguments of an escaping function as one text.
fn joined(arguments: &[Value]) -> Rc<str> {
    if let [Value::Text(text)] = arguments {
        return text.clone();
    }
    let shown: Vec<Value> = arguments
        .iter()
        .map(|value| if value.is_nil() { Value::text("<no value>") } else { value.clone() })
        .collect();
    print(&shown, false).into()
}

/// Percent-encoding of a query, blanks as `+`.
fn query_escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' ' => out.push('+'),
            b'-' | b'_' | b'.' | b'~' => out.push(byte as char),
            _ if byte.is_ascii_alphanumeric() => out.push(byte as char),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

fn length(value: &Value) -> Result<usize, String> {
    match value {
        Value::Text(text) => Ok(text.len()),
        Value::Bytes(bytes) => Ok(bytes.len()),
        Value::List(items) => Ok(items.len()),
        Value::Map(fields) => Ok(fields.len()),
        Value::Missing | Value::Nil => Err("len of nil pointer".into()),
        other => Err(format!("len of type {}", other.type_name())),
    }
}

/// A place in something of that length, its end allowed or not.
fn place(index: &Value, length: usize, end_too: bool) -> Result<usize, String> {
    match index {
        Value::Int(number, _) => usize::try_from(*number)
            .ok()
            .filter(|at| *at < length || (end_too && *at == length))
            .ok_or_else(|| format!("index out of range: {number}")),
        Value::Missing | Value::Nil => Err("cannot index slice/array with nil".into()),
        other => Err(format!("cannot index slice/array with type {}", other.type_name())),
    }
}

fn index(item: &Value, indices: &[Value]) -> Outcome {
    if item.is_nil() {
        return Err("index of untyped nil".into());
    }
    let mut item = item.clone();
    for index in indices {
        item = match &item {
            Value::List(items) => items[place(index, items.len(), false)?].clone(),
            Value::Text(text) => byte(text.as_bytes()[place(index, text.len(), false)?]),
            Value::Bytes(bytes) => byte(bytes[place(index, bytes.len(), false)?]),
            Value::Map(_) => match index {
                Value::Text(name) => item.get(name).cloned().unwrap_or(Value::Nil),
                Value::Missing | Value::Nil => return Err("value is nil; should be of type string".into()),
                other => return Err(format!("value has type {}; should be string", other.type_name())),
            },
            Value::Missing | Value::Nil => return Err("index of nil pointer".into()),
            other => return Err(format!("can't index item of type {}", other.type_name())),
        };
    }
    Ok(item)
}

fn byte(byte: u8) -> Value {
    Value::Int(i64::from(byte), Width::Uint8)
}

fn slice(item: &Value, indices: &[Value]) -> Outcome {
    if item.is_nil() {
        return Err("slice of untyped nil".into());
    }
    if indices.len() > 3 {
        return Err(format!("too many slice indexes: {}", indices.len()));
    }
    let length = match item {
        Value::Text(_) if indices.len() == 3 => return Err("cannot 3-index slice a string".into()),
        Value::Text(_) | Value::Bytes(_) | Value::List(_) => length(item)?,
        other => return Err(format!("can't slice item of type {}", other.type_name())),
    };
    let mut bounds = [0, length, length];
    for (at, index) in indices.iter().enumerate() {
        bounds[at] = place(index, length, true)?;
    }
    let [start, end, capacity] = bounds;
    for (low, high) in [(start, end), (end, capacity)] {
        if low > high {
            return Err(format!("invalid slice index: {low} > {high}"));
        }
    }
    Ok(match item {
        Value::Text(text) => Value::text(String::from_utf8_lossy(&text.as_bytes()[start..end])),
        Value::Bytes(bytes) => Value::Bytes(bytes[start..end].into()),
        Value::List(items) => Value::List(items[start..end].into()),
        other => other.clone(),
    })
}

/// Groups of types that can be compared with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Basic {
    Bool,
    Int,
    Float,
    Text,
    None,
}

fn basic(value: &Value) -> Basic {
    match value {
        Value::Bool(_) => Basic::Bool,
        Value::Int(..) => Basic::Int,
        Value::Float(_) => Basic::Float,
        Value::Text(_) => Basic::Text,
        _ => Basic::None,
    }
}

fn incompatible(a: &Value, b: &Value) -> String {
    format!("incompatible types for comparison: {} and {}", a.type_name(), b.type_name())
}

fn equal_any(first: &Value, others: &[Value]) -> Result<bool, String> {
    if others.is_empty() {
        return Err("missing argument for comparison".into());
    }
    for other in others {
        if equal(first, other)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn equal(a: &Value, b: &Value) -> Result<bool, String> {
    if basic(a) != basic(b) {
        return if a.is_nil() || b.is_nil() { Ok(false) } else { Err(incompatible(a, b)) };
    }
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => Ok(a == b),
        (Value::Int(a, _), Value::Int(b, _)) => Ok(a == b),
        (Value::Float(a), Value::Float(b)) => Ok(a == b),
        (Value::Text(a), Value::Text(b)) => Ok(a == b),
        _ if a.is_nil() || b.is_nil() => Ok(a.is_nil() && b.is_nil()),
        // These are pointers in Go: equal only to themselves.
        (Value::Big(a), Value::Big(b)) => Ok(Rc::ptr_eq(a, b)),
        (Value::Big(_) | Value::BigFloat(_), Value::Big(_) | Value::BigFloat(_)) => Ok(false),
        _ if a.type_name() == b.type_name() => {
            let shown = print(std::slice::from_ref(b), false);
            Err(format!("non-comparable type {shown}: {}", b.type_name()))
        }
        _ => Err(format!("non-comparable types {}, {}", a.type_name(), b.type_name())),
    }
}

fn order(arguments: &[Value]) -> Result<Ordering, String> {
    let [a, b] = arguments else { return Err("missing argument for comparison".into()) };
    if basic(a) == Basic::None || basic(b) == Basic::None {
        return Err("invalid type for comparison".into());
    }
    match (a, b) {
        (Value::Int(a, _), Value::Int(b, _)) => Ok(a.cmp(b)),
        (Value::Float(a), Value::Float(b)) => Ok(a.total_cmp(b)),
        (Value::Text(a), Value::Text(b)) => Ok(a.cmp(b)),
        (Value::Bool(_), Value::Bool(_)) => Err("invalid type for comparison".into()),
        _ => Err(incompatible(a, b)),
    }
}
