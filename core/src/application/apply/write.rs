//! Components → written wave by wave, several at the same time; the objects of one component one after the other.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::api::DynamicObject;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use vela_crds::labels;
use vela_engine::policy::{ApplyOnce, Retention};
use vela_runtime::apply::{self as runtime_apply, Conflicts, Outcome, describe, has_all};
use vela_runtime::cache::Informer;
use vela_runtime::graph::{Cause, Graph, Outcome as NodeOutcome, Run};
use vela_runtime::{CONFLICT_WAIT, Kind};

use super::error::Error;
use super::read_only::look;
use super::replace::{RefusedChange, Replacing, make_room_for, replace};
use super::result::{Applied, Part};
use super::revision_configuration;
use super::shared_resource::Sharing;
use super::write_result::Written;
use crate::application::desired::{Node, Piece};
use crate::application::fetch::json;
use crate::application::inventory::{Entry, Owned, Record};
use crate::application::owned_kinds::{Application, may_change, may_delete, may_take_over};
use crate::application::reconciler::ApplicationReconciler;
use crate::application::tracker_store::RecordWriter;
use crate::author::Actor;
use crate::immutable;
use crate::order::{OrderedObject, earlier};
use crate::recreate::Removal;

/// The inputs of every write.
pub(super) struct ComponentWriter<'a> {
    reconciler: &'a ApplicationReconciler,
    application: &'a Application<'a>,
    /// On whose behalf.
    acting: Actor,
    /// The record as the reconcile found it.
    before: Record,
    record_writer: Mutex<RecordWriter>,
    /// The reason that makes objects wanted that may be made again; nothing where none may.
    replacing: Option<Replacing<'a>>,
    /// A record that cannot be written ends the reconcile: no other write begins.
    stop: CancellationToken,
}

impl<'a> ComponentWriter<'a> {
    pub(super) fn new(
        reconciler: &'a ApplicationReconciler,
        application: &'a Application<'a>,
        acting: Actor,
        before: Record,
        record_writer: RecordWriter,
    ) -> Self {
        let (record_writer, stop) = (Mutex::new(record_writer), CancellationToken::new());
        Self { reconciler, application, acting, before, record_writer, replacing: None, stop }
    }

    /// The same, making again what cannot be changed.
    pub(super) fn replacing(self, replacing: Replacing<'a>) -> Self {
        Self { replacing: Some(replacing), ..self }
    }

    pub(super) fn into_record_writer(self) -> RecordWriter {
        self.record_writer.into_inner()
    }

