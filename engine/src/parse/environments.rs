//! An Application whose `env-binding` policies say alone where its components go → the same with a workflow that deploys to each
//! environment.

use serde_json::Value as Json;

use crate::manifest::Document;
use crate::policy;

/// The Application with that workflow; nothing where it says otherwise where its components go.
pub(super) fn with_environments(application: &Document) -> Option<Document> {
    let spec = policy::with_environments(application.value().get("spec")?.as_object()?)?;
    let mut value = application.value().clone();
    value["spec"] = Json::Object(spec);
    Some(application.with_value(value))
}
