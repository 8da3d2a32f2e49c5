//! Parses `spec.workflow` into steps with resolved types, and what is run of them.

use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::{Input, Parser, Step, Workflow, external};
use crate::definition::DefinitionKind;
use crate::diagnostic::{Code, Diagnostic};
use crate::workflow::{APPLY_COMPONENT, BUILT_IN_STEPS, WorkflowSpec, step_type};

/// Fields of a step that say more than what is applied when.
const BEYOND_APPLYING: [&str; 6] = ["if", "timeout", "inputs", "outputs", "subSteps", "retry"];

impl<'a> Parser<'a> {
    pub(super) fn workflow(&mut self, spec: &'a Map<String, Json>) -> Option<Workflow> {
        let workflow = self.object("spec.workflow", Some(spec.get("workflow")?));
        self.known_below("workflow", spec.get("workflow")?);
        if let Some(reference) = workflow.get("ref").filter(|reference| !reference.is_null()) {
            self.unresolved_workflow(reference, external::has_steps(spec.get("workflow")?));
        }
        let found = self.found.len();
        let steps = self.steps("spec.workflow.steps", workflow.get("steps"));
        let mode = workflow.get("mode").and_then(|mode| mode.get("steps")).and_then(Json::as_str);
        let is_more = steps.iter().any(|step| step.is_more) && self.found.len() == found;
        let spec = if is_more { self.workflow_spec(spec.get("workflow")?) } else { None };
        Some(Workflow { steps, mode: mode.unwrap_or("StepByStep").to_owned(), spec })
    }

    /// The steps to run, where other steps are written than such that apply components.
    fn workflow_spec(&mut self, workflow: &Json) -> Option<Arc<WorkflowSpec>> {
        match WorkflowSpec::read(workflow, "spec.workflow") {
            Ok(spec) => {
                for finding in spec.impossible_conditions() {
                    let hint =
                        "an `if` is `always`, or true or false by status, inputs, context and parameter";
                    let warning = Diagnostic::warning(Code::Condition, finding.message).hint(hint);
                    self.found.push(warning.at(self.document, finding.path));
                }
                Some(Arc::new(spec))
            }
            Err(found) => {
                for finding in found {
                    self.error(Code::WrongType, &finding.path, finding.message, None);
                }
                None
            }
        }
    }

    /// Steps in the order written; those of a group behind it.
    fn steps(&mut self, path: &str, written: Option<&'a Json>) -> Vec<Step> {
        let mut steps = Vec::new();
        for (index, value) in self.list(path, written).iter().enumerate() {
            let path = format!("{path}[{index}]");
            let fields = self.object(&path, Some(value));
            let Some(type_) = self.required_type(&path, fields, "type", "a workflow step") else { continue };
            self.named_version(&path, &type_, DefinitionKind::WorkflowStep);
            let type_ = step_type(type_);
            let name = fields.get("name").and_then(Json::as_str).unwrap_or("").to_owned();
            let properties = self.properties(&path, fields, "properties");
            let depends_on = self.texts(&format!("{path}.dependsOn"), fields.get("dependsOn"));
            let below = format!("{path}.subSteps");
            let is_written = |field: &&str| fields.get(*field).is_some_and(|value| !value.is_null());
            let is_more = type_ != APPLY_COMPONENT || BEYOND_APPLYING.iter().any(is_written);
            let in_group = fields.get("subSteps");
            let inputs = fields.get("inputs").and_then(Json::as_array).into_iter().flatten();
            let filled = inputs.filter_map(|input| {
                let key = input["parameterKey"].as_str().filter(|key| !key.is_empty())?;
                Some(Input::new(input["from"].as_str()?.to_owned(), key))
            });
            let filled = filled.collect();
            let definition = match BUILT_IN_STEPS.contains(&type_.as_str()) {
                true => None,
                false => self.snapshot.definition(DefinitionKind::WorkflowStep, &type_).cloned(),
            };
            let deploys = Vec::new();
            let step =
                Step { name, type_, properties, depends_on, path, definition, is_more, filled, deploys };
            steps.push(step);
            // A group stands in no group, which the workflow is checked for.
            if in_group.is_some() && !below.contains(".subSteps[") {
                steps.extend(self.steps(&below, in_group));
            }
        }
        steps
    }
}
