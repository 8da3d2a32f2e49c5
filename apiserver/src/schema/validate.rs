//! A custom resource against its schema: every broken rule with its field, in the real API server's words.
use std::collections::BTreeSet;

use kube_cel::CompiledSchema;
use serde_json::Value;

use super::{Kind, Node, formats};
use crate::builtin::types::ListKind;
use crate::cause::{Cause, CauseReason};

/// The server lists at most this many causes; more of them help no user.
const MAX_CAUSES: usize = 100;

pub(super) fn validate(
    root: &Node,
    rules: Option<&CompiledSchema>,
    new: &Value,
    old: Option<&Value>,
) -> Vec<Cause> {
    let mut causes = Vec::new();
    check(root, new, "", &mut causes);
    lists(root, new, "", &mut causes);
    if let Some(rules) = rules {
        let blocking = causes.iter().any(|c| {
            matches!(
                c.reason,
                CauseReason::Required
                    | CauseReason::TypeInvalid
                    | CauseReason::TooLong
                    | CauseReason::TooMany
                    | CauseReason::NotSupported
            )
        });
        if blocking {
            causes.push(Cause::invalid(
                "<nil>",
                &Value::Null,
                "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
            ));
        } else {
            causes.extend(expressions(rules, new, old));
        }
    }
    causes.truncate(MAX_CAUSES);
    causes
}

