//! Objects of built-in kinds → the cells of their Table rows, by the rules of `cells.txt`.

mod cluster;
mod network;
mod read;
mod workloads;

use std::collections::HashMap;
use std::sync::OnceLock;

use jiff::Timestamp;
use serde_json::Value;

use read::{access_modes, is_true, labels, list, number, or, scalar, selector, since, text};

/// An object, the word behind the rule's name and the present moment in, a cell out.
type Computed = fn(&Value, &str, Timestamp) -> Value;

/// Rules that need more than a place in the object.
const COMPUTED: &[(&str, Computed)] = &[
    ("selector", |object, _, _| selector(object).into()),
    ("phase", |object, _, _| cluster::phase(object).into()),
    ("controller", |object, _, _| cluster::controller(object).into()),
    ("quota", |object, part, _| cluster::quota(object, part).into()),
    ("subjects", |object, kind, _| cluster::subjects(object, kind).into()),
    ("volume-claim", |object, _, _| cluster::volume_claim(object).into()),
    ("node-status", |object, _, _| cluster::node_status(object).into()),
    ("node-roles", |object, _, _| cluster::node_roles(object).into()),
    ("node-address", |object, kind, _| cluster::node_address(object, kind).into()),
    ("event-last-seen", |object, _, now| cluster::event_last_seen(object, now).into()),
    ("event-first-seen", |object, _, now| cluster::event_first_seen(object, now).into()),
    ("event-object", |object, _, _| cluster::event_object(object).into()),
    ("event-subobject", |object, _, _| cluster::event_subobject(object).into()),
    ("event-source", |object, _, _| cluster::event_source(object).into()),
    ("event-message", |object, _, _| cluster::event_message(object).into()),
    ("event-count", |object, _, _| number(object, "/count").max(1).into()),
    ("pod-ready", |object, _, _| workloads::pod_ready(object).into()),
    ("pod-status", |object, _, _| workloads::pod_status(object).into()),
    ("pod-restarts", |object, _, _| workloads::pod_restarts(object).into()),
    ("job-status", |object, _, _| workloads::job_status(object).into()),
    ("job-completions", |object, _, _| workloads::job_completions(object).into()),
    ("job-duration", |object, _, now| workloads::job_duration(object, now).into()),
    ("autoscaler-targets", |object, _, _| workloads::autoscaler_targets(object).into()),
    ("service-external", |object, _, _| network::service_external(object).into()),
    ("service-ports", |object, _, _| network::service_ports(object).into()),
    ("endpoints", |object, _, _| network::endpoints(object).into()),
    ("slice-ports", |object, _, _| network::slice_ports(object).into()),
    ("slice-addresses", |object, _, _| network::slice_addresses(object).into()),
    ("ingress-hosts", |object, _, _| network::ingress_hosts(object).into()),
    ("ingress-addresses", |object, _, _| network::ingress_addresses(object).into()),
    ("ingress-ports", |object, _, _| network::ingress_ports(object).into()),
];

