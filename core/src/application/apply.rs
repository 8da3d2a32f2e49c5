//! Graph → Applied: writes the record, then the objects wave by wave, then prunes; may not render or judge.
//!
//! Order, and why: the record is written first, so that a crash leaves no object nobody knows of; objects whose
//! component waits for an unhealthy one are left for a later lap; only a lap that applied the whole set holds a
//! [`Complete`], and only with it may anything be pruned. Components of one wave are written at the same time
//! ([`super::write`]), the objects of one component one after the other; the record has one writer at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use kube::api::DynamicObject;
use vela_crds::labels;
use vela_engine::{Definition, ObjectKey, readiness};
use vela_runtime::apply::{self as runtime_apply, Deletion};
use vela_runtime::confirm::Seen;
use vela_runtime::graph;

use super::Hands;
use super::composed::{Form, Turn, turn};
use super::fetch::json;
use super::owned::{Application, may_delete};
use super::record::{Books, Entry, Owned, Record};
use super::replace::Replacing;
use super::write::Pen;
use crate::apart::NotComputed;
use crate::author::Acting;
use crate::prune::{self, Pruned};
use crate::successors;

/// The desired set, as plain data.
#[derive(Clone, Debug)]
pub(crate) struct Desired {
    /// Content hash of the application.
    pub(crate) identity: String,
    /// Generation of the Application.
    pub(crate) generation: Option<i64>,
    /// What it was rendered from, beside the Application.
    pub(crate) definitions: Vec<Arc<Definition>>,
    /// Components in the order written.
    pub(crate) nodes: Vec<Node>,
    /// Who applies what the application means.
    pub(super) form: Form,
}

/// The objects of one component.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) component: String,
    /// Number of components that come before it; deletion goes the other way.
    pub(crate) wave: i32,
    pub(crate) pieces: Vec<Piece>,
}

/// One desired object.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// As the graph names it: with a namespace even where its kind has none.
    pub(crate) name: ObjectKey,
    pub(crate) object: DynamicObject,
    pub(crate) trait_type: Option<String>,
}

/// What this lap applied.
#[derive(Debug, Default)]
pub(crate) struct Applied {
    pub(crate) live: BTreeMap<ObjectKey, Arc<DynamicObject>>,
    pub(crate) errors: BTreeMap<ObjectKey, String>,
    /// How many of the errors need no further try: only a change, which wakes us, can help.
    pub(crate) refused: usize,
    /// Something is to be made again, and its former object is still there.
    pub(crate) waiting_for_room: bool,
    /// Those of the errors that another try of the same object ends alike.
    pub(crate) lasting: BTreeSet<ObjectKey>,
    /// Components not applied yet, because another one is not healthy or lacks a value.
    pub(crate) waiting: usize,
    pub(crate) created: usize,
    pub(crate) configured: usize,
    pub(crate) pruned: usize,
    pub(crate) complete: bool,
    /// When to come again although nothing changes: something unwanted waits for its quiet time.
    pub(crate) again: Option<Duration>,
}

/// Proof that the whole set with one identity was applied by this lap; made nowhere else.
struct Complete<'a> {
    desired: &'a Desired,
}

