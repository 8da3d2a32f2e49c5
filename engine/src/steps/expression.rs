//! Evaluates the small CUE expressions of a workflow: a step's `if`, and `valueFrom` of its outputs.

use serde_json::Value as Json;
use vela_cue::{Input, Source, Template, Value};

use super::error;
use crate::diagnostic::Diagnostics;
use crate::render::findings;

/// Whether a step's `if` holds. `always` does; anything else is an expression over the names given:
/// `context`, `parameter`, `status` of the steps before, `inputs`.
///
/// # Errors
/// The mistakes of the text, or that it is neither true nor false.
pub fn condition(text: &str, names: &[(&str, &Json)]) -> Result<bool, Diagnostics> {
    let script = "if";
    if text.trim() == "always" {
        return Ok(true);
    }
    let diagnostics = |found: vela_cue::Diagnostics| findings(script, &found);
    let declared: String = names.iter().map(|(name, _)| format!("{name}: _\n")).collect();
    let template = Template::compile(&[Source::new("names", declared)]).map_err(diagnostics)?;
    let inputs: Vec<Input<'_>> = names.iter().map(|(name, value)| Input::new(name, value)).collect();
    let value = template.instantiate(&inputs).root().evaluate(script, text).map_err(diagnostics)?;
    value.validate(true).map_err(diagnostics)?;
    value.as_bool().ok_or_else(|| error(format!("{text:?} is neither true nor false")))
}

/// The value of a step under `valueFrom`: a path (`output.status`) or a script over the fields of the step's value.
///
/// Steps were written before answers stood under `$returns`: a path that leads nowhere is also tried behind it.
///
/// # Errors
/// There is nothing at the path, or what is wrong with the script.
pub fn output(value: &Value, from: &str) -> Result<Json, Diagnostics> {
    let script = "valueFrom";
    let read = |text: &str| value.evaluate(script, text).and_then(|found| found.to_json());
    let first = match read(from) {
        Ok(found) => return Ok(found),
        Err(found) => found,
    };
    let moved = match from.split_once("output.") {
        _ if from.contains("$returns.") => None,
        Some((before, after)) => Some(format!("{before}output.$returns.{after}")),
        None => Some(format!("{from}.$returns")),
    };
    moved.and_then(|text| read(&text).ok()).ok_or_else(|| findings(script, &first))
}

/// The data that a text of CUE is, without any names from outside.
///
/// # Errors
/// The mistakes of the text, or what of it is not concrete.
pub fn data(title: &str, text: &str) -> Result<Json, Diagnostics> {
    let diagnostics = |found: vela_cue::Diagnostics| findings(title, &found);
    let template = Template::compile(&[Source::new(title, text)]).map_err(diagnostics)?;
    template.instantiate(&[]).root().to_json().map_err(diagnostics)
}

/// [`output`] over plain data: its fields, whose names must be such that an expression can say them, are known by them.
///
/// # Errors
/// There is nothing at the path, or what is wrong with the script.
pub fn output_of(data: &Json, from: &str) -> Result<Json, Diagnostics> {
    let fields = || data.as_object().into_iter().flatten();
    let declared: String = fields().map(|(name, _)| format!("{name}: _\n")).collect();
    let template = Template::compile(&[Source::new("objects", declared)]);
    let template = template.map_err(|found| findings("objects", &found))?;
    let inputs: Vec<Input<'_>> = fields().map(|(name, value)| Input::new(name, value)).collect();
    output(&template.instantiate(&inputs).root(), from)
}
