//! A connection in → a place for it, if need be that of the one which has been idle longest.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::turn::Peer;

/// All connections that stand.
#[derive(Debug)]
pub(crate) struct Places {
    most: usize,
    standing: Mutex<Standing>,
    /// Rings when a place may be had: a connection went, or became idle.
    news: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Standing {
    peers: HashMap<u64, Arc<Peer>>,
    last: u64,
}

/// A place that is kept until this is dropped or somebody else needs it more.
#[derive(Debug)]
pub(crate) struct Place {
    places: Arc<Places>,
    id: u64,
    pub(crate) peer: Arc<Peer>,
}

impl Places {
    pub(crate) fn new(most: usize) -> Self {
        Self { most: most.max(1), standing: Mutex::default(), news: Arc::default() }
    }

    fn standing(&self) -> MutexGuard<'_, Standing> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place, as soon as there is one. It is always the peer's turn somewhere, except where all are at work.
    pub(crate) async fn take(self: &Arc<Self>) -> Place {
        loop {
            let news = self.news.notified();
            {
                let mut standing = self.standing();
                if standing.peers.len() < self.most || standing.let_one_go() {
                    standing.last += 1;
                    let (id, peer) = (standing.last, Arc::new(Peer::new(self.news.clone())));
                    standing.peers.insert(id, peer.clone());
                    return Place { places: self.clone(), id, peer };
                }
            }
            news.await;
        }
    }

    /// The connection that has been idle longest, if one is idle, makes room.
    pub(crate) fn let_one_go(&self) {
        self.standing().let_one_go();
    }
}

impl Standing {
    fn let_one_go(&mut self) -> bool {
        let idle = self.peers.iter().filter_map(|(id, peer)| Some((peer.idle_since()?, *id)));
        let Some((_, id)) = idle.min() else { return false };
        if let Some(peer) = self.peers.remove(&id) {
            peer.out.cancel();
        }
        true
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.standing().peers.remove(&self.id);
        self.places.news.notify_one();
    }
}
