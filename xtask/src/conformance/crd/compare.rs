//! One object in; whether the references and our schema do the same with it out.

use serde_json::Value;
use vela_apiserver::schema::Structural;
use vela_apiserver::{Cause, CauseReason};

use super::schemas::Kind;

/// What an API server with one schema does with an object.
struct Verdict {
    /// The object as it would be stored.
    stored: Value,
    /// Why it is refused; empty where it is accepted.
    causes: Vec<Cause>,
    /// Fields that the schema does not know.
    dropped: Vec<String>,
}

fn verdict(structural: &Structural, object: &Value) -> Verdict {
    let mut stored = object.clone();
    let dropped = structural.prune(&mut stored);
    structural.apply_defaults(&mut stored);
    let causes = structural.validate(&stored, None);
    Verdict { stored, causes, dropped }
}

impl Verdict {
    /// Accepts the object, and knows every field that another schema refuses it for.
    ///
    /// A release accepts anything in a field that came after it; that says nothing about the field.
    fn overrules(&self, others: &[Verdict]) -> bool {
        let objections = others.iter().flat_map(|other| &other.causes);
        self.causes.is_empty() && objections.filter(|c| !c.field.is_empty()).all(|c| self.knows(c))
    }

    fn knows(&self, cause: &Cause) -> bool {
        let mut place = cause.field.as_str();
        if cause.reason == CauseReason::Required {
            // What is missing may be unknown; the object it is missing in must be known.
            place = place.rsplit_once('.').map_or("", |(object, _)| object);
        }
        !self.dropped.iter().any(|dropped| {
            place
                .strip_prefix(dropped.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    }
}

/// Compares; the error is the first difference.
pub(super) fn verdicts(kind: &Kind, object: &Value) -> Result<(), String> {
    let Some(ours) = &kind.ours else { return Err("the kind is missing".to_owned()) };
    let references: Vec<Verdict> =
        kind.references.iter().map(|reference| verdict(&reference.structural, object)).collect();
    let ours = verdict(ours, object);
    let accepting: Vec<&Verdict> = references.iter().filter(|one| one.overrules(&references)).collect();
    if accepting.is_empty() {
        let why = references.iter().flat_map(|one| &one.causes).next();
        let why = why.map(|c| format!("{}: {}", c.field, c.message)).unwrap_or_default();
        return if ours.causes.is_empty() {
            Err(format!("accepted, must be refused: {why}"))
        } else {
            Ok(())
        };
    }
    if let Some(cause) = ours.causes.first() {
        return Err(format!("refused, must be accepted: {}: {}", cause.field, cause.message));
    }
    let mut expected = Value::Null;
    for one in accepting {
        merge(&mut expected, &one.stored);
    }
    difference(&expected, &ours.stored, "").map_or(Ok(()), Err)
}

/// Adds what another release keeps.
fn merge(kept: &mut Value, more: &Value) {
    match (kept, more) {
        (Value::Object(kept), Value::Object(more)) => {
            for (name, value) in more {
                merge(kept.entry(name).or_insert(Value::Null), value);
            }
        }
        (Value::Array(kept), Value::Array(more)) if kept.len() == more.len() => {
            kept.iter_mut().zip(more).for_each(|(kept, more)| merge(kept, more));
        }
        (kept @ Value::Null, more) => *kept = more.clone(),
        _ => {}
    }
}

/// The first place where two stored objects differ.
fn difference(expected: &Value, ours: &Value, path: &str) -> Option<String> {
    match (expected, ours) {
        (Value::Object(expected), Value::Object(ours)) => {
            for (name, value) in expected {
                let path = format!("{path}.{name}");
                match ours.get(name) {
                    Some(other) => {
                        if let Some(found) = difference(value, other, &path) {
                            return Some(found);
                        }
                    }
                    None => return Some(format!("{path}: dropped, must be {value}")),
                }
            }
            let extra = ours.iter().find(|(name, _)| !expected.contains_key(*name));
            extra.map(|(name, value)| format!("{path}.{name}: {value} is kept, must be dropped"))
        }
        (Value::Array(expected), Value::Array(ours)) if expected.len() == ours.len() => {
            let pairs = expected.iter().zip(ours).enumerate();
            pairs.map(|(i, (e, o))| difference(e, o, &format!("{path}[{i}]"))).find_map(|found| found)
        }
        _ if expected == ours => None,
        _ => Some(format!("{path}: {ours}, must be {expected}")),
    }
}
