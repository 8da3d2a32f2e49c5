//! Finds the run of an application's workflow in its status, and what is written of it.

use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};
use vela_engine::Document;
use vela_engine::preview::merge;
use vela_engine::workflow::{self, RunStatus, StepStatus, Unsteerable, WorkflowSpec};
use vela_runtime::clock;

use crate::cluster::Cluster;
use crate::error::{Error, Failure, Result};
use crate::pointer::text;

/// The API version of a Workflow that stands by itself.
const EXTERNAL: &str = "core.oam.dev/v1alpha1";

/// The run that the status holds; of an application that was never deployed there is none.
pub(super) fn run_of(application: &DynamicObject) -> Result<RunStatus> {
    workflow::run_of(&json!(application), clock::now()).map_err(unsteerable)
}

/// Why an order cannot be carried out, as an error of ours.
pub(super) fn unsteerable(why: Unsteerable) -> Failure {
    Error::user(why.message).hint(why.hint).into()
}

/// The workflow as it is written, in the application or in the Workflow that it names.
pub(super) async fn spec_of(cluster: &Cluster, application: &DynamicObject) -> Result<WorkflowSpec> {
    let mut whole = Document::from_object(json!(application));
    let named = text(&application.data, "/spec/workflow/ref");
    if !named.is_empty()
        && let Some(workflow) = cluster.get(EXTERNAL, "Workflow", None, named).await?
    {
        whole = merge(&whole, &[Document::from_object(json!(workflow))], false).application;
    }
    let written = whole.value().pointer("/spec/workflow").unwrap_or(&Value::Null);
    WorkflowSpec::read(written, "spec.workflow").map_err(|findings| {
        let all: Vec<String> = findings.iter().map(ToString::to_string).collect();
        Error::user(format!("the workflow of {} cannot be read: {}", application.name_any(), all.join("; ")))
            .hint("correct the application: its workflow then runs from the beginning")
            .into()
    })
}

/// The steps that are meant: all, or the one of this name with those in it.
pub(super) fn meant<'a>(
    run: &'a RunStatus,
    application: &str,
    step: Option<&str>,
) -> Result<Vec<&'a StepStatus>> {
    let Some(name) = step else { return Ok(run.all().collect()) };
    match run.step(name) {
        Some(step) => Ok(std::iter::once(step).chain(&step.sub_steps).collect()),
        None => Err(no_step(run, application, name)),
    }
}

/// An error that names the steps there are.
fn no_step(run: &RunStatus, application: &str, step: &str) -> Failure {
    let names: Vec<&str> = run.all().map(|step| step.name.as_str()).collect();
    let hint = match names.is_empty() {
        true => "no step was looked at yet".to_owned(),
        false => format!("steps that were looked at: {}", names.join(", ")),
    };
    Error::user(format!("the workflow of {application} has no step {step:?}")).hint(hint).into()
}
