//! A selector's text in, a test of objects out.

use std::collections::BTreeSet;

use serde_json::Value;
use vela_kinds::names::qualified_name;

use crate::catalog::Resource;
use crate::http::Query;
use crate::object;
use crate::status::{ApiError, ApiResult};

/// Requirements in one selector: more is an attack, not a question.
const REQUIREMENTS_MAX: usize = 100;

/// Which objects a list or watch is about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selector {
    labels: Vec<Label>,
    fields: Vec<(String, bool, String)>,
}

#[derive(Clone, Debug)]
enum Label {
    In(String, BTreeSet<String>),
    NotIn(String, BTreeSet<String>),
    Exists(String),
    Absent(String),
    Greater(String, i64),
    Less(String, i64),
}

impl Selector {
    pub(crate) fn parse(labels: &str, fields: &str) -> ApiResult<Self> {
        let labels = split(labels).into_iter().map(parse_label).collect::<ApiResult<Vec<_>>>()?;
        let fields = fields
            .split(',')
            .filter(|part| !part.is_empty())
            .map(|part| {
                let (name, equal, value) = if let Some((n, v)) = part.split_once("!=") {
                    (n, false, v)
                } else if let Some((n, v)) = part.split_once("==").or_else(|| part.split_once('=')) {
                    (n, true, v)
                } else {
                    return Err(ApiError::bad_request(format!(
                        "invalid selector: '{part}'; can't understand '{part}'"
                    )));
                };
                Ok((name.trim().to_owned(), equal, value.trim().to_owned()))
            })
            .collect::<ApiResult<Vec<_>>>()?;
        if labels.len() + fields.len() > REQUIREMENTS_MAX {
            return Err(ApiError::bad_request(format!(
                "a selector may have at most {REQUIREMENTS_MAX} requirements"
            )));
        }
        Ok(Self { labels, fields })
    }

    /// The selectors of a request, which may only name fields that the resource offers.
    pub(crate) fn read(resource: &Resource, query: &Query) -> ApiResult<Self> {
        let selector = Self::parse(query.text("labelSelector"), query.text("fieldSelector"))?;
        selector.check_fields(resource)?;
        Ok(selector)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// The name that `metadata.name=` asks for, if it does.
    pub(crate) fn name(&self) -> Option<&str> {
        self.fields.iter().find(|(f, equal, _)| f == "metadata.name" && *equal).map(|(_, _, v)| v.as_str())
    }

    /// Refuses fields that a resource does not offer for selection.
    fn check_fields(&self, resource: &Resource) -> ApiResult<()> {
        for (field, _, _) in &self.fields {
            let common = matches!(field.as_str(), "metadata.name" | "metadata.namespace");
            if common || selectable(resource).contains(&field.as_str()) {
                continue;
            }
            return Err(ApiError::bad_request(format!(
                "Unable to find {:?} that match label selector \"\", field selector {:?}: field label not \
                 supported: {field}",
                format!("{}, Resource={}", resource.api_version, resource.plural),
                self.fields
                    .iter()
                    .map(|(n, e, v)| format!("{n}{}{v}", if *e { "=" } else { "!=" }))
                    .collect::<Vec<_>>()
                    .join(","),
            )));
        }
        Ok(())
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.is_empty()
            || (self.labels.iter().all(|label| label.matches(object))
                && self.fields.iter().all(|(path, equal, value)| (field(object, path) == *value) == *equal))
    }
}

fn field(object: &Value, path: &str) -> String {
    match object::at(object, path) {
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) => match path {
            // These have a value even where the text is not written.
            "spec.unschedulable" => "false".into(),
            "status.successful" => "0".into(),
            _ => String::new(),
        },
        Some(other) => other.to_string(),
    }
}

fn selectable(resource: &Resource) -> &'static [&'static str] {
    if resource.is_custom() {
        return &[];
    }
    match resource.kind.as_str() {
        "Pod" => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
        "Event" => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        "Secret" => &["type"],
        "Node" => &["spec.unschedulable"],
        "Namespace" => &["status.phase"],
        "ReplicaSet" | "ReplicationController" => &["status.replicas"],
        "Job" => &["status.successful"],
        "Service" => &["spec.clusterIP", "spec.type"],
        _ => &[],
    }
}

impl Label {
    fn matches(&self, object: &Value) -> bool {
        let value = |key: &str| {
            object::metadata(object)
                .and_then(|m| m.get("labels"))
                .and_then(|l| l.get(key))
                .and_then(Value::as_str)
        };
        match self {
            Self::In(key, values) => value(key).is_some_and(|v| values.contains(v)),
            Self::NotIn(key, values) => !value(key).is_some_and(|v| values.contains(v)),
            Self::Exists(key) => value(key).is_some(),
            Self::Absent(key) => value(key).is_none(),
            Self::Greater(key, than) => {
                value(key).and_then(|v| v.parse::<i64>().ok()).is_some_and(|v| v > *than)
            }
            Self::Less(key, than) => {
                value(key).and_then(|v| v.parse::<i64>().ok()).is_some_and(|v| v < *than)
            }
        }
    }
}

/// Cuts at commas that are not between parentheses.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0i32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth <= 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts.into_iter().map(str::trim).filter(|p| !p.is_empty()).collect()
}

fn parse_label(part: &str) -> ApiResult<Label> {
    let refuse = |why: &str| ApiError::bad_request(format!("unable to parse requirement: {why}: {part:?}"));
    let key = |text: &str| -> ApiResult<String> {
        let key = text.trim();
        qualified_name(key).map_err(|why| refuse(&why))?;
        Ok(key.to_owned())
    };
    let one = |text: &str| BTreeSet::from([text.trim().to_owned()]);
    if let Some(open) = part.find('(') {
        let (head, tail) = part.split_at(open);
        let values: BTreeSet<String> = tail
            .strip_prefix('(')
            .and_then(|t| t.strip_suffix(')'))
            .ok_or_else(|| refuse("expected values in parentheses"))?
            .split(',')
            .map(|v| v.trim().to_owned())
            .collect();
        let words: Vec<&str> = head.split_whitespace().collect();
        return match words.as_slice() {
            [name, "in"] => Ok(Label::In(key(name)?, values)),
            [name, "notin"] => Ok(Label::NotIn(key(name)?, values)),
            _ => Err(refuse("expected 'in' or 'notin' before the parentheses")),
        };
    }
    if let Some((name, value)) = part.split_once("!=") {
        return Ok(Label::NotIn(key(name)?, one(value)));
    }
    if let Some((name, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return Ok(Label::In(key(name)?, one(value)));
    }
    let number = |text: &str| text.trim().parse().map_err(|_| refuse("expected a whole number"));
    if let Some((name, value)) = part.split_once('>') {
        return Ok(Label::Greater(key(name)?, number(value)?));
    }
    if let Some((name, value)) = part.split_once('<') {
        return Ok(Label::Less(key(name)?, number(value)?));
    }
    match part.strip_prefix('!') {
        Some(name) => Ok(Label::Absent(key(name)?)),
        None => Ok(Label::Exists(key(part)?)),
    }
}
