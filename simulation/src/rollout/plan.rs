//! Reads the plan of a rollout: how many pods each batch means, by the simulation's own reading, not the engine's.

use serde_json::{Value, json};

use super::object::goes_back;
use crate::draws::Draws;

/// The address of hooks and metrics; no server listens there, for the simulation answers itself.
const URL: &str = "http://gates.example";

/// A plan as people wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Plan {
    pub(crate) decreases_first: bool,
    pub(crate) paused: bool,
    pub(crate) partition: Option<i64>,
    pub(crate) size: Option<i64>,
    pub(crate) batches: Vec<Batch>,
    /// Does it ask hooks and a metric? They hold it up, and change nothing else.
    pub(crate) asks: bool,
}

/// One batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Batch {
    pub(crate) pods: Number,
    pub(crate) unavailable: Number,
}

/// So many, or so much of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Number {
    Pods(i64),
    Percent(i64),
}

impl Default for Number {
    fn default() -> Self {
        Self::Pods(0)
    }
}

impl Number {
    fn read(value: &Value) -> Self {
        match value.as_str().and_then(|text| text.strip_suffix('%')) {
            Some(percent) => Self::Percent(percent.parse().unwrap_or(0)),
            None => Self::Pods(value.as_i64().unwrap_or(0)),
        }
    }

    fn write(self) -> Value {
        match self {
            Self::Pods(pods) => json!(pods),
            Self::Percent(percent) => json!(format!("{percent}%")),
        }
    }

    /// Parts of a pod are whole pods.
    fn of(self, all: i64) -> i64 {
        match self {
            Self::Pods(pods) => pods,
            Self::Percent(percent) => (percent * all + 99) / 100,
        }
    }
}

impl Plan {
    /// The plan by which a rollout rolls: on the way back nothing holds it up.
    pub(crate) fn of(rollout: &Value) -> Self {
        let plan = Self::read(&rollout["spec"]["rolloutPlan"]);
        match goes_back(rollout) {
            true => Self { paused: false, partition: None, asks: false, ..plan },
            false => plan,
        }
    }

    /// The plan as it is written.
    pub(crate) fn read(plan: &Value) -> Self {
        let batch = |batch: &Value| Batch {
            pods: Number::read(&batch["replicas"]),
            unavailable: Number::read(&batch["maxUnavailable"]),
        };
        Self {
            decreases_first: plan["rolloutStrategy"] == "DecreaseFirst",
            paused: plan["paused"] == true,
            partition: plan["batchPartition"].as_i64(),
            size: plan["targetSize"].as_i64(),
            batches: plan["rolloutBatches"].as_array().into_iter().flatten().map(batch).collect(),
            asks: !plan["canaryMetric"].is_null(),
        }
    }

    /// As it stands in an object. What is not said is told, so that a patch takes it away.
    pub(crate) fn write(&self) -> Value {
        let hooks = |types: [&str; 2]| match self.asks {
            true => {
                types.map(|type_| json!({"type": type_, "name": type_, "url": URL})).into_iter().collect()
            }
            false => Value::Null,
        };
        let metric = json!([{
            "name": "errors", "interval": "1s", "query": "errors", "metricsRange": {"max": 1}, "provider": {"address": URL},
        }]);
        let batch = |batch: &Batch| {
            json!({
                "replicas": batch.pods.write(), "maxUnavailable": batch.unavailable.write(),
                "batchRolloutWebhooks": hooks(["pre-batch-rollout", "post-batch-rollout"]),
            })
        };
        json!({
            "rolloutStrategy": if self.decreases_first { "DecreaseFirst" } else { "IncreaseFirst" },
            "paused": self.paused, "batchPartition": self.partition, "targetSize": self.size,
            "rolloutBatches": self.batches.iter().map(batch).collect::<Vec<_>>(),
            "rolloutWebhooks": hooks(["initialize-rollout", "finalize-rollout"]),
            "canaryMetric": if self.asks { metric } else { Value::Null },
        })
    }

    /// One to three batches. Percentages fit any size, numbers only the one that is meant.
    pub(crate) fn draw(draws: &mut Draws, size: i64) -> Self {
        let parts: &[i64] = [&[50, 50][..], &[25, 75], &[25, 25, 50], &[100]][draws.below(4)];
        let numbers = draws.once_in(6);
        let unavailable = match draws.below(6) {
            0..4 => Number::Pods(0),
            4 => Number::Pods(1),
            _ => Number::Percent(50),
        };
        let batch = |percent: &i64| Batch {
            pods: if numbers { Number::Pods(percent * size / 100) } else { Number::Percent(*percent) },
            unavailable,
        };
        Self {
            decreases_first: draws.once_in(3),
            paused: false,
            partition: draws.once_in(4).then_some(0),
            size: (draws.below(4) < 3).then_some(size),
            batches: parts.iter().map(batch).collect(),
            asks: draws.once_in(5),
        }
    }

    pub(crate) fn is_last(&self, batch: i64) -> bool {
        batch + 1 >= i64::try_from(self.batches.len()).unwrap_or(i64::MAX)
    }

    /// Pods after a batch on the way from one number to another; a batch never leads beyond the end.
    pub(crate) fn goal(&self, from: i64, to: i64, batch: i64) -> i64 {
        if batch < 0 {
            return from;
        }
        if self.is_last(batch) {
            return to;
        }
        let all = (to - from).abs();
        let done = usize::try_from(batch + 1).unwrap_or(0);
        let moved: i64 = self.batches.iter().take(done).map(|batch| batch.pods.of(all)).sum();
        let moved = moved.min(all);
        if to > from { from + moved } else { from - moved }
    }

    /// Pods of a batch that need not be ready.
    pub(crate) fn unavailable(&self, from: i64, to: i64, batch: i64) -> i64 {
        let batch = usize::try_from(batch).ok().and_then(|batch| self.batches.get(batch));
        batch.map_or(0, |batch| batch.unavailable.of((to - from).abs()))
    }
}
