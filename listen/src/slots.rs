//! Bounds how many connections are open; where all slots are taken, the connection that was idle longest is closed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::peer::Peer;

/// All connections that stand.
#[derive(Debug)]
pub(crate) struct Slots {
    most: usize,
    open: Mutex<OpenConnections>,
    /// Rings when a place may be had: a connection went, or became idle.
    freed: Arc<Notify>,
}

#[derive(Debug, Default)]
struct OpenConnections {
    peers: HashMap<u64, Arc<Peer>>,
    last: u64,
}

/// A place that is kept until this is dropped or another connection needs it more.
#[derive(Debug)]
pub(crate) struct Slot {
    slots: Arc<Slots>,
    id: u64,
    pub(crate) peer: Arc<Peer>,
}

impl Slots {
    pub(crate) fn new(most: usize) -> Self {
        Self { most: most.max(1), open: Mutex::default(), freed: Arc::default() }
    }

    fn open(&self) -> MutexGuard<'_, OpenConnections> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place, as soon as there is one. It is always the peer's turn somewhere, except where all are at work.
    pub(crate) async fn take(self: &Arc<Self>) -> Slot {
        loop {
            let freed = self.freed.notified();
            {
                let mut open = self.open();
                if open.peers.len() < self.most || open.close_idlest() {
                    open.last += 1;
                    let (id, peer) = (open.last, Arc::new(Peer::new(self.freed.clone())));
                    open.peers.insert(id, peer.clone());
                    return Slot { slots: self.clone(), id, peer };
                }
            }
            freed.await;
        }
    }

    /// The connection that has been idle longest, if one is idle, makes room.
    pub(crate) fn close_idlest(&self) {
        self.open().close_idlest();
    }
}

impl OpenConnections {
    fn close_idlest(&mut self) -> bool {
        let idle = self.peers.iter().filter_map(|(id, peer)| Some((peer.idle_since()?, *id)));
        let Some((_, id)) = idle.min() else { return false };
        if let Some(peer) = self.peers.remove(&id) {
            peer.evicted.cancel();
        }
        true
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.open().peers.remove(&self.id);
        self.slots.freed.notify_one();
    }
}