/// The content of a cell, as `cells.txt` explains it.
enum Rule {
    Text { pointer: &'static str, otherwise: &'static str },
    Scalar { pointer: &'static str, otherwise: &'static str },
    Number(&'static str),
    Flag(&'static str),
    Choice { pointer: &'static str, yes: &'static str, no: &'static str },
    Count(Vec<&'static str>),
    Ratio(&'static str, &'static str),
    Pair(&'static str, &'static str),
    Each { list: &'static str, field: &'static str },
    Labels(&'static str),
    Since { pointer: &'static str, otherwise: &'static str },
    AccessModes(&'static str),
    Always(&'static str),
    Computed(Computed, &'static str),
}

impl Rule {
    /// Reads a rule; nothing if it is not one.
    fn parse(text: &'static str) -> Option<Self> {
        let (rule, otherwise) = text.split_once(" else ").unwrap_or((text, ""));
        let words: Vec<&'static str> = rule.split(' ').collect();
        Some(match *words.as_slice() {
            ["text", pointer] => Self::Text { pointer, otherwise },
            ["scalar", pointer] => Self::Scalar { pointer, otherwise },
            ["number", pointer] => Self::Number(pointer),
            ["flag", pointer] => Self::Flag(pointer),
            ["choice", pointer, yes, no] => Self::Choice { pointer, yes, no },
            ["count", ref pointers @ ..] => Self::Count(pointers.to_vec()),
            ["ratio", part, whole] => Self::Ratio(part, whole),
            ["pair", first, second] => Self::Pair(first, second),
            ["each", list, field] => Self::Each { list, field },
            ["labels", pointer] => Self::Labels(pointer),
            ["since", pointer] => Self::Since { pointer, otherwise: or(otherwise, read::UNKNOWN) },
            ["age"] => Self::Since { pointer: "/metadata/creationTimestamp", otherwise: read::UNKNOWN },
            ["access-modes", pointer] => Self::AccessModes(pointer),
            ["always", word] => Self::Always(word),
            [name] => Self::Computed(computed(name)?, ""),
            [name, word] => Self::Computed(computed(name)?, word),
            _ => return None,
        })
    }

    fn cell(&self, object: &Value, now: Timestamp) -> Value {
        match self {
            Self::Text { pointer, otherwise } => or(text(object, pointer), otherwise).into(),
            Self::Scalar { pointer, otherwise } => or(&scalar(object.pointer(pointer)), otherwise).into(),
            Self::Number(pointer) => number(object, pointer).into(),
            Self::Flag(pointer) => is_true(object, pointer).into(),
            Self::Choice { pointer, yes, no } => (if is_true(object, pointer) { *yes } else { *no }).into(),
            Self::Count(pointers) => pointers.iter().map(|p| count(object, p)).sum::<usize>().into(),
            Self::Ratio(part, whole) => format!("{}/{}", number(object, part), number(object, whole)).into(),
            Self::Pair(first, second) => format!("{}/{}", text(object, first), text(object, second)).into(),
            Self::Each { list: items, field } => {
                let fields: Vec<String> = list(object, items).iter().map(|i| scalar(i.get(field))).collect();
                fields.join(",").into()
            }
            Self::Labels(pointer) => labels(object.pointer(pointer)).into(),
            Self::Since { pointer, otherwise } if text(object, pointer).is_empty() => (*otherwise).into(),
            Self::Since { pointer, .. } => since(object, pointer, now).into(),
            Self::AccessModes(pointer) => access_modes(object, pointer).into(),
            Self::Always(word) => (*word).into(),
            Self::Computed(computed, word) => computed(object, word, now),
        }
    }
}

fn computed(name: &str) -> Option<Computed> {
    COMPUTED.iter().find(|(known, _)| *known == name).map(|(_, computed)| *computed)
}

/// How many items are in the list or the map at a pointer.
fn count(object: &Value, pointer: &str) -> usize {
    match object.pointer(pointer) {
        Some(Value::Array(items)) => items.len(),
        Some(Value::Object(map)) => map.len(),
        _ => 0,
    }
}

/// A rule with the heading of its column.
type Column = (&'static str, Option<Rule>);
/// The columns of each kind, by apiVersion and kind.
type Columns = HashMap<(&'static str, &'static str), Vec<Column>>;

fn columns() -> &'static Columns {
    static COLUMNS: OnceLock<Columns> = OnceLock::new();
    COLUMNS.get_or_init(|| parse(include_str!("cells.txt")))
}

fn parse(text: &'static str) -> Columns {
    let mut all = Columns::new();
    let mut current = ("", "");
    for line in text.lines().filter(|line| !line.starts_with(';')) {
        if let Some(head) = line.strip_prefix('#') {
            let mut words = head.split(' ');
            current = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        } else if let Some((heading, rule)) = line.split_once(" = ") {
            all.entry(current).or_default().push((heading, Rule::parse(rule)));
        }
    }
    all
}

/// The cells of one row, in the order of [`super::columns`].
pub(crate) fn cells(api_version: &str, kind: &str, object: &Value, now: Timestamp) -> Vec<Value> {
    let columns = columns().get(&(api_version, kind)).map(Vec::as_slice).unwrap_or_default();
    let cell = |(_, rule): &Column| rule.as_ref().map_or(Value::Null, |rule| rule.cell(object, now));
    columns.iter().map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::super::kinds;

    #[test]
    fn every_column_of_every_kind_has_a_rule() {
        let known = kinds();
        assert_eq!(super::columns().len(), known.len());
        for kind in known {
            let api_version = kind.api_version();
            let columns = super::columns().get(&(api_version.as_str(), kind.kind)).unwrap();
            let headings: Vec<&str> = columns.iter().map(|(heading, _)| *heading).collect();
            assert_eq!(headings, kind.columns.iter().map(|c| c.name).collect::<Vec<_>>(), "{}", kind.kind);
            for (heading, rule) in columns {
                assert!(rule.is_some(), "{}: the rule of {heading:?} is not one", kind.kind);
            }
        }
    }
}
