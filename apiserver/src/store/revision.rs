//! A revision that grows; each waiter is woken, first come first served.
//!
//! `tokio::sync::watch` wakes its receivers in an order it draws by chance: two watches of one kind would see a
//! change in another order in each run, and a simulation could not be repeated.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::Notify;

#[derive(Debug, Default)]
struct State {
    revision: AtomicU64,
    closed: AtomicBool,
    wake: Notify,
}

/// The side that announces revisions; when it is dropped, every receiver learns of it.
#[derive(Debug, Default)]
pub struct RevisionSender(Arc<State>);

impl RevisionSender {
    pub(crate) fn new(revision: u64) -> Self {
        Self(Arc::new(State { revision: AtomicU64::new(revision), ..State::default() }))
    }

    /// Announce this revision to every receiver.
    pub(crate) fn send(&self, revision: u64) {
        self.0.revision.store(revision, Ordering::SeqCst);
        self.0.wake.notify_waiters();
    }

    /// A receiver that has seen everything so far.
    pub(crate) fn subscribe(&self) -> RevisionReceiver {
        RevisionReceiver { seen: self.0.revision.load(Ordering::SeqCst), state: self.0.clone() }
    }
}

impl Drop for RevisionSender {
    fn drop(&mut self) {
        self.0.closed.store(true, Ordering::SeqCst);
        self.0.wake.notify_waiters();
    }
}

/// The sender was dropped: no revision will come any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Closed;

/// The side that waits for revisions.
#[derive(Clone, Debug)]
pub struct RevisionReceiver {
    state: Arc<State>,
    seen: u64,
}

impl RevisionReceiver {
    /// Take every revision so far for seen.
    pub(crate) fn mark_seen(&mut self) {
        self.seen = self.state.revision.load(Ordering::SeqCst);
    }

    /// Wait for a revision that was not seen; may be dropped at any time without losing one.
    pub(crate) async fn changed(&mut self) -> Result<u64, Closed> {
        loop {
            // The place in the queue is taken before the look, so that no revision falls between them.
            let mut woken = std::pin::pin!(self.state.wake.notified());
            woken.as_mut().enable();
            let revision = self.state.revision.load(Ordering::SeqCst);
            if revision != self.seen {
                self.seen = revision;
                return Ok(revision);
            }
            if self.state.closed.load(Ordering::SeqCst) {
                return Err(Closed);
            }
            woken.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::{Closed, RevisionSender};

    #[tokio::test]
    async fn what_was_sent_before_the_question_is_received_once() {
        let sender = RevisionSender::new(3);
        let mut receiver = sender.subscribe();
        sender.send(4);
        sender.send(5);
        assert_eq!(receiver.changed().await, Ok(5));
        sender.send(6);
        receiver.mark_seen();
        drop(sender);
        assert_eq!(receiver.changed().await, Err(Closed));
    }

    #[tokio::test]
    async fn receivers_are_woken_in_the_order_in_which_they_began_to_wait() {
        for _ in 0..20 {
            let (sender, woken) = (RevisionSender::new(0), Arc::new(Mutex::new(Vec::new())));
            let waiting: Vec<_> = (0..16)
                .map(|number| {
                    let (mut receiver, woken) = (sender.subscribe(), woken.clone());
                    tokio::spawn(async move {
                        assert_eq!(receiver.changed().await, Ok(1));
                        woken.lock().unwrap().push(number);
                    })
                })
                .collect();
            tokio::task::yield_now().await;
            sender.send(1);
            for receiver in waiting {
                receiver.await.unwrap();
            }
            assert_eq!(*woken.lock().unwrap(), (0..16).collect::<Vec<_>>());
        }
    }
}
