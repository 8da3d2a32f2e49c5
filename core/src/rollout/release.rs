//! A rollout that goes → nothing in the cluster names it as its controller any more.
//!
//! A workload that still names it would be deleted with it by the cluster's garbage collector.

use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use serde_json::json;
use vela_runtime::Api;
use vela_runtime::apply::explain;
use vela_runtime::{Key, discovery};

use crate::author::Actor;
use crate::context::{Context, FIELD_MANAGER};

/// Kinds that a rollout may hold.
const KINDS: [(&str, &str); 6] = [
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("apps.kruise.io/v1alpha1", "CloneSet"),
    ("apps.kruise.io/v1beta1", "StatefulSet"),
    ("apps.kruise.io/v1alpha1", "DaemonSet"),
];

/// Let go of whatever names this rollout. The server is asked, for a copy may be behind.
pub(super) async fn sweep(
    context: &Context,
    acting: &Actor,
    key: &Key,
    rollout: &DynamicObject,
) -> Result<(), String> {
    let uid = rollout.metadata.uid.as_deref().unwrap_or_default();
    for (api_version, kind) in KINDS {
        let kind = match context.discovery.resolve(api_version, kind).await {
            Ok(kind) => kind,
            Err(discovery::Error::Unknown { .. }) => continue,
            Err(error) => return Err(error.to_string()),
        };
        let api: Api<DynamicObject> = kind.api(acting.client(), &key.namespace);
        let listed = match api.list(&ListParams::default()).await {
            Ok(listed) => listed,
            // This account never claimed workloads of a kind that it may not list.
            Err(kube::Error::Api(status)) if status.code == 403 => {
                tracing::warn!(kind = kind.resource.plural, rollout = %key, "may not look whether a rollout still holds objects of this kind");
                continue;
            }
            Err(error) => return Err(format!("cannot list {}: {}", kind.resource.plural, explain(&error))),
        };
        for object in listed {
            release(&api, &object, uid).await?;
        }
    }
    Ok(())
}

async fn release(api: &Api<DynamicObject>, object: &DynamicObject, uid: &str) -> Result<(), String> {
    let mut owners = object.metadata.owner_references.clone().unwrap_or_default();
    let before = owners.len();
    owners.retain(|owner| owner.uid != uid);
    if owners.len() == before {
        return Ok(());
    }
    let name = object.metadata.name.as_deref().unwrap_or_default();
    let patch = json!({"metadata": {
        "ownerReferences": owners,
        "resourceVersion": object.metadata.resource_version,
    }});
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    match api.patch(name, &params, &Patch::Merge(&patch)).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(format!("cannot let go of {name}: {}", explain(&error))),
    }
}
