//! Applied objects → their values in the stores between, each written when it differs.

use std::sync::Arc;

use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use vela_crds::annotations::LAST_APPLIED_CONFIGURATION;
use vela_engine::application_configuration::data::{Objects, StorePlan};
use vela_engine::application_configuration::render::annotate_last_applied;
use vela_engine::application_configuration::status::message;
use vela_engine::{Code, Diagnostic, Diagnostics, ObjectKey};
use vela_runtime::{Api, Failure, Key};

use super::apply::Order;
use super::data::{applied, refused};
use super::error::{Error, Failed, PhaseError};
use super::reconciler::ApplicationConfigurationReconciler;
use crate::application::fetch::json as to_json;
use crate::context::FIELD_MANAGER;
use crate::status::difference;

/// Puts what the applied objects give into their stores; says how many were written.
pub(super) async fn write(
    reconciler: &ApplicationConfigurationReconciler,
    order: &Order<'_>,
    plans: &[StorePlan],
) -> Result<usize, Error> {
    let mut written = 0;
    for plan in plans {
        let mut sources = Objects::new();
        for source in plan.sources() {
            let kind = reconciler.context.discovery.resolve(&source.api_version, &source.kind).await;
            let key = Key::new(source.namespace.clone(), source.name.clone());
            if let Some(object) = applied(reconciler, &kind.map_err(Failure::retry)?, &key).await {
                sources.insert(source.clone(), to_json(&object));
            }
        }
        written += usize::from(write_one(reconciler, order, plan, &sources).await?);
    }
    Ok(written)
}

async fn write_one(
    reconciler: &ApplicationConfigurationReconciler,
    order: &Order<'_>,
    plan: &StorePlan,
    sources: &Objects,
) -> Result<bool, Error> {
    let (store, document) = (plan.key(), order.graph.rendered().document());
    let wrong = |found: Diagnostics| {
        let templating = order.graph.rendered().templates();
        Error::from(PhaseError::Apply(Failed::passing(message(&found)).templating(templating)))
    };
    let (live, last) = {
        let memories = reconciler.flows.memories();
        let memory = memories.get(order.work.key);
        let live = memory.and_then(|memory| memory.read.get(store)).cloned();
        (live, memory.and_then(|memory| memory.written.get(store)).cloned())
    };
    let base = live.as_ref().map(|live| without_base(to_json(live)));
    let content = plan.content(document, base.as_ref(), |source| sources.get(source));
    let Some(content) = content.map_err(|error| wrong(error.into()))? else { return Ok(false) };
    let version = |live: &DynamicObject| live.metadata.resource_version.clone();
    if let (Some(live), Some((wanted, made))) = (&live, &last)
        && *wanted == content
        && *made == version(live)
    {
        return Ok(false);
    }
    let kind = reconciler.context.discovery.resolve(&store.api_version, &store.kind).await;
    let api = kind.map_err(Failure::retry)?.api(order.acting.client(), &store.namespace);
    let stored = match &live {
        None => create(&api, &content).await,
        Some(live) => {
            may_write(live, store, order.work.uid())
                .map_err(|message| wrong(Diagnostic::error(Code::Collision, message).into()))?;
            update(&api, live, &content).await
        }
    };
    let stored = stored.map_err(|failure| match failure {
        Unwritten::Client(error) => refused(order.acting, "write", &store.to_string(), error),
        Unwritten::Malformed(failure) => Error::Unavailable(failure),
    })?;
    let mut memories = reconciler.flows.memories();
    let memory = memories.entry(order.work.key.clone()).or_default();
    memory.written.insert(store.clone(), (content, version(&stored)));
    memory.read.insert(store.clone(), Arc::new(stored));
    Ok(true)
}

/// Why a store was not written.
enum Unwritten {
    Malformed(Failure),
    Client(kube::Error),
}

impl From<kube::Error> for Unwritten {
    fn from(error: kube::Error) -> Self {
        Self::Client(error)
    }
}

async fn create(api: &Api<DynamicObject>, content: &Value) -> Result<DynamicObject, Unwritten> {
    let object = serde_json::from_value(with_base(content))
        .map_err(|error| Unwritten::Malformed(Failure::terminal(error)))?;
    let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
    Ok(api.create(&params, &object).await?)
}

/// Only what differs is sent, bound to the version that was read: others may write into a store too.
async fn update(
    api: &Api<DynamicObject>,
    live: &DynamicObject,
    content: &Value,
) -> Result<DynamicObject, Unwritten> {
    let mut patch = difference(&to_json(live), &with_base(content)).unwrap_or_else(|| json!({}));
    patch["metadata"]["resourceVersion"] = json!(live.metadata.resource_version);
    patch["metadata"]["uid"] = json!(live.metadata.uid);
    let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
    let name = live.metadata.name.clone().unwrap_or_default();
    Ok(api.patch(&name, &params, &Patch::Merge(&patch)).await?)
}

/// A store without a controller may be any configuration's to write into, as this era's stores always were.
fn may_write(live: &DynamicObject, store: &ObjectKey, uid: &str) -> Result<(), String> {
    match vela_runtime::owner::controller_of(live) {
        Some(owner) if owner.uid != uid => Err(format!(
            "the store {store} is controlled by {} {}; give this configuration a store of its own",
            owner.kind, owner.name
        )),
        _ => Ok(()),
    }
}

/// The object without the base of three-way merges: it is bookkeeping, not content.
fn without_base(mut object: Value) -> Value {
    if let Some(all) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        all.remove(LAST_APPLIED_CONFIGURATION);
    }
    object
}

/// The object with that base, which tells what was written and not what the server keeps about it.
fn with_base(content: &Value) -> Value {
    let mut base = content.clone();
    if let Some(metadata) = base["metadata"].as_object_mut() {
        for field in
            ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink"]
        {
            metadata.remove(field);
        }
    }
    if let Some(object) = base.as_object_mut() {
        object.remove("status");
    }
    annotate_last_applied(&mut base);
    let mut object = content.clone();
    object["metadata"]["annotations"] = base["metadata"]["annotations"].clone();
    object
}
