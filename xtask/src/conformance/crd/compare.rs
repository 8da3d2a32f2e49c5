//! Compares what the references and our schema do with one object.

use serde_json::Value;
use vela_apiserver::schema::Structural;
use vela_apiserver::{Cause, CauseReason};

use super::known;
use super::schemas::Kind;

/// The result of an API server with one schema for an object.
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
        if place == "<nil>" {
            // Complaints without a field name it at their end.
            place = cause.message.rsplit_once(" in ").map_or("", |(_, place)| place);
        }
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
    let (accepting, others): (Vec<&Verdict>, Vec<&Verdict>) =
        references.iter().partition(|one| one.overrules(&references));
    // A reference that refuses only what ours takes by choice says nothing against taking it.
    let by_choice = |one: &&Verdict| {
        one.causes.iter().all(|cause| known::is_known(&kind.kind, &kind.version, &cause.field))
    };
    if accepting.is_empty() && ours.causes.is_empty() && others.iter().any(by_choice) {
        return Ok(());
    }
    let differences = if accepting.is_empty() {
        let complaints = others.iter().filter_map(|one| one.causes.first());
        let refused = !ours.causes.is_empty();
        complaints
            .filter(|_| !refused)
            .map(|c| Difference::new(&c.field, format!("accepted, must be refused: {}", c.message)))
            .collect()
    } else if let Some(cause) = ours.causes.first() {
        vec![Difference::new(&cause.field, format!("refused, must be accepted: {}", cause.message))]
    } else {
        let mut expected = Value::Null;
        accepting.into_iter().chain(others).for_each(|one| merge(&mut expected, &one.stored));
        let mut differences = Vec::new();
        compare(&expected, &ours.stored, "", &mut differences);
        differences
    };
    let unknown = differences.into_iter().find(|d| !known::is_known(&kind.kind, &kind.version, &d.place));
    unknown.map_or(Ok(()), |d| Err(format!("{}: {}", d.place, d.words)))
}

/// One place where two verdicts differ.
struct Difference {
    place: String,
    words: String,
}

impl Difference {
    fn new(place: &str, words: String) -> Self {
        Self { place: place.to_owned(), words }
    }
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

/// Every place where two stored objects differ.
fn compare(expected: &Value, ours: &Value, path: &str, found: &mut Vec<Difference>) {
    match (expected, ours) {
        (Value::Object(expected), Value::Object(ours)) => {
            let inner = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
            for (name, value) in expected {
                match ours.get(name) {
                    Some(other) => compare(value, other, &inner(name), found),
                    None => found.push(Difference::new(&inner(name), format!("dropped, must be {value}"))),
                }
            }
            let extra = ours.iter().filter(|(name, _)| !expected.contains_key(*name));
            found.extend(
                extra.map(|(name, v)| Difference::new(&inner(name), format!("{v} is kept, must be dropped"))),
            );
        }
        (Value::Array(expected), Value::Array(ours)) if expected.len() == ours.len() => {
            for (i, (expected, ours)) in expected.iter().zip(ours).enumerate() {
                compare(expected, ours, &format!("{path}[{i}]"), found);
            }
        }
        _ if expected == ours => {}
        _ => found.push(Difference::new(path, format!("{ours}, must be {expected}"))),
    }
}
