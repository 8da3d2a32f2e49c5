//! Walks every place of a schema.

use serde_json::Value;

/// Schemas nested deeper than this are not looked into; none of the references is.
const MAX_DEPTH: usize = 60;

/// One step from a value to a part of it.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// A declared field.
    Field(String),
    /// An item of a list.
    Item,
    /// A value of a map.
    Entry,
}

/// A place in a schema, as steps from its root.
pub(super) struct Place {
    pub(super) steps: Vec<Step>,
}

impl Place {
    /// The place in words.
    pub(super) fn path(&self) -> String {
        let mut path = String::new();
        for step in &self.steps {
            match step {
                Step::Field(name) => path.push_str(&format!(".{name}")),
                Step::Item => path.push_str("[]"),
                Step::Entry => path.push_str("{}"),
            }
        }
        if path.is_empty() { "as a whole".to_owned() } else { path }
    }
}

/// Every place, the root first; what the API server itself knows of an object is left out.
pub(super) fn all(schema: &Value) -> Vec<Place> {
    let mut places = Vec::new();
    walk(schema, &mut Vec::new(), &mut places);
    places
}

fn walk(schema: &Value, steps: &mut Vec<Step>, places: &mut Vec<Place>) {
    places.push(Place { steps: steps.clone() });
    if steps.len() >= MAX_DEPTH {
        return;
    }
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        if steps.is_empty() && ["apiVersion", "kind", "metadata"].contains(&name.as_str()) {
            continue;
        }
        steps.push(Step::Field(name.clone()));
        walk(inner, steps, places);
        steps.pop();
    }
    for (part, step) in [("items", Step::Item), ("additionalProperties", Step::Entry)] {
        if schema[part].is_object() {
            steps.push(step);
            walk(&schema[part], steps, places);
            steps.pop();
        }
    }
}
