//! RolloutPlan: in which batches pods are replaced; and the status of such a rollout.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::raw::is_false;
use crate::{Condition, Conditioned, TypedReference};

/// In which batches pods are replaced.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutPlan {
    /// `IncreaseFirst` (the meaning when absent) or `DecreaseFirst`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout_strategy: Option<String>,
    /// Number of pods in the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_size: Option<i32>,
    /// Number of batches, for plans without `rolloutBatches`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub num_batches: Option<i32>,
    /// The batches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout_batches: Option<Vec<RolloutBatch>>,
    /// Index of the last batch that may run; absent means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_partition: Option<i32>,
    /// Stops between two steps.
    #[serde(default, skip_serializing_if = "is_false")]
    pub paused: bool,
    /// Seconds until a batch that is not there fails; absent means those of the workload, else 600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress_deadline_seconds: Option<i32>,
    /// Called at the begin and the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rollout_webhooks: Vec<RolloutWebhook>,
    /// Metrics to judge by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub canary_metric: Vec<CanaryMetric>,
}

/// Pods that are replaced together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutBatch {
    /// Number or percentage of pods; absent is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<IntOrString>,
    /// Names of the pods.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pod_list: Vec<String>,
    /// Number or percentage of pods that need not be ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrString>,
    /// Seconds between pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_interval: Option<i32>,
    /// Called before and after the batch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub batch_rollout_webhooks: Vec<RolloutWebhook>,
    /// Metrics to judge by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub canary_metric: Vec<CanaryMetric>,
}

/// An HTTP service that is asked during a rollout.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutWebhook {
    /// When: `initialize-rollout`, `pre-batch-rollout`, `post-batch-rollout` or `finalize-rollout`.
    #[serde(rename = "type")]
    pub hook_type: String,
    /// Name for people.
    pub name: String,
    /// Where.
    pub url: String,
    /// HTTP method; `POST` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Status codes that mean yes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expected_status: Vec<i64>,
    /// What the service is told besides.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

/// A metric to judge by.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CanaryMetric {
    /// Name of the metric.
    pub name: String,
    /// How often it is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<String>,
    /// Where it should lie.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics_range: Option<MetricsRange>,
    /// How it is computed: a MetricTemplate of Flagger, or a ConfigMap with `address` and `query`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template_ref: Option<TypedReference>,
    /// Who is asked, where no template says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<MetricProvider>,
    /// What is asked, where no template says it; may hold `{{ namespace }}`, `{{ target }}` and `{{ interval }}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// So many measurements must lie in the range before the batch is finished; 1 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<i32>,
    /// So many others are tolerated; 0 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_limit: Option<i32>,
    /// What one more does: `Pause` (the meaning when absent) or `Revert`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<String>,
}

/// Who tells a metric.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetricProvider {
    /// `prometheus`, which is also the meaning when absent.
    #[serde(rename = "type")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_type: Option<String>,
    /// Where: `http://prometheus.monitoring:9090`.
    pub address: String,
}

/// Where a metric should lie.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetricsRange {
    /// At least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<IntOrString>,
    /// At most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<IntOrString>,
}

/// Where a rollout stands. A stored status that lacks what is demanded of a written one is read: release 0.3 had conditions only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = ["currentBatch", "rollingState", "upgradedReadyReplicas", "upgradedReplicas"]))]
pub struct RolloutStatus {
    /// Conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Number of pods before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout_original_size: Option<i32>,
    /// Number of pods in the end; -1 while it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout_target_size: Option<i32>,
    /// Identifies the pod template that is rolled out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_generation: Option<String>,
    /// Identifies the pod template that was rolled out last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_applied_pod_template_identifier: Option<String>,
    /// The state, see [`RollingState`]; a text, because other writers know other states.
    #[serde(default)]
    pub rolling_state: String,
    /// The state of the batch, see [`BatchRollingState`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_rolling_state: Option<String>,
    /// Index of the batch.
    #[serde(default)]
    pub current_batch: i32,
    /// Pods that were replaced.
    #[serde(default)]
    pub upgraded_replicas: i32,
    /// Replaced pods that are ready.
    #[serde(default)]
    pub upgraded_ready_replicas: i32,
    /// What was measured since the pods of the current batch are there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary_analysis: Option<CanaryAnalysis>,
    /// The same numbers of each component where several are rolled out together; above are their sums then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<ComponentRollout>,
    /// The rollout goes back to its source, or went back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revert: Option<Revert>,
}

/// Why a rollout goes back to its source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Revert {
    /// Since when.
    pub since: Time,
    /// Why.
    pub reason: String,
}

/// Measurements of one batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CanaryAnalysis {
    /// Index of the batch.
    pub batch: i32,
    /// Since when it is measured.
    pub since: Time,
    /// The generation of the object at which a metric failed: the rollout is held until the object is changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_generation: Option<i64>,
    /// Why it is held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Each metric.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricStatus>,
}

/// Measurements of one metric in one batch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetricStatus {
    /// Name of the metric.
    pub name: String,
    /// The field of the plan where it is written.
    pub path: String,
    /// Identifies what is written there: a metric that was changed is measured anew.
    pub definition: String,
    /// Measurements in the range.
    pub passed: i32,
    /// Other measurements.
    pub failed: i32,
    /// When it was measured last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_at: Option<Time>,
    /// The value that was measured last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// What is wrong with the last measurement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Where one of several components stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComponentRollout {
    /// The component.
    pub name: String,
    /// Number of pods before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout_original_size: Option<i32>,
    /// Number of pods in the end; absent while it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout_target_size: Option<i32>,
    /// Identifies the pod template that is rolled out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_generation: Option<String>,
    /// Identifies the pod template that was rolled out last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_applied_pod_template_identifier: Option<String>,
    /// Pods that were replaced.
    #[serde(default)]
    pub upgraded_replicas: i32,
    /// Replaced pods that are ready.
    #[serde(default)]
    pub upgraded_ready_replicas: i32,
}

impl ComponentRollout {
    /// One of which nothing is known yet.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }
}

impl Conditioned for RolloutStatus {
    fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    fn conditions_mut(&mut self) -> &mut Vec<Condition> {
        &mut self.conditions
    }
}

/// States of a rollout, as `rollingState` spells them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RollingState {
    /// The target is looked for.
    LocatingTargetApp,
    /// The plan is checked against the workloads.
    VerifyingSpec,
    /// The workloads are claimed.
    Initializing,
    /// Batch after batch.
    RollingInBatches,
    /// The workloads are let go.
    Finalising,
    /// It failed; the workloads are let go.
    RolloutFailing,
    /// The plan changed on the way; the workloads are let go.
    RolloutAbandoning,
    /// The object goes away; the workloads are let go.
    #[serde(rename = "RolloutDeletingState")]
    RolloutDeleting,
    /// Done.
    RolloutSucceed,
    /// Failed.
    RolloutFailed,
}

/// States of one batch, as `batchRollingState` spells them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BatchRollingState {
    /// Before it starts.
    BatchInitializing,
    /// Pods are replaced.
    BatchInRolling,
    /// Pods get ready.
    BatchVerifying,
    /// The batch is closed.
    BatchFinalizing,
    /// Done.
    BatchReady,
    /// Failed.
    BatchVerifyFailed,
}
