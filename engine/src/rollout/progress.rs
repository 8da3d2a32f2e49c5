//! Describes how far each batch of a rollout is, for people.

use vela_crds::rollout_plan::{BatchRollingState, RollingState};
use vela_crds::{RolloutPlan, RolloutStatus};

use super::parts::seen_by;
use super::size::Sizes;
use super::state::State;

/// How far a batch is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// How many pods change in it.
    pub pods: i64,
    /// How many of these have changed and are ready, as far as the status says.
    pub ready: i64,
    /// Is it done, does it run, or is it still to come?
    pub at: At,
}

/// Where the rollout is, seen from a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The batch is done.
    Done,
    /// The batch runs.
    Running(BatchRollingState),
    /// The rollout ended in this batch.
    Stopped,
    /// The batch is still to come.
    ToCome,
}

/// All batches of a rollout, or of a scale where there is no source; nothing before the sizes are known.
///
/// Of several components, a batch is that of all of them.
pub fn progress(plan: &RolloutPlan, status: &RolloutStatus, has_source: bool) -> Vec<Progress> {
    let each = status.components.iter().map(|one| of_one(plan, &seen_by(status, one), has_source));
    let joined = each.reduce(|mut joined, one| {
        joined.truncate(one.len());
        for (batch, more) in joined.iter_mut().zip(one) {
            (batch.pods, batch.ready) = (batch.pods + more.pods, batch.ready + more.ready);
        }
        joined
    });
    joined.unwrap_or_else(|| of_one(plan, status, has_source))
}

fn of_one(plan: &RolloutPlan, status: &RolloutStatus, has_source: bool) -> Vec<Progress> {
    let Some(target) = status.rollout_target_size.filter(|size| *size >= 0).map(i64::from) else {
        return Vec::new();
    };
    let original = i64::from(status.rollout_original_size.unwrap_or(0));
    let sizes = if has_source { Sizes::rollout(plan, target) } else { Sizes::scale(plan, original, target) };
    let state = State::of(status);
    let ready = i64::from(status.upgraded_ready_replicas);
    let is_over = matches!(state.rolling, RollingState::RolloutSucceed | RollingState::Finalising);
    let begun = matches!(state.rolling, RollingState::RollingInBatches)
        || state.is_terminal()
        || state.is_releasing();
    let current = i64::from(status.current_batch);
    let count = i64::try_from(sizes.count()).unwrap_or(i64::MAX);
    (0..count)
        .map(|batch| {
            let (before, goal) = (sizes.goal(batch - 1), sizes.goal(batch));
            let pods = (goal - before).abs();
            let at = match (state.rolling, state.batch) {
                _ if is_over || batch < current => At::Done,
                _ if batch > current || !begun => At::ToCome,
                (RollingState::RollingInBatches, BatchRollingState::BatchReady) => At::Done,
                (RollingState::RollingInBatches, state) => At::Running(state),
                _ => At::Stopped,
            };
            let there = match at {
                At::Done => pods,
                At::ToCome => 0,
                // Ready pods beyond the batch before belong to this one; of a shrinking set, remaining pods do not.
                _ if goal >= before => (ready - before).clamp(0, pods),
                _ => (before - ready).clamp(0, pods),
            };
            Progress { pods, ready: there, at }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rows(state: &str, batch_state: &str, current: i32, ready: i32) -> Vec<(i64, i64, At)> {
        let plan: RolloutPlan = serde_json::from_value(
            json!({"rolloutBatches": [{"replicas": 1}, {"replicas": 2}, {"replicas": 2}]}),
        )
        .unwrap();
        let status = RolloutStatus {
            rolling_state: state.to_owned(),
            batch_rolling_state: Some(batch_state.to_owned()),
            rollout_target_size: Some(5),
            current_batch: current,
            upgraded_ready_replicas: ready,
            ..RolloutStatus::default()
        };
        progress(&plan, &status, true).into_iter().map(|row| (row.pods, row.ready, row.at)).collect()
    }

    #[test]
    fn batches_of_several_components_are_added_up() {
        let plan = json!({"rolloutBatches": [{"replicas": "50%"}, {"replicas": "50%"}]});
        let plan: RolloutPlan = serde_json::from_value(plan).unwrap();
        let one = |name: &str, size, ready| json!({"name": name, "rolloutTargetSize": size, "upgradedReplicas": ready, "upgradedReadyReplicas": ready});
        let status = json!({
            "rollingState": "rollingInBatches", "batchRollingState": "batchVerifying", "currentBatch": 0,
            "rolloutTargetSize": 8, "upgradedReplicas": 4, "upgradedReadyReplicas": 3,
            "components": [one("api", 3, 1), one("web", 5, 2)],
        });
        let status: RolloutStatus = serde_json::from_value(status).unwrap();
        let rows: Vec<_> =
            progress(&plan, &status, true).into_iter().map(|row| (row.pods, row.ready)).collect();
        assert_eq!(rows, [(2 + 3, 3), (1 + 2, 0)]);
    }

    #[test]
    fn batches_are_done_run_or_come() {
        let running = At::Running(BatchRollingState::BatchVerifying);
        assert_eq!(
            rows("rollingInBatches", "batchVerifying", 1, 2),
            [(1, 1, At::Done), (2, 1, running), (2, 0, At::ToCome)]
        );
        assert_eq!(rows("rollingInBatches", "batchReady", 1, 3)[1], (2, 2, At::Done));
        assert_eq!(rows("rolloutSucceed", "batchReady", 2, 5)[2], (2, 2, At::Done));
        assert_eq!(rows("rolloutFailed", "batchInitializing", 1, 1)[1], (2, 0, At::Stopped));
        assert!(rows("initializing", "batchInitializing", 0, 0).iter().all(|(_, _, at)| *at == At::ToCome));
        let unknown = RolloutStatus { rollout_target_size: Some(-1), ..RolloutStatus::default() };
        assert_eq!(progress(&RolloutPlan::default(), &unknown, true), []);
    }
}
