//! Prints what our render, patch and health code make of one case of a definition, as JSON.
//!
//! The process is not the one that counts (`cargo xtask case KIND FOLDER`, or `batch`), so that a crash is one failed case.

use std::path::Path;

use serde_json::{Value, json};
use vela_engine::definition::DEFAULT_ERA;
use vela_engine::render::single;
use vela_engine::steps::{Question, Step};
use vela_engine::{Diagnostics, Templates, health};

/// Kinds that go through the engine.
pub(crate) const KINDS: [&str; 6] = ["component", "trait", "patch", "health", "step", "component-calls"];

/// Runs one case and prints its result.
pub(crate) fn run(kind: &str, folder: &str) -> Result<(), String> {
    println!("{}", result(kind, Path::new(folder))?);
    Ok(())
}

/// The result of one case as JSON.
pub(crate) fn result(kind: &str, folder: &Path) -> Result<String, String> {
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
    let value = |name: &str| -> Result<Value, String> {
        match std::fs::read_to_string(folder.join(name)) {
            Ok(text) => serde_json::from_str(&text).map_err(|e| format!("{name}: {e}")),
            Err(_) => Ok(json!({})),
        }
    };
    let (parameter, mut context) = (value("parameter.json")?, value("context.json")?);
    if let Some(fields) = context.as_object_mut() {
        // Upstream puts the whole evaluated template into a trait's context; nothing may depend on it.
        fields.retain(|name, _| !name.starts_with("template-context-"));
    }
    let made = match kind {
        "component" => single::component(&text("template.cue"), &parameter, &context),
        "trait" => {
            // The text keeps what JSON cannot say: a default that is still open, for instance.
            let (base, before) = (text("base.cue"), value("base.json")?);
            let workload = if base.is_empty() { before["output"].to_string() } else { base };
            single::trait_(&text("template.cue"), &workload, &before["outputs"], &parameter, &context)
        }
        "patch" => single::patch(&text("base.cue"), &text("patch.cue")),
        "health" => {
            let (policy, custom) = (text("healthPolicy.cue"), text("customStatus.cue"));
            let health = health::evaluate(&policy, &custom, &context, &parameter, &Templates::new());
            Ok(json!({ "healthy": health.healthy, "message": health.message }))
        }
        "step" => Step::compile("template", &text("template.cue"), DEFAULT_ERA)
            .and_then(|step| calls(&step, &parameter, &context)),
        "component-calls" => Step::workload("template", &text("template.cue"), DEFAULT_ERA)
            .and_then(|step| calls(&step, &parameter, &context)),
        other => return Err(format!("unknown kind {other}; expected one of {}", KINDS.join(", "))),
    };
    let made = made.map_err(|diagnostics| diagnostics.to_string())?;
    Ok(made.to_string())
}

/// All calls at the first look, in order.
fn calls(step: &Step, parameter: &Value, context: &Value) -> Result<Value, Diagnostics> {
    let questions = step.run(parameter, context).questions()?;
    let call = |(question, open): (Question, Option<Diagnostics>)| {
        let mut call =
            json!({ "path": question.path, "do": question.function, "provider": question.provider });
        match open {
            Some(open) => call["paramsError"] = json!(open.to_string()),
            None => call["params"] = question.params,
        }
        call
    };
    Ok(questions.into_iter().map(call).collect())
}
