//! AppRollout: goes from one revision of an application to another in batches.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::raw::is_false;
use crate::{Condition, Conditioned, RolloutPlan, RolloutStatus};

/// From which revision to which one, and how.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.oam.dev",
    version = "v1beta1",
    kind = "AppRollout",
    plural = "approllouts",
    namespaced,
    status = "AppRolloutStatus",
    shortname = "approllout",
    category = "oam",
    derive = "PartialEq",
    derive = "Default",
    doc = "Goes from one revision of an application to another in batches.",
    printcolumn = r#"{"name":"TARGET","type":"string","jsonPath":".status.rolloutTargetSize"}"#,
    printcolumn = r#"{"name":"UPGRADED","type":"string","jsonPath":".status.upgradedReplicas"}"#,
    printcolumn = r#"{"name":"READY","type":"string","jsonPath":".status.upgradedReadyReplicas"}"#,
    printcolumn = r#"{"name":"BATCH-STATE","type":"string","jsonPath":".status.batchRollingState"}"#,
    printcolumn = r#"{"name":"ROLLING-STATE","type":"string","jsonPath":".status.rollingState"}"#,
    printcolumn = r#"{"name":"AGE","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct AppRolloutSpec {
    /// The revision to go to.
    pub target_app_revision_name: String,
    /// The revision to come from; absent at the first deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_app_revision_name: Option<String>,
    /// The component to roll out; at most one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub component_list: Vec<String>,
    /// How.
    pub rollout_plan: RolloutPlan,
    /// Go back when this object is deleted.
    #[serde(default, skip_serializing_if = "is_false")]
    pub revert_on_delete: bool,
}

/// Where the rollout stands, and between which revisions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppRolloutStatus {
    /// Where it stands.
    #[serde(flatten)]
    pub rollout: RolloutStatus,
    /// The revision it last went to.
    pub last_target_app_revision: String,
    /// The revision it last came from.
    #[serde(rename = "LastSourceAppRevision")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_source_app_revision: Option<String>,
    /// Revisions that it was turned away from half-way: what runs of them is replaced like the source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given_up_revisions: Vec<String>,
}

impl Conditioned for AppRolloutStatus {
    fn conditions(&self) -> &[Condition] {
        &self.rollout.conditions
    }

    fn conditions_mut(&mut self) -> &mut Vec<Condition> {
        &mut self.rollout.conditions
    }
}
