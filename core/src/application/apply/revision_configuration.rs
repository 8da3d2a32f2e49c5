//! The configuration of one revision → made so that nothing of it runs beside what another revision runs, and written
//! afterwards without what only rollouts change.
//!
//! Which components wait is decided once, when the configuration is made, from all other configurations of the record. It is
//! made with the answer, by one request: a reader that sees it sees the answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kube::api::{DynamicObject, PostParams};
use serde_json::Value;
use vela_crds::annotations::ROLLING_COMPONENTS;
use vela_engine::application_configuration::{API_VERSION, KIND, handover, is_of_a_revision};
use vela_runtime::apply::{Applied, Error, Outcome, describe};
use vela_runtime::owner::controller_of;
use vela_runtime::{Api, Key, Kind};

use crate::application::fetch::json;
use crate::application::inventory::Record;
use crate::application::reconciler::ApplicationReconciler;
use crate::author::Actor;
use crate::context::FIELD_MANAGER;

/// Is the object about to be written such a configuration? It says which of its components may have to wait.
pub(super) fn is_one(object: &DynamicObject) -> bool {
    let types = object.types.as_ref();
    types.is_some_and(|types| types.api_version == API_VERSION && types.kind == KIND)
        && is_of_a_revision(&json(object))
}

/// The other configurations of the application: those that a copy shows, and those that the record names, which it does
/// before they are made. One that goes still has its pods.
pub(super) async fn others(
    reconciler: &ApplicationReconciler,
    record: &Record,
    object: &DynamicObject,
) -> Result<Vec<Value>, Error> {
    let own = Key::of(object);
    let is_other = |key: &Key| key.namespace == own.namespace && key.name != own.name;
    let application = controller_of(object).map(|owner| owner.uid.as_str());
    let is_known = |known: &DynamicObject| {
        is_other(&Key::of(known)) && controller_of(known).map(|owner| owner.uid.as_str()) == application
    };
    let known = reconciler.configurations.list_where(is_known);
    let mut others: BTreeMap<Key, Value> = known.iter().map(|known| (Key::of(known), json(known))).collect();
    let resource = reconciler.configurations.watch().resource.clone();
    let api: Api<DynamicObject> =
        Api::namespaced_with(reconciler.context.client.clone(), &own.namespace, &resource);
    let named = record.entries.keys().filter(|owned| owned.api_version == API_VERSION && owned.kind == KIND);
    for owned in named.filter(|owned| is_other(&owned.key)) {
        if others.contains_key(&owned.key) {
            continue;
        }
        let found = api.get_opt(&owned.key.name).await;
        let found =
            found.map_err(|source| Error::Client { object: owned.object_key().to_string(), source })?;
        others.extend(found.map(|found| (owned.key.clone(), json(&found))));
    }
    Ok(others.into_values().collect())
}

/// Make it, so that what another configuration runs waits for a rollout.
pub(super) async fn create(
    kind: &Kind,
    acting: &Actor,
    object: &DynamicObject,
    others: &[Value],
) -> Result<Applied, Error> {
    let mut made = json(object);
    let candidates: BTreeSet<&str> = handover::rolling(&made);
    let waiting = handover::waiting(&made, &candidates, others);
    let waiting: BTreeSet<String> = waiting.into_iter().map(str::to_owned).collect();
    handover::set_waiting(&mut made, &waiting);
    let made = typed(made, object)?;
    let key = Key::of(object);
    let api: Api<DynamicObject> = kind.api(acting.client(), &key.namespace);
    let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
    let created = api.create(&params, &made).await;
    let created = created.map_err(|source| Error::Client { object: describe(object), source })?;
    if !waiting.is_empty() {
        let components = created.metadata.annotations.as_ref().and_then(|all| all.get(ROLLING_COMPONENTS));
        tracing::info!(configuration = %key, ?components, "it waits for a rollout");
    }
    Ok(Applied { object: Arc::new(created), kind: kind.clone(), outcome: Outcome::Created })
}

/// The configuration as it is written when it is there: rollouts alone say what becomes of its components.
pub(super) fn without_marks(object: &DynamicObject) -> Result<DynamicObject, Error> {
    let mut written = json(object);
    handover::without_marks(&mut written);
    typed(written, object)
}

fn typed(value: Value, object: &DynamicObject) -> Result<DynamicObject, Error> {
    let malformed =
        |error: serde_json::Error| Error::Malformed { object: describe(object), reason: error.to_string() };
    serde_json::from_value(value).map_err(malformed)
}
