//! What an earlier lap made and nobody wants any more → deleted, if that is safe beyond doubt; else said why not.
//!
//! Deleting wrongly cannot be mended, so it is the last and most careful thing of a lap: only after everything wanted
//! was applied; only what has been garbage for a moment; only after reads past every cache have shown that the
//! configuration, its components and its Application still ask for what this lap applied; only an object that the configuration
//! controls; and bound to the version of it that was judged.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kube::api::DynamicObject;
use vela_engine::application_configuration::garbage::{Garbage, Kept, deletable};
use vela_runtime::confirm::Seen;
use vela_runtime::{Key, apply as runtime_apply, events};

use super::apply::{Applied, Order};
use super::asked::{Asked, ask};
use super::{Hands, elsewhere};
use crate::application::fetch::json;
use crate::prune::{self, Decision, Pruned};

/// When somebody changed the configuration while we looked: its watch wakes us, this is for a watch that is late.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What became of the garbage.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub(super) deleted: Vec<Garbage>,
    /// Not gone yet: it stays recorded.
    pub(super) left: Vec<Garbage>,
    /// Why some of it must stay, for the user.
    pub(super) trouble: Option<String>,
    /// Come again after this time.
    pub(super) again: Option<Duration>,
}

/// Collect what the graph leaves over. The caller applied the whole graph in this lap.
pub(super) async fn collect(
    hands: &Hands,
    configuration: &DynamicObject,
    order: &Order<'_>,
    applied: &Applied,
) -> Result<Collected, runtime_apply::Error> {
    let key = Key::of(configuration);
    let mut left = order.graph.garbage();
    let elsewhere = elsewhere::garbage(hands, configuration, order.graph).await?;
    left.extend(elsewhere.into_iter().filter(|found| !left.contains(found)).collect::<Vec<_>>());
    let mut collected = Collected { left, ..Collected::default() };
    if collected.left.is_empty() {
        hands.quiet.forget(&key);
        return Ok(collected);
    }
    if !order.graph.rendered().unsatisfied().is_empty() {
        // What waits for a value is not there yet: until it is, what it replaces stays.
        return Ok(collected);
    }
    let components = components(hands, configuration);
    let content = content(configuration, &components);
    if let Some(left) = hands.quiet.left(&key, &content) {
        collected.again = Some(left);
        return Ok(collected);
    }
    let asked = ask(hands, configuration).await?;
    let Some(seen) = seen(hands, configuration, &components, &asked) else { return Ok(collected) };
    let decision = Decision { context: &hands.context, acting: order.acting, seen };
    let mut refused = Vec::new();
    for garbage in std::mem::take(&mut collected.left) {
        match delete(hands, &garbage, order, applied, &decision).await? {
            Fate::Deleted => collected.deleted.push(garbage),
            Fate::Gone => {}
            Fate::Refused(why) => {
                refused.push(why.to_string());
                collected.left.push(garbage);
            }
            Fate::Unsure => {
                collected.left.push(garbage);
                collected.again = Some(LOOK_AGAIN);
            }
        }
    }
    collected.trouble = (!refused.is_empty()).then(|| refused.join("; "));
    tell(hands, configuration, &collected.deleted).await;
    Ok(collected)
}

async fn tell(hands: &Hands, configuration: &DynamicObject, deleted: &[Garbage]) {
    let regarding = events::reference(configuration);
    for garbage in deleted {
        hands.context.events.normal(&regarding, "GarbageCollectedComponent", &garbage.key.to_string()).await;
    }
}

/// The components that are named without a revision: with them the wish changes.
pub(super) fn components(hands: &Hands, configuration: &DynamicObject) -> Vec<std::sync::Arc<DynamicObject>> {
    let namespace = configuration.metadata.namespace.clone().unwrap_or_default();
    let entries = configuration.data["spec"]["components"].as_array();
    let pinned =
        |entry: &serde_json::Value| entry["revisionName"].as_str().is_some_and(|name| !name.is_empty());
    let names = entries.into_iter().flatten().filter(|entry| !pinned(entry));
    names
        .filter_map(|entry| entry["componentName"].as_str())
        .filter_map(|name| hands.components.get(&Key::new(namespace.clone(), name)))
        .collect()
}

/// What a wish was read from; nothing when it is not what its Application asks for now.
pub(super) fn seen<'a>(
    hands: &'a Hands,
    configuration: &'a DynamicObject,
    components: &'a [std::sync::Arc<DynamicObject>],
    asked: &'a Asked,
) -> Option<Vec<Seen<'a>>> {
    let mut seen = vec![Seen { resource: &hands.configurations.watch().resource, object: configuration }];
    let resource = &hands.components.watch().resource;
    seen.extend(components.iter().map(|object| Seen { resource, object }));
    match asked {
        Asked::Itself => {}
        Asked::Latest(latest) => seen.push(Seen { resource: &latest.0, object: &latest.1 }),
        Asked::Earlier => return None,
    }
    Some(seen)
}

/// What a wish is made of, as one text.
pub(super) fn content(configuration: &DynamicObject, components: &[std::sync::Arc<DynamicObject>]) -> String {
    let one = |object: &DynamicObject| {
        let metadata = &object.metadata;
        format!(
            "{:?} {:?} {:?} {:?}",
            metadata.uid, metadata.generation, metadata.labels, metadata.annotations
        )
    };
    let mut all = one(configuration);
    components.iter().for_each(|component| all.push_str(&one(component)));
    all
}

enum Fate {
    /// By us, now.
    Deleted,
    /// It is not there, or not ours.
    Gone,
    /// It must stay.
    Refused(Kept),
    /// Something changed while we looked.
    Unsure,
}

async fn delete(
    hands: &Hands,
    garbage: &Garbage,
    order: &Order<'_>,
    applied: &Applied,
    decision: &Decision<'_>,
) -> Result<Fate, runtime_apply::Error> {
    let key = Key::new(garbage.key.namespace.clone(), garbage.key.name.clone());
    let verdict: Mutex<Option<Result<(), Kept>>> = Mutex::new(None);
    let guard = |live: &DynamicObject| {
        let found = deletable(&json(live), order.uid, &applied.uids, order.mode);
        let answer = found.as_ref().copied().map_err(ToString::to_string);
        *verdict.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
        answer
    };
    let identity = (garbage.key.api_version.as_str(), garbage.key.kind.as_str(), &key);
    let pruned = prune::delete(decision, identity, &guard).await?;
    let verdict = verdict.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(match (pruned, verdict) {
        (Pruned::Gone | Pruned::Going, Some(_)) => {
            let kind = hands.context.discovery.resolve(identity.0, identity.1).await;
            if let Ok(kind) = kind
                && let Ok(informer) = hands.owned.informer(&kind).await
            {
                informer.forget(&key);
            }
            Fate::Deleted
        }
        (Pruned::Gone | Pruned::Going, None) => Fate::Gone,
        (Pruned::Changed, _) => Fate::Unsure,
        (Pruned::Foreign(_), Some(Err(kept @ Kept::Running(_)))) => Fate::Refused(kept),
        (Pruned::Foreign(reason), _) => {
            tracing::info!(object = %garbage.key, reason, "not collected");
            Fate::Gone
        }
    })
}
