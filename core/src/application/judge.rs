//! What was seen of a graph's objects → which components may be applied next, and the status.
//!
//! The texts of definitions decide that, so they are computed like their templates, within what the process has for it.

use std::convert::Infallible;
use std::sync::Arc;

use vela_engine::status::{self, Status};
use vela_engine::{Graph, Observed, Templates, workflow};

use super::reconciler::ApplicationReconciler;
use super::stopped::{PhaseError, Stopped};
use crate::blocking::{NotComputed, run_blocking};

/// The components that may be applied now, by their numbers.
pub(super) async fn due(
    reconciler: &ApplicationReconciler,
    graph: &Arc<Graph>,
    observed: Observed,
) -> Result<Vec<usize>, NotComputed> {
    judge(reconciler, graph, observed, workflow::due).await
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
    judge: fn(&Graph, &Observed, &Templates) -> T,
) -> Result<T, NotComputed> {
    let graph = graph.clone();
    let judge = move |templates: &Templates| Ok::<T, Infallible>(judge(&graph, &observed, templates));
    let Ok(judged) = run_blocking(&reconciler.context.computations, &reconciler.templates, judge).await?;
    Ok(judged)
}
