//! What an earlier lap made and nobody wants any more → deleted, if that is safe beyond doubt; else said why not.
//!
//! Deleting wrongly cannot be mended, so it is the last and most careful thing of a lap: only after everything wanted
//! was applied; only what has been garbage for a moment; only after reads past every cache have shown that the
//! configuration and its components still ask for what this lap applied; only an object that the configuration
//! controls; and bound to the version of it that was judged.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kube::api::{Api, DeleteParams, DynamicObject, Preconditions, PropagationPolicy};
use tokio::time::Instant;
use vela_engine::application_configuration::garbage::{Garbage, Kept, deletable};
use vela_runtime::confirm::{Seen, confirm};
use vela_runtime::discovery;
use vela_runtime::{Key, events};

use super::Hands;
use super::apply::{Applied, Order};
use crate::application::fetch::json;

/// How long an object must have been garbage of one and the same content before it is deleted. People and pipelines
/// that go back and forth do it within milliseconds; what comes back in this time keeps its object.
const QUIET: Duration = Duration::from_secs(2);
/// When somebody changed the configuration while we looked: its watch wakes us, this is for a watch that is late.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Since when which content of which configuration has garbage.
#[derive(Debug, Default)]
pub(super) struct Quiet {
    since: Mutex<BTreeMap<Key, (String, Instant)>>,
}

impl Quiet {
    /// The configuration has no garbage, or is gone.
    pub(super) fn forget(&self, key: &Key) {
        self.since.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    /// How long this content must still stay the same; nothing when it was long enough.
    fn left(&self, key: &Key, content: &str, now: Instant) -> Option<Duration> {
        let mut all = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        match all.get(key) {
            Some((known, since)) if known == content => {
                QUIET.checked_sub(now.saturating_duration_since(*since)).filter(|left| !left.is_zero())
            }
            _ => {
                all.insert(key.clone(), (content.to_owned(), now));
                Some(QUIET)
            }
        }
    }
}

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
) -> Result<Collected, kube::Error> {
    let key = Key::of(configuration);
    let mut collected = Collected { left: order.graph.garbage(), ..Collected::default() };
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
    if let Some(left) = hands.quiet.left(&key, &content, Instant::now()) {
        collected.again = Some(left);
        return Ok(collected);
    }
    let mut seen = vec![Seen { resource: &hands.configurations.watch().resource, object: configuration }];
    let resource = &hands.components.watch().resource;
    seen.extend(components.iter().map(|object| Seen { resource, object }));
    let mut refused = Vec::new();
    for garbage in std::mem::take(&mut collected.left) {
        match delete(hands, &garbage, order, applied, &seen).await? {
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
fn components(hands: &Hands, configuration: &DynamicObject) -> Vec<std::sync::Arc<DynamicObject>> {
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

/// What a wish is made of, as one text.
fn content(configuration: &DynamicObject, components: &[std::sync::Arc<DynamicObject>]) -> String {
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

/// Read the object, judge it, confirm the wish, delete; in this order, so that a wish that comes back while we look
/// changes one of the two reads, and one that comes back later finds the object written or gone.
async fn delete(
    hands: &Hands,
    garbage: &Garbage,
    order: &Order<'_>,
    applied: &Applied,
    seen: &[Seen<'_>],
) -> Result<Fate, kube::Error> {
    let key = &garbage.key;
    let kind = match hands.context.discovery.resolve(&key.api_version, &key.kind).await {
        Ok(kind) => kind,
        // With its kind gone from the server the object is gone too.
        Err(discovery::Error::Unknown { .. }) => return Ok(Fate::Gone),
        Err(discovery::Error::Client { source, .. }) => return Err(source),
    };
    let api: Api<DynamicObject> = kind.api(hands.context.client.clone(), &key.namespace);
    let Some(live) = api.get_opt(&key.name).await? else { return Ok(Fate::Gone) };
    if live.metadata.deletion_timestamp.is_some() {
        return Ok(Fate::Gone);
    }
    match deletable(&json(&live), order.uid, &applied.uids, order.mode) {
        Ok(()) => {}
        Err(Kept::Foreign(reason)) => {
            tracing::info!(object = %key, reason, "not collected");
            return Ok(Fate::Gone);
        }
        Err(kept) => return Ok(Fate::Refused(kept)),
    }
    if confirm(&hands.context.client, seen).await?.is_none() {
        return Ok(Fate::Unsure);
    }
    let params = DeleteParams {
        propagation_policy: Some(PropagationPolicy::Background),
        preconditions: Some(Preconditions {
            uid: live.metadata.uid.clone(),
            resource_version: live.metadata.resource_version.clone(),
        }),
        ..DeleteParams::default()
    };
    match api.delete(&key.name, &params).await {
        Ok(_) => {
            if let Ok(informer) = hands.owned.informer(&kind).await {
                informer.forget(&Key::of(&live));
            }
            Ok(Fate::Deleted)
        }
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Fate::Gone),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(Fate::Unsure),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_content_that_stays_the_same_becomes_quiet() {
        let quiet = Quiet::default();
        let (key, start) = (Key::new("ns", "shop"), Instant::now());
        assert_eq!(quiet.left(&key, "b", start), Some(QUIET));
        assert_eq!(quiet.left(&key, "b", start + QUIET / 2), Some(QUIET / 2));
        let back = quiet.left(&key, "a", start + QUIET);
        assert_eq!(back, Some(QUIET), "it came back: the time starts anew");
        assert_eq!(quiet.left(&key, "a", start + QUIET * 2), None);
        quiet.forget(&key);
        assert_eq!(quiet.left(&key, "a", start + QUIET * 2), Some(QUIET));
    }
}
