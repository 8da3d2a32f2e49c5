//! ApplicationContext (v1alpha2): deploys one revision of an application.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core_oam_dev::application_configuration::ApplicationConfigurationStatus;

/// Which revision is deployed.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "core.oam.dev",
    version = "v1alpha2",
    kind = "ApplicationContext",
    plural = "applicationcontexts",
    namespaced,
    status = "ApplicationConfigurationStatus",
    shortname = "appcontext",
    category = "oam",
    derive = "PartialEq",
    derive = "Default",
    doc = "Deploys one revision of an application."
)]
#[serde(rename_all = "camelCase")]
pub struct ApplicationContextSpec {
    /// Name of the ApplicationRevision.
    pub application_revision_name: String,
}
