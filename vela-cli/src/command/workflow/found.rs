//! Finds the run of an application's workflow in its status, and what is written of it.

use kube::api::DynamicObject;
use serde_json::json;
use vela_engine::preview::{EXTERNAL_VERSION, named_workflow, written_workflow};
use vela_engine::workflow::{self, RunStatus, StepStatus, Unsteerable, WorkflowSpec};
use vela_runtime::clock;

use crate::cluster::Cluster;
use crate::error::{Error, Failure, Result};

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
    let application = json!(application);
    let named = match named_workflow(&application) {
        None => None,
        Some(name) => cluster.get(EXTERNAL_VERSION, "Workflow", None, name).await?,
    };
    written_workflow(&application, named.map(|named| json!(named))).map_err(unsteerable)
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
