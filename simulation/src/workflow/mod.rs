//! Workflows in the simulation: what people write and do, and what holds at every step.
//!
//! Every workflow applies its first component, sends a message and waits for a person, and applies the others in a group. Its
//! schedules begin, go on and end like those of other Applications (`settle`).

mod checker;
mod people;

pub(crate) use checker::WorkflowChecker;
pub(crate) use people::{ask_again, define, forget, resume};

use serde_json::{Value, json};

use crate::model::{Component, Spec};

/// The step that sends a message and waits for a person.
const HOLD: &str = "hold";
/// Its type.
const TELL: &str = "tell";
/// What it does: the message says which step sends it.
const TELL_TEMPLATE: &str = r#"import ("vela/http", "vela/builtin")

tell: http.#HTTPDo & {$params: {method: "POST", url: "http://outside.example", request: body: context.stepSessionID}}
hold: builtin.#Suspend & {$params: message: "answered with \(tell.$returns.statusCode)"}
"#;

/// `spec` of an Application with its workflow.
pub(crate) fn with_workflow(spec: &Spec) -> Value {
    let applies = |component: &Component| {
        let name = component.name;
        json!({"name": name, "type": "apply-component", "properties": {"component": name}})
    };
    let mut steps = Vec::new();
    if let Some((first, rest)) = spec.components.split_first() {
        steps.extend([applies(first), json!({"name": HOLD, "type": TELL})]);
        if !rest.is_empty() {
            let rest: Vec<Value> = rest.iter().map(applies).collect();
            steps.push(json!({"name": "rest", "type": "step-group", "subSteps": rest}));
        }
    }
    let mut spec = spec.modern();
    spec["workflow"] = json!({"steps": steps});
    spec
}

/// Every step of a journal, those of groups behind their group.
fn steps(journal: &Value) -> impl Iterator<Item = &Value> {
    let steps = journal["steps"].as_array().into_iter().flatten();
    steps.flat_map(|step| std::iter::once(step).chain(step["subSteps"].as_array().into_iter().flatten()))
}
