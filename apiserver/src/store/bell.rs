//! A revision that grows; whoever waits for it is woken, first come first served.
//!
//! `tokio::sync::watch` wakes its receivers in an order it draws by chance: two watches of one kind would hear of a
//! change in another order in each run, and a simulation could not be repeated.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::Notify;

#[derive(Debug, Default)]
struct State {
    revision: AtomicU64,
    gone: AtomicBool,
    wake: Notify,
}

/// The side that rings; when it goes, every ear is told.
#[derive(Debug, Default)]
pub struct Bell(Arc<State>);

impl Bell {
    pub(crate) fn new(revision: u64) -> Self {
        Self(Arc::new(State { revision: AtomicU64::new(revision), ..State::default() }))
    }

    /// Tell everybody of this revision.
    pub(crate) fn ring(&self, revision: u64) {
        self.0.revision.store(revision, Ordering::SeqCst);
        self.0.wake.notify_waiters();
    }

    /// An ear that has heard everything so far.
    pub(crate) fn ear(&self) -> Ear {
        Ear { heard: self.0.revision.load(Ordering::SeqCst), bell: self.0.clone() }
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        self.0.gone.store(true, Ordering::SeqCst);
        self.0.wake.notify_waiters();
    }
}

/// The bell is gone: nothing will ring any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gone;

/// The side that listens.
#[derive(Clone, Debug)]
pub struct Ear {
    bell: Arc<State>,
    heard: u64,
}

impl Ear {
    /// Take what rang so far for heard.
    pub(crate) fn forget(&mut self) {
        self.heard = self.bell.revision.load(Ordering::SeqCst);
    }

    /// Wait for a revision that was not heard; may be dropped at any time without losing one.
    pub(crate) async fn rings(&mut self) -> Result<u64, Gone> {
        loop {
            // The place in the queue is taken before the look, so that no ring falls between them.
            let mut woken = std::pin::pin!(self.bell.wake.notified());
            woken.as_mut().enable();
            let revision = self.bell.revision.load(Ordering::SeqCst);
            if revision != self.heard {
                self.heard = revision;
                return Ok(revision);
            }
            if self.bell.gone.load(Ordering::SeqCst) {
                return Err(Gone);
            }
            woken.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::{Bell, Gone};

    #[tokio::test]
    async fn what_rang_before_the_question_is_heard_once() {
        let bell = Bell::new(3);
        let mut ear = bell.ear();
        bell.ring(4);
        bell.ring(5);
        assert_eq!(ear.rings().await, Ok(5));
        bell.ring(6);
        ear.forget();
        drop(bell);
        assert_eq!(ear.rings().await, Err(Gone));
    }

    #[tokio::test]
    async fn ears_are_woken_in_the_order_in_which_they_began_to_wait() {
        for _ in 0..20 {
            let (bell, woken) = (Bell::new(0), Arc::new(Mutex::new(Vec::new())));
            let waiting: Vec<_> = (0..16)
                .map(|number| {
                    let (mut ear, woken) = (bell.ear(), woken.clone());
                    tokio::spawn(async move {
                        assert_eq!(ear.rings().await, Ok(1));
                        woken.lock().unwrap().push(number);
                    })
                })
                .collect();
            tokio::task::yield_now().await;
            bell.ring(1);
            for ear in waiting {
                ear.await.unwrap();
            }
            assert_eq!(*woken.lock().unwrap(), (0..16).collect::<Vec<_>>());
        }
    }
}
