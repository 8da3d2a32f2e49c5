//! The decision of a pure controller in, the write through the ordinary verbs out.

use std::sync::Arc;

use serde_json::Value;

use crate::catalog::Resource;
use crate::object;
use crate::simulate::Action;
use crate::status::{ApiError, ApiResult};
use crate::verbs::{
    Context, DeleteOptions, ObjectRef, WriteOptions, create_object, delete_object, update_object,
};

/// The writer, as managed fields show it.
const MANAGER: &str = "kube-controller-manager";

/// Carries out the decision of a controller. An object that exists already, or is gone already, counts as done.
pub(super) fn act(context: &Context<'_>, action: Action) -> ApiResult<()> {
    match action {
        Action::Create { resource, object } => match create(context, &resource, object) {
            Err(error) if error.reason == "AlreadyExists" => Ok(()),
            other => other,
        },
        Action::Event { object } => create(context, "events", object),
        Action::UpdateStatus { resource, object } => update(context, &resource, "status", object),
        Action::Update { resource, object } => update(context, &resource, "", object),
        Action::Delete { resource, namespace, name, uid, propagation } => {
            let options = DeleteOptions {
                propagation,
                uid: Some(uid).filter(|u| !u.is_empty()),
                grace_seconds: Some(0),
                ..DeleteOptions::default()
            };
            let resource = stored(context, &resource)?;
            match delete_object(context, &resource, &namespace, &name, &options) {
                Err(error) if error.reason == "NotFound" => Ok(()),
                other => other.map(drop),
            }
        }
    }
}

fn create(context: &Context<'_>, resource: &str, new: Value) -> ApiResult<()> {
    let namespace = object::namespace(&new).to_owned();
    let resource = stored(context, resource)?;
    create_object(context, &resource, &namespace, new, &own()).map(drop)
}

fn update(context: &Context<'_>, resource: &str, subresource: &str, new: Value) -> ApiResult<()> {
    let resource = stored(context, resource)?;
    let (namespace, name) = (object::namespace(&new), object::name(&new));
    let target = ObjectRef { resource: &resource, namespace, name, subresource };
    match update_object(context, &target, &own(), |_| Ok(new.clone())) {
        Err(error) if error.reason == "NotFound" => Ok(()),
        other => other.map(drop),
    }
}

/// Options of a write of the server's own controllers.
pub(super) fn own() -> WriteOptions {
    WriteOptions::own(MANAGER)
}

/// The resource whose objects lie at `store`, in the version in which they lie there.
pub(super) fn stored(context: &Context<'_>, store: &str) -> ApiResult<Arc<Resource>> {
    context.catalog.catalog().by_store(store).cloned().ok_or_else(ApiError::no_such_path)
}
