//! The workflow of an application: its steps with their times, and how it goes on where it waits or failed.

use std::collections::BTreeMap;

use jiff::Timestamp;
use kube::Client;
use kube::api::{ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use vela_engine::preview::named_workflow;
use vela_engine::workflow::{
    self as engine, Order, RunPhase, RunStatus, RunValues, StepPhase, StepStatus, WorkflowSpec,
};
use vela_runtime::Api;

use crate::data::secrets;

/// More steps than this are not shown.
const STEPS_AT_MOST: usize = 1_000;
/// Longer values of outputs are not shown.
const VALUE_AT_MOST: usize = 16 * 1024;

/// How far a workflow is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Workflow {
    /// For which revision it runs.
    pub(crate) revision: String,
    /// How far it is.
    pub(crate) phase: String,
    /// What is said of the whole.
    pub(crate) message: String,
    /// When it began.
    pub(crate) began: String,
    /// When it ended; empty until then.
    pub(crate) ended: String,
    /// What a person does to make it go on; empty where it goes on by itself or is done.
    pub(crate) go_on: String,
    /// What a user can order now: `suspend`, `resume`, `terminate`, `restart`.
    pub(crate) orders: Vec<String>,
    /// Why the values of outputs are not shown; empty where they are.
    pub(crate) no_values: String,
    /// Its steps, those in groups behind their group.
    pub(crate) steps: Vec<Step>,
}

/// How far a step is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Step {
    /// Its name.
    pub(crate) name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub(crate) step_type: String,
    /// The group it stands in; empty where it stands in none.
    pub(crate) group: String,
    /// How far it is; empty where it is to come.
    pub(crate) phase: String,
    /// Why, in a word; empty where nothing stands against it.
    pub(crate) reason: String,
    /// Why.
    pub(crate) message: String,
    /// Names of the steps that it waits for.
    pub(crate) depends_on: Vec<String>,
    /// What it gives to other steps.
    pub(crate) outputs: Vec<Output>,
    /// What a user can order of this step alone: `suspend`, `resume`, or `restart` from it.
    pub(crate) orders: Vec<String>,
    /// When it began; empty until then.
    pub(crate) began: String,
    /// How long it took, or takes so far, in seconds.
    pub(crate) seconds: i64,
}

/// A value that a step gives to others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Output {
    /// Its name.
    pub(crate) name: String,
    /// The value; absent where it is not given yet, comes from a Secret, or was not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) value: Option<Value>,
}

/// The workflow of an application; nothing before it began. `now` stands for times that are missing.
pub(crate) fn read(application: &Value, now: Timestamp) -> Option<Workflow> {
    let run = RunStatus::read(application.pointer("/status/workflow")?, now)?;
    let name = application["metadata"]["name"].as_str().unwrap_or_default();
    let namespace = application["metadata"]["namespace"].as_str().unwrap_or_default();
    let mut steps = Vec::new();
    for status in &run.steps {
        steps.push(looked_at(status, "", now));
        steps.extend(status.sub_steps.iter().map(|below| looked_at(below, &status.name, now)));
    }
    to_come(application.pointer("/spec/workflow/steps"), "", &mut steps);
    steps.truncate(STEPS_AT_MOST);
    let written = application.pointer("/spec/workflow").unwrap_or(&Value::Null);
    // Where the workflow cannot be read, what ran is shown all the same.
    let spec = WorkflowSpec::read(written, "spec.workflow").ok();
    describe(&mut steps, spec.as_ref());
    let orders = orders(application, &run, now);
    let goes_on = orders.iter().any(|order| order == "terminate");
    let is_steerable = engine::steerable(application, now).is_ok();
    // The steps of a Workflow that the application names are read when one of them is ordered.
    let is_named = named_workflow(application).is_some();
    for step in &mut steps {
        let is_written = is_named || spec.as_ref().is_some_and(|spec| spec.step(&step.name).is_some());
        step.orders = orders_of_step(&step.phase, goes_on, is_steerable && is_written);
    }
    let go_on = match run.phase {
        RunPhase::Suspending if run.suspend => {
            format!("It waits. `vela workflow resume {name} -n {namespace}` lets it go on.")
        }
        RunPhase::Failed | RunPhase::Terminated => {
            format!("It ended. `vela workflow restart {name} -n {namespace}` runs it anew.")
        }
        _ => String::new(),
    };
    Some(Workflow {
        revision: run.revision.clone(),
        phase: run.phase.as_str().to_owned(),
        message: run.message.clone(),
        began: run.start.to_string(),
        ended: run.end.map(|end| end.to_string()).unwrap_or_default(),
        go_on,
        orders,
        no_values: String::new(),
        steps,
    })
}

/// The orders that the engine would carry out; a run that is suspended is not suspended again.
fn orders(application: &Value, run: &RunStatus, now: Timestamp) -> Vec<String> {
    let can = |order: Order<'_>| engine::steer(application, order, now).is_ok();
    let all = [
        ("suspend", !run.suspend && can(Order::Suspend(None))),
        ("resume", can(Order::Resume(None))),
        ("terminate", can(Order::Terminate)),
        ("restart", can(Order::Restart)),
    ];
    all.into_iter().filter(|(_, can)| *can).map(|(name, _)| name.to_owned()).collect()
}

