//! The states of a rollout and the ways between them, as the table of the specification says.

use serde_json::Value;

use super::object::{goes_back, is_abandoned, is_changed, is_leaving, number, text};
use super::plan::Plan;

/// Where a rollout stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub(super) rolling: String,
    pub(super) batch_state: String,
    pub(super) batch: i64,
}

impl State {
    pub(super) fn of(rollout: &Value) -> Self {
        let rolling = text(rollout, "/status/rollingState").to_owned();
        let rolls = rolling == "rollingInBatches";
        let batch_state = if rolls { text(rollout, "/status/batchRollingState") } else { "" };
        let batch = if rolls { number(rollout, "/status/currentBatch") } else { 0 };
        Self { rolling, batch_state: batch_state.to_owned(), batch }
    }

    /// The table of the specification, and what a reconcile does at once: it lets go in the reconcile that hears of a change.
    pub(super) fn may_become(&self, next: &Self, before: &Value, plan: &Plan) -> bool {
        let over = matches!(self.rolling.as_str(), "rolloutSucceed" | "rolloutFailed");
        let to = next.rolling.as_str();
        let back = goes_back(before);
        if is_leaving(before) && !over && !back {
            let turns = matches!(to, "rolloutAbandoning" | "locatingTargetApp");
            return turns && before["spec"]["revertOnDelete"] == true
                || matches!(to, "RolloutDeletingState" | "rolloutFailed");
        }
        // The way back is given up, and what stands there is let go.
        if back && to == "RolloutDeletingState" {
            return true;
        }
        if is_abandoned(before) && matches!(to, "rolloutFailing" | "rolloutFailed") {
            return true;
        }
        if self.rolling == "RolloutDeletingState" {
            return to == "rolloutFailed";
        }
        if self.rolling == "rolloutAbandoning" {
            return to == "locatingTargetApp";
        }
        if is_changed(before) {
            return matches!(to, "rolloutAbandoning" | "locatingTargetApp") || over && to == "verifyingSpec";
        }
        match self.rolling.as_str() {
            "" => to == "locatingTargetApp",
            "locatingTargetApp" => to == "verifyingSpec",
            "verifyingSpec" => matches!(to, "initializing" | "rolloutFailed"),
            "initializing" => {
                to == "rolloutFailing"
                    || (to == "rollingInBatches"
                        && next.batch == 0
                        && next.batch_state == "batchInitializing")
            }
            // What was asked for has not come about.
            "finalising" if back => to == "rolloutFailed",
            "finalising" => to == "rolloutSucceed",
            "rolloutFailing" => to == "rolloutFailed",
            "rollingInBatches" if to == "rolloutFailing" => true,
            "rollingInBatches" => !plan.paused && self.batch_may_become(next, plan),
            _ => false,
        }
    }

    fn batch_may_become(&self, next: &Self, plan: &Plan) -> bool {
        let (to, rolling) = (next.batch_state.as_str(), next.rolling.as_str());
        let same = next.batch == self.batch;
        match self.batch_state.as_str() {
            "batchInitializing" => same && to == "batchInRolling",
            "batchInRolling" => same && to == "batchVerifying",
            "batchVerifying" => same && to == "batchFinalizing",
            "batchFinalizing" if plan.is_last(self.batch) => rolling == "finalising",
            "batchFinalizing" => same && to == "batchReady",
            "batchReady" => {
                next.batch == self.batch + 1
                    && to == "batchInitializing"
                    && plan.partition.is_none_or(|partition| partition > self.batch)
            }
            _ => false,
        }
    }
}
