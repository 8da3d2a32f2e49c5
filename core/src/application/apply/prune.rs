//! Objects of the record that the applied set lacks → deleted by [`crate::prune`], which reads the application again.

use std::collections::BTreeSet;

use kube::api::DynamicObject;
use vela_engine::readiness;
use vela_runtime::confirm::Seen;
use vela_runtime::{CONFLICT_WAIT, apply as runtime_apply};

use super::completeness::Complete;
use super::error::Error;
use super::result::Applied;
use super::shared_resource::leave;
use crate::application::desired::Desired;
use crate::application::fetch::json;
use crate::application::inventory::{Entry, Owned, Record};
use crate::application::owned_kinds::{Application, may_delete};
use crate::application::reconciler::ApplicationReconciler;
use crate::application::stored_configuration::{PruneDecision, decide_pruning};
use crate::prune::{self, Pruned};

/// Delete what the record has and the applied set has not; only an object of this application is deleted.
pub(super) async fn prune_unwanted(
    reconciler: &ApplicationReconciler,
    owner: &Application<'_>,
    proof: &Complete<'_>,
    record: &mut Record,
    applied: &mut Applied,
) -> Result<(), Error> {
    let key = &owner.key;
    if record.entries.values().all(|entry| !entry.unwanted) {
        reconciler.quiet.forget(key);
        return Ok(());
    }
    if let Some(left) = reconciler.quiet.left(key, &proof.desired().identity) {
        applied.come_again(left);
        return Ok(());
    }
    let definitions = reconciler.cluster.confirm(&key.namespace, &proof.desired().definitions).await;
    if !definitions.map_err(Error::Record)? {
        applied.come_again(CONFLICT_WAIT);
        return Ok(());
    }
    let unwanted = unwanted(record, proof.desired(), applied);
    let is_in_order = proof.desired().garbage_collect.is_in_order();
    // One object has as many names as its kind has versions: what is wanted under another name is not deleted.
    let wanted: BTreeSet<String> =
        applied.live().values().filter_map(|live| live.metadata.uid.clone()).collect();
    let mut wave = None;
    for (owned, entry) in unwanted {
        // Remaining objects of a later wave hold up the earlier ones.
        if is_in_order && wave != entry.wave && holds_up(record, entry.wave) {
            break;
        }
        wave = entry.wave;
        match decide_pruning(reconciler, proof.desired(), applied, &owned) {
            PruneDecision::Delete => {}
            PruneDecision::Wait => continue,
            PruneDecision::Release => {
                record.entries.remove(&owned);
                continue;
            }
        }
        match delete_unwanted(reconciler, owner, (&owned, &entry), &wanted).await? {
            Pruned::Gone => {
                record.entries.remove(&owned);
            }
            // It stays in the record until a later reconcile sees it gone; its end wakes us.
            Pruned::Going => {}
            Pruned::Foreign(reason) => {
                tracing::info!(application = %key, object = ?owned, reason, "an object of the record is not ours; it is left alone");
                leave(reconciler, owner, &owned).await?;
                record.entries.remove(&owned);
            }
            Pruned::Changed => {
                applied.come_again(CONFLICT_WAIT);
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The objects that may go, those of later waves first.
fn unwanted(record: &Record, desired: &Desired, applied: &Applied) -> Vec<(Owned, Entry)> {
    let mut unwanted: Vec<(Owned, Entry)> = record
        .entries
        .iter()
        .filter(|(owned, entry)| entry.unwanted && owned.out_of_reach().is_none())
        .filter(|(owned, entry)| !is_relied_on(owned, entry, desired, applied))
        .map(|(owned, entry)| (owned.clone(), entry.clone()))
        .collect();
    unwanted.sort_by_key(|(_, entry)| std::cmp::Reverse(entry.wave));
    unwanted
}

/// Is something unwanted of a later wave still there? An object out of reach holds up no other.
fn holds_up(record: &Record, wave: Option<i32>) -> bool {
    let is_later = |(owned, entry): (&Owned, &Entry)| {
        entry.unwanted && entry.wave > wave && owned.out_of_reach().is_none()
    };
    record.entries.iter().any(is_later)
}

/// Delete one object that nothing names any more, after a fresh look at the application.
async fn delete_unwanted(
    reconciler: &ApplicationReconciler,
    owner: &Application<'_>,
    (owned, entry): (&Owned, &Entry),
    wanted: &BTreeSet<String>,
) -> Result<Pruned, runtime_apply::Error> {
    let guard = |live: &DynamicObject| match &live.metadata.uid {
        Some(uid) if wanted.contains(uid) => Err("it is wanted in another version of its kind".to_owned()),
        _ => may_delete(owner, entry.uid.as_deref(), live),
    };
    let application = Seen { resource: &reconciler.applications.watch().resource, object: owner.object };
    let identity = (owned.api_version.as_str(), owned.kind.as_str(), &owned.key);
    let acting = owner.acting_on(&reconciler.context, owned);
    let decision = prune::Decision { context: &reconciler.context, acting: &acting, seen: vec![application] };
    let pruned = match entry.released {
        true => prune::release(&decision, identity, &guard).await?,
        false => prune::delete(&decision, identity, &guard).await?,
    };
    if pruned == Pruned::Gone
        && let Ok(kind) = reconciler.context.discovery.resolve(&owned.api_version, &owned.kind).await
        && let Ok(informer) = reconciler.owned.informer(&kind).await
    {
        informer.forget(&owned.key);
    }
    Ok(pruned)
}

/// Does the application still live by this Deployment? A rollout made it for a revision, and the one that the application made
/// in its place, without a plan any more, is not ready yet; its changes wake it.
fn is_relied_on(owned: &Owned, entry: &Entry, desired: &Desired, applied: &Applied) -> bool {
    let node = desired.nodes.iter().find(|node| Some(&node.component) == entry.component.as_ref());
    let Some(piece) = node.and_then(|node| node.pieces.first()) else { return false };
    let number = owned.key.name.strip_prefix(&piece.name.name).and_then(|rest| rest.strip_prefix("-v"));
    let is_of_rollout = owned.kind == "Deployment"
        && piece.name.kind == owned.kind
        && number.is_some_and(|number| number.parse::<u64>().is_ok());
    is_of_rollout && applied.live().get(&piece.name).is_none_or(|live| !readiness::of(&json(live)).is_ready())
}
