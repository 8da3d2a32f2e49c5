//! Writes the status of an object with one request, or with none where nothing changed.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde::Serialize;
use serde_json::{Map, Value, json};
use vela_runtime::Api;
use vela_runtime::{Failure, Informer, Key};

use crate::context::{Context, FIELD_MANAGER};

/// [`write`] for a status with a type, in the kind and the store of `informer`.
pub(crate) async fn write_typed(
    context: &Context,
    informer: &Informer,
    live: &DynamicObject,
    status: &impl Serialize,
) -> Result<bool, Failure> {
    let status = serde_json::to_value(status).map_err(Failure::terminal)?;
    let resource = &informer.watch().resource;
    let api = Api::namespaced_with(context.client.clone(), &Key::of(live).namespace, resource);
    Ok(write(&api, informer, live, &status).await?)
}

/// [`write_typed`] for a kind whose status is no subresource: a write of the object itself carries it.
pub(crate) async fn write_whole(
    context: &Context,
    informer: &Informer,
    live: &DynamicObject,
    status: &impl Serialize,
) -> Result<bool, Failure> {
    let status = serde_json::to_value(status).map_err(Failure::terminal)?;
    let resource = &informer.watch().resource;
    let api = Api::namespaced_with(context.client.clone(), &Key::of(live).namespace, resource);
    Ok(patch(&api, informer, live, &status, Part::Whole).await?.is_some())
}

/// Write the status if it differs; gives the answer to the cache, so that the next reconcile starts from it.
pub(crate) async fn write(
    api: &Api<DynamicObject>,
    informer: &Informer,
    object: &DynamicObject,
    status: &Value,
) -> Result<bool, kube::Error> {
    Ok(patch(api, informer, object, status, Part::Status).await?.is_some())
}

/// [`write`], unless another client wrote the object since `object` was read: a person steers a workflow by its status, and
/// is not overwritten. That is a conflict (409). Gives the object as it was written.
pub(crate) async fn write_unless_changed(
    api: &Api<DynamicObject>,
    informer: &Informer,
    object: &DynamicObject,
    status: &Value,
) -> Result<Option<DynamicObject>, kube::Error> {
    patch(api, informer, object, status, Part::StatusOfVersion).await
}

/// Through which door a status is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Status,
    /// The same, of the version that was read and no other.
    StatusOfVersion,
    Whole,
}

async fn patch(
    api: &Api<DynamicObject>,
    informer: &Informer,
    object: &DynamicObject,
    status: &Value,
    part: Part,
) -> Result<Option<DynamicObject>, kube::Error> {
    let name = object.metadata.name.clone().unwrap_or_default();
    let old = object.data.get("status").cloned().unwrap_or_else(|| json!({}));
    if old == *status {
        return Ok(None);
    }
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..Default::default() };
    // The uid makes sure that a namesake created meanwhile does not get this status. The status is replaced as a whole: the
    // copy may not know of a write whose answer was lost, and what differs from the copy alone would be mixed with that.
    let mut operations = vec![
        json!({"op": "add", "path": "/metadata/uid", "value": object.metadata.uid}),
        json!({"op": "add", "path": "/status", "value": status}),
    ];
    if part == Part::StatusOfVersion {
        let version = &object.metadata.resource_version;
        operations.push(json!({"op": "add", "path": "/metadata/resourceVersion", "value": version}));
    }
    let operations = serde_json::from_value(Value::Array(operations)).map_err(kube::Error::SerdeError)?;
    let patch: Patch<Value> = Patch::Json(operations);
    let written = match part {
        Part::Status | Part::StatusOfVersion => api.patch_status(&name, &params, &patch).await,
        Part::Whole => api.patch(&name, &params, &patch).await,
    };
    match written {
        Ok(written) => {
            informer.observe(written.clone());
            Ok(Some(written))
        }
        // Gone meanwhile: no object is left to report to.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error),
    }
}

/// The merge patch that leads from old to new; nothing when they are equal.
pub(crate) fn difference(old: &Value, new: &Value) -> Option<Value> {
    if old == new {
        return None;
    }
    let (Value::Object(old), Value::Object(new)) = (old, new) else { return Some(new.clone()) };
    let mut patch = Map::new();
    for (name, new) in new {
        match old.get(name) {
            Some(old) => {
                if let Some(difference) = difference(old, new) {
                    patch.insert(name.clone(), difference);
                }
            }
            None => {
                patch.insert(name.clone(), new.clone());
            }
        }
    }
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        patch.insert(name.clone(), Value::Null);
    }
    Some(Value::Object(patch))
}

/// The time now, for conditions.
pub(crate) fn now() -> Time {
    Time(vela_runtime::clock::now())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Node;
    use kube::api::{ApiResource, DeleteParams, PostParams};
    use vela_runtime::cache::{Cache, Watch};

    use super::*;

    #[tokio::test]
    async fn a_status_is_never_mixed_with_one_that_the_copy_does_not_know() {
        let server = vela_apiserver::ApiServer::builder().build().unwrap();
        let client = kube::Client::new(server.service(), "default");
        let resource = ApiResource::erase::<Node>(&());
        let informer = Cache::new(client.clone()).informer(Watch::full(resource.clone()));
        let nodes: Api<DynamicObject> = Api::all_with(client, &resource);
        let node =
            serde_json::from_value(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "one"}}));
        let copy = nodes.create(&PostParams::default(), &node.unwrap()).await.unwrap();
        let info = |kernel: &str, os: &str| json!({"nodeInfo": {"kernelVersion": kernel, "osImage": os}, "phase": "Running"});
        let first = info("6.1", "a");
        assert!(write(&nodes, &informer, &copy, &first).await.unwrap());
        let copy = nodes.get("one").await.unwrap();
        // The answer to this one is lost, and the copy stays what it was.
        let lost = json!({"nodeInfo": {"kernelVersion": "6.2", "osImage": "b"}, "phase": "Pending"});
        assert!(write(&nodes, &informer, &copy, &lost).await.unwrap());
        let wanted = info("6.1", "c");
        assert!(write(&nodes, &informer, &copy, &wanted).await.unwrap());
        let status = nodes.get("one").await.unwrap().data["status"].take();
        for (field, wanted) in [("kernelVersion", "6.1"), ("osImage", "c")] {
            assert_eq!(status["nodeInfo"][field], wanted, "{status}");
        }
        assert_eq!(status["phase"], "Running");
        // A namesake made meanwhile is another object.
        nodes.delete("one", &DeleteParams::default()).await.unwrap();
        let mut namesake = copy.clone();
        (namesake.metadata.resource_version, namesake.metadata.uid) = (None, None);
        nodes.create(&PostParams::default(), &namesake).await.unwrap();
        assert!(write(&nodes, &informer, &copy, &lost).await.is_err());
    }

    #[test]
    fn what_vanished_is_removed_by_the_patch() {
        let patch = difference(&json!({"a": 1, "b": 2}), &json!({"a": 3}));
        assert_eq!(patch, Some(json!({"a": 3, "b": null})));
        let patch = difference(&json!({"a": {"x": 1, "y": 1}}), &json!({"a": {"x": 2}}));
        assert_eq!(patch, Some(json!({"a": {"x": 2, "y": null}})));
    }
}
