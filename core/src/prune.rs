//! Deletes what an owner no longer names, after a quiet time and a fresh read of the owner; nothing else deletes for an
//! owner.
//!
//! A delete cannot be undone, and what decides it may be out of date: a cache lags, a user goes back to the former
//! content, another process has become the leader. Therefore, in this order:
//!
//! 1. the caller applied the whole set of the same content in the same reconcile, and its record, written against the
//!    version it was read in, marks the object as unwanted;
//! 2. the owner's content has been the same for [`QUIET`];
//! 3. the object is read from the server, and the guard says that it is the owner's;
//! 4. the owner, and what else decided, is read from the server and is what this reconcile rendered;
//! 5. the delete names the uid and the version of the object that was read.
//!
//! A reconcile that wants a marked object again takes the mark off and writes the object, so its version moves, and a
//! delete that was decided before, however late it is sent, fails.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kube::api::{Patch, PatchParams};
use serde_json::json;
use tokio::time::Instant;
use vela_crds::labels;
use vela_runtime::Key;
use vela_runtime::apply::{self as runtime_apply, Deletion, Guard};
use vela_runtime::confirm::{Seen, confirm};

use crate::author::Actor;
use crate::context::Context;
use crate::successors;

/// How long an owner's content must have been the same before anything that it does not name is deleted. People and
/// tools that go back to the former content right after a change do so within a second or two, and a rest that stays
/// two seconds longer disturbs no user.
pub(crate) const QUIET: Duration = Duration::from_secs(2);

/// Owners remembered at most; beyond it the memory starts anew, at the price of waiting once more.
const OWNERS_AT_MOST: usize = 50_000;

/// Since when each owner with something unwanted has had its present content, as this process saw it. The time is not
/// stored: a restart waits anew, and no two clocks need to agree. The record holds the unwanted objects.
#[derive(Clone, Debug, Default)]
pub(crate) struct QuietTimes {
    since: Arc<Mutex<BTreeMap<Key, (String, Instant)>>>,
}

impl QuietTimes {
    /// The rest of the quiet time of this content; nothing when it is over.
    pub(crate) fn left(&self, owner: &Key, content: &str) -> Option<Duration> {
        let now = Instant::now();
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        if since.len() >= OWNERS_AT_MOST && !since.contains_key(owner) {
            since.clear();
        }
        let known = since.entry(owner.clone()).or_insert_with(|| (content.to_owned(), now));
        if known.0 != content {
            *known = (content.to_owned(), now);
        }
        let left = QUIET.saturating_sub(now.duration_since(known.1));
        (!left.is_zero()).then_some(left)
    }

    /// This owner has no unwanted object, or it is gone.
    pub(crate) fn forget(&self, owner: &Key) {
        self.since.lock().unwrap_or_else(PoisonError::into_inner).remove(owner);
    }
}

/// The basis of the decision that an object is unwanted, as the reconcile had it: the owner first.
pub(crate) struct Decision<'a> {
    pub(crate) context: &'a Context,
    /// On whose behalf it is deleted.
    pub(crate) acting: &'a Actor,
    pub(crate) seen: Vec<Seen<'a>>,
}

/// The result for an unwanted object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pruned {
    /// It is not there any more.
    Gone,
    /// It is being deleted and waits for its finalizers.
    Going,
    /// It is not the owner's, for this reason, and was left alone.
    Foreign(String),
    /// The owner or the object was changed meanwhile: stop, and look again.
    Changed,
}

/// Delete one object that its owner no longer names.
pub(crate) async fn delete(
    decision: &Decision<'_>,
    (api_version, kind, key): (&str, &str, &Key),
    guard: Guard<'_>,
) -> Result<Pruned, runtime_apply::Error> {
    let Decision { context, acting, seen } = decision;
    let api_version = successors::address(&context.discovery, api_version, kind).await;
    let confirm: runtime_apply::Confirm<'_> =
        &|| Box::pin(async { Ok(confirm(&context.cache, seen).await?.is_some()) });
    pruned(acting.applier().delete_confirmed(api_version, kind, key, guard, confirm).await)
}

/// Deletes one object of an owner that is being deleted itself: no reconcile can want it again, so no time is waited.
/// The server is asked whether it is that very owner that goes, and the delete names uid and version of what was
/// judged.
pub(crate) async fn delete_with_owner(
    decision: &Decision<'_>,
    (api_version, kind, key): (&str, &str, &Key),
    guard: Guard<'_>,
) -> Result<Pruned, runtime_apply::Error> {
    let Decision { context, acting, seen } = decision;
    let confirm: runtime_apply::Confirm<'_> = &|| Box::pin(all_go(&context.client, seen));
    pruned(acting.applier().delete_confirmed(api_version, kind, key, guard, confirm).await)
}

