//! Components of one wave → written, several at the same time; the objects of one component one after the other.

use std::sync::Arc;
use std::time::Duration;

use kube::api::DynamicObject;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use vela_engine::ObjectKey;
use vela_runtime::apply::{self as runtime_apply, Conflicts, Outcome};
use vela_runtime::graph::{Cause, Graph, Outcome as Fate, Run};

use super::apply::{Applied, Error, Node, Piece, as_written, content};
use super::owned::{Application, may_change};
use super::record::{Books, Owned, Record};
use super::replace::{Replacing, Written};
use super::{Hands, replace};
use crate::author::Acting;
use crate::fixed;
use crate::order::{Thing, earlier};

/// What every component is written with.
pub(super) struct Pen<'a> {
    pub(super) hands: &'a Hands,
    pub(super) application: &'a Application<'a>,
    /// On whose behalf.
    pub(super) acting: Acting,
    /// The record as the lap found it.
    pub(super) before: Record,
    pub(super) books: Mutex<Books>,
    /// What may be made again is wanted because of this; nothing where nothing may.
    pub(super) replacing: Option<Replacing<'a>>,
    /// A record that cannot be written ends the lap: no other write begins.
    stop: CancellationToken,
}

/// What became of one component.
#[derive(Default)]
struct Part {
    live: Vec<(ObjectKey, Arc<DynamicObject>)>,
    created: usize,
    configured: usize,
    /// The first failure, which leaves the rest of the component alone.
    error: Option<(ObjectKey, String)>,
    /// Only a change of the wish or the object can help against it.
    is_final: bool,
    /// One is to be made again, which leaves the rest of the component alone: when to come again.
    later: Option<Option<Duration>>,
    /// Another try of the same object ends alike.
    is_lasting: bool,
}

impl Applied {
    fn add(&mut self, part: Part) {
        self.live.extend(part.live);
        self.created += part.created;
        self.configured += part.configured;
        if part.is_final {
            self.refused += usize::from(part.error.is_some());
        }
        if part.is_final || part.is_lasting {
            self.lasting.extend(part.error.iter().map(|(name, _)| name.clone()));
        }
        self.errors.extend(part.error);
        if let Some(again) = part.later {
            self.waiting_for_room = true;
            self.again = [self.again, again].into_iter().flatten().min();
        }
    }
}

impl<'a> Pen<'a> {
    pub(super) fn new(
        hands: &'a Hands,
        application: &'a Application<'a>,
        acting: Acting,
        before: Record,
        books: Books,
    ) -> Self {
        let (books, stop) = (Mutex::new(books), CancellationToken::new());
        Self { hands, application, acting, before, books, replacing: None, stop }
    }

    /// The same, making again what cannot be changed.
    pub(super) fn replacing(self, replacing: Replacing<'a>) -> Self {
        Self { replacing: Some(replacing), ..self }
    }

    pub(super) fn into_books(self) -> Books {
        self.books.into_inner()
    }

