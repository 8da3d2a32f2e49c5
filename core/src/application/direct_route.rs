//! An Application whose own reconcile applies its objects.

use std::sync::Arc;

use kube::api::DynamicObject;
use vela_engine::{Graph, Observed};

use super::apply::{self, Applied, ByHealth, Due};
use super::desired::Desired;
use super::error::{PhaseError, Stopped};
use super::observe::observe;
use super::outcome::Outcome;
use super::owned_kinds::Application;
use super::reconciler::ApplicationReconciler;
use super::workflow_run::WorkflowRun;
use super::{handover, judge};
use crate::author::Actor;

/// Apply the objects, those that wait for others when these are healthy, and see what became of them.
pub(super) async fn apply(
    reconciler: &ApplicationReconciler,
    application: &DynamicObject,
    acting: Actor,
    graph: &Arc<Graph>,
) -> Result<Outcome, Stopped> {
    let mut owner = Application::of(application, acting);
    owner.successor_of = handover::take_over(reconciler, &owner).await?;
    let desired = desired(reconciler, &owner, graph).await?;
    if let Some(spec) = graph.rendered().plan().workflow() {
        let mut run = WorkflowRun::read(reconciler, &owner, graph, spec).await?;
        // A step that a finished run passed over has unwanted objects from the beginning on.
        let desired = desired.without(&run.left_out());
        let applied = apply::apply(reconciler, &owner, &desired, &mut run).await?;
        let status = judge::status(reconciler, graph, observe(&applied)).await?;
        return Ok(run.outcome(status, &applied));
    }
    let due = |applied: &Applied| -> Due<'_> { Box::pin(judge::due(reconciler, graph, observe(applied))) };
    let blocked = graph.rendered().plan().failing().map_or(0, |failing| failing.blocked.len());
    let mut order = ByHealth { due: &due, blocked };
    let applied = apply::apply(reconciler, &owner, &desired, &mut order).await?;
    let status = judge::status(reconciler, graph, observe(&applied)).await?;
    Ok(Outcome::applied(status, &applied).paced())
}

/// Restore what was made of the objects, and see how they are.
pub(super) async fn restore(
    reconciler: &ApplicationReconciler,
    owner: &Application<'_>,
    graph: &Graph,
    made_only: bool,
) -> Result<(Applied, Observed), Stopped> {
    let desired = desired(reconciler, owner, graph).await?;
    let applied = apply::restore(reconciler, owner, &desired, made_only).await?;
    let observed = observe(&applied);
    Ok((applied, observed))
}

async fn desired(
    reconciler: &ApplicationReconciler,
    owner: &Application<'_>,
    graph: &Graph,
) -> Result<Desired, Stopped> {
    let generation = owner.object.metadata.generation;
    let desired = Desired::of(&reconciler.context.discovery, graph, generation).await;
    desired.map_err(|error| Stopped::unavailable(PhaseError::Render, &error))
}
