//! Judges the observed objects of a graph → which components may be applied next, and the status.
//!
//! The texts of definitions decide that, so they are computed like their templates, within what the process has for it.

use std::convert::Infallible;
use std::sync::Arc;

use vela_engine::status::{self, Status};
use vela_engine::workflow::{Execution, Progress, StepOutcome};
use vela_engine::{Graph, Observed, Templates, workflow};

use super::error::{PhaseError, Stopped};
use super::reconciler::ApplicationReconciler;
use crate::blocking::{NotComputed, run_blocking};
use crate::workflow::Applying;

/// The components that may be applied now, by their numbers.
pub(super) async fn due(
    reconciler: &ApplicationReconciler,
    graph: &Arc<Graph>,
    observed: Observed,
) -> Result<Vec<usize>, NotComputed> {
    judge(reconciler, graph, observed, workflow::due).await
}

/// The results of steps that apply nodes and give values; nothing for a step of which one is to be applied.
pub(super) async fn applied(
    reconciler: &ApplicationReconciler,
    graph: &Arc<Graph>,
    observed: Observed,
    steps: Vec<Applying>,
) -> Result<Vec<Option<StepOutcome>>, NotComputed> {
    let judged = move |graph: &Graph, observed: &Observed, templates: &Templates| {
        let result =
            |(nodes, outputs): &Applying| workflow::applied(graph, nodes, outputs, observed, templates);
        steps.iter().map(result).collect()
    };
    judge(reconciler, graph, observed, judged).await
}

/// A step of a workflow, as far as it goes without an answer.
pub(super) async fn advance(
    reconciler: &ApplicationReconciler,
    mut execution: Execution,
) -> Result<(Execution, Progress), NotComputed> {
    let advance = move |_: &Templates| {
        let progress = execution.advance();
        Ok::<_, Infallible>((execution, progress))
    };
    let Ok(advanced) = run_blocking(&reconciler.context.computations, &reconciler.templates, advance).await?;
    Ok(advanced)
}

/// How the application is.
pub(super) async fn status(
    reconciler: &ApplicationReconciler,
    graph: &Arc<Graph>,
    observed: Observed,
) -> Result<Status, Stopped> {
    let status = judge(reconciler, graph, observed, status::status).await;
    status.map_err(|error| Stopped::not_computed(PhaseError::Apply, &error))
}

async fn judge<T: Send + 'static>(
    reconciler: &ApplicationReconciler,
    graph: &Arc<Graph>,
    observed: Observed,
    judge: impl FnOnce(&Graph, &Observed, &Templates) -> T + Send + 'static,
) -> Result<T, NotComputed> {
    let graph = graph.clone();
    let judge = move |templates: &Templates| Ok::<T, Infallible>(judge(&graph, &observed, templates));
    let Ok(judged) = run_blocking(&reconciler.context.computations, &reconciler.templates, judge).await?;
    Ok(judged)
}
