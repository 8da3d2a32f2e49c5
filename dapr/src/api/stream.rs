//! One stream of updates to one sidecar: takes what is pending when the sidecar is ready for more.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;

use futures::Stream;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use super::objects::{Objects, PayloadError, Registered, written};
use super::pending::Due;
use crate::protocol::ResourceEvent;
use crate::resources::{ServedKind, Update, UpdateType};

/// What a call that streams answers with.
pub(super) type Updates = Pin<Box<dyn Stream<Item = Result<ResourceEvent, Status>> + Send>>;

struct Sender {
    kind: ServedKind,
    objects: Arc<Objects>,
    registered: Registered,
    ready: VecDeque<Due>,
    stop: CancellationToken,
    has_ended: bool,
}

/// The updates of a kind, until the sidecar goes, the operator stops, or the sidecar has to list anew.
pub(super) fn updates(
    kind: ServedKind,
    objects: Arc<Objects>,
    registered: Registered,
    stop: CancellationToken,
) -> Updates {
    let sender = Sender { kind, objects, registered, ready: VecDeque::new(), stop, has_ended: false };
    Box::pin(futures::stream::unfold(sender, |mut sender| async move {
        let next = sender.next().await?;
        sender.has_ended = next.is_err();
        Some((next, sender))
    }))
}

impl Sender {
    async fn next(&mut self) -> Option<Result<ResourceEvent, Status>> {
        if self.has_ended {
            return None;
        }
        loop {
            while let Some(due) = self.ready.pop_front() {
                match self.event(due).await {
                    Ok(Some(event)) => return Some(Ok(event)),
                    Ok(None) => {}
                    Err(status) => return Some(Err(status)),
                }
            }
            let pending = self.registered.pending.clone();
            tokio::select! {
                biased;
                () = self.stop.cancelled() => {
                    return Some(Err(Status::unavailable("the operator stops; ask another replica")));
                }
                found = pending.next() => match found {
                    Ok(updates) => self.ready = updates.into(),
                    Err(_) => return Some(Err(Status::resource_exhausted(
                        "too many changes wait for this sidecar; connect and list anew",
                    ))),
                },
            }
        }
    }

    /// Nothing where the object cannot be given, which was said on it, or where the sidecar would be given what it has: an HTTPEndpoint
    /// that is told of again costs a restart of the whole sidecar.
    async fn event(&self, due: Due) -> Result<Option<ResourceEvent>, Status> {
        let Due { update: Update { update_type, object }, before } = due;
        let json = match self.objects.payload(self.kind, &object).await {
            Ok(json) => json,
            // It goes whatever it held.
            Err(_) if update_type == UpdateType::Deleted => match written(self.kind, &object) {
                Ok(json) => json,
                Err(error) => {
                    self.objects.report(self.kind, &object, &error).await;
                    return Ok(None);
                }
            },
            // The sidecar connects and lists again, and so misses nothing.
            Err(error @ PayloadError::Unread { .. }) => return Err(Status::unavailable(error.to_string())),
            Err(error) => {
                self.objects.report(self.kind, &object, &error).await;
                return Ok(None);
            }
        };
        let known = before.and_then(|before| self.objects.payload_before(self.kind, &before));
        if known.is_some_and(|known| known == json) {
            return Ok(None);
        }
        Ok(Some(ResourceEvent { json, r#type: update_type as i32 }))
    }
}
