//! Graph → Applied: writes workloads and traits, several components at the same time, then memberships in scopes.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::api::DynamicObject;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use vela_crds::annotations::LAST_APPLIED_CONFIGURATION;
use vela_engine::application_configuration::garbage::mark;
use vela_engine::application_configuration::render::{
    RenderedComponent, RenderedObject, annotate_last_applied,
};
use vela_engine::application_configuration::{ApplyOnce, Graph};
use vela_runtime::Key;
use vela_runtime::apply::{self as runtime_apply, Conflicts, Error, describe};
use vela_runtime::graph::{Cause, Graph as Writes, Outcome, Run};
use vela_runtime::owner::controller_of;

use super::siblings::{self, Holder};
use super::{Hands, scopes};
use crate::application::fetch::json;
use crate::author::Acting;
use crate::fixed;
use crate::order::{Thing, earlier};

/// What a lap that applied everything knows.
#[derive(Debug, Default)]
pub(super) struct Applied {
    /// Objects that were created or changed, and scopes that were edited.
    pub(super) written: usize,
    /// Identities of the wanted objects that are there.
    pub(super) uids: BTreeSet<String>,
}

/// How to apply.
pub(super) struct Order<'a> {
    /// On whose behalf.
    pub(super) acting: &'a Acting,
    pub(super) graph: &'a Graph,
    /// The uid of the configuration.
    pub(super) uid: &'a str,
    pub(super) mode: ApplyOnce,
    /// The configuration's status before this lap.
    pub(super) status: Option<&'a Value>,
}

/// What became of one component's objects.
#[derive(Default)]
struct Part {
    written: usize,
    uids: BTreeSet<String>,
}

/// Apply the components, several at the same time. The first failure leaves those that were not begun for another lap;
/// what was begun is ended. The failure that is told is that of the component written first.
pub(super) async fn apply(hands: &Hands, order: &Order<'_>) -> Result<Applied, String> {
    let components = order.graph.components();
    let objects: Vec<Vec<Thing<'_>>> = components
        .iter()
        .map(|component| component.objects().map(|object| Thing::of_json(&object.object)).collect())
        .collect();
    let mut writes = Writes::new();
    for (at, (component, earlier)) in components.iter().zip(earlier(&objects)).enumerate() {
        writes.add(at, component, earlier).map_err(|error| error.to_string())?;
    }
    let stop = CancellationToken::new();
    let run = Run::new(hands.context.options.concurrent_writes).until(stop.clone());
    let report = writes.run(&run, async |_, component| {
        apply_component(hands, order, component).await.map_err(|error| {
            stop.cancel();
            Cause::later(error)
        })
    });
    let outcomes = report.await.into_outcomes();
    let mut applied = Applied::default();
    for (component, (_, outcome)) in components.iter().zip(&outcomes) {
        // Those behind a failure belong to the next lap.
        let Outcome::Done(part) = outcome else { break };
        applied.written += part.written;
        applied.uids.extend(part.uids.iter().cloned());
        // Components may share a scope, whose list is edited by one after the other.
        let joined = scopes::join(hands, order.acting, component).await;
        applied.written += joined.map_err(|error| format!("cannot apply scope: {error}"))?;
    }
    for (component, (_, outcome)) in components.iter().zip(outcomes) {
        if let Outcome::Failed(cause) = outcome {
            return Err(match cause {
                Cause::Panicked(said) => {
                    format!("cannot apply component {:?}: vela-core panicked: {said}", component.name)
                }
                cause => cause.to_string(),
            });
        }
    }
    Ok(applied)
}

async fn apply_component(
    hands: &Hands,
    order: &Order<'_>,
    component: &RenderedComponent,
) -> Result<Part, String> {
    let mut part = Part::default();
    for (index, object) in component.objects().enumerate() {
        let done = apply_one(hands, order, object).await.map_err(|error| order.acting.told(&error));
        let done = done.map_err(|error| match index {
            0 => format!("cannot apply workload {:?}: {error}", object.key().name),
            _ => {
                let key = object.key();
                format!("cannot apply trait {:?} {:?} {:?}: {error}", key.api_version, key.kind, key.name)
            }
        })?;
        let Some((live, outcome)) = done else { continue };
        part.written += usize::from(outcome != runtime_apply::Outcome::Unchanged);
        part.uids.extend(live.metadata.uid.clone());
    }
    Ok(part)
}

