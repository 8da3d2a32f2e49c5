//! ApplicationDeployment: goes from one ApplicationConfiguration of an Application to another in batches. In release 0.3 it had no
//! content, and such objects can still be stored.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::raw::is_false;
use crate::{AppRollout, AppRolloutSpec, AppRolloutStatus, RolloutPlan};

/// From which ApplicationConfiguration to which one, and how.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.oam.dev",
    version = "v1beta1",
    kind = "ApplicationDeployment",
    plural = "applicationdeployments",
    namespaced,
    status = "AppRolloutStatus",
    category = "oam",
    derive = "PartialEq",
    derive = "Default",
    doc = "Goes from one ApplicationConfiguration to another in batches.",
    printcolumn = r#"{"name":"TARGET","type":"string","jsonPath":".status.rolloutTargetSize"}"#,
    printcolumn = r#"{"name":"UPGRADED","type":"string","jsonPath":".status.upgradedReplicas"}"#,
    printcolumn = r#"{"name":"READY","type":"string","jsonPath":".status.upgradedReadyReplicas"}"#,
    printcolumn = r#"{"name":"BATCH-STATE","type":"string","jsonPath":".status.batchRollingState"}"#,
    printcolumn = r#"{"name":"ROLLING-STATE","type":"string","jsonPath":".status.rollingState"}"#,
    printcolumn = r#"{"name":"AGE","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationDeploymentSpec {
    /// The ApplicationConfiguration to go to, of an older Application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_application_name: Option<String>,
    /// The ApplicationConfiguration to come from; absent at the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_application_name: Option<String>,
    /// The components to roll out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub component_list: Vec<String>,
    /// How; absent only in the objects of release 0.3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout_plan: Option<RolloutPlan>,
    /// Go back when this object is deleted.
    #[serde(default, skip_serializing_if = "is_false")]
    pub revert_on_delete: bool,
}

impl ApplicationDeployment {
    /// Is it one of release 0.3, in which nothing is said?
    pub fn is_empty(&self) -> bool {
        let ApplicationDeploymentSpec { target_application_name, source_application_name, .. } = &self.spec;
        target_application_name.is_none()
            && source_application_name.is_none()
            && self.spec.rollout_plan.is_none()
    }

    /// The AppRollout that says the same.
    #[must_use]
    pub fn into_rollout(self) -> AppRollout {
        let Self { metadata, spec, status } = self;
        let spec = AppRolloutSpec {
            target_application_name: spec.target_application_name,
            source_application_name: spec.source_application_name,
            component_list: spec.component_list,
            rollout_plan: spec.rollout_plan.unwrap_or_default(),
            revert_on_delete: spec.revert_on_delete,
            ..AppRolloutSpec::default()
        };
        AppRollout { metadata, spec, status }
    }
}
