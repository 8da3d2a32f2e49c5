//! ApplicationConfiguration → Snapshot: what it names, and what that names in turn; may not change anything.

use std::sync::Arc;

use kube::api::DynamicObject;
use vela_engine::application_configuration::parse::component_key;
use vela_engine::{Document, ObjectKey, Snapshot};
use vela_runtime::Api;
use vela_runtime::{Key, Watch, discovery};

use super::Hands;
use super::keep::Record;
use super::phase::Stopped;
use crate::context::Context;

/// The snapshot that has everything the configuration asks for and the cluster has; with a record, what that says instead of
/// definitions and components.
pub(super) async fn fetch(
    hands: &Hands,
    key: &Key,
    document: &Document,
    record: Option<&Record>,
) -> Result<Snapshot, Stopped> {
    let tell =
        |snapshot: &mut Snapshot| record.into_iter().for_each(|record| record.tell(document, snapshot));
    let recorded = record.is_some().then_some(&tell as &(dyn Fn(&mut Snapshot) + Send + Sync));
    let mut snapshot = hands.world.reader().configuration_by(&key.namespace, document, recorded).await?;
    if record.is_none() {
        confirm_missing(hands, key, document, &snapshot).await?;
    }
    for scope in scopes(document, &key.namespace) {
        if snapshot.object(&scope).is_none()
            && let Some(found) = self::scope(&hands.context, &scope).await?
        {
            snapshot.insert_object(crate::application::fetch::json(&found));
        }
    }
    Ok(snapshot)
}

/// That a component is missing is told for good, so a copy that is behind does not decide it: what the server has is on its
/// way to us and wakes us.
async fn confirm_missing(
    hands: &Hands,
    key: &Key,
    document: &Document,
    snapshot: &Snapshot,
) -> Result<(), Stopped> {
    let entries = document.value()["spec"]["components"].as_array();
    for entry in entries.into_iter().flatten() {
        let Some(component) = component_key(entry, document.namespace()) else { continue };
        if component.kind != "Component" || snapshot.object(&component).is_some() {
            continue;
        }
        let resource = &hands.components.watch().resource;
        let api: Api<DynamicObject> =
            Api::namespaced_with(hands.context.client.clone(), &key.namespace, resource);
        if api.get_opt(&component.name).await?.is_some() {
            return Err(Stopped::NotYet);
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
        .map(|entry| ObjectKey {
            api_version: part(&entry["scopeRef"], "apiVersion"),
            kind: part(&entry["scopeRef"], "kind"),
            namespace: namespace.to_owned(),
            name: part(&entry["scopeRef"], "name"),
        })
        .collect()
}

/// A scope of any kind: nobody labels scopes, so all objects of the kind are watched; they are few.
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
