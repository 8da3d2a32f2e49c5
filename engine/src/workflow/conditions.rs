//! The `if`s of a workflow in, those that can never be evaluated out. Whether one holds is for the run to say.

use std::fmt::Write as _;

use vela_cue::diagnostic::Class;
use vela_cue::{Code, Diagnostic, Input, Source, Template, Value};

use super::finding::SpecFinding;
use super::spec::{StepSpec, WorkflowSpec};
use crate::nearest;

/// Holds in any case.
const ALWAYS: &str = "always";

/// The fields of every step below `status`.
const OF_A_STEP: [(&str, &str); 12] = [
    ("id", "string"),
    ("name", "string"),
    ("type", "string"),
    ("phase", "string"),
    ("reason", "string"),
    ("message", "string"),
    ("failed", "bool"),
    ("succeeded", "bool"),
    ("skipped", "bool"),
    ("timeout", "bool"),
    ("failedAfterRetries", "bool"),
    ("terminate", "bool"),
];

/// The fields of a step's context, beside those of templates.
const OF_THE_CONTEXT: [&str; 15] = [
    "name",
    "namespace",
    "appName",
    "appRevision",
    "appRevisionNum",
    "appLabels",
    "appAnnotations",
    "publishVersion",
    "workflowName",
    "systemNamespace",
    "systemServiceAccount",
    "stepName",
    "stepSessionID",
    "stepGroupName",
    "spanID",
];

impl WorkflowSpec {
    /// The `if`s that can never be evaluated: they name what is not there, are no CUE, or are no condition. The steps are
    /// passed over, which those who wrote them will hardly want.
    pub fn impossible_conditions(&self) -> Vec<SpecFinding> {
        let steps = self.all().map(|(_, step)| step);
        steps.filter_map(|step| Some((step, self.mistake(step)?))).map(found).collect()
    }

    fn mistake(&self, step: &StepSpec) -> Option<String> {
        let text = step.condition.as_deref().map(str::trim).filter(|text| *text != ALWAYS)?;
        let template = Template::compile(&[Source::new("names", self.names_for(step))]).ok()?;
        let root = template.instantiate(&[Input::new("parameter", &step.properties)]).root();
        let value = match root.evaluate("if", text) {
            Ok(value) => value,
            Err(found) => return found.iter().next().map(|first| self.message(text, first)),
        };
        if let Err(found) = value.validate(false)
            && let Some(first) = found.iter().find(|finding| is_final(text, finding))
        {
            return Some(self.message(text, first));
        }
        is_no_condition(&value).then(|| format!("{text:?} is neither true nor false"))
    }

    /// The names that the `if` of a step may use, with as much of their values as is known before the run.
    fn names_for(&self, step: &StepSpec) -> String {
        let mut text = "parameter: _\nstatus: close({\n".to_owned();
        let fields: Vec<String> = OF_A_STEP.iter().map(|(name, type_)| format!("{name}: {type_}")).collect();
        for (_, other) in self.all() {
            // Writing into a text does not fail.
            let _ = writeln!(text, "\t{:?}: close({{{}}})", other.name, fields.join(", "));
        }
        text.push_str("})\ninputs: close({\n");
        for input in &step.inputs {
            let _ = writeln!(text, "\t{:?}: _", input.from);
        }
        text.push_str("})\ncontext: close({\n");
        for name in OF_THE_CONTEXT {
            let _ = writeln!(text, "\t{name}: _");
        }
        text.push_str("})\n");
        text
    }

    fn message(&self, text: &str, finding: &Diagnostic) -> String {
        let message = &finding.message;
        let name = missing_name(message);
        let known = ["status", "inputs", "context", "parameter", ALWAYS].into_iter();
        let steps = self.all().map(|(_, step)| step.name.as_str());
        let known = known.chain(OF_A_STEP.iter().map(|(name, _)| *name)).chain(steps);
        match nearest::did_you_mean(name, known.chain(OF_THE_CONTEXT)).filter(|_| name.len() > 2) {
            Some(advice) => format!("{text:?}: {message}; {advice}"),
            None => format!("{text:?}: {message}"),
        }
    }
}

/// The name that a message says is missing.
fn missing_name(message: &str) -> &str {
    message.split('"').nth(1).or_else(|| message.rsplit(' ').next()).unwrap_or_default()
}

fn found((step, why): (&StepSpec, String)) -> SpecFinding {
    SpecFinding::new(format!("{}.if", step.path), format!("the step is passed over in any case: {why}"))
}

/// No value of the run can mend it.
fn is_final(text: &str, finding: &Diagnostic) -> bool {
    let name = missing_name(&finding.message);
    // A context may have more names than those that every run has: only what is nearly one of these is a slip.
    if finding.code == Code::UndefinedField && text.contains(&format!("context.{name}")) {
        return nearest::did_you_mean(name, OF_THE_CONTEXT).is_some();
    }
    finding.code == Code::UndefinedField || !matches!(finding.code.class(), Class::Incomplete | Class::Cycle)
}

fn is_no_condition(value: &Value) -> bool {
    value.is_concrete() && value.as_bool().is_none()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn impossible(condition: &str) -> Vec<String> {
        let step = |name: &str| json!({"name": name, "type": "suspend", "outputs": [{"name": "o", "valueFrom": "x"}]});
        let mut last = step("last");
        last["if"] = json!(condition);
        last["inputs"] = json!([{"from": "o"}, {"from": "context.appName"}]);
        last["properties"] = json!({"size": 3});
        let spec = json!({"steps": [step("first"), step("my-step"), last]});
        let spec = WorkflowSpec::read(&spec, "spec.workflow").unwrap();
        spec.impossible_conditions().into_iter().map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn conditions_that_may_hold_are_fine() {
        for condition in [
            "always",
            "status.first.succeeded",
            r#"status["my-step"].failed || status.first.phase == "failed""#,
            r#"inputs.o == "x""#,
            "inputs.o.deep.flag == true",
            r#"inputs["context.appName"] == "shop""#,
            r#"context.appName == "shop" && context.custom != "x""#,
            "parameter.size > 2",
            "parameter.filled == 1",
            "true",
        ] {
            assert_eq!(impossible(condition), Vec::<String>::new(), "{condition}");
        }
    }

    #[test]
    fn conditions_that_cannot_be_evaluated_are_found() {
        for (condition, part) in [
            ("input.o == true", "inputs"),
            ("status.frist.succeeded", "first"),
            ("status.first.sucsceeded", "succeeded"),
            ("inputs.other == 1", "other"),
            (r#""yes""#, "neither true nor false"),
            ("allways", "always"),
            ("status.first.succeeded &", "status.first.succeeded &"),
            (r#"context.nmespace == "default""#, "namespace"),
        ] {
            let found = impossible(condition);
            assert_eq!(found.len(), 1, "{condition}");
            assert!(
                found[0].starts_with("spec.workflow.steps[2].if: ") && found[0].contains(part),
                "{found:?}"
            );
        }
    }
}
