//! ApplicationConfiguration → Snapshot: what it names, and what that names in turn; may not change anything.

use std::sync::Arc;

use kube::api::DynamicObject;
use vela_engine::application_configuration::parse::component_key;
use vela_engine::{Document, ObjectKey, Snapshot};
use vela_runtime::Api;
use vela_runtime::{Key, Watch, discovery};

use super::error::Error;
use super::reconciler::ApplicationConfigurationReconciler;
use super::revision_store::StoredRevision;
use crate::context::Context;

/// The snapshot that has everything the configuration asks for and the cluster has; with a revision, what that recorded instead of
/// definitions and components.
pub(super) async fn fetch(
    reconciler: &ApplicationConfigurationReconciler,
    key: &Key,
    document: &Document,
    revision: Option<&StoredRevision>,
) -> Result<Snapshot, Error> {
    let tell = |snapshot: &mut Snapshot| {
        revision.into_iter().for_each(|recorded| recorded.insert_into(document, snapshot))
    };
    let recorded = revision.is_some().then_some(&tell as &(dyn Fn(&mut Snapshot) + Send + Sync));
    let mut snapshot =
        reconciler.cluster.reader().configuration_by(&key.namespace, document, recorded).await?;
    if revision.is_none() {
        confirm_missing(reconciler, key, document, &snapshot).await?;
    }
    for scope in scopes(document, &key.namespace) {
        if snapshot.object(&scope).is_none()
            && let Some(found) = self::scope(&reconciler.context, &scope).await?
        {
            snapshot.insert_object(crate::application::fetch::json(&found));
        }
    }
    Ok(snapshot)
}

/// That a component is missing is told for good, so a copy that is behind does not decide it: what the server has is on its
/// way to us and wakes us.
async fn confirm_missing(
    reconciler: &ApplicationConfigurationReconciler,
    key: &Key,
    document: &Document,
    snapshot: &Snapshot,
) -> Result<(), Error> {
    let entries = document.value()["spec"]["components"].as_array();
    for entry in entries.into_iter().flatten() {
        let Some(component) = component_key(entry, document.namespace()) else { continue };
        if component.kind != "Component" || snapshot.object(&component).is_some() {
            continue;
        }
        let resource = &reconciler.components.watch().resource;
        let api: Api<DynamicObject> =
            Api::namespaced_with(reconciler.context.client.clone(), &key.namespace, resource);
        if api.get_opt(&component.name).await?.is_some() {
            return Err(Error::Pending);
        }
    }
    Ok(())
}

fn scopes(document: &Document, namespace: &str) -> Vec<ObjectKey> {
    let components = document.value()["spec"]["components"].as_array();
    let entries = components.into_iter().flatten().filter_map(|entry| entry["scopes"].as_array());
    let part =
        |reference: &serde_json::Value, field: &str| reference[field].as_str().unwrap_or_default().to_owned();
    entries
        .flatten()
        .map(|entry| {
            ObjectKey::local(
                part(&entry["scopeRef"], "apiVersion"),
                part(&entry["scopeRef"], "kind"),
                namespace,
                part(&entry["scopeRef"], "name"),
            )
        })
        .collect()
}

/// A scope of any kind: scopes carry no labels of ours, so all objects of the kind are watched; they are few.
pub(super) async fn scope(
    context: &Context,
    key: &ObjectKey,
) -> Result<Option<Arc<DynamicObject>>, crate::application::fetch::Error> {
    let kind = match context.discovery.resolve(&key.api_version, &key.kind).await {
        Ok(kind) => kind,
        Err(discovery::Error::Unknown { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let informer = context.cache.informer(Watch::full(kind.resource));
    informer.synced().await?;
    Ok(informer.get(&Key::new(key.namespace.clone(), key.name.clone())))
}
