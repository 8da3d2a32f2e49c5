//! A stored application and what a user orders its workflow to do → the JSON Patch of the application's status, and of the
//! values of the run where it begins anew at a step; or why the order cannot be carried out. Reads and writes nothing
//! itself, so that every client gives the same orders.

use jiff::Timestamp;
use serde_json::{Value as Json, json};

use super::run_status::RunStatus;
use super::spec::WorkflowSpec;
use super::stored_values::StoredValues;
use super::verbs::{Refusal, Unsteerable};

/// What the status says of an application whose workflow runs.
const UNDER_WAY: &str = "runningWorkflow";

/// What a user orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order<'a> {
    /// Nothing goes on: the whole run, or one step.
    Suspend(Option<&'a str>),
    /// What is suspended goes on: the whole run, or one step.
    Resume(Option<&'a str>),
    /// The run ends.
    Terminate,
    /// The run begins anew.
    Restart,
}

/// What a client writes so that a run begins anew at a step, in this order: a run that begins again must not find the values
/// of the former try.
#[derive(Debug, Clone, PartialEq)]
pub struct RestartFrom {
    /// The operations for the ConfigMap with the values; nothing where they stay as they are.
    pub values: Option<Vec<Json>>,
    /// The operations for the status of the application.
    pub status: Vec<Json>,
}

/// What the application is afterwards, until the controller has looked at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    /// What it was.
    Same,
    /// Under way: a client that waits must not take its former phase for the outcome.
    UnderWay,
}

/// The operations of RFC 6902 that carry out an order, over the version of the application that was read and no other.
///
/// # Errors
/// The workflow has not begun, has no steps to steer, or is not in a state for this order.
pub fn steer(application: &Json, order: Order<'_>, now: Timestamp) -> Result<Vec<Json>, Unsteerable> {
    if order == Order::Restart {
        // Without a record of a run, the controller begins one.
        run_of(application, now)?;
        return Ok(patch(application, None, Then::UnderWay));
    }
    let mut run = steerable(application, now)?;
    let (done, then) = match order {
        Order::Suspend(step) => (run.suspend(step, now), Then::Same),
        Order::Resume(step) => (run.resume(step, now), Then::UnderWay),
        Order::Terminate | Order::Restart => (run.terminate(now), Then::Same),
    };
    done.map_err(|refusal| refused(application, &refusal))?;
    Ok(patch(application, Some(&run), then))
}

/// Begins the run anew at a step that failed: it, and all that builds on it, is forgotten with its values. `spec` is the
/// workflow as it is written, `stored` what the ConfigMap holds that the run names.
///
/// # Errors
/// There is no run to steer, no such step, or it did not fail.
pub fn restart_from(
    application: &Json,
    step: &str,
    spec: &WorkflowSpec,
    mut stored: StoredValues,
    now: Timestamp,
) -> Result<RestartFrom, Unsteerable> {
    let mut run = steerable(application, now)?;
    run.restart_from(step, spec, &mut stored.values, now)
        .map_err(|refusal| refused(application, &refusal))?;
    Ok(RestartFrom { values: stored.patch(), status: patch(application, Some(&run), Then::UnderWay) })
}

/// The run that the status holds.
///
/// # Errors
/// The application was never deployed, so there is none.
pub fn run_of(application: &Json, now: Timestamp) -> Result<RunStatus, Unsteerable> {
    RunStatus::read(&application["status"]["workflow"], now).ok_or_else(|| {
        let name = name(application);
        Unsteerable {
            message: format!("the workflow of {name} has not begun"),
            hint: format!("`vela status {name}` shows what the application waits for"),
        }
    })
}

/// The run, where its steps are run one by one. Where steps only apply components, these follow from what is seen of their
/// objects, and the next reconcile would write over any order.
///
/// # Errors
/// There is no run, or none of that kind.
pub fn steerable(application: &Json, now: Timestamp) -> Result<RunStatus, Unsteerable> {
    let run = run_of(application, now)?;
    if run.context.is_some() {
        return Ok(run);
    }
    let name = name(application);
    Err(Unsteerable {
        message: format!("the workflow of {name} only applies components: there is nothing to steer"),
        hint: "a workflow with another step, such as one of type suspend, can be held, ended and begun at a step; \
               the label controller.core.oam.dev/pause: \"true\" holds any application"
            .to_owned(),
    })
}

/// A refusal, with the application that it is about.
fn refused(application: &Json, refusal: &Refusal) -> Unsteerable {
    let name = name(application);
    Unsteerable {
        message: format!("workflow of {name}: {refusal}"),
        hint: format!("`vela status {name}` shows how far each step is"),
    }
}

/// The operations that write the run, or take it away so that it begins anew.
fn patch(application: &Json, run: Option<&RunStatus>, then: Then) -> Vec<Json> {
    let version = &application["metadata"]["resourceVersion"];
    let mut operations = vec![json!({"op": "add", "path": "/metadata/resourceVersion", "value": version})];
    operations.push(match run {
        Some(run) => json!({"op": "add", "path": "/status/workflow", "value": run.to_json()}),
        None => json!({"op": "remove", "path": "/status/workflow"}),
    });
    if then == Then::UnderWay {
        operations.push(json!({"op": "add", "path": "/status/status", "value": UNDER_WAY}));
    }
    operations
}

fn name(application: &Json) -> &str {
    application["metadata"]["name"].as_str().unwrap_or_default()
}
