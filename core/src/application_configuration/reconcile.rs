//! One reconcile of a configuration:
//! `desired → finalizer → inventory → apply → revision → stores → scopes → collect → status`.

use serde_json::Value;
use vela_crds::annotations::APPLY_ONCE_ONLY;
use vela_engine::Secrets;
use vela_engine::application_configuration::data::StorePlan;
use vela_engine::application_configuration::status::{self, Complete};
use vela_engine::application_configuration::{ApplyOnce, Graph};
use vela_runtime::{Action, Failure};

use super::apply::{self, Applied, Order};
use super::desired::{self, Desired};
use super::error::{Error, Failed, NextTry, PhaseError};
use super::inventory::Inventory;
use super::reconciler::{ApplicationConfigurationReconciler, Work};
use super::{collect, history, last_good, scopes, stores, unowned_objects};
use crate::author::Actor;

/// The result of a reconcile.
#[derive(Debug)]
pub(super) struct Outcome {
    /// The new status.
    pub(super) status: Value,
    /// Was anything in the cluster changed?
    pub(super) changed: bool,
    /// Something that could not be collected, for the user.
    pub(super) not_collected: Option<PhaseError>,
    /// The next requeue; a failure that no user can mend is tried again.
    pub(super) then: Result<Action, Failure>,
}

impl Outcome {
    /// The same without what is confidential.
    pub(super) fn without(mut self, secrets: &Secrets) -> Self {
        let waits = self.status.pointer_mut("/dependency/unsatisfied").and_then(Value::as_array_mut);
        for wait in waits.into_iter().flatten() {
            wait.get_mut("reason").into_iter().for_each(|reason| secrets.hide_in(reason));
        }
        self.not_collected = self.not_collected.map(|error| error.without(secrets));
        self
    }
}

/// Of a configuration that people write: what runs of it is kept when it cannot be rendered, and what was applied
/// completely is recorded for that.
pub(super) async fn written(
    reconciler: &ApplicationConfigurationReconciler,
    work: &Work<'_>,
    now: &str,
    secrets: &mut Secrets,
) -> Result<Outcome, Error> {
    let (acting, mode) = begin(reconciler, work).await?;
    let desired = match confirmed(reconciler, work, &acting, secrets).await {
        Err(Error::Phase(PhaseError::Render(failed))) => {
            let failed = last_good::apply(reconciler, work, &acting, mode, failed, secrets).await;
            return Err(PhaseError::Render(failed).into());
        }
        desired => desired?,
    };
    let inventory = prepare(reconciler, work, &desired.graph).await?;
    let order = desired.order(reconciler, work, (&acting, mode), &inventory);
    let applied = apply(reconciler, &order).await?;
    // A failure costs only the care for what runs while something is wrong, so the reconcile goes on; it is to be tried
    // again all the same, for nothing else may wake us.
    let recorded = reconciler.revisions.record(work.configuration, &desired.revision).await;
    let outcome = finish(reconciler, &order, &applied, &desired.stores, now).await?;
    Ok(Outcome { then: recorded.and(outcome.then), ..outcome })
}

/// Of a configuration that the controller of Applications stored, and whose revisions it records.
pub(super) async fn stored(
    reconciler: &ApplicationConfigurationReconciler,
    work: &Work<'_>,
    now: &str,
    secrets: &mut Secrets,
) -> Result<Outcome, Error> {
    let (acting, mode) = begin(reconciler, work).await?;
    let resolved = desired::resolve(reconciler, work, secrets).await?;
    let desired = desired::render(reconciler, work, &acting, resolved, secrets).await?;
    let inventory = prepare(reconciler, work, &desired.graph).await?;
    let order = desired.order(reconciler, work, (&acting, mode), &inventory);
    let applied = apply(reconciler, &order).await?;
    finish(reconciler, &order, &applied, &desired.stores, now).await
}

/// On whose behalf the configuration is applied, and how often.
async fn begin(
    reconciler: &ApplicationConfigurationReconciler,
    work: &Work<'_>,
) -> Result<(Actor, ApplyOnce), Error> {
    let hooks = crate::hooks::run(&reconciler.context.hooks.before, work.document.value()).await;
    hooks.map_err(|error| PhaseError::PreHooks(Failed::new(error.message, NextTry::after(error.again))))?;
    let mode = ApplyOnce::of(work.document.value(), reconciler.context.options.apply_once);
    let mode = mode.map_err(|error| {
        PhaseError::Render(Failed::passing(format!("annotation {APPLY_ONCE_ONLY}: {error}")))
    })?;
    let acting = reconciler.acting(work.configuration).await?;
    let acting = acting.map_err(|unknown| PhaseError::Apply(Failed::passing(unknown.to_string())))?;
    Ok((acting, mode))
}

/// The desired state of the configuration, where no definition is gone that would change it.
async fn confirmed(
    reconciler: &ApplicationConfigurationReconciler,
    work: &Work<'_>,
    acting: &Actor,
    secrets: &mut Secrets,
) -> Result<Desired, Error> {
    let resolved = desired::resolve(reconciler, work, secrets).await?;
    last_good::confirm(reconciler, work, &resolved.snapshot).await?;
    desired::render(reconciler, work, acting, resolved, secrets).await
}

/// See to it that whatever is about to be made is found again.
async fn prepare(
    reconciler: &ApplicationConfigurationReconciler,
    work: &Work<'_>,
    graph: &Graph,
) -> Result<Inventory, Error> {
    unowned_objects::hold(reconciler, work.configuration, graph).await?;
    Ok(Inventory::record(reconciler, work.configuration, graph).await?)
}

async fn apply(
    reconciler: &ApplicationConfigurationReconciler,
    order: &Order<'_>,
) -> Result<Applied, PhaseError> {
    let applied = apply::apply(reconciler, order).await;
    applied.map_err(|failed| PhaseError::Apply(failed.templating(order.graph.rendered().templates())))
}

/// The last part of a reconcile, once everything is applied: it writes stores and scopes, and deletes objects that no
/// component wants any more.
async fn finish(
    reconciler: &ApplicationConfigurationReconciler,
    order: &Order<'_>,
    applied: &Applied,
    plans: &[StorePlan],
    now: &str,
) -> Result<Outcome, Error> {
    let templating = order.graph.rendered().templates();
    let failed = |message: String| Failed::passing(message).templating(templating);
    let stored = stores::write(reconciler, order, plans).await?;
    let (acting, namespace) = (order.acting, &order.work.key.namespace);
    let left = scopes::leave(reconciler, acting, namespace, &order.graph.dropped_memberships()).await;
    let left = left.map_err(|error| PhaseError::Apply(failed(error.to_string())))?;
    let collected = collect::collect(reconciler, order, applied).await;
    let collected = collected.map_err(|error| PhaseError::Collect(failed(acting.explain_apply(&error))))?;
    let complete = Complete {
        graph: order.graph,
        left: &collected.left,
        refused: collected.refused.clone(),
        history: history::of(reconciler, order.graph).await,
        previous: order.inventory.status(),
    };
    Ok(Outcome {
        status: status::status(&complete, now),
        changed: applied.written() + stored + left > 0 || !collected.deleted.is_empty(),
        not_collected: collected.refused.map(|message| PhaseError::Collect(failed(message))),
        then: Ok(collected.again.map_or(Action::Done, Action::RequeueAfter)),
    })
}
