//! Component (v1alpha2): a workload template with parameters.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::raw::{Embedded, Raw};
use crate::{Condition, Conditioned, Revision};

/// A workload template with parameters.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.oam.dev",
    version = "v1alpha2",
    kind = "Component",
    plural = "components",
    namespaced,
    status = "ComponentStatus",
    category = "crossplane",
    category = "oam",
    derive = "PartialEq",
    derive = "Default",
    doc = "A workload template with parameters.",
    printcolumn = r#"{"name":"WORKLOAD-KIND","type":"string","jsonPath":".spec.workload.kind"}"#,
    printcolumn = r#"{"name":"AGE","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct ComponentSpec {
    /// The workload template; `type` may name a WorkloadDefinition where a webhook converts it.
    pub workload: Embedded,
    /// What an ApplicationConfiguration may set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<ComponentParameter>,
    /// A Helm chart, set by the Application controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<crate::core_oam_dev::schematic::Helm>")]
    pub helm: Option<Raw>,
}

/// One thing an ApplicationConfiguration may set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComponentParameter {
    /// Name of the parameter.
    pub name: String,
    /// Where the value goes in the workload.
    pub field_paths: Vec<String>,
    /// Whether it must be given.
    #[serde(default)]
    pub required: bool,
    /// Text for users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// Status of a Component.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ComponentStatus {
    /// Generation the revision was cut for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// Last ControllerRevision cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest_revision: Option<Revision>,
}

impl Conditioned for ComponentStatus {
    fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    fn conditions_mut(&mut self) -> &mut Vec<Condition> {
        &mut self.conditions
    }
}
