//! ManualScalerTrait (v1alpha2): a fixed number of replicas for a workload.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Condition, Conditioned, TypedReference};

/// A fixed number of replicas for a workload.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.oam.dev",
    version = "v1alpha2",
    kind = "ManualScalerTrait",
    plural = "manualscalertraits",
    namespaced,
    status = "ManualScalerTraitStatus",
    category = "crossplane",
    category = "oam",
    derive = "PartialEq",
    derive = "Default",
    doc = "A fixed number of replicas for a workload."
)]
#[serde(rename_all = "camelCase")]
pub struct ManualScalerTraitSpec {
    /// Number of replicas.
    pub replica_count: i32,
    /// The workload.
    pub workload_ref: TypedReference,
}

/// Status of a ManualScalerTrait.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManualScalerTraitStatus {
    /// Conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

impl Conditioned for ManualScalerTraitStatus {
    fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    fn conditions_mut(&mut self) -> &mut Vec<Condition> {
        &mut self.conditions
    }
}
