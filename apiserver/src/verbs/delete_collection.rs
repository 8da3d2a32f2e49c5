//! Delete collection: all objects that the path and the selectors name, one deletion each.

use ::http::StatusCode;
use serde_json::json;

use super::context::Context;
use super::convert::{converted, from_stored};
use super::delete::{Deleted, delete_object};
use super::delete_options::DeleteOptions;
use crate::catalog::Resource;
use crate::http::{Answer, Call};
use crate::object;
use crate::selector::Selector;
use crate::status::ApiResult;

/// Deletes the objects and answers with their last states.
pub(crate) fn delete_collection(
    context: &Context<'_>,
    resource: &Resource,
    call: &Call,
) -> ApiResult<Answer> {
    resource.require("deletecollection")?;
    let options = DeleteOptions::read(call)?;
    let selector = Selector::read(resource, &call.query)?;
    let (entries, revision) = context.store.list(&resource.store, call.place.namespace.as_deref());
    let mut items = Vec::new();
    for entry in entries.iter().filter(|e| selector.matches(&converted(resource, e))) {
        let (namespace, name) = (object::namespace(entry), object::name(entry));
        match delete_object(context, resource, namespace, name, &options) {
            Ok(Deleted::Gone(last) | Deleted::Waiting(last)) => items.push(from_stored(resource, &last)),
            Err(error) if error.code == StatusCode::NOT_FOUND => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Answer::value(&json!({ "kind": resource.list_kind, "apiVersion": resource.api_version,
        "metadata": { "resourceVersion": revision.to_string() }, "items": items })))
}
