//! RolloutTrait: a rollout plan between named workloads; no release has a controller for it.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{RolloutPlan, RolloutStatus, TypedReference};

/// From which workloads to which one, and how.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "standard.oam.dev",
    version = "v1alpha1",
    kind = "RolloutTrait",
    plural = "rollouttraits",
    namespaced,
    status = "RolloutStatus",
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
