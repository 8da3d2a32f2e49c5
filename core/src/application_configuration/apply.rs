//! Graph → Observed: writes workloads and traits in order, then removes what the last status names and nobody wants.

use kube::api::DynamicObject;
use serde_json::Value;
use vela_crds::annotations::LAST_APPLIED_CONFIGURATION;
use vela_engine::application_configuration::graph::Graph;
use vela_engine::application_configuration::render::annotate_last_applied;
use vela_engine::{Document, ObjectKey, Observed};
use vela_runtime::apply::{Conflicts, Error, Outcome};
use vela_runtime::{Failure, Key};

use super::Hands;

/// What was applied, and what was not.
pub(super) struct Applied {
    pub(super) observed: Observed,
    pub(super) failures: Vec<String>,
}

/// Apply every object; the first failure leaves the later ones for another lap.
pub(super) async fn apply(hands: &Hands, document: &Document, graph: &Graph) -> Applied {
    let mut applied = Applied { observed: Observed::new(), failures: Vec::new() };
    for object in graph.objects().filter(|object| !object.unsatisfied) {
        let name = object.key();
        match apply_one(hands, document, &object.object).await {
            Ok(live) => applied.observed.insert(live),
            Err(error) => {
                applied.failures.push(error.to_string());
                applied.observed.insert_error(name, error.to_string());
                break;
            }
        }
    }
    applied
}

async fn apply_one(hands: &Hands, document: &Document, object: &Value) -> Result<Value, Error> {
    let mut object = object.clone();
    // The era's other writers merge three ways and need the base of it on the object.
    annotate_last_applied(&mut object);
    let malformed = |error: serde_json::Error| Error::Malformed {
        object: ObjectKey::of(&object).to_string(),
        reason: error.to_string(),
    };
    let desired: DynamicObject = serde_json::from_value(object.clone()).map_err(malformed)?;
    let kind = hands.context.discovery.resolve_object(&desired).await;
    let kind =
        kind.map_err(|source| Error::Kind { object: vela_runtime::apply::describe(&desired), source })?;
    let informer = hands.owned.informer(&kind).await.ok();
    let live = informer.as_ref().and_then(|informer| informer.get(&Key::of(&desired)));
    let base = |object: &DynamicObject| {
        let annotations = object.metadata.annotations.as_ref();
        annotations.and_then(|all| all.get(LAST_APPLIED_CONFIGURATION)).cloned()
    };
    let recorded = live.as_ref().is_some_and(|live| base(live) == base(&desired));
    let uid = uid(document);
    let guard = |live: &DynamicObject| controlled_by(live, &uid);
    let done = hands.context.applier.apply(&desired, live, recorded, Conflicts::Force, &guard).await?;
    if let Some(informer) = informer.filter(|_| done.outcome != Outcome::Unchanged) {
        informer.observe((*done.object).clone());
    }
    Ok(crate::application::fetch::json(&done.object))
}

/// Delete what the previous status names and the graph does not; only objects this configuration controls.
pub(super) async fn collect(hands: &Hands, document: &Document, graph: &Graph) -> Result<(), Failure> {
    let uid = uid(document);
    for garbage in graph.garbage() {
        let guard = |live: &DynamicObject| match controller(live) {
            Some(owner) if owner == uid => Ok(()),
            _ => Err("it is not controlled by this configuration; it is kept".to_owned()),
        };
        let key = Key::new(garbage.namespace.clone(), garbage.name.clone());
        match hands.context.applier.delete(&garbage.api_version, &garbage.kind, &key, None, &guard).await {
            Ok(_) => {
                let regarding = k8s_openapi::api::core::v1::ObjectReference {
                    api_version: Some(document.api_version().to_owned()),
                    kind: Some(document.kind().to_owned()),
                    namespace: Some(document.namespace().to_owned()),
                    name: Some(document.name().to_owned()),
                    uid: Some(uid.clone()),
                    ..Default::default()
                };
                hands
                    .context
                    .events
                    .normal(&regarding, "GarbageCollectedComponent", &garbage.to_string())
                    .await;
            }
            Err(Error::Foreign { object, reason }) => tracing::info!(object, reason, "not collected"),
            Err(error) => return Err(Failure::retry(error)),
        }
    }
    Ok(())
}

fn uid(document: &Document) -> String {
    document.value()["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
}

fn controller(live: &DynamicObject) -> Option<&str> {
    let owners = live.metadata.owner_references.as_deref()?;
    owners.iter().find(|owner| owner.controller == Some(true)).map(|owner| owner.uid.as_str())
}

/// An object without a controller is adopted, as this era's objects always were; another's is left alone.
fn controlled_by(live: &DynamicObject, uid: &str) -> Result<(), String> {
    match controller(live) {
        Some(owner) if owner != uid => Err(format!("existing object is not controlled by UID \"{uid}\"")),
        _ => Ok(()),
    }
}
