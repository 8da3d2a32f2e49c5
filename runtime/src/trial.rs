//! What an object would become by a server-side apply: the API server judges it as a dry run and stores nothing.

use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::Value;

use crate::api::Api;

/// What the API server says of an apply.
#[derive(Debug)]
pub enum Trial {
    /// The object as it would be.
    Taken(Box<DynamicObject>),
    /// It would not take the object, for this reason.
    Refused(String),
}

/// Tries to apply an object as `manager`, who takes over the fields of others only with `force`.
///
/// # Errors
/// The server did not answer, or the user may not apply such an object.
pub async fn trial(
    api: &Api<DynamicObject>,
    name: &str,
    object: &Value,
    manager: &str,
    force: bool,
) -> Result<Trial, kube::Error> {
    let params = PatchParams { dry_run: true, force, ..PatchParams::apply(manager) };
    match api.patch(name, &params, &Patch::Apply(object)).await {
        Ok(after) => Ok(Trial::Taken(Box::new(after))),
        Err(kube::Error::Api(status)) if [400, 409, 422].contains(&status.code) => {
            Ok(Trial::Refused(status.message.clone()))
        }
        Err(error) => Err(error),
    }
}
