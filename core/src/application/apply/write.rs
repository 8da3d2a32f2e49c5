//! Components → written wave by wave, several at the same time; the objects of one component one after the other.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use kube::api::DynamicObject;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use vela_crds::labels;
use vela_runtime::apply::{self as runtime_apply, Conflicts, Outcome};
use vela_runtime::graph::{Cause, Graph, Outcome as NodeOutcome, Run};

use super::applied::{Applied, Part};
use super::error::Error;
use super::replace::{RefusedChange, Replacing, make_room_for};
use super::revision_configuration;
use crate::application::desired::{Node, Piece};
use crate::application::owned::{Application, may_change};
use crate::application::reconciler::ApplicationReconciler;
use crate::application::record::{Owned, Record, RecordWriter};
use crate::author::Actor;
use crate::immutable;
use crate::order::{OrderedObject, earlier};
use crate::recreate::Removal;

/// What every component is written with.
pub(super) struct ComponentWriter<'a> {
    reconciler: &'a ApplicationReconciler,
    application: &'a Application<'a>,
    /// On whose behalf.
    acting: Actor,
    /// The record as the reconcile found it.
    before: Record,
    record_writer: Mutex<RecordWriter>,
    /// What may be made again is wanted because of this; nothing where nothing may.
    replacing: Option<Replacing<'a>>,
    /// A record that cannot be written ends the reconcile: no other write begins.
    stop: CancellationToken,
}

/// What became of one object.
enum Written {
    /// It is as it is wanted.
    Done(runtime_apply::Applied),
    /// It is to be made again: now is not the time, but then. Where no time is said, its end wakes the application.
    Later(Option<Duration>),
    /// It cannot be as it is wanted, for this reason; the same need not be tried again.
    Refused(String),
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

    /// Write components, one wave after the other. What was begun is always ended, so that no write of this
    /// reconcile happens in the next one.
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
        let report = graph.run(&run, |_, node| self.write_node(node)).await;
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

    /// Write one component; its first failure leaves the rest of it alone, and a failed write of the record ends the
    /// reconcile.
    async fn write_node(&self, node: &Node) -> Result<Part, Cause<Error>> {
        let mut part = Part::default();
        for (at, piece) in node.pieces.iter().enumerate() {
            if self.stop.is_cancelled() {
                break;
            }
            let owned = piece.owned();
            match self.write_piece(piece, &owned).await {
                Ok(Written::Later(again)) => {
                    part.later = Some(again);
                    break;
                }
                Ok(Written::Refused(message)) => {
                    part.error = Some((piece.name.clone(), message));
                    part.is_final = true;
                    break;
                }
                Ok(Written::Done(done)) => {
                    if let Some(entry) = self.record_writer.lock().await.record.entries.get_mut(&owned) {
                        entry.uid = done.object.metadata.uid.clone();
                    }
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

    /// Write one object; one with a field that cannot change is made again where that costs nothing.
    async fn write_piece(&self, piece: &Piece, owned: &Owned) -> Result<Written, Error> {
        let error = match self.apply_piece(piece, owned).await {
            Err(Error::Object(error)) => error,
            written => return written,
        };
        let Some(fields) = immutable::fields(&error) else { return Err(Error::Object(error)) };
        let refused = RefusedChange {
            desired: &piece.object,
            recorded_uid: self.before.entries.get(owned).and_then(|entry| entry.uid.as_deref()),
            fields: &fields,
            error: &error,
        };
        let room =
            make_room_for(self.reconciler, self.application, &self.acting, self.replacing, refused).await?;
        match room {
            Removal::Done => self.apply_piece(piece, owned).await,
            Removal::Later(again) => Ok(Written::Later(again)),
            Removal::Refused(message) => Ok(Written::Refused(message)),
        }
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
        if live.is_none() && uid.is_some() {
            // It may have lost the label by which it is watched, and then only its uid says that it is ours.
            let api = kind.api(self.acting.client(), &owned.key.namespace);
            live = api.get_opt(&owned.key.name).await.map(|found| found.map(Arc::new)).map_err(|source| {
                runtime_apply::Error::Client { object: runtime_apply::describe(&piece.object), source }
            })?;
            if live.is_none() {
                let mut record_writer = self.record_writer.lock().await;
                let forgotten =
                    record_writer.forget_former(&reconciler.records, &application.key, owned).await;
                forgotten.map_err(Error::Record)?;
            }
        }
        let message = live.as_ref().and_then(|live| reconciler.refusals.of(owned, &piece.object, live));
        if let Some(message) = message {
            return Ok(Written::Refused(message));
        }
        let guard = |live: &DynamicObject| may_change(application, uid.as_deref(), &piece.object, live);
        let mut object = as_written(&piece.object, live.as_deref(), recorded);
        if revision_configuration::is_one(&object) {
            if live.is_none() {
                live = revision_configuration::read(&kind, &self.acting, &object).await?;
            }
            if live.is_none() {
                let others = revision_configuration::others(reconciler, &self.before, &object).await?;
                let made = revision_configuration::create(&kind, &self.acting, &object, &others).await?;
                if let Some(informer) = informer {
                    informer.observe((*made.object).clone());
                }
                return Ok(Written::Done(made));
            }
            object = revision_configuration::without_marks(&object)?;
        }
        let done = self.acting.applier().apply(&object, live, recorded, Conflicts::Force, &guard).await?;
        if let Some(informer) = informer.filter(|_| done.outcome != Outcome::Unchanged) {
            informer.observe((*done.object).clone());
        }
        Ok(Written::Done(done))
    }
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

/// Nothing was made: the API server asks for the right before anything else.
fn is_forbidden(error: &runtime_apply::Error) -> bool {
    matches!(error, runtime_apply::Error::Client { source: kube::Error::Api(status), .. } if status.code == 403)
}
