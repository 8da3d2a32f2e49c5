//! A WorkflowRun: what it runs, as an Application of nothing but a workflow, and its status.
//!
//! A run has the steps of an Application's workflow but for those that apply components. As an Application it is parsed and
//! planned like one: the same steps mean the same, and the same mistakes are told alike.

use jiff::Timestamp;
use serde_json::{Map, Value as Json, json};

use super::run_status::RunStatus;
use super::spec::{APPLY_COMPONENT, Mode, applies_by_calls, applies_several};
use crate::definition::version::base_name;
use crate::manifest::Document;

/// Where a run names the Workflow that holds its steps.
const REFERENCE: &str = "/spec/workflowRef";
/// Where it holds them itself.
const STEPS: &str = "/spec/workflowSpec/steps";

/// The Workflow that a run names.
pub fn workflow_of_run(run: &Json) -> Option<&str> {
    run.pointer(REFERENCE)?.as_str().filter(|name| !name.is_empty())
}

/// The run as an Application; `workflow` is the Workflow that it names.
///
/// # Errors
/// It has no steps, or such that only an Application can have.
pub fn application_of_run(run: &Json, workflow: Option<&Json>) -> Result<Document, String> {
    let own = run.pointer(STEPS).filter(|steps| steps.as_array().is_some_and(|steps| !steps.is_empty()));
    let steps = match (own, workflow) {
        (Some(_), Some(_)) => {
            return Err("spec: cannot set workflowSpec and workflowRef at the same time".to_owned());
        }
        (Some(own), None) => own,
        (None, Some(workflow)) => &workflow["steps"],
        (None, None) => &Json::Null,
    };
    let list = steps.as_array().map(Vec::as_slice).unwrap_or_default();
    if list.is_empty() {
        return Err("spec: a WorkflowRun needs steps; write workflowSpec.steps, or the name of a Workflow that has some as workflowRef".to_owned());
    }
    let below = |step: &Json| step["subSteps"].as_array().cloned().unwrap_or_default();
    let applying = |step: &Json| {
        let type_ = base_name(step["type"].as_str().unwrap_or_default());
        (type_ == APPLY_COMPONENT || applies_several(type_) || applies_by_calls(type_))
            .then(|| type_.to_owned())
    };
    if let Some(type_) =
        list.iter().find_map(|step| applying(step).or_else(|| below(step).iter().find_map(applying)))
    {
        return Err(format!(
            "a step of type {type_:?} needs an Application: a WorkflowRun has no components"
        ));
    }
    let mode = |of: Option<&Json>| of.map(|of| of["mode"].clone()).filter(|mode| !mode.is_null());
    let mode = mode(run.get("spec")).or_else(|| mode(workflow)).unwrap_or_else(|| json!({}));
    Ok(Document::from_object(json!({
        "apiVersion": "core.oam.dev/v1beta1",
        "kind": "Application",
        "metadata": {"name": run["metadata"]["name"], "namespace": run["metadata"]["namespace"]},
        "spec": {"components": [], "workflow": {"mode": mode, "steps": steps}},
    })))
}

/// The values that the steps of a run may name as `context`.
pub fn context_of_run(run: &Json) -> Json {
    let mut context =
        run.pointer("/spec/context").and_then(Json::as_object).cloned().unwrap_or_else(Map::new);
    for field in ["name", "namespace"] {
        context.insert(field.to_owned(), run["metadata"][field].clone());
    }
    Json::Object(context)
}

impl RunStatus {
    /// As the status of a WorkflowRun was written; nothing where there is none. `revision` is what tells this run from others.
    pub fn read_object(status: &Json, revision: &str, now: Timestamp) -> Option<Self> {
        let has_begun = status.get("startTime").is_some_and(Json::is_string);
        let mut journal = status.as_object().filter(|_| has_begun)?.clone();
        let mode = |field: &str| status["mode"][field].as_str().unwrap_or_default();
        journal.insert("mode".to_owned(), json!(format!("{}-{}", mode("steps"), mode("subSteps"))));
        journal.insert("appRevision".to_owned(), json!(revision));
        Self::read(&Json::Object(journal), now)
    }

    /// As the status of a WorkflowRun.
    pub fn to_object(&self) -> Json {
        let mut written = self.to_json();
        let (steps, sub_steps) =
            self.mode.split_once('-').unwrap_or((Mode::StepByStep.as_str(), Mode::Dag.as_str()));
        if let Some(fields) = written.as_object_mut() {
            fields.remove("appRevision");
            fields.insert("mode".to_owned(), json!({"steps": steps, "subSteps": sub_steps}));
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(spec: &Json) -> Json {
        json!({"metadata": {"name": "release", "namespace": "prod"}, "spec": spec})
    }

    #[test]
    fn a_run_has_steps_of_its_own_or_of_a_workflow() {
        let steps = json!([{"name": "hold", "type": "suspend"}]);
        let of = |spec: &Json, workflow: Option<&Json>| {
            let application = application_of_run(&run(spec), workflow);
            application.map(|application| application.value()["spec"]["workflow"].clone())
        };
        let own = json!({"workflowSpec": {"steps": steps}, "mode": {"steps": "DAG"}});
        assert_eq!(of(&own, None), Ok(json!({"mode": {"steps": "DAG"}, "steps": steps})));
        let workflow = json!({"mode": {"subSteps": "StepByStep"}, "steps": steps});
        let named = json!({"workflowRef": "other"});
        assert_eq!(of(&named, Some(&workflow)), Ok(workflow.clone()));
        assert_eq!(workflow_of_run(&run(&named)), Some("other"));
        assert!(of(&own, Some(&workflow)).is_err_and(|why| why.contains("at the same time")));
        assert!(of(&json!({}), None).is_err_and(|why| why.contains("workflowSpec.steps")));
        let applies = json!({"workflowSpec": {"steps": [{"name": "a", "type": "apply-component"}]}});
        assert!(of(&applies, None).is_err_and(|why| why.contains("has no components")));
    }

    #[test]
    fn its_context_is_its_own() {
        let context = context_of_run(&run(&json!({"context": {"team": "ops", "name": "other"}})));
        assert_eq!(context, json!({"team": "ops", "name": "release", "namespace": "prod"}));
    }

    #[test]
    fn its_status_is_read_back() {
        let status = RunStatus::begin("uid", "DAG-StepByStep".to_owned(), Timestamp::UNIX_EPOCH);
        let written = status.to_object();
        assert_eq!(written["mode"], json!({"steps": "DAG", "subSteps": "StepByStep"}));
        assert!(written.get("appRevision").is_none(), "{written}");
        assert_eq!(RunStatus::read_object(&written, "uid", Timestamp::MAX), Some(status));
        assert_eq!(RunStatus::read_object(&json!({"message": "no"}), "uid", Timestamp::MAX), None);
    }
}