fn expressions(rules: &CompiledSchema, new: &Value, old: Option<&Value>) -> Vec<Cause> {
    let Err(errors) = kube_cel::Validator::new().validate_compiled(rules, new, old) else {
        return Vec::new();
    };
    errors
        .into_vec()
        .into_iter()
        .map(|error| {
            let field = error.field_path.clone();
            let reason = error.reason.clone();
            match reason.as_deref() {
                Some("FieldValueForbidden") => Cause::forbidden(field, error.message),
                Some("FieldValueRequired") => Cause::required(field, &error.message),
                Some("FieldValueDuplicate") => Cause {
                    reason: CauseReason::Duplicate,
                    field,
                    message: format!("Duplicate value: {}", error.message),
                },
                _ => Cause {
                    reason: CauseReason::Invalid,
                    field,
                    message: format!("Invalid value: {}", error.message),
                },
            }
        })
        .collect()
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_f64() && n.as_f64().is_some_and(|f| f.fract() != 0.0) => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn wrong_type(node_type: &str, value: &Value, path: &str, causes: &mut Vec<Cause>) {
    let found: Value = kind_of(value).into();
    let name = if path.is_empty() { "<nil>" } else { path };
    causes.push(Cause::type_invalid(
        name,
        &found,
        format!("{path} in body must be of type {node_type}: {found}"),
    ));
}

/// Pushes a cause that is not tied to a field.
fn general(detail: String, causes: &mut Vec<Cause>) {
    causes.push(Cause::invalid("<nil>", &"".into(), detail));
}

fn check(node: &Node, value: &Value, path: &str, causes: &mut Vec<Cause>) {
    if causes.len() > MAX_CAUSES || (value.is_null() && node.nullable) {
        return;
    }
    if node.int_or_string {
        if !matches!(kind_of(value), "integer" | "string") {
            wrong_type("integer,string", value, path, causes);
            return;
        }
    } else if let Some(ty) = node.ty {
        let found = kind_of(value);
        let fits = found == ty.name() || (ty == Kind::Number && found == "integer");
        if !fits {
            wrong_type(ty.name(), value, path, causes);
            if ty == Kind::Integer && found == "number" {
                general(format!("Checked value must be of type integer (default format) in {path}"), causes);
            }
            return;
        }
    }
    match value {
        Value::String(text) => check_text(node, text, value, path, causes),
        Value::Number(_) => check_number(node, value, path, causes),
        Value::Array(list) => check_list(node, list, path, causes),
        Value::Object(_) => check_object(node, value, path, causes),
        _ => {}
    }
    let rules = &node.rules;
    if !rules.allowed.is_empty() && !rules.allowed.contains(value) {
        let list = rules.allowed.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
        causes.push(Cause {
            reason: CauseReason::NotSupported,
            field: path.to_owned(),
            message: format!("Unsupported value: {value}: supported values: {list}"),
        });
    }
    check_branches(node, value, path, causes);
}

fn check_text(node: &Node, text: &str, value: &Value, path: &str, causes: &mut Vec<Cause>) {
    let rules = &node.rules;
    let length = text.chars().count() as u64;
    if let Some(max) = rules.max_length.filter(|max| length > *max) {
        causes.push(Cause::too_long(path, max));
    }
    if let Some(min) = rules.min_length.filter(|min| length < *min) {
        causes.push(Cause::invalid(
            path,
            value,
            format!("{path} in body should be at least {min} chars long"),
        ));
    }
    if let Some((pattern, Some(compiled))) = &rules.pattern
        && !compiled.is_match(text)
    {
        causes.push(Cause::invalid(path, value, format!("{path} in body should match '{pattern}'")));
    }
    if !formats::fits(&rules.format, text) {
        let detail = format!("{path} in body must be of type {}: {value}", rules.format);
        causes.push(Cause::type_invalid(path, value, detail));
    }
}

fn check_number(node: &Node, value: &Value, path: &str, causes: &mut Vec<Cause>) {
    let rules = &node.rules;
    let Some(number) = value.as_f64() else { return };
    if rules.format == "int32" && value.as_i64().is_some_and(|n| i32::try_from(n).is_err()) {
        general(format!("Checked value must be of type integer with format int32 in {path}"), causes);
    }
    let mut refuse = |detail: String| causes.push(Cause::invalid(path, value, detail));
    if let Some(factor) = rules.multiple_of.filter(|f| *f > 0.0) {
        let times = number / factor;
        if (times - times.round()).abs() > f64::EPSILON * times.abs().max(1.0) {
            refuse(format!("{path} in body should be a multiple of {factor}"));
        }
    }
    if let Some(max) = rules.maximum {
        if rules.exclusive_maximum && number >= max {
            refuse(format!("{path} in body should be less than {max}"));
        } else if number > max {
            refuse(format!("{path} in body should be less than or equal to {max}"));
        }
    }
    if let Some(min) = rules.minimum {
        if rules.exclusive_minimum && number <= min {
            refuse(format!("{path} in body should be greater than {min}"));
        } else if number < min {
            refuse(format!("{path} in body should be greater than or equal to {min}"));
        }
    }
}

fn check_list(node: &Node, list: &[Value], path: &str, causes: &mut Vec<Cause>) {
    let count = list.len() as u64;
    if let Some(item) = &node.items {
        for (i, inner) in list.iter().enumerate() {
            check(item, inner, &format!("{path}[{i}]"), causes);
        }
    }
    if let Some(min) = node.rules.min_items.filter(|min| count < *min) {
        let detail = format!("{path} in body should have at least {min} items");
        causes.push(Cause::invalid(path, &count.into(), detail));
    }
    if let Some(max) = node.rules.max_items.filter(|max| count > *max) {
        causes.push(Cause::too_many(path, list.len(), max));
    }
}

fn check_object(node: &Node, value: &Value, path: &str, causes: &mut Vec<Cause>) {
    let Some(map) = value.as_object() else { return };
    let count = map.len() as u64;
    if let Some(min) = node.rules.min_properties.filter(|min| count < *min) {
        let detail = format!("{path} in body should have at least {min} properties");
        causes.push(Cause::invalid(path, &count.into(), detail));
    }
    if let Some(max) = node.rules.max_properties.filter(|max| count > *max) {
        causes.push(Cause::too_many(path, map.len(), max));
    }
    if node.embedded {
        for name in ["apiVersion", "kind"] {
            if map.get(name).and_then(Value::as_str).is_none_or(str::is_empty) {
                causes.push(Cause::required(join(path, name), ""));
            }
        }
    }
    for name in &node.rules.required {
        if !map.contains_key(name) {
            causes.push(Cause::required(join(path, name), ""));
        }
    }
    for (name, inner) in map {
        if let Some(known) = node.properties.get(name).or(node.additional.as_deref()) {
            check(known, inner, &join(path, name), causes);
        }
    }
}

fn check_branches(node: &Node, value: &Value, path: &str, causes: &mut Vec<Cause>) {
    let rules = &node.rules;
    let broken = |branch: &Node| {
        let mut found = Vec::new();
        check(branch, value, path, &mut found);
        found
    };
    if !rules.any_of.is_empty() {
        let found: Vec<Vec<Cause>> = rules.any_of.iter().map(broken).collect();
        if found.iter().all(|f| !f.is_empty()) {
            general(format!("{path:?} must validate at least one schema (anyOf)"), causes);
            causes.extend(closest(found));
        }
    }
    if !rules.one_of.is_empty() {
        let found: Vec<Vec<Cause>> = rules.one_of.iter().map(broken).collect();
        match found.iter().filter(|f| f.is_empty()).count() {
            0 => {
                let detail =
                    format!("{path:?} must validate one and only one schema (oneOf). Found none valid");
                general(detail, causes);
                causes.extend(closest(found));
            }
            1 => {}
            n => general(
                format!(
                    "{path:?} must validate one and only one schema (oneOf). Found {n} valid alternatives"
                ),
                causes,
            ),
        }
    }
    if !rules.all_of.is_empty() {
        let found: Vec<Vec<Cause>> = rules.all_of.iter().map(broken).collect();
        let good = found.iter().filter(|f| f.is_empty()).count();
        if good < found.len() {
            causes.extend(found.into_iter().flatten());
            let none = if good == 0 { ". None validated" } else { "" };
            general(format!("{path:?} must validate all the schemas (allOf){none}"), causes);
        }
    }
    if let Some(not) = &rules.not
        && broken(not).is_empty()
    {
        general(format!("{path:?} must not validate the schema (not)"), causes);
    }
}

/// Of the branches that all failed, the complaints of the one that came closest.
fn closest(found: Vec<Vec<Cause>>) -> Vec<Cause> {
    found.into_iter().min_by_key(Vec::len).unwrap_or_default()
}

/// Items that must be unique in their list.
fn lists(node: &Node, value: &Value, path: &str, causes: &mut Vec<Cause>) {
    if causes.len() > MAX_CAUSES {
        return;
    }
    match value {
        Value::Array(list) => {
            let mut seen = BTreeSet::new();
            for (i, item) in list.iter().enumerate() {
                let here = format!("{path}[{i}]");
                let identity = match &node.list {
                    ListKind::Atomic => None,
                    ListKind::Set => Some(item.clone()),
                    ListKind::Map(keys) => {
                        let pairs = keys.iter().filter_map(|k| Some((k.clone(), item.get(k)?.clone())));
                        Some(Value::Object(pairs.collect()))
                    }
                };
                if let Some(identity) = identity
                    && !seen.insert(identity.to_string())
                {
                    causes.push(Cause::duplicate(here.clone(), &identity));
                }
                if let Some(known) = &node.items {
                    lists(known, item, &here, causes);
                }
            }
        }
        Value::Object(map) => {
            for (name, inner) in map {
                if let Some(known) = node.properties.get(name).or(node.additional.as_deref()) {
                    lists(known, inner, &join(path, name), causes);
                }
            }
        }
        _ => {}
    }
}