/// Why nothing could be applied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot write the record of owned objects: {}", runtime_apply::explain(.0))]
    Record(#[source] kube::Error),
    #[error("cannot read the record of owned objects: {0}")]
    Unreadable(#[from] serde_json::Error),
    #[error(transparent)]
    Object(#[from] runtime_apply::Error),
    #[error("cannot tell what may be applied next: {0}")]
    NotJudged(#[from] NotComputed),
    #[error("cannot put the components in order: {0}")]
    Order(#[from] graph::Error<usize>),
    #[error("cannot apply component {component:?}: vela-core panicked: {said}")]
    Panicked { component: String, said: String },
}

impl Error {
    /// The client's error, where a write of the record failed.
    pub(crate) fn source(&self) -> Option<&kube::Error> {
        if let Self::Record(source) = self { Some(source) } else { None }
    }
}

/// The numbers of nodes that may be applied, once they are known.
pub(super) type Due<'a> = BoxFuture<'a, Result<Vec<usize>, NotComputed>>;

/// Apply the desired set. `due` names the nodes that may be applied, given what was applied so far; it is asked
/// again until it names nothing new.
pub(super) async fn apply<'a>(
    hands: &Hands,
    application: &Application<'_>,
    desired: &Desired,
    due: &(dyn Fn(&Applied) -> Due<'a> + Send + Sync),
) -> Result<Applied, Error> {
    let key = &application.key;
    let (mut record, stored) = hands.records.read(key)?;
    let before = record.clone();
    begin(&mut record, desired);
    let stored = hands.records.write(key, &record, stored).await.map_err(Error::Record)?;
    // What is stored for a configuration's lap is bookkeeping; that lap acts for the author.
    let acting = match desired.form {
        Form::Applied => application.acting.clone(),
        Form::Stored { .. } => application.acting.for_books(&hands.context),
    };
    let books = Books { record, stored, refused: Vec::new() };
    let replacing = Replacing { identity: &desired.identity, definitions: &desired.definitions };
    let pen = Pen::new(hands, application, acting, before, books).replacing(replacing);
    let mut applied = Applied::default();
    let mut done = BTreeSet::new();
    loop {
        let next: Vec<usize> = due(&applied).await?.into_iter().filter(|index| done.insert(*index)).collect();
        if next.is_empty() {
            break;
        }
        let mut waves: BTreeMap<i32, Vec<&Node>> = BTreeMap::new();
        for node in next.into_iter().filter_map(|index| desired.nodes.get(index)) {
            waves.entry(node.wave).or_default().push(node);
        }
        for nodes in waves.into_values() {
            pen.write(nodes, &mut applied).await?;
        }
    }
    let mut books = pen.into_books();
    books.forget_refused(&hands.records, key).await.map_err(Error::Record)?;
    let Books { mut record, stored, .. } = books;
    applied.waiting = desired.nodes.len().saturating_sub(done.len());
    if applied.errors.is_empty() && applied.waiting == 0 && !applied.waiting_for_room {
        let proof = Complete { desired };
        settle(&mut record, &proof);
        let stored = hands.records.write(key, &record, Some(stored)).await.map_err(Error::Record)?;
        let pruned = prune(hands, application, &proof, &mut record, &mut applied).await;
        // What is gone is gone, also when a later one could not be deleted.
        settle(&mut record, &proof);
        hands.records.write(key, &record, Some(stored)).await.map_err(Error::Record)?;
        pruned?;
        applied.complete = true;
    }
    Ok(applied)
}

/// Bring back what was made of the desired set and what of it was changed, and nothing else: nothing is recorded as wanted
/// or unwanted, and nothing pruned. `made_only` leaves alone what no lap is known to have made: whoever is acted for now
/// did not ask for it.
pub(crate) async fn repair(
    hands: &Hands,
    application: &Application<'_>,
    desired: &Desired,
    made_only: bool,
) -> Result<Applied, Error> {
    let key = &application.key;
    let (record, stored) = hands.records.read(key)?;
    let Some(stored) = stored else { return Ok(Applied::default()) };
    let acting = match desired.form {
        Form::Applied => application.acting.clone(),
        Form::Stored { .. } => application.acting.for_books(&hands.context),
    };
    let mut nodes = desired.nodes.clone();
    for node in &mut nodes {
        node.pieces.retain(|piece| {
            let known = record.entries.get(&Owned::of(&piece.object));
            known.is_some_and(|entry| !entry.unwanted && (entry.uid.is_some() || !made_only))
        });
    }
    let pen =
        Pen::new(hands, application, acting, record.clone(), Books { record, stored, refused: Vec::new() });
    let mut applied = Applied::default();
    let mut waves: BTreeMap<i32, Vec<&Node>> = BTreeMap::new();
    for node in nodes.iter().filter(|node| !node.pieces.is_empty()) {
        waves.entry(node.wave).or_default().push(node);
    }
    for nodes in waves.into_values() {
        pen.write(nodes, &mut applied).await?;
    }
    let Books { record, stored, .. } = pen.into_books();
    hands.records.write(key, &record, Some(stored)).await.map_err(Error::Record)?;
    Ok(applied)
}

/// The record of a completely applied set: what else is in it is marked as unwanted, and it is complete without that.
fn settle(record: &mut Record, proof: &Complete<'_>) {
    let wanted = wanted(proof.desired);
    for (owned, entry) in &mut record.entries {
        entry.unwanted = !wanted.contains(owned) && !proof.desired.form.keeps(owned);
    }
    record.complete = record.entries.values().all(|entry| !entry.unwanted);
}

/// The record before the first write: what was owned and what will be. A finished record of the same set stays as it is.
fn begin(record: &mut Record, desired: &Desired) {
    let wanted = wanted(desired);
    let unchanged = record.complete
        && record.identity.as_deref() == Some(&desired.identity)
        && record.entries.keys().all(|owned| wanted.contains(owned) || desired.form.keeps(owned))
        && pieces(desired).all(|(_, _, piece)| {
            let known = record.entries.get(&Owned::of(&piece.object));
            known.is_some_and(|entry| entry.hash.as_deref() == Some(&content(&piece.object)))
        });
    if unchanged {
        return;
    }
    record.identity = Some(desired.identity.clone());
    record.generation = desired.generation;
    record.complete = false;
    for (wave, node, piece) in pieces(desired) {
        let entry = record.entries.entry(Owned::of(&piece.object)).or_default();
        *entry = Entry {
            hash: Some(content(&piece.object)),
            uid: entry.uid.take(),
            wave: Some(wave),
            component: Some(node.component.clone()),
            trait_type: piece.trait_type.clone(),
            // Taking the mark off is a write of the record, and [`super::write`] writes the object.
            unwanted: false,
        };
    }
}

/// Hash of an object without the name of the revision it is made by: what it means does not depend on that.
pub(super) fn content(object: &DynamicObject) -> String {
    let mut object = object.clone();
    if let Some(labels) = &mut object.metadata.labels {
        labels.remove(labels::APP_REVISION);
    }
    runtime_apply::hash(&object)
}

/// The desired object, as it is written now. One that was applied with the same content before keeps the name of the
/// revision that did it: a new revision writes what it changes and nothing else.
pub(super) fn as_written(
    desired: &DynamicObject,
    live: Option<&DynamicObject>,
    recorded: bool,
) -> DynamicObject {
    let mut object = desired.clone();
    let named = |object: &DynamicObject| {
        let labels = object.metadata.labels.as_ref()?;
        labels.get(labels::APP_REVISION).cloned()
    };
    if let (true, Some(before)) = (recorded, live.and_then(named))
        && let Some(labels) =
            object.metadata.labels.as_mut().filter(|all| all.contains_key(labels::APP_REVISION))
    {
        labels.insert(labels::APP_REVISION.to_owned(), before);
    }
    object
}

fn pieces(desired: &Desired) -> impl Iterator<Item = (i32, &Node, &Piece)> {
    desired.nodes.iter().flat_map(|node| node.pieces.iter().map(move |piece| (node.wave, node, piece)))
}

fn wanted(desired: &Desired) -> BTreeSet<Owned> {
    pieces(desired).map(|(_, _, piece)| Owned::of(&piece.object)).collect()
}

/// Delete what the record has and the applied set has not; only an object of this application is deleted, and only
/// through the one door that looks at the application again.
async fn prune(
    hands: &Hands,
    owner: &Application<'_>,
    proof: &Complete<'_>,
    record: &mut Record,
    applied: &mut Applied,
) -> Result<(), Error> {
    let key = &owner.key;
    if record.entries.values().all(|entry| !entry.unwanted) {
        hands.quiet.forget(key);
        return Ok(());
    }
    if let Some(left) = hands.quiet.left(key, &proof.desired.identity) {
        applied.again = Some(left);
        return Ok(());
    }
    let definitions = hands.world.confirm(&key.namespace, &proof.desired.definitions).await;
    if !definitions.map_err(Error::Record)? {
        applied.again = Some(super::CONFLICT_WAIT);
        return Ok(());
    }
    let unwanted: Vec<(Owned, Entry)> = record
        .entries
        .iter()
        .filter(|(_, entry)| entry.unwanted)
        .filter(|(owned, entry)| !is_relied_on(owned, entry, proof.desired, applied))
        .map(|(owned, entry)| (owned.clone(), entry.clone()))
        .collect();
    let application = Seen { resource: &hands.applications.watch().resource, object: owner.object };
    // One object has as many names as its kind has versions: what is wanted under another name is not deleted.
    let wanted: BTreeSet<String> =
        applied.live.values().filter_map(|live| live.metadata.uid.clone()).collect();
    for (owned, entry) in unwanted {
        match turn(hands, proof.desired, applied, &owned) {
            Turn::Ours => {}
            Turn::Wait => continue,
            Turn::Handed => {
                record.entries.remove(&owned);
                continue;
            }
        }
        let guard = |live: &DynamicObject| match &live.metadata.uid {
            Some(uid) if wanted.contains(uid) => {
                Err("it is wanted in another version of its kind".to_owned())
            }
            _ => may_delete(owner, entry.uid.as_deref(), live),
        };
        let identity = (owned.api_version.as_str(), owned.kind.as_str(), &owned.key);
        let acting = acting(hands, owner, &owned);
        let decision = prune::Decision { context: &hands.context, acting: &acting, seen: vec![application] };
        match prune::delete(&decision, identity, &guard).await? {
            Pruned::Gone => {
                if let Ok(kind) = hands.context.discovery.resolve(&owned.api_version, &owned.kind).await
                    && let Ok(informer) = hands.owned.informer(&kind).await
                {
                    informer.forget(&owned.key);
                }
                applied.pruned += 1;
                record.entries.remove(&owned);
            }
            // It stays in the record until a later lap sees it gone; its end wakes us.
            Pruned::Going => {}
            Pruned::Foreign(reason) => {
                tracing::info!(application = %key, object = ?owned, reason, "an object of the record is not ours; it is left alone");
                record.entries.remove(&owned);
            }
            Pruned::Changed => {
                applied.again = Some(super::CONFLICT_WAIT);
                return Ok(());
            }
        }
    }
    Ok(())
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
    is_of_rollout && applied.live.get(&piece.name).is_none_or(|live| !readiness::of(&json(live)).is_ready())
}

/// On whose behalf an object of the record is deleted.
fn acting(hands: &Hands, application: &Application<'_>, owned: &Owned) -> Acting {
    if owned.is_stored_form() {
        application.acting.for_books(&hands.context)
    } else {
        application.acting.clone()
    }
}

/// Delete one recorded object; one that turned out to be somebody else's counts as gone from our record.
pub(crate) async fn delete(
    hands: &Hands,
    application: &Application<'_>,
    owned: &Owned,
    entry: &Entry,
) -> Result<Deletion, runtime_apply::Error> {
    let guard = |live: &DynamicObject| may_delete(application, entry.uid.as_deref(), live);
    let api_version = successors::address(&hands.context.discovery, &owned.api_version, &owned.kind).await;
    let kind = hands.context.discovery.resolve(api_version, &owned.kind).await.ok();
    let informer = match &kind {
        Some(kind) => hands.owned.informer(kind).await.ok(),
        None => None,
    };
    let live = informer.as_ref().and_then(|informer| informer.get(&owned.key));
    let acting = acting(hands, application, owned);
    let delete = |live| acting.applier().delete(api_version, &owned.kind, &owned.key, live, &guard);
    let cached = live.is_some();
    let mut result = delete(live).await;
    if cached && matches!(result, Err(runtime_apply::Error::Foreign { .. })) {
        // The cache may have shown a former object of that name.
        result = delete(None).await;
    }
    match result {
        Ok(deletion) => {
            if let Some(informer) = informer.filter(|_| deletion == Deletion::Gone) {
                informer.forget(&owned.key);
            }
            Ok(deletion)
        }
        Err(runtime_apply::Error::Foreign { object, reason }) => {
            tracing::info!(application = %application.key, object, reason, "an object of the record is not ours; it is left alone");
            Ok(Deletion::Gone)
        }
        Err(error) => Err(error),
    }
}
