//! Writes the objects that a configuration is about to make into its status, before any of them exists.

use kube::api::DynamicObject;
use serde_json::Value;
use vela_engine::application_configuration::{Graph, status};

use super::reconciler::ApplicationConfigurationReconciler;

/// The inventory of a configuration's objects as the server has it: its status.
#[derive(Debug)]
pub(super) struct Inventory(Option<Value>);

impl Inventory {
    /// As it was written before.
    pub(super) fn of(configuration: &DynamicObject) -> Self {
        Self(configuration.data.get("status").cloned())
    }

    /// Written down with what the graph is about to make: a reconcile that is cut off leaves no unrecorded object.
    pub(super) async fn record(
        reconciler: &ApplicationConfigurationReconciler,
        configuration: &DynamicObject,
        graph: &Graph,
    ) -> Result<Self, kube::Error> {
        let before = Self::of(configuration);
        let Some(intended) = status::intended(graph, before.status()) else { return Ok(before) };
        reconciler.write_status(configuration, &intended).await?;
        Ok(Self(Some(intended)))
    }

    /// The status; nothing where none was written yet.
    pub(super) fn status(&self) -> Option<&Value> {
        self.0.as_ref()
    }
}