/// The live object afterwards, or nothing when it is not there and stays so.
async fn apply_one(
    hands: &Hands,
    order: &Order<'_>,
    rendered: &RenderedObject,
) -> Result<Option<(Arc<DynamicObject>, runtime_apply::Outcome)>, Error> {
    let mut object = rendered.object.clone();
    // The era's other writers merge three ways and need the base of it on the object.
    annotate_last_applied(&mut object);
    let malformed = |error: serde_json::Error| Error::Malformed {
        object: rendered.key().to_string(),
        reason: error.to_string(),
    };
    let desired: DynamicObject = serde_json::from_value(object.clone()).map_err(malformed)?;
    let kind = hands.context.discovery.resolve_object(&desired).await;
    let kind = kind.map_err(|source| Error::Kind { object: describe(&desired), source })?;
    let informer = hands.owned.informer(&kind).await.ok();
    let key = Key::of(&desired);
    let mut live = informer.as_ref().and_then(|informer| informer.get(&key));
    if rendered.unsatisfied || rendered.left {
        return Ok(live.map(|live| (live, runtime_apply::Outcome::Unchanged)));
    }
    if order.mode != ApplyOnce::Off && live.is_none() {
        // Whether it is missing decides, so it is not left to the cache.
        let api = kind.api(order.acting.client(), &key.namespace);
        let read = api.get_opt(&key.name).await;
        let failed = |source| Error::Client { object: describe(&desired), source };
        live = read.map_err(failed)?.map(Arc::new);
    }
    let seen = live.as_ref().map(|live| json(live));
    if !order.mode.applies(&object, seen.as_ref(), order.status) {
        return Ok(live.map(|live| (live, runtime_apply::Outcome::Unchanged)));
    }
    let base = |object: &DynamicObject| {
        let annotations = object.metadata.annotations.as_ref();
        annotations.and_then(|all| all.get(LAST_APPLIED_CONFIGURATION)).cloned()
    };
    let recorded = live.as_ref().is_some_and(|live| base(live) == base(&desired));
    let configuration = order.graph.rendered().document();
    let own = Key::new(order.graph.rendered().namespace(), configuration.name());
    if let Some(live) = live.as_ref().filter(|live| siblings::holder(hands, &own, live) == Holder::Later) {
        return Ok(Some((live.clone(), runtime_apply::Outcome::Unchanged)));
    }
    let guard = |live: &DynamicObject| match siblings::holder(hands, &own, live) {
        Holder::Former => Ok(()),
        Holder::Other | Holder::Later => may_apply(live, order.uid),
    };
    let applied =
        order.acting.applier().apply(&desired, live.clone(), recorded, Conflicts::Force, &guard).await;
    let done = applied.map_err(|error| match (fixed::fields(&error), &live) {
        (Some(fields), Some(live)) => {
            Error::Foreign { object: describe(&desired), reason: fixed::advice(&fields, &desired, live) }
        }
        _ => error,
    })?;
    if let Some(informer) = informer.filter(|_| done.outcome != runtime_apply::Outcome::Unchanged) {
        informer.observe((*done.object).clone());
    }
    Ok(Some((done.object, done.outcome)))
}

/// An object without a controller is adopted, as this era's objects always were; another's is left alone.
fn may_apply(live: &DynamicObject, uid: &str) -> Result<(), String> {
    match controller_of(live) {
        Some(owner) if owner.uid != uid => Err(format!(
            "existing object is not controlled by UID {uid:?}: it belongs to {} {}; rename one of the two",
            owner.kind, owner.name
        )),
        None => match mark(&json(live)) {
            Some((namespace, name, other)) if other != uid => Err(format!(
                "existing object belongs to ApplicationConfiguration {namespace}/{name}: rename one of the two, or take its \
                 annotation {} off",
                vela_crds::annotations::CONFIGURATION
            )),
            _ => Ok(()),
        },
        Some(_) => Ok(()),
    }
}
