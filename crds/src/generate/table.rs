//! Reads a table of fields and makes the schema of one version of it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// Spaces of one step into a field.
const STEP: usize = 2;
/// Fields are nested, and groups name groups, no deeper than this.
const DEEPEST: usize = 16;

/// What a name of an object looks like.
const NAME: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
/// A duration as Go writes it.
const DURATION: &str = "([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?([0-9]+us)?([0-9]+µs)?([0-9]+ns)?";
/// One without parts of seconds.
const SHORT_DURATION: &str = "([0-9]+h)?([0-9]+m)?([0-9]+s)?";

/// One line: a field, or a group in the place of fields, and what is within it.
#[derive(Clone, Debug, Default)]
struct Entry {
    name: String,
    words: Vec<String>,
    within: Vec<Entry>,
}

/// Tables in → schemas of one version out.
#[derive(Debug)]
pub(super) struct Tables {
    groups: BTreeMap<String, Vec<Entry>>,
    /// The source of a volume: too large for a table, and known to Kubernetes' own types.
    volume_source: Value,
    /// Leave out what only the newer version has.
    older: bool,
}

impl Tables {
    /// The groups of a table of groups.
    ///
    /// # Errors
    /// The line that cannot be read.
    pub(super) fn new(shared: &str, volume_source: Value, older: bool) -> Result<Self, String> {
        let named = |group: Entry| (group.name.trim_start_matches('@').to_owned(), group.within);
        let groups = parse(shared)?.into_iter().map(named).collect();
        Ok(Self { groups, volume_source, older })
    }

    /// The schema of an object with the fields of a table.
    ///
    /// # Errors
    /// The field that cannot be understood.
    pub(super) fn object(&self, table: &str) -> Result<Value, String> {
        let mut schema = Map::from_iter([("type".to_owned(), json!("object"))]);
        self.fields(&parse(table)?, &mut schema, 0)?;
        Ok(Value::Object(schema))
    }

    fn fields(&self, entries: &[Entry], schema: &mut Map<String, Value>, depth: usize) -> Result<(), String> {
        if depth > DEEPEST {
            return Err(format!("fields are nested deeper than {DEEPEST}"));
        }
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for entry in entries {
            if self.older && entry.words.iter().any(|word| word == "beta") {
                continue;
            }
            if let Some(group) = entry.name.strip_prefix('@') {
                let mut inner = Map::new();
                self.fields(self.group(group)?, &mut inner, depth + 1)?;
                if let Some(Value::Object(more)) = inner.remove("properties") {
                    properties.extend(more);
                }
                if let Some(Value::Array(more)) = inner.remove("required") {
                    required.extend(more);
                }
                continue;
            }
            let name = entry.name.trim_end_matches(['*', '+']);
            let field = self.field(entry, depth)?;
            match name {
                "[]" => schema.insert("items".to_owned(), field),
                "{}" => schema.insert("additionalProperties".to_owned(), field),
                _ => properties.insert(name.to_owned(), field),
            };
            if entry.name.ends_with('*') || entry.name.ends_with('+') && !self.older {
                required.push(Value::from(name));
            }
        }
        if !properties.is_empty() {
            schema.insert("properties".to_owned(), Value::Object(properties));
        }
        if !required.is_empty() {
            schema.insert("required".to_owned(), Value::Array(required));
        }
        Ok(())
    }

    fn group(&self, name: &str) -> Result<&[Entry], String> {
        self.groups.get(name).map(Vec::as_slice).ok_or_else(|| format!("there is no group {name}"))
    }

    fn field(&self, entry: &Entry, depth: usize) -> Result<Value, String> {
        let (kind, more) = entry.words.split_first().ok_or_else(|| format!("{} has no type", entry.name))?;
        let mut schema = self.of_type(kind, depth).map_err(|error| format!("{}: {error}", entry.name))?;
        self.fields(&entry.within, &mut schema, depth + 1)?;
        for word in more {
            limit(word, &mut schema).map_err(|error| format!("{}: {error}", entry.name))?;
        }
        Ok(Value::Object(schema))
    }

