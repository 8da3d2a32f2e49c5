//! Derives the plan by which a rollout goes back: the same batches, with nothing in it that holds it up.
//!
//! A rollout that goes back goes by the same state machine and the same sizes, with target and source exchanged: it never
//! has fewer pods than on the way there. Questions to people or services on the way there ("may it go on?") have no meaning
//! on the way back, and would keep pods that were found bad.

use vela_crds::rollout_plan::RollingState;
use vela_crds::{RolloutBatch, RolloutPlan, RolloutWebhook};

use super::state::State;

/// Time that a rollout waits before its first batch on the way back (for revisions, the application, other rollouts) until it
/// is given up: a user who deletes a rollout must not wait for ever.
pub const WAITS_AT_MOST_SECONDS: i64 = 600;

/// The rollout asks no hook in it, but reports the end.
pub fn way_back(plan: &RolloutPlan) -> RolloutPlan {
    let is_final = |hook: &&RolloutWebhook| hook.hook_type == "finalize-rollout";
    let batch = |batch: &RolloutBatch| RolloutBatch {
        batch_rollout_webhooks: Vec::new(),
        canary_metric: Vec::new(),
        ..batch.clone()
    };
    RolloutPlan {
        paused: false,
        batch_partition: None,
        canary_metric: Vec::new(),
        rollout_webhooks: plan.rollout_webhooks.iter().filter(is_final).cloned().collect(),
        rollout_batches: plan.rollout_batches.as_ref().map(|batches| batches.iter().map(batch).collect()),
        ..plan.clone()
    }
}

/// Is there something to go back from? Before the first batch every pod is the source's, and in the end it is too late.
pub fn is_half_way(state: State) -> bool {
    matches!(
        state.rolling,
        RollingState::RollingInBatches | RollingState::Finalising | RollingState::RolloutAbandoning
    )
}

/// Does it still wait for its first batch?
pub fn waits(state: State) -> bool {
    matches!(
        state.rolling,
        RollingState::LocatingTargetApp | RollingState::VerifyingSpec | RollingState::Initializing
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_holds_up_the_way_back() {
        let hook = |name: &str| json!({"type": name, "name": name, "url": "http://a"});
        let metric = json!([{"name": "errors"}]);
        let plan: RolloutPlan = serde_json::from_value(json!({
            "targetSize": 4, "paused": true, "batchPartition": 0, "canaryMetric": metric,
            "rolloutWebhooks": [hook("initialize-rollout"), hook("finalize-rollout")],
            "rolloutBatches": [
                {"replicas": 4, "maxUnavailable": 1, "canaryMetric": metric, "batchRolloutWebhooks": [hook("pre-batch-rollout")]},
            ],
        }))
        .unwrap();
        let expected = json!({
            "targetSize": 4, "rolloutWebhooks": [hook("finalize-rollout")],
            "rolloutBatches": [{"replicas": 4, "maxUnavailable": 1}],
        });
        assert_eq!(serde_json::to_value(way_back(&plan)).unwrap(), expected);
    }
}
