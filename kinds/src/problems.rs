//! An object that is not stored yet in; everything in it that an API server would drop or refuse, out.
//!
//! Reports unknown fields, wrong types and broken rules together, each at its field. Kinds that are not built in pass: their
//! schemas are elsewhere.

use std::fmt::Write as _;

use serde_json::Value;

use crate::types::{self, Scalar, Type};
use crate::{apply_defaults, check, names, prune, validate};

/// Deeper values are not looked at.
const MAX_DEPTH: usize = 200;

/// More problems of one object help no user.
const MAX_PROBLEMS: usize = 100;

/// Something an API server would drop or refuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Its field, `spec.ports[0].port`.
    pub field: String,
    /// The error.
    pub message: String,
    /// For a field that the kind does not have: the fields it has in this place.
    pub known: Vec<&'static str>,
}

/// Everything that an API server would drop or refuse of a new object.
pub fn problems(object: &Value) -> Vec<Problem> {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let Some(ty) = types::table().kind_type(api_version, kind) else { return Vec::new() };
    let mut found = Walk { kind, problems: Vec::new(), mistyped: false };
    found.value(object, ty, &mut String::new(), 0);
    found.metadata(object);
    // Rules are made for values of the right type.
    if !found.mistyped && validate::has_rules(api_version, kind) {
        let mut whole = object.clone();
        prune(api_version, kind, &mut whole);
        apply_defaults(api_version, kind, &mut whole);
        for cause in validate::validate(api_version, kind, &whole, None) {
            found.report(&cause.field, cause.message);
        }
    }
    found.problems.truncate(MAX_PROBLEMS);
    found.problems
}

struct Walk<'a> {
    kind: &'a str,
    problems: Vec<Problem>,
    mistyped: bool,
}

impl Walk<'_> {
    fn report(&mut self, field: &str, message: impl Into<String>) {
        self.problems.push(Problem { field: field.to_owned(), message: message.into(), known: Vec::new() });
    }

    fn value(&mut self, value: &Value, ty: &Type, path: &mut String, depth: usize) {
        if value.is_null() || depth > MAX_DEPTH || self.problems.len() >= MAX_PROBLEMS {
            return;
        }
        match (ty, value) {
            (Type::Any, _) => {}
            (Type::Scalar(scalar), _) => {
                if let Some(wanted) = refused(*scalar, value) {
                    // The rules read a quantity that is none as one that is not there.
                    self.mistyped |= scalar != &Scalar::Quantity;
                    self.report(path, format!("expected {wanted}, found {}", found(value)));
                }
            }
            (Type::Struct(at), Value::Object(fields)) => {
                let Some(known) = types::table().get(*at) else { return };
                for (name, inner) in fields {
                    let length = path.len();
                    push(path, name);
                    match known.field(name) {
                        Some(field) => self.value(inner, &field.ty, path, depth + 1),
                        None => {
                            let message = format!("{} has no field {name:?} here", self.kind);
                            let known = known.fields.iter().map(|field| field.name.as_str()).collect();
                            self.problems.push(Problem { field: path.clone(), message, known });
                        }
                    }
                    path.truncate(length);
                }
            }
            (Type::List(item), Value::Array(items)) => {
                for (index, inner) in items.iter().enumerate() {
                    let length = path.len();
                    // A text takes every write.
                    let _ = write!(path, "[{index}]");
                    self.value(inner, item, path, depth + 1);
                    path.truncate(length);
                }
            }
            (Type::Map(item), Value::Object(fields)) => {
                for (name, inner) in fields {
                    let length = path.len();
                    push(path, name);
                    self.value(inner, item, path, depth + 1);
                    path.truncate(length);
                }
            }
            (Type::Struct(_) | Type::Map(_), _) => self.wrong(path, "an object", value),
            (Type::List(_), _) => self.wrong(path, "a list", value),
        }
    }

    fn wrong(&mut self, path: &str, wanted: &str, value: &Value) {
        self.mistyped = true;
        self.report(path, format!("expected {wanted}, found {}", found(value)));
    }

    /// The name of the object, and labels wherever pods or objects get them.
    fn metadata(&mut self, object: &Value) {
        let name = validate::at(object, "metadata.name").and_then(Value::as_str).unwrap_or_default();
        if let Err(why) = names::object_name(self.kind, name)
            && !name.is_empty()
        {
            self.report("metadata.name", format!("{name:?} is no name: {why}"));
        }
        let places = [
            "metadata.labels",
            "spec.template.metadata.labels",
            "spec.jobTemplate.metadata.labels",
            "spec.jobTemplate.spec.template.metadata.labels",
        ];
        for place in places {
            let labels = validate::at(object, place).and_then(Value::as_object);
            for (key, value) in labels.into_iter().flatten() {
                let path = || {
                    let mut path = place.to_owned();
                    push(&mut path, key);
                    path
                };
                if let Err(why) = names::qualified_name(key) {
                    self.report(&path(), format!("{key:?} is no name of a label: {why}"));
                }
                if let Some(text) = value.as_str()
                    && let Err(why) = names::label_value(text)
                {
                    self.report(&path(), format!("{text:?} is no value of a label: {why}"));
                }
            }
        }
    }
}

