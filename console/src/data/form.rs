//! A form made of the parameters of a component type, and the manifest made of what a person wrote into it. Values reach
//! YAML by the serializer alone.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value, json};
use vela_engine::parameters::Parameter;

use crate::error::Error;
use crate::find::is_name;
use crate::query::Query;

/// Fields of a form; a type with more parameters needs a manifest.
const FIELDS_AT_MOST: usize = 256;
/// Begins the names of fields that are parameters.
const PREFIX: &str = "p.";
/// The fields of every form.
const OWN: [&str; 4] = ["token", "name", "namespace", "component"];

/// What is written into a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A text.
    Text,
    /// A whole number.
    Whole,
    /// Any number.
    Number,
    /// Yes, no, or nothing.
    Switch,
    /// One of the allowed values.
    Choice,
    /// A list of texts, one in each line.
    Lines,
    /// Anything else, as YAML.
    Yaml,
}

impl Kind {
    /// How a parameter is written.
    pub(crate) fn of(parameter: &Parameter) -> Self {
        match parameter.type_.as_str() {
            "string" | "int" | "number" | "bool" if !parameter.allowed.is_empty() => Self::Choice,
            "string" => Self::Text,
            "int" => Self::Whole,
            "number" => Self::Number,
            "bool" => Self::Switch,
            "[]string" if parameter.allowed.is_empty() => Self::Lines,
            _ => Self::Yaml,
        }
    }
}

/// The name of the field of a parameter.
pub(crate) fn field(parameter: &Parameter) -> String {
    format!("{PREFIX}{}", parameter.name)
}

/// A value of a choice, as a field has it.
pub(crate) fn choice(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What a person wrote.
#[derive(Debug, Default)]
pub(crate) struct Filled {
    values: BTreeMap<String, String>,
    /// What is wrong, by the names of fields.
    pub(crate) mistakes: BTreeMap<String, String>,
}

impl Filled {
    /// A form in which nothing but the namespace stands.
    pub(crate) fn new(namespace: &str) -> Self {
        let values = BTreeMap::from_iter([("namespace".to_owned(), namespace.to_owned())]);
        Self { values, ..Self::default() }
    }

    /// What stands in a field.
    pub(crate) fn text(&self, field: &str) -> &str {
        self.values.get(field).map_or("", String::as_str)
    }

    /// Reads a form for a component type: the manifest, where there is no mistake.
    pub(crate) fn read(
        form: &Query,
        component_type: &str,
        parameters: &[Parameter],
    ) -> Result<(Self, Option<Value>), Error> {
        if parameters.len() > FIELDS_AT_MOST {
            return Err(Error::Unreadable(format!(
                "{component_type:?} takes more than {FIELDS_AT_MOST} parameters; write a manifest instead"
            )));
        }
        let fields: Vec<String> = parameters.iter().map(field).collect();
        let known: Vec<&str> = OWN.into_iter().chain(fields.iter().map(String::as_str)).collect();
        form.only(&known)?;
        let mut filled = Self::default();
        for name in &known[1..] {
            let text = form.text(name).unwrap_or_default().replace("\r\n", "\n");
            filled.values.insert((*name).to_owned(), text);
        }
        for name in &OWN[1..] {
            if !is_name(filled.text(name)) {
                let why = "a name has a-z, 0-9, '-' and '.', and begins with a letter or a digit";
                filled.mistakes.insert((*name).to_owned(), why.to_owned());
            }
        }
        let mut properties = Map::new();
        for (parameter, field) in parameters.iter().zip(&fields) {
            match value(parameter, filled.text(field)) {
                Ok(Some(value)) => drop(properties.insert(parameter.name.clone(), value)),
                Ok(None) => {}
                Err(why) => drop(filled.mistakes.insert(field.clone(), why)),
            }
        }
        if !filled.mistakes.is_empty() {
            return Ok((filled, None));
        }
        let mut component = json!({"name": filled.text("component"), "type": component_type});
        if !properties.is_empty() {
            component["properties"] = Value::Object(properties);
        }
        let manifest = json!({
            "apiVersion": "core.oam.dev/v1beta1",
            "kind": "Application",
            "metadata": {"name": filled.text("name"), "namespace": filled.text("namespace")},
            "spec": {"components": [component]},
        });
        Ok((filled, Some(manifest)))
    }
}

/// The value of a parameter; nothing where nothing is given.
pub(crate) fn value(parameter: &Parameter, text: &str) -> Result<Option<Value>, String> {
    if text.trim().is_empty() {
        return match parameter.required && parameter.condition.is_none() {
            true => Err("it is required: give a value".to_owned()),
            false => Ok(None),
        };
    }
    let number = |value: Option<Number>, what: &str| match value {
        Some(number) => Ok(Some(Value::Number(number))),
        None => Err(format!("{:?} is no {what}", text.chars().take(100).collect::<String>())),
    };
    let whole = text.trim().parse::<i64>().ok().map(Number::from);
    match Kind::of(parameter) {
        Kind::Text => Ok(Some(json!(text))),
        Kind::Whole => number(whole, "whole number"),
        Kind::Number => {
            number(whole.or_else(|| text.trim().parse::<f64>().ok().and_then(Number::from_f64)), "number")
        }
        Kind::Switch => match text {
            "true" => Ok(Some(json!(true))),
            "false" => Ok(Some(json!(false))),
            _ => Err("choose true or false, or leave it".to_owned()),
        },
        Kind::Choice => match parameter.allowed.iter().find(|allowed| choice(allowed) == text) {
            Some(allowed) => Ok(Some(allowed.clone())),
            None => Err("choose one of the values".to_owned()),
        },
        Kind::Lines => {
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            Ok(Some(lines.map(Value::from).collect()))
        }
        Kind::Yaml => match serde_saphyr::from_str::<Value>(text) {
            Ok(value) => Ok(Some(value)),
            Err(error) => {
                Err(format!("it is no YAML: {}", error.to_string().lines().next().unwrap_or_default()))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(type_: &str) -> Parameter {
        Parameter { type_: type_.to_owned(), ..Parameter::default() }
    }

    #[test]
    fn texts_become_values_of_their_types() {
        for (type_, text, expected) in [
            ("string", "<script>: \"a", json!("<script>: \"a")),
            ("string", "true", json!("true")),
            ("int", "8080", json!(8080)),
            ("number", "0.5", json!(0.5)),
            ("bool", "false", json!(false)),
            ("[]string", "a: b\n\n c \n", json!(["a: b", "c"])),
            ("map[string]string", "a: b", json!({"a": "b"})),
            ("[]object", "- a: 1", json!([{"a": 1}])),
        ] {
            assert_eq!(value(&parameter(type_), text), Ok(Some(expected)), "{type_} {text}");
        }
        for (type_, text) in
            [("int", "1.5"), ("int", "a"), ("number", "NaN"), ("bool", "yes"), ("object", "a: [")]
        {
            assert!(value(&parameter(type_), text).is_err(), "{type_} {text}");
        }
        let mut chosen = Parameter { allowed: vec![json!("a"), json!(2)], ..parameter("string") };
        assert_eq!(value(&chosen, "2"), Ok(Some(json!(2))));
        assert!(value(&chosen, "b").is_err());
        assert_eq!(value(&chosen, " "), Ok(None));
        chosen.required = true;
        assert!(value(&chosen, "").is_err());
    }
}
