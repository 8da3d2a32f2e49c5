//! The decision of the engine on the state that a reconcile of an AppRollout found, and the memory of it in the status.

use vela_crds::AppRolloutStatus;
use vela_crds::rollout_plan::RollingState;
use vela_engine::rollout::next_step::{Situation, next_step};
use vela_engine::rollout::{Owner, Part, PlannedStep, State};
use vela_runtime::clock;
use vela_runtime::dynamic_watch::TrackedReads;

use super::attempt::Made;
use super::reconcile_inputs::{self, Direction, Work};
use super::{pods, step};

/// The parts that the next reconciles let go, where a user turns the rollout.
pub(super) fn remember(status: &mut AppRolloutStatus, direction: &Direction) {
    status.last_target_app_revision.clone_from(&direction.target);
    status.last_source_app_revision.clone_from(&direction.source);
}

impl Work<'_> {
    /// The ends of the next reconciles, once a step was made: a rollout that abandons what it held still works between the former ones.
    pub(super) fn remember_wanted(&self, status: &mut AppRolloutStatus, made: &Made) {
        if made.after.rolling != RollingState::RolloutAbandoning {
            self.wanted.into_iter().for_each(|wanted| remember(status, wanted));
        }
    }
}

/// The decision of the engine on the present state.
pub(super) async fn decide(
    work: &Work<'_>,
    status: &AppRolloutStatus,
    look: &TrackedReads,
    rolled: &[reconcile_inputs::Part],
    lenders: Vec<String>,
) -> Result<PlannedStep, String> {
    let rolls = State::of(&status.rollout).rolling == RollingState::RollingInBatches;
    let mut watched = Vec::with_capacity(rolled.len());
    for part in rolled {
        // Pods are watched only while a rollout wants to know why they do not come.
        watched.push(match &part.target.live {
            Some(live) if rolls => pods::of(look, live).await?,
            _ => Default::default(),
        });
    }
    let owner = Owner { lenders, ..step::owner(work.live) };
    let keys: Vec<_> = rolled.iter().map(|part| part.target.template.key()).collect();
    let parts = rolled.iter().zip(&keys).zip(&watched).map(|((part, key), (makers, pods))| Part {
        component: &part.component,
        api_version: &key.api_version,
        kind: &key.kind,
        has_source: part.source.is_some(),
        source: part.source.as_ref().and_then(|source| source.live.as_ref()),
        leftovers: &part.leftovers,
        target: part.target.live.as_ref(),
        pods,
        makers,
    });
    Ok(next_step(&Situation {
        plan: &work.rollout.spec.rollout_plan,
        status: &status.rollout,
        owner: &owner,
        parts: &parts.collect::<Vec<_>>(),
        is_turned: !status.given_up_revisions.is_empty() || work.direction.is_back,
        generation: work.live.metadata.generation.unwrap_or_default(),
        now: clock::now(),
    }))
}