    fn of_type(&self, kind: &str, depth: usize) -> Result<Map<String, Value>, String> {
        if let Some(group) = kind.strip_prefix('@') {
            let mut schema = Map::from_iter([("type".to_owned(), json!("object"))]);
            self.fields(self.group(group)?, &mut schema, depth + 1)?;
            return Ok(schema);
        }
        let schema = match kind {
            "string" | "boolean" | "integer" | "object" => json!({ "type": kind }),
            "int32" | "int64" => json!({ "type": "integer", "format": kind }),
            "list" => json!({ "type": "array" }),
            "map" => json!({ "type": "object" }),
            "name" => json!({ "type": "string", "pattern": NAME }),
            "url" => json!({ "type": "string", "pattern": "https?://.+" }),
            "duration" => json!({ "type": "string", "pattern": DURATION }),
            "short-duration" => json!({ "type": "string", "pattern": SHORT_DURATION }),
            "time" => json!({ "type": "string", "format": "date-time" }),
            "quantity" => quantity(),
            "volume-source" => self.volume_source.clone(),
            other => return Err(format!("{other} is no type")),
        };
        match schema {
            Value::Object(schema) => Ok(schema),
            _ => Err(format!("{kind} has no schema")),
        }
    }
}

/// The schema of a quantity of Kubernetes.
pub(super) fn quantity() -> Value {
    json!({
        "anyOf": [{ "type": "integer" }, { "type": "string" }],
        "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
        "x-kubernetes-int-or-string": true,
    })
}

/// Adds what one word says of a field.
fn limit(word: &str, schema: &mut Map<String, Value>) -> Result<(), String> {
    let (name, value) = match word.split_once('=') {
        Some((name, value)) => {
            let value: Value = serde_json::from_str(value).map_err(|error| format!("{word}: {error}"))?;
            (name, value)
        }
        None => (word, json!(true)),
    };
    match name {
        "beta" => {}
        "above" => {
            schema.insert("minimum".to_owned(), value);
            schema.insert("exclusiveMinimum".to_owned(), json!(true));
        }
        "default" | "enum" | "maximum" | "minItems" | "minLength" | "minimum" | "nullable" | "pattern" => {
            schema.insert(name.to_owned(), value);
        }
        other => return Err(format!("{other} is no limit")),
    }
    Ok(())
}

/// Lines in → entries out; a line belongs to the last one that stands further left.
fn parse(table: &str) -> Result<Vec<Entry>, String> {
    let mut open: Vec<Entry> = vec![Entry::default()];
    for (number, line) in table.lines().enumerate() {
        let text = line.trim_start();
        let depth = (line.len() - text.len()) / STEP;
        if depth >= open.len() || depth > DEEPEST {
            return Err(format!("line {}: it stands too far right", number + 1));
        }
        close(&mut open, depth + 1);
        let mut words = text.split(' ').map(str::to_owned);
        let name = words.next().unwrap_or_default();
        open.push(Entry { name, words: words.collect(), within: Vec::new() });
    }
    close(&mut open, 1);
    Ok(open.pop().map(|root| root.within).unwrap_or_default())
}

/// Puts entries into those that they belong to until only so many are open.
fn close(open: &mut Vec<Entry>, left: usize) {
    while open.len() > left {
        let Some(entry) = open.pop() else { return };
        if let Some(outer) = open.last_mut() {
            outer.within.push(entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(table: &str, older: bool) -> Result<Value, String> {
        Tables::new("@tls\n  ref name\n", json!({"type": "object"}), older)?.object(table)
    }

    #[test]
    fn a_table_is_a_schema() {
        let table = "a* int32 default=3 above=0\nb list\n  [] string\nc @tls beta\nd object\n  @tls\n";
        let new = schema(table, false).unwrap();
        assert_eq!(new["required"], json!(["a"]));
        assert_eq!(
            new["properties"]["a"],
            json!({"type": "integer", "format": "int32", "default": 3, "minimum": 0, "exclusiveMinimum": true})
        );
        assert_eq!(new["properties"]["b"], json!({"type": "array", "items": {"type": "string"}}));
        assert_eq!(new["properties"]["c"], new["properties"]["d"]);
        assert!(schema(table, true).unwrap()["properties"].get("c").is_none());
    }

    #[test]
    fn a_mistake_is_named_with_its_field() {
        assert_eq!(schema("a what", false).unwrap_err(), "a: what is no type");
        assert_eq!(schema("a string most=1", false).unwrap_err(), "a: most is no limit");
        assert_eq!(schema("a @b", false).unwrap_err(), "a: there is no group b");
        assert_eq!(schema("a object\n    b string", false).unwrap_err(), "line 2: it stands too far right");
    }
}
