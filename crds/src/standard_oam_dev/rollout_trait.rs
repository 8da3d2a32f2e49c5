//! RolloutTrait: a rollout plan between named workloads.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Condition, Conditioned, RolloutPlan, RolloutStatus, TypedReference};

/// From which workloads to which one, and how.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "standard.oam.dev",
    version = "v1alpha1",
    kind = "RolloutTrait",
    plural = "rollouttraits",
    namespaced,
    status = "RolloutTraitStatus",
    category = "oam",
    derive = "PartialEq",
    derive = "Default",
    doc = "A rollout plan between named workloads."
)]
#[serde(rename_all = "camelCase")]
pub struct RolloutTraitSpec {
    /// The workload that grows.
    pub target_ref: TypedReference,
    /// The workloads that shrink.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source_ref: Vec<TypedReference>,
    /// How.
    pub rollout_plan: RolloutPlan,
}

/// Where the rollout stands, and between which workloads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutTraitStatus {
    /// Where it stands.
    #[serde(flatten)]
    pub rollout: RolloutStatus,
    /// The workload it last rolled out; absent before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_target_ref: Option<TypedReference>,
    /// The workloads it last came from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last_source_ref: Vec<TypedReference>,
    /// The size that was written then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_target_size: Option<i32>,
}

impl Conditioned for RolloutTraitStatus {
    fn conditions(&self) -> &[Condition] {
        &self.rollout.conditions
    }

    fn conditions_mut(&mut self) -> &mut Vec<Condition> {
        &mut self.rollout.conditions
    }
}
