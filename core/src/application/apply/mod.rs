//! Graph → Applied: writes the record, then the objects wave by wave, then prunes; may not render or judge.
//!
//! Order, and why: the record is written first, so that a crash leaves no unrecorded object; then the objects of policies,
//! since components of a new revision begin only when these are there; objects whose component waits
//! for an unhealthy one are left for a later reconcile; only a reconcile that applied the whole set holds a [`Complete`],
//! and only with it may anything be pruned. Components of one wave are written at the same time, the objects of one
//! component one after the other; the record has one writer at a time.

mod completeness;
mod delete;
mod error;
mod prune;
mod read_only;
mod replace;
mod result;
mod revision_configuration;
mod shared_resource;
mod steps;
mod write;
mod write_result;

use vela_engine::policy::Retention;

use self::completeness::{Complete, wanted};
pub(super) use self::delete::delete_recorded;
pub(super) use self::error::Error;
use self::prune::prune_unwanted;
use self::replace::Replacing;
pub(super) use self::result::Applied;
pub(super) use self::steps::{Begun, ByHealth, Components, Due, Order};
use self::write::ComponentWriter;
use super::desired::{Desired, Form};
use super::inventory::{Entry, Marks, Record};
use super::owned_kinds::Application;
use super::reconciler::ApplicationReconciler;
use super::tracker_store::RecordWriter;
use crate::author::Actor;

/// Apply the desired set in this order. Components that the order leaves out are not wanted.
pub(super) async fn apply<O: Order>(
    reconciler: &ApplicationReconciler,
    application: &Application<'_>,
    desired: &Desired,
    order: &mut O,
) -> Result<Applied, Error> {
    let key = &application.key;
    let (mut record, stored) = reconciler.records.read(key)?;
    let before = record.clone();
    let desired: &Desired = &desired.holding(&record);
    // What runs already is maintained, whatever becomes of the objects of policies.
    let was_applied = before.complete && before.identity.as_deref() == Some(&desired.identity);
    let uid = application.object.metadata.uid.clone();
    record.marks = Marks { uid, revision: Some(desired.revision.clone()) };
    begin(&mut record, desired);
    let stored = reconciler.records.write(key, &record, stored).await.map_err(Error::Record)?;
    let acting = acting(reconciler, application, desired);
    let record_writer = RecordWriter::new(record, stored);
    let replacing = Replacing {
        identity: &desired.identity,
        revision: &desired.revision,
        definitions: &desired.definitions,
    };
    let writer =
        ComponentWriter::new(reconciler, application, acting, before, record_writer).replacing(replacing);
    let mut components = Components::new(writer, desired);
    let are_policies_applied = components.apply_policies().await?;
    let Begun { nodes, left_out, blocked } = match are_policies_applied || was_applied {
        true => order.run(&mut components).await?,
        false => Begun::default(),
    };
    let (writer, mut applied) = components.into_parts();
    let begun = nodes.union(&left_out).count();
    let rest;
    let desired = if left_out.is_empty() {
        desired
    } else {
        rest = desired.without(&left_out);
        &rest
    };
    let mut record_writer = writer.into_record_writer();
    record_writer.forget_refused(&reconciler.records, key).await.map_err(Error::Record)?;
    let RecordWriter { mut record, stored, .. } = record_writer;
    let Some(proof) = Complete::of(desired, (begun, blocked), &applied, &record) else {
        if !desired.deferred.is_empty() && applied.has_no_gap() {
            // Components that are rendered later ask which objects were made.
            reconciler.records.write(key, &record, stored).await.map_err(Error::Record)?;
        }
        return Ok(applied);
    };
    proof.settle(&mut record);
    let stored = reconciler.records.write(key, &record, stored).await.map_err(Error::Record)?;
    let pruned = prune_unwanted(reconciler, application, &proof, &mut record, &mut applied).await;
    // The record forgets deleted objects, also when a later one could not be deleted.
    proof.settle(&mut record);
    reconciler.records.write(key, &record, stored).await.map_err(Error::Record)?;
    pruned.map(|()| if proof.is_whole() { applied.completed() } else { applied })
}