    /// Write components, one wave after the other. Every begun write is awaited, so that no write of this reconcile
    /// happens in the next one.
    pub(super) async fn write<'n>(&self, nodes: Vec<&'n Node>, applied: &mut Applied) -> Result<(), Error> {
        let mut waves: BTreeMap<i32, Vec<&'n Node>> = BTreeMap::new();
        for node in nodes {
            waves.entry(node.wave).or_default().push(node);
        }
        for nodes in waves.into_values() {
            self.write_wave(nodes, applied).await?;
        }
        Ok(())
    }

    /// Record the objects of a node that no set names, before they are written: a workflow step makes them by a call.
    pub(super) async fn record(&self, node: &Node) -> Result<(), Error> {
        let mut record_writer = self.record_writer.lock().await;
        for piece in &node.pieces {
            let known = record_writer.record.entries.get(&piece.owned());
            if piece.rules.read_only || known.is_some_and(|entry| !entry.by_step && !entry.unwanted) {
                // It is only looked at, or a component makes it, too, and its entry stays.
                continue;
            }
            let entry = Entry {
                hash: Some(piece.content()),
                wave: Some(node.wave),
                retained: piece.rules.retention != Retention::WhileNamed,
                released: piece.rules.released,
                by_step: true,
                ..Entry::default()
            };
            let added = (piece.owned(), entry);
            let key = &self.application.key;
            record_writer.add(&self.reconciler.records, key, added).await.map_err(Error::Record)?;
        }
        Ok(())
    }

    /// Delete an object that a workflow step names, where it is the application's and no component or policy makes it.
    pub(super) async fn delete(&self, owned: &Owned) -> Result<(), runtime_apply::Error> {
        let known = self.record_writer.lock().await.record.entries.get(owned).cloned();
        let foreign = |reason: &str| runtime_apply::Error::Foreign {
            object: owned.object_key().to_string(),
            reason: reason.to_owned(),
        };
        if let Some(entry) = known.as_ref().filter(|entry| !entry.by_step && !entry.unwanted) {
            return Err(foreign(match entry.by_policy {
                true => "a policy of the application makes it; take it out there",
                false => "a component of the application makes it; take it out there",
            }));
        }
        let uid = known.and_then(|entry| entry.uid);
        let guard = |live: &DynamicObject| may_delete(self.application, uid.as_deref(), live);
        let (api_version, kind) = (&owned.api_version, &owned.kind);
        self.acting.applier().delete(api_version, kind, &owned.key, None, &guard).await.map(drop)
    }

    /// Write components of one wave, several at the same time.
    async fn write_wave<'n>(&self, nodes: Vec<&'n Node>, applied: &mut Applied) -> Result<(), Error> {
        let things =
            |node: &&'n Node| node.pieces.iter().map(|piece| OrderedObject::of(&piece.object)).collect();
        let earlier = earlier(&nodes.iter().map(things).collect::<Vec<_>>());
        let mut graph = Graph::new();
        for (at, (node, earlier)) in nodes.into_iter().zip(earlier).enumerate() {
            graph.add(at, node, earlier)?;
        }
        let run = Run::new(self.reconciler.context.options.concurrent_writes).until(self.stop.clone());
        let report = graph.run(&run, |_, node| self.write_timed(node)).await;
        let mut failed = None;
        for (at, outcome) in report.into_outcomes() {
            match outcome {
                NodeOutcome::Done(part) => applied.add(part),
                NodeOutcome::Failed(Cause::Panicked(said)) => {
                    let component = graph.get(&at).map(|node| node.component.clone()).unwrap_or_default();
                    failed = failed.or(Some(Error::Panicked { component, said }));
                }
                NodeOutcome::Failed(
                    Cause::Later { error, .. } | Cause::Unrecoverable(error) | Cause::NotReady(error),
                ) => failed = failed.or(Some(error)),
                // Behind a failure, which is reported.
                NodeOutcome::Blocked(_) | NodeOutcome::NotBegun | NodeOutcome::Dropped => {}
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Did a former reconcile make this object? The record names its uid since.
    pub(super) fn is_made(&self, owned: &Owned) -> bool {
        self.before.entries.get(owned).is_some_and(|entry| !entry.unwanted && entry.uid.is_some())
    }

    async fn write_timed(&self, node: &Node) -> Result<Part, Cause<Error>> {
        let began = tokio::time::Instant::now();
        let written = self.write_node(node).await;
        self.reconciler.context.metrics.component_applied(began.elapsed());
        written
    }

    /// Write one component; its first failure leaves the rest of it alone, and a failed write of the record ends the
    /// reconcile.
    async fn write_node(&self, node: &Node) -> Result<Part, Cause<Error>> {
        let mut part = Part::default();
        for (at, piece) in node.pieces.iter().enumerate() {
            if self.stop.is_cancelled() {
                break;
            }
            let owned = piece.owned();
            match self.write_by_rules(piece, &owned).await {
                Ok(Written::Later(again)) => {
                    part.later = Some(again);
                    break;
                }
                // It changed while room was made for it.
                Ok(Written::Differs(_)) => {
                    part.later = Some(Some(CONFLICT_WAIT));
                    break;
                }
                Ok(Written::Absent) => part.left_away.push(piece.name.clone()),
                Ok(Written::NotYet(message)) => {
                    part.error = Some((piece.name.clone(), message));
                    break;
                }
                Ok(Written::Refused(message)) => {
                    part.error = Some((piece.name.clone(), message));
                    part.is_final = true;
                    break;
                }
                Ok(Written::Seen(seen)) => {
                    if piece.rules.shared {
                        // An object whose uid is on record may be written whatever its labels say.
                        self.note_uid(&owned, None).await;
                    }
                    part.live.push((piece.name.clone(), seen.object));
                }
                Ok(Written::Done(done)) => {
                    self.note_uid(&owned, done.object.metadata.uid.clone()).await;
                    part.live.push((piece.name.clone(), done.object));
                }
                Err(Error::Object(error)) => {
                    if is_forbidden(&error) {
                        // Those behind it are not begun.
                        let never_made = node.pieces.iter().skip(at).map(|piece| piece.owned());
                        let new = never_made.filter(|owned| !self.before.entries.contains_key(owned));
                        self.record_writer.lock().await.refused.extend(new);
                    }
                    part.is_lasting = !error.is_transient();
                    part.error = Some((piece.name.clone(), self.acting.explain_apply(&error)));
                    break;
                }
                Err(error) => {
                    self.stop.cancel();
                    return Err(Cause::later(error));
                }
            }
        }
        Ok(part)
    }

    /// The record names this object, if it names one of that name.
    async fn note_uid(&self, owned: &Owned, uid: Option<String>) {
        if let Some(entry) = self.record_writer.lock().await.record.entries.get_mut(owned) {
            entry.uid = uid;
        }
    }

    /// Write one object where the application writes it; one that is only looked at, and one that another application
    /// writes, is as it is.
    async fn write_by_rules(&self, piece: &Piece, owned: &Owned) -> Result<Written, Error> {
        if piece.rules.read_only {
            return look(self.reconciler, &self.acting, piece, owned).await;
        }
        if !piece.rules.shared {
            return self.write_piece(piece, owned).await;
        }
        let (reconciler, application) = (self.reconciler, self.application);
        let sharing = Sharing { reconciler, application, acting: &self.acting, owned };
        if let Some(joined) = sharing.join().await? {
            return Ok(joined);
        }
        match self.write_piece(piece, owned).await? {
            Written::Done(done) => Ok(Written::Done(sharing.announce(done).await?)),
            written => Ok(written),
        }
    }

    /// Write one object; one with a field that cannot change is made again where that costs nothing, or where a policy asks
    /// for it.
    async fn write_piece(&self, piece: &Piece, owned: &Owned) -> Result<Written, Error> {
        let (error, fields, is_asked) = match self.apply_piece(piece, owned).await {
            Err(Error::Object(error)) => match immutable::fields(&error) {
                Some(fields) => (error, fields, false),
                None => return Err(Error::Object(error)),
            },
            Ok(Written::Differs(fields)) => (differs(piece, &fields), fields, true),
            written => return written,
        };
        let refused = RefusedChange {
            desired: &piece.object,
            recorded_uid: self.before.entries.get(owned).and_then(|entry| entry.uid.as_deref()),
            fields: &fields,
            error: &error,
            is_asked,
        };
        let room =
            make_room_for(self.reconciler, self.application, &self.acting, self.replacing, refused).await?;
        match room {
            Removal::Done => self.apply_piece(piece, owned).await,
            Removal::Later(again) => Ok(Written::Later(again)),
            Removal::Refused(message) => Ok(Written::Refused(message)),
        }
    }

    /// Whether the whole set was applied for this very revision. Labels and annotations of the application, which all its
    /// objects carry, make another content of an object, but no other revision.
    fn is_of_the_same_revision(&self) -> bool {
        let before = &self.before;
        self.replacing.is_some_and(|Replacing { identity, revision, .. }| {
            before.complete
                && before.identity.as_deref() == Some(identity)
                && before.marks.revision.as_deref() == Some(revision)
        })
    }

    /// Apply one object, after the record forgot a former one that is gone.
    async fn apply_piece(&self, piece: &Piece, owned: &Owned) -> Result<Written, Error> {
        let (reconciler, application) = (self.reconciler, self.application);
        let known = self.before.entries.get(owned);
        // Only a complete record says what is on the live object; an interrupted reconcile may have written anything.
        let recorded = self.before.complete
            && known.is_some_and(|entry| !entry.unwanted && entry.hash.as_deref() == Some(&piece.content()));
        let uid = known.and_then(|entry| entry.uid.clone());
        let kind = reconciler.context.discovery.resolve(&owned.api_version, &owned.kind).await.map_err(
            |source| runtime_apply::Error::Kind { object: runtime_apply::describe(&piece.object), source },
        )?;
        let informer = reconciler.owned.informer(&kind).await.ok();
        let mut live = informer.as_ref().and_then(|informer| informer.get(&owned.key));
        let keeps_state =
            recorded || known.is_some_and(|entry| !entry.unwanted) && self.is_of_the_same_revision();
        let left = piece.rules.apply_once.as_ref().filter(|rule| rule.acts(keeps_state));
        if live.is_none() && (uid.is_some() || piece.rules.needs_live()) {
            // It may lack the label by which it is watched: it lost it, and only its uid says that it is ours, or it is to be
            // taken over.
            live = self.read(piece, owned, &kind).await?;
            if live.is_none() && keeps_state && left.is_some() {
                return Ok(Written::Absent);
            }
            if live.is_none() && uid.is_some() {
                self.forget_former(owned).await?;
            }
        }
        let message = live.as_ref().and_then(|live| reconciler.refusals.of(owned, &piece.object, live));
        if let Some(message) = message {
            return Ok(Written::Refused(message));
        }
        let guard = |live: &DynamicObject| match may_change(application, uid.as_deref(), &piece.object, live)
        {
            Err(_) if piece.rules.take_over && may_take_over(application, &piece.object, live) => Ok(()),
            verdict => verdict,
        };
        if let Some(live) = live.as_ref().filter(|_| piece.held) {
            let foreign = |reason| runtime_apply::Error::Foreign { object: describe(&piece.object), reason };
            guard(live).map_err(foreign)?;
            return Ok(as_it_is(live, &kind));
        }
        let mut object = as_written(&piece.object, live.as_deref(), recorded);
        if revision_configuration::is_one(&object) {
            if live.is_none() {
                live = self.read(piece, owned, &kind).await?;
            }
            if live.is_none() {
                return self.make_configuration(&object, &kind, informer.as_deref()).await;
            }
            object = revision_configuration::without_marks(&object)?;
        }
        if let Some(live) = live.as_ref().filter(|_| piece.rules.needs_live()) {
            let foreign = |reason| runtime_apply::Error::Foreign { object: describe(&piece.object), reason };
            guard(live).map_err(foreign)?;
            if let Some(rule) = left {
                object = with_live_fields(rule, &object, live)?;
            }
            let written = match left.is_some_and(ApplyOnce::is_whole) {
                true => Some(as_it_is(live, &kind)),
                false => self.update(piece, &object, live, &kind, recorded).await?,
            };
            if let Some(written) = written {
                return Ok(written);
            }
        }
        let done = self.acting.applier().apply(&object, live, recorded, Conflicts::Force, &guard).await?;
        if let Some(informer) = informer.filter(|_| done.outcome != Outcome::Unchanged) {
            informer.observe((*done.object).clone());
        }
        Ok(Written::Done(done))
    }

    /// Make the configuration of a revision, where a read of the server says that there is none.
    async fn make_configuration(
        &self,
        object: &DynamicObject,
        kind: &Kind,
        informer: Option<&Informer>,
    ) -> Result<Written, Error> {
        let others = revision_configuration::others(self.reconciler, &self.before, object).await?;
        let made = revision_configuration::create(kind, &self.acting, object, &others).await?;
        if let Some(informer) = informer {
            informer.observe((*made.object).clone());
        }
        Ok(Written::Done(made))
    }

    /// The object as the server has it.
    async fn read(
        &self,
        piece: &Piece,
        owned: &Owned,
        kind: &Kind,
    ) -> Result<Option<Arc<DynamicObject>>, runtime_apply::Error> {
        let api = kind.api(self.acting.client(), &owned.key.namespace);
        let found = api.get_opt(&owned.key.name).await.map(|found| found.map(Arc::new));
        found.map_err(|source| runtime_apply::Error::Client { object: describe(&piece.object), source })
    }

    /// The record forgets which object had this name.
    async fn forget_former(&self, owned: &Owned) -> Result<(), Error> {
        let mut record_writer = self.record_writer.lock().await;
        let (records, application) = (&self.reconciler.records, &self.application.key);
        record_writer.forget_former(records, application, owned).await.map_err(Error::Record)
    }

    /// Another way of writing an object that is there, where a policy says one. Nothing where it is written as any other:
    /// maintained objects are restored, and an object with all wanted content needs no other way.
    async fn update(
        &self,
        piece: &Piece,
        object: &DynamicObject,
        live: &DynamicObject,
        kind: &Kind,
        recorded: bool,
    ) -> Result<Option<Written>, Error> {
        let update = &piece.rules.update;
        if recorded || self.replacing.is_none() {
            return Ok(None);
        }
        let (wanted, now) = (json(object), json(live));
        let fields = update.differing(&wanted, &now, has_all);
        if !fields.is_empty() {
            return Ok(Some(Written::Differs(fields)));
        }
        if !update.replaces() || has_all(&now, &wanted) {
            return Ok(None);
        }
        Ok(Some(Written::Done(replace(&self.acting, kind, object, live).await?)))
    }
}

/// An object that is left alone.
fn as_it_is(live: &Arc<DynamicObject>, kind: &Kind) -> Written {
    let (object, kind) = (live.clone(), kind.clone());
    Written::Done(runtime_apply::Applied { object, kind, outcome: Outcome::Unchanged })
}

/// Why an object is made again that the API server would take.
fn differs(piece: &Piece, fields: &[String]) -> runtime_apply::Error {
    let reason = format!("its resource-update policy has it made again when {} differs", fields.join(", "));
    runtime_apply::Error::Malformed { object: describe(&piece.object), reason }
}

/// The desired object with the fields that a policy leaves as they are.
fn with_live_fields(
    rule: &ApplyOnce,
    desired: &DynamicObject,
    live: &DynamicObject,
) -> Result<DynamicObject, runtime_apply::Error> {
    serde_json::from_value(rule.merged(&json(desired), &json(live))).map_err(|error| {
        runtime_apply::Error::Malformed { object: describe(desired), reason: error.to_string() }
    })
}

/// The desired object, as it is written now. One that was applied with the same content before keeps the name of the
/// revision that did it: a new revision writes what it changes and nothing else.
fn as_written(desired: &DynamicObject, live: Option<&DynamicObject>, recorded: bool) -> DynamicObject {
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

/// The API server made no object: it checks the right before anything else.
fn is_forbidden(error: &runtime_apply::Error) -> bool {
    matches!(error, runtime_apply::Error::Client { source: kube::Error::Api(status), .. } if status.code == 403)
}
