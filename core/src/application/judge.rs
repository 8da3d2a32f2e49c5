//! What was seen of a graph's objects → which components may be applied next, and the status.
//!
//! The texts of definitions decide that, so they are computed like their templates, within what the process has for it.

use std::convert::Infallible;
use std::sync::Arc;

use vela_engine::status::{Status, status};
use vela_engine::{Graph, Observed, Templates};

use super::Hands;
use crate::apart::{NotComputed, apart};

/// The components that may be applied now, by their numbers.
pub(super) async fn due(
    hands: &Hands,
    graph: &Arc<Graph>,
    observed: Observed,
) -> Result<Vec<usize>, NotComputed> {
    judge(hands, graph, observed, Graph::due).await
}

/// How the application is.
pub(super) async fn told(
    hands: &Hands,
    graph: &Arc<Graph>,
    observed: Observed,
) -> Result<Status, NotComputed> {
    judge(hands, graph, observed, status).await
}

async fn judge<T: Send + 'static>(
    hands: &Hands,
    graph: &Arc<Graph>,
    observed: Observed,
    judge: fn(&Graph, &Observed, &Templates) -> T,
) -> Result<T, NotComputed> {
    let graph = graph.clone();
    let judge = move |templates: &Templates| Ok::<T, Infallible>(judge(&graph, &observed, templates));
    let Ok(judged) = apart(&hands.context.computations, &hands.templates, judge).await?;
    Ok(judged)
}