/// Restores the objects of the desired set that were made and are deleted or changed by now, and nothing else: nothing is
/// recorded as wanted or unwanted, and nothing pruned. `made_only` leaves alone objects that no reconcile is known to have
/// made: the present author did not ask for them.
pub(super) async fn restore(
    reconciler: &ApplicationReconciler,
    application: &Application<'_>,
    desired: &Desired,
    made_only: bool,
) -> Result<Applied, Error> {
    let key = &application.key;
    let (record, stored) = reconciler.records.read(key)?;
    if stored.is_empty() {
        return Ok(Applied::nothing());
    }
    let desired: &Desired = &desired.holding(&record);
    let mut nodes: Vec<_> = desired.policies.iter().chain(&desired.nodes).cloned().collect();
    for node in &mut nodes {
        node.pieces.retain(|piece| {
            let known = record.entries.get(&piece.owned());
            piece.rules.read_only
                || known.is_some_and(|entry| !entry.unwanted && (entry.uid.is_some() || !made_only))
        });
    }
    let acting = acting(reconciler, application, desired);
    let before = record.clone();
    let record_writer = RecordWriter::new(record, stored);
    let writer = ComponentWriter::new(reconciler, application, acting, before, record_writer);
    let mut applied = Applied::nothing();
    let nodes = nodes.iter().filter(|node| !node.pieces.is_empty()).collect();
    writer.write(nodes, &mut applied).await?;
    let RecordWriter { record, stored, .. } = writer.into_record_writer();
    reconciler.records.write(key, &record, stored).await.map_err(Error::Record)?;
    Ok(applied)
}

/// On whose behalf a set is written. The objects of a configuration's reconcile are bookkeeping; that reconcile acts for
/// the author.
fn acting(reconciler: &ApplicationReconciler, application: &Application<'_>, desired: &Desired) -> Actor {
    match desired.form {
        Form::Applied => application.acting.clone(),
        Form::Stored { .. } => application.acting.for_record(&reconciler.context),
    }
}

/// The record before the first write: what was owned and what will be. A finished record of the same set stays as it is.
fn begin(record: &mut Record, desired: &Desired) {
    let wanted = wanted(desired);
    let unchanged = record.complete
        && record.identity.as_deref() == Some(&desired.identity)
        && record.entries.iter().all(|(owned, entry)| wanted.contains(owned) || desired.keeps(owned, entry))
        && desired.pieces().filter(|(_, piece)| !piece.rules.read_only && !piece.held).all(|(_, piece)| {
            let known = record.entries.get(&piece.owned());
            known.is_some_and(|entry| entry.hash.as_deref() == Some(&piece.content()))
        });
    if unchanged {
        return;
    }
    record.identity = Some(desired.identity.clone());
    record.generation = desired.generation;
    record.complete = false;
    for (node, piece) in desired.pieces() {
        if piece.rules.read_only || piece.held {
            // Read-only objects are not the application's; objects that it made before stay on record, as they were
            // made.
            if let Some(entry) = record.entries.get_mut(&piece.owned()) {
                entry.unwanted = false;
            }
            continue;
        }
        let entry = record.entries.entry(piece.owned()).or_default();
        *entry = Entry {
            hash: Some(piece.content()),
            uid: entry.uid.take(),
            wave: Some(node.wave),
            component: (!node.by_policy).then(|| node.component.clone()),
            trait_type: piece.trait_type.clone(),
            // Taking the mark off is a write of the record; the object is written after it.
            unwanted: false,
            retained: piece.rules.retention != Retention::WhileNamed,
            released: piece.rules.released,
            by_step: false,
            by_policy: node.by_policy,
        };
    }
}