/// What can be ordered of one step, in a run that goes on or waits, and in one that can begin anew at it.
fn orders_of_step(phase: &str, goes_on: bool, can_begin: bool) -> Vec<String> {
    let order = match StepPhase::of(phase) {
        Some(StepPhase::Running) if goes_on => "suspend",
        Some(StepPhase::Suspending) if goes_on => "resume",
        Some(StepPhase::Failed) if can_begin => "restart",
        _ => return Vec::new(),
    };
    vec![order.to_owned()]
}

/// Adds what is written of the steps.
fn describe(steps: &mut [Step], spec: Option<&WorkflowSpec>) {
    for step in steps {
        let Some(written) = spec.and_then(|spec| spec.step(&step.name)) else { continue };
        step.depends_on.clone_from(&written.depends_on);
        let outputs = written.outputs.iter();
        step.outputs = outputs.map(|output| Output { name: output.name.clone(), value: None }).collect();
    }
}

/// The same with the values that its steps gave, from the ConfigMap that the run names. What came from a Secret stands in
/// a Secret, which is not read.
pub(crate) async fn with_values(client: &Client, application: &Value, mut workflow: Workflow) -> Workflow {
    let name = application.pointer("/status/workflow/contextBackend/name").and_then(Value::as_str);
    let namespace = application["metadata"]["namespace"].as_str().unwrap_or_default();
    let Some(name) = name.filter(|_| workflow.steps.iter().any(|step| !step.outputs.is_empty())) else {
        return workflow;
    };
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap"));
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &kind);
    let data: BTreeMap<String, String> = match api.get_opt(name).await {
        Ok(found) => found
            .and_then(|mut found| serde_json::from_value(found.data["data"].take()).ok())
            .unwrap_or_default(),
        Err(error) => {
            workflow.no_values = format!("ConfigMap {name} cannot be read: {error}");
            return workflow;
        }
    };
    match RunValues::read(&data) {
        Ok(values) => {
            for output in workflow.steps.iter_mut().flat_map(|step| &mut step.outputs) {
                output.value = values.get(&output.name).map(shown);
            }
        }
        Err(why) => workflow.no_values = format!("ConfigMap {name} cannot be read: {why}"),
    }
    workflow
}

/// A value without what Secrets contain, as long as a page bears.
fn shown(value: &Value) -> Value {
    let mut value = value.clone();
    secrets::hide(&mut value);
    match value.to_string().len() > VALUE_AT_MOST {
        true => Value::from(format!("(longer than {VALUE_AT_MOST} bytes)")),
        false => value,
    }
}

fn looked_at(status: &StepStatus, group: &str, now: Timestamp) -> Step {
    let has_begun = !matches!(status.phase, StepPhase::Pending | StepPhase::Skipped);
    let end = if status.is_finished() { status.last } else { now };
    let reason = status.reason.map(|reason| reason.as_str()).unwrap_or_default();
    let message = if status.message.is_empty() { reason } else { &status.message };
    Step {
        name: status.name.clone(),
        step_type: status.type_.clone(),
        group: group.to_owned(),
        phase: status.phase.as_str().to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        depends_on: Vec::new(),
        outputs: Vec::new(),
        orders: Vec::new(),
        began: if has_begun { status.first.to_string() } else { String::new() },
        seconds: if has_begun { (end.as_second() - status.first.as_second()).max(0) } else { 0 },
    }
}

/// Adds the steps that are written and were not looked at yet.
fn to_come(written: Option<&Value>, group: &str, steps: &mut Vec<Step>) {
    for step in written.and_then(Value::as_array).into_iter().flatten().take(STEPS_AT_MOST) {
        let text = |field: &str| step[field].as_str().unwrap_or_default().to_owned();
        let name = text("name");
        if !steps.iter().any(|known| known.name == name) {
            steps.push(Step {
                name: name.clone(),
                step_type: text("type"),
                group: group.to_owned(),
                phase: String::new(),
                reason: String::new(),
                message: String::new(),
                depends_on: Vec::new(),
                outputs: Vec::new(),
                orders: Vec::new(),
                began: String::new(),
                seconds: 0,
            });
        }
        if group.is_empty() {
            to_come(step.get("subSteps"), &name, steps);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn steps_that_ran_stand_before_those_to_come() {
        let time = "2026-01-01T00:00:00Z";
        let application = json!({
            "metadata": {"name": "shop", "namespace": "default"},
            "spec": {"workflow": {"steps": [
                {"name": "hold", "type": "suspend"},
                {"name": "rest", "type": "step-group", "subSteps": [{"name": "front", "type": "apply-component"}]},
            ]}},
            "status": {"workflow": {
                "appRevision": "shop-v1", "mode": "StepByStep-DAG", "status": "suspending", "suspend": true,
                "startTime": time,
                "steps": [{"id": "a", "name": "hold", "type": "suspend", "phase": "suspending", "reason": "Suspend",
                    "firstExecuteTime": time, "lastExecuteTime": time}],
            }},
        });
        let now = "2026-01-01T00:01:00Z".parse().unwrap();
        let workflow = read(&application, now).unwrap();
        let steps: Vec<_> = workflow
            .steps
            .iter()
            .map(|step| (&*step.name, &*step.group, &*step.phase, step.seconds))
            .collect();
        assert_eq!(steps, [("hold", "", "suspending", 60), ("rest", "", "", 0), ("front", "rest", "", 0)]);
        assert!(workflow.go_on.contains("vela workflow resume shop -n default"), "{workflow:?}");
        assert_eq!(read(&json!({}), now), None);
    }
}
