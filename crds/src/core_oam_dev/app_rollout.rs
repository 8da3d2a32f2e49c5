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
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target_app_revision_name: String,
    /// The revision to come from; absent at the first deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_app_revision_name: Option<String>,
    /// The ApplicationConfiguration to go to, of an older Application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_application_name: Option<String>,
    /// The ApplicationConfiguration to come from; absent at the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_application_name: Option<String>,
    /// The component to roll out; at most one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub component_list: Vec<String>,
    /// How.
    pub rollout_plan: RolloutPlan,
    /// Go back when this object is deleted.
    #[serde(default, skip_serializing_if = "is_false")]
    pub revert_on_delete: bool,
}

impl AppRolloutSpec {
    /// What it goes to, in either spelling; empty where nothing is named.
    pub fn target(&self) -> &str {
        match self.target_application_name.as_deref() {
            Some(name) if !name.is_empty() => name,
            _ => &self.target_app_revision_name,
        }
    }

    /// What it comes from, in either spelling.
    pub fn source(&self) -> Option<&str> {
        let names = [&self.source_application_name, &self.source_app_revision_name];
        names.into_iter().find_map(|name| name.as_deref().filter(|name| !name.is_empty()))
    }
}

/// Where the rollout stands, and between which revisions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = [
    "currentBatch", "lastTargetAppRevision", "rollingState", "upgradedReadyReplicas", "upgradedReplicas"
]))]
pub struct AppRolloutStatus {
    /// Where it stands.
    #[serde(flatten)]
    pub rollout: RolloutStatus,
    /// The revision it last went to.
    #[serde(default)]
    pub last_target_app_revision: String,
    /// The revision it last came from.
    #[serde(rename = "LastSourceAppRevision")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_source_app_revision: Option<String>,
    /// Revisions that it was turned away from half-way: what runs of them is replaced like the source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given_up_revisions: Vec<String>,
    /// Components that both revisions have alike, so that nothing of them is rolled out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unchanged_components: Vec<String>,
}

impl Conditioned for AppRolloutStatus {
    fn conditions(&self) -> &[Condition] {
        &self.rollout.conditions
    }

    fn conditions_mut(&mut self) -> &mut Vec<Condition> {
        &mut self.rollout.conditions
    }
}