/// Let one object go that its owner does not delete although it does not name it any more: it loses the labels by which it was
/// the owner's, and nothing else. The same is asked before that as before a delete.
pub(crate) async fn release(
    decision: &Decision<'_>,
    identity: (&str, &str, &Key),
    guard: Guard<'_>,
) -> Result<Pruned, runtime_apply::Error> {
    let Decision { context, seen, .. } = decision;
    let confirmed: runtime_apply::Confirm<'_> =
        &|| Box::pin(async { Ok(confirm(&context.cache, seen).await?.is_some()) });
    release_if(decision, identity, guard, confirmed).await
}

/// The same for an owner that is being deleted itself.
pub(crate) async fn release_with_owner(
    decision: &Decision<'_>,
    identity: (&str, &str, &Key),
    guard: Guard<'_>,
) -> Result<Pruned, runtime_apply::Error> {
    let Decision { context, seen, .. } = decision;
    let confirmed: runtime_apply::Confirm<'_> = &|| Box::pin(all_go(&context.client, seen));
    release_if(decision, identity, guard, confirmed).await
}

async fn release_if<'a>(
    decision: &Decision<'_>,
    (api_version, kind, key): (&str, &str, &Key),
    guard: Guard<'_>,
    confirmed: runtime_apply::Confirm<'a>,
) -> Result<Pruned, runtime_apply::Error> {
    let Decision { context, acting, .. } = decision;
    let object = format!("{kind} {key}");
    let api_version = successors::address(&context.discovery, api_version, kind).await;
    let kind = match context.discovery.resolve(api_version, kind).await {
        Ok(kind) => kind,
        // With its kind gone from the server the object is gone too.
        Err(vela_runtime::discovery::Error::Unknown { .. }) => return Ok(Pruned::Gone),
        Err(source) => return Err(runtime_apply::Error::Kind { object, source }),
    };
    let failed = |source| runtime_apply::Error::Client { object: object.clone(), source };
    let api = kind.api(acting.client(), &key.namespace);
    let Some(live) = api.get_opt(&key.name).await.map_err(failed)? else { return Ok(Pruned::Gone) };
    if let Err(reason) = guard(&live) {
        return Ok(Pruned::Foreign(reason));
    }
    if !confirmed().await.map_err(failed)? {
        return Ok(Pruned::Changed);
    }
    let labels = json!({(labels::APP_NAME): null, (labels::APP_NAMESPACE): null});
    let patch = json!({"metadata": {
        "uid": live.metadata.uid,
        "resourceVersion": live.metadata.resource_version,
        "labels": labels,
    }});
    match api.patch(&key.name, &patch_params(), &Patch::Merge(&patch)).await {
        Ok(_) => Ok(Pruned::Gone),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Pruned::Gone),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(Pruned::Changed),
        Err(source) => Err(failed(source)),
    }
}

fn patch_params() -> PatchParams {
    PatchParams { field_manager: Some(crate::context::FIELD_MANAGER.to_owned()), ..PatchParams::default() }
}

fn pruned(deleted: Result<Option<Deletion>, runtime_apply::Error>) -> Result<Pruned, runtime_apply::Error> {
    match deleted {
        Ok(Some(Deletion::Gone)) => Ok(Pruned::Gone),
        Ok(Some(Deletion::Going)) => Ok(Pruned::Going),
        Ok(None) => Ok(Pruned::Changed),
        Err(runtime_apply::Error::Foreign { reason, .. }) => Ok(Pruned::Foreign(reason)),
        Err(runtime_apply::Error::Client { source: kube::Error::Api(status), .. }) if status.code == 409 => {
            Ok(Pruned::Changed)
        }
        Err(error) => Err(error),
    }
}

/// Are these very objects being deleted?
async fn all_go(client: &kube::Client, seen: &[Seen<'_>]) -> Result<bool, kube::Error> {
    for &Seen { resource, object } in seen {
        let key = Key::of(object);
        let api: vela_runtime::Api<kube::api::DynamicObject> =
            vela_runtime::Api::namespaced_with(client.clone(), &key.namespace, resource);
        let live = api.get_opt(&key.name).await?;
        let goes = live.is_some_and(|live| {
            live.metadata.uid == object.metadata.uid && live.metadata.deletion_timestamp.is_some()
        });
        if !goes {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_a_content_that_stays_is_quiet() {
        let (quiet, key) = (QuietTimes::default(), Key::new("ns", "shop"));
        assert_eq!(quiet.left(&key, "b"), Some(QUIET));
        tokio::time::advance(QUIET / 2).await;
        assert_eq!(quiet.left(&key, "b"), Some(QUIET / 2));
        assert_eq!(quiet.left(&key, "a"), Some(QUIET), "another content waits anew");
        tokio::time::advance(QUIET).await;
        assert_eq!(quiet.left(&key, "a"), None);
        assert_eq!(quiet.left(&key, "b"), Some(QUIET), "and so does the first one");
        quiet.forget(&key);
        assert_eq!(quiet.left(&key, "a"), Some(QUIET));
    }
}