    /// Write components of one wave, several at the same time. What was begun is always ended, so that no write of this
    /// lap happens in the next one.
    pub(super) async fn write<'n>(&self, nodes: Vec<&'n Node>, applied: &mut Applied) -> Result<(), Error> {
        let things = |node: &&'n Node| node.pieces.iter().map(|piece| Thing::of(&piece.object)).collect();
        let earlier = earlier(&nodes.iter().map(things).collect::<Vec<_>>());
        let mut graph = Graph::new();
        for (at, (node, earlier)) in nodes.into_iter().zip(earlier).enumerate() {
            graph.add(at, node, earlier)?;
        }
        let run = Run::new(self.hands.context.options.concurrent_writes).until(self.stop.clone());
        let report = graph.run(&run, |_, node| self.write_node(node)).await;
        let mut failed = None;
        for (at, outcome) in report.into_outcomes() {
            match outcome {
                Fate::Done(part) => applied.add(part),
                Fate::Failed(Cause::Panicked(said)) => {
                    let component = graph.get(&at).map(|node| node.component.clone()).unwrap_or_default();
                    failed = failed.or(Some(Error::Panicked { component, said }));
                }
                Fate::Failed(
                    Cause::Later { error, .. } | Cause::Unrecoverable(error) | Cause::NotReady(error),
                ) => failed = failed.or(Some(error)),
                // Behind a failure, which is told.
                Fate::Blocked(_) | Fate::NotBegun | Fate::Dropped => {}
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Write one component; its first failure leaves the rest of it alone, and a failed write of the record ends the
    /// lap.
    async fn write_node(&self, node: &Node) -> Result<Part, Cause<Error>> {
        let mut part = Part::default();
        for (at, piece) in node.pieces.iter().enumerate() {
            if self.stop.is_cancelled() {
                break;
            }
            let owned = Owned::of(&piece.object);
            match self.write_piece(piece, &owned).await {
                Ok(Written::Later(again)) => {
                    part.later = Some(again);
                    break;
                }
                Ok(Written::Refused(told)) => {
                    part.error = Some((piece.name.clone(), told));
                    part.is_final = true;
                    break;
                }
                Ok(Written::Done(done)) => {
                    match done.outcome {
                        Outcome::Created => part.created += 1,
                        Outcome::Configured => part.configured += 1,
                        Outcome::Unchanged => {}
                    }
                    if let Some(entry) = self.books.lock().await.record.entries.get_mut(&owned) {
                        entry.uid = done.object.metadata.uid.clone();
                    }
                    part.live.push((piece.name.clone(), done.object));
                }
                Err(Error::Object(error)) => {
                    if is_forbidden(&error) {
                        // Those behind it are not begun.
                        let never_made = node.pieces.iter().skip(at).map(|piece| Owned::of(&piece.object));
                        let new = never_made.filter(|owned| !self.before.entries.contains_key(owned));
                        self.books.lock().await.refused.extend(new);
                    }
                    part.is_lasting = !error.is_transient();
                    part.error = Some((piece.name.clone(), self.acting.told(&error)));
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
        match self.apply_piece(piece, owned).await {
            Err(Error::Object(error)) => match fixed::fields(&error) {
                Some(fields) => replace::replace(self, piece, owned, &fields, error).await,
                None => Err(Error::Object(error)),
            },
            written => written,
        }
    }

    /// Apply one object, after the record forgot a former one that is gone.
    pub(super) async fn apply_piece(&self, piece: &Piece, owned: &Owned) -> Result<Written, Error> {
        let (hands, application) = (self.hands, self.application);
        let known = self.before.entries.get(owned);
        // Only a complete record tells what is on the live object; an interrupted lap wrote who knows what.
        let recorded = self.before.complete
            && known.is_some_and(|entry| {
                !entry.unwanted && entry.hash.as_deref() == Some(&content(&piece.object))
            });
        let uid = known.and_then(|entry| entry.uid.clone());
        let kind =
            hands.context.discovery.resolve(&owned.api_version, &owned.kind).await.map_err(|source| {
                runtime_apply::Error::Kind { object: runtime_apply::describe(&piece.object), source }
            })?;
        let informer = hands.owned.informer(&kind).await.ok();
        let mut live = informer.as_ref().and_then(|informer| informer.get(&owned.key));
        if live.is_none() && uid.is_some() {
            // It may have lost the label by which it is watched, and then only its uid tells that it is ours.
            let api = kind.api(self.acting.client(), &owned.key.namespace);
            live = api.get_opt(&owned.key.name).await.map(|found| found.map(Arc::new)).map_err(|source| {
                runtime_apply::Error::Client { object: runtime_apply::describe(&piece.object), source }
            })?;
            if live.is_none() {
                let mut books = self.books.lock().await;
                let forgotten = books.forget_former(&hands.records, &application.key, owned).await;
                forgotten.map_err(Error::Record)?;
            }
        }
        let told = live.as_ref().and_then(|live| hands.refusals.of(owned, &piece.object, live));
        if let Some(told) = told {
            return Ok(Written::Refused(told));
        }
        let guard = |live: &DynamicObject| may_change(application, uid.as_deref(), &piece.object, live);
        let object = as_written(&piece.object, live.as_deref(), recorded);
        let done = self.acting.applier().apply(&object, live, recorded, Conflicts::Force, &guard).await?;
        if let Some(informer) = informer.filter(|_| done.outcome != Outcome::Unchanged) {
            informer.observe((*done.object).clone());
        }
        Ok(Written::Done(done))
    }
}

/// Nothing was made: the API server asks for the right before anything else.
fn is_forbidden(error: &runtime_apply::Error) -> bool {
    matches!(error, runtime_apply::Error::Client { source: kube::Error::Api(status), .. } if status.code == 403)
}