/// The expected type, where a scalar does not take the value.
fn refused(scalar: Scalar, value: &Value) -> Option<&'static str> {
    let text = value.as_str();
    let (takes, wanted) = match scalar {
        Scalar::String => (value.is_string(), "a string"),
        Scalar::Bytes => (text.is_some_and(|text| check::base64_error(text).is_none()), "text in base64"),
        Scalar::Time => {
            (text.is_some_and(|text| text.parse::<jiff::Timestamp>().is_ok()), "an RFC 3339 time")
        }
        Scalar::Int32 => {
            (value.as_i64().is_some_and(|number| i32::try_from(number).is_ok()), "a whole number of 32 bits")
        }
        Scalar::Int64 => (value.is_i64(), "a whole number"),
        Scalar::Number => (value.is_number(), "a number"),
        Scalar::Bool => (value.is_boolean(), "true or false"),
        Scalar::Quantity => (
            text.map_or_else(|| value.is_number(), check::is_quantity),
            "a quantity such as 100m, 0.5 or 128Mi",
        ),
        Scalar::IntOrString => (value.is_i64() || value.is_string(), "a whole number or a string"),
    };
    (!takes).then_some(wanted)
}

/// The type of a value; never the value itself, which may be confidential.
fn found(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn push(path: &mut String, name: &str) {
    let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    match (plain, path.is_empty()) {
        (true, true) => path.push_str(name),
        (true, false) => {
            path.push('.');
            path.push_str(name);
        }
        (false, _) => path.push_str(&format!("[{name:?}]")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::problems;

    #[test]
    fn everything_is_told_at_its_field() {
        let object = json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "Web", "labels": {"a": "no spaces"}},
            "spec": {
                "replicas": -2,
                "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {"containers": [{
                        "name": "web", "image": "nginx", "env": [{"name": "A", "valeu": "b"}],
                        "ports": [{"containerPort": 70000, "name": "http"}, {"containerPort": 81, "name": "http"}],
                        "resources": {"limits": {"cpu": "2"}},
                    }]},
                },
            },
        });
        let reported: Vec<(String, String)> =
            problems(&object).into_iter().map(|one| (one.field, one.message)).collect();
        let container = "spec.template.spec.containers[0]";
        let expected = [
            (format!("{container}.env[0].valeu"), "Deployment has no field \"valeu\" here"),
            ("metadata.name".to_owned(), "\"Web\" is no name"),
            ("metadata.labels.a".to_owned(), "\"no spaces\" is no value of a label"),
            ("spec.replicas".to_owned(), "Invalid value: -2"),
            (format!("{container}.ports[0].containerPort"), "Invalid value: 70000"),
            (format!("{container}.ports[1].name"), "Duplicate value: \"http\""),
        ];
        assert_eq!(reported.len(), expected.len(), "{reported:#?}");
        for ((field, message), (place, begin)) in reported.iter().zip(&expected) {
            assert!(field == place && message.starts_with(begin), "{field}: {message}");
        }
    }

    #[test]
    fn a_value_of_the_wrong_type_is_told_and_not_shown() {
        let object = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"k": "not base64!"}});
        let reported = problems(&object);
        assert_eq!((reported.len(), reported[0].field.as_str()), (1, "data.k"));
        assert_eq!(reported[0].message, "expected text in base64, found a string");
        let object = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
            "spec": {"containers": [{"name": "a", "image": "b", "resources": {"limits": {"cpu": "half"}}}]},
        });
        assert_eq!(problems(&object)[0].field, "spec.containers[0].resources.limits.cpu");
        assert!(problems(&json!({"apiVersion": "a/v1", "kind": "Mine", "x": 1})).is_empty());
    }
}
