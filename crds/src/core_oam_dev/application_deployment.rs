//! ApplicationDeployment (release 0.3): a kind without content, kept so that its objects can be stored.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Condition, Conditioned};

/// Nothing: the kind never got any content.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.oam.dev",
    version = "v1alpha2",
    kind = "ApplicationDeployment",
    plural = "applicationdeployments",
    namespaced,
    status = "ApplicationDeploymentStatus",
    category = "oam",
    derive = "PartialEq",
    derive = "Default",
    doc = "A kind without content."
)]
pub struct ApplicationDeploymentSpec {}

/// Status of an ApplicationDeployment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationDeploymentStatus {
    /// Conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

impl Conditioned for ApplicationDeploymentStatus {
    fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    fn conditions_mut(&mut self) -> &mut Vec<Condition> {
        &mut self.conditions
    }
}
