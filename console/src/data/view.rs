//! One application as the REST API shows it: in short, its workflow, the object itself, and what it became.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::data::applications::{Summary, summary};
use crate::data::secrets;
use crate::data::tree::Tree;
use crate::data::workflow::{self, Workflow};

/// One application.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "Application")]
pub(crate) struct ApplicationView {
    /// In short.
    pub(crate) summary: Summary,
    /// Its workflow; absent before it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) workflow: Option<Workflow>,
    /// The object, without what is confidential.
    pub(crate) object: Value,
}

/// One application and what it became.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct ApplicationWithTree {
    /// The application.
    pub(crate) application: ApplicationView,
    /// Its objects.
    pub(crate) tree: Tree,
}

/// The view of an object.
pub(crate) fn view(mut object: Value, now: Timestamp) -> ApplicationView {
    let (summary, workflow) = (summary(&object), workflow::read(&object, now));
    secrets::hide(&mut object);
    ApplicationView { summary, workflow, object }
}
