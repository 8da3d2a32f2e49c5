//! Compares live objects with files of expected ones.

use serde_json::Value;

use crate::Result;

/// The documents of a YAML file; empty ones are left out.
pub fn documents(text: &str) -> Result<Vec<Value>> {
    let read = serde_saphyr::from_multiple(text);
    // The error is told as the text was written.
    let documents: Vec<Value> = match read {
        Ok(documents) => documents,
        Err(error) => serde_saphyr::from_multiple(&indented(text)).map_err(|_| error)?,
    };
    Ok(documents.into_iter().filter(|document| !document.is_null()).collect())
}

/// The text with the later lines of quoted values two columns further in. Go's parser, with which many files were
/// written, takes them as deep as their field; YAML itself does not, and folds the spaces away.
fn indented(text: &str) -> String {
    let mut quoted: Option<char> = None;
    let mut lines = Vec::new();
    for line in text.lines() {
        let inside = quoted;
        let odd = |quote: char| line.matches(quote).count() % 2 == 1;
        quoted = match inside {
            Some(quote) if odd(quote) => None,
            Some(quote) => Some(quote),
            None => ['\'', '"'].into_iter().find(|quote| odd(*quote) && line.contains(&format!(": {quote}"))),
        };
        lines.push(if inside.is_some() { format!("  {line}") } else { line.to_owned() });
    }
    lines.join("\n")
}

/// The parts of `expected` that `live` lacks: a map may have more fields, a list must have as many items.
pub fn differences(expected: &Value, live: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare(expected, live, "", &mut found);
    found
}

fn compare(expected: &Value, live: &Value, path: &str, found: &mut Vec<String>) {
    match (expected, live) {
        (Value::Object(expected), Value::Object(live)) => {
            for (name, value) in expected {
                match live.get(name) {
                    Some(live) => compare(value, live, &format!("{path}.{name}"), found),
                    // API servers do not store empty maps and texts, nor zeros where zero is what absence means.
                    None if is_empty(value) => {}
                    None => found.push(format!("{path}.{name}: expected {value}, found nothing")),
                }
            }
        }
        (Value::Array(expected), Value::Array(live)) if expected.len() == live.len() => {
            for (index, (expected, live)) in expected.iter().zip(live).enumerate() {
                compare(expected, live, &format!("{path}[{index}]"), found);
            }
        }
        _ if same(expected, live) => {}
        _ => found.push(format!("{path}: expected {expected}, found {live}")),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(true) => false,
        Value::Bool(false) => true,
    }
}

/// Equal, with numbers by value and processor amounts by what they mean (`0.5` is `500m`).
fn same(expected: &Value, live: &Value) -> bool {
    if expected == live {
        return true;
    }
    match (expected, live) {
        (Value::Number(expected), Value::Number(live)) => expected.as_f64() == live.as_f64(),
        (Value::String(expected), Value::String(live)) => {
            let (expected, live) = (milli(expected), milli(live));
            expected.is_some() && expected == live
        }
        _ => false,
    }
}

/// An amount in thousandths.
fn milli(text: &str) -> Option<i64> {
    if let Some(thousandths) = text.strip_suffix('m') {
        return thousandths.parse().ok();
    }
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    if part.len() > 3 {
        return None;
    }
    let whole: i64 = whole.parse().ok()?;
    let part: i64 = format!("{part:0<3}").parse().ok()?;
    whole.checked_mul(1000)?.checked_add(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn quoted_lines_may_be_as_deep_as_their_field() {
        let read = |text: &str| documents(text).map_err(|error| error.to_string());
        assert_eq!(
            read("a:\n  b: 'one\n  two'\n  c: \"x\n  y\"\n"),
            Ok(vec![json!({"a": {"b": "one two", "c": "x y"}})])
        );
        assert!(read("a: [").is_err());
    }

    #[test]
    fn more_is_fine_and_less_is_not() {
        let live = json!({"a": 1, "b": [{"c": "x", "d": 2}], "e": "500m"});
        assert!(differences(&json!({"b": [{"c": "x"}], "e": "0.5", "f": {}}), &live).is_empty());
        assert_eq!(differences(&json!({"b": []}), &live).len(), 1);
        assert_eq!(differences(&json!({"b": [{"c": "y"}], "z": 1}), &live).len(), 2);
    }
}
