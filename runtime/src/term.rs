//! One term of a leader: the controllers work until a stop or the loss of the lease, and none goes on after it.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::cache::Cache;
use crate::controller::Controller;
use crate::events::EventRecorder;
use crate::lease::Elector;
use crate::metrics::Metrics;
use crate::resync;

/// Reconciles that are cut off end where they wait next; one that computes for longer is left to the runtime.
const CUT_AT_MOST: Duration = Duration::from_secs(2);
/// Caches that lost their server are given this long to follow it again before a new leader works from them.
const CURRENT_AT_MOST: Duration = Duration::from_secs(10);
/// After the server came back, keys that wait for another try come at once, but not more often than this.
const HURRY_EVERY: Duration = Duration::from_secs(5);

/// How a term ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// As asked for; the lease is still ours.
    Stopped,
    /// The lease is gone: another process may lead.
    Lost,
}

/// The inputs of a term.
pub(crate) struct Term {
    pub(crate) controllers: Vec<Controller>,
    /// The recorder of the controllers' events.
    pub(crate) events: Option<EventRecorder>,
    pub(crate) cache: Cache,
    pub(crate) resync: Option<Duration>,
    pub(crate) grace: Duration,
    pub(crate) metrics: Arc<Metrics>,
}

impl Term {
    /// Works until stopped or until the lease is lost. The lease is renewed until the last reconcile has ended: while
    /// we still write, no other process may begin.
    pub(crate) async fn serve(self, elector: Option<&mut Elector>, stop: &CancellationToken) -> End {
        let (cut, let_go) = (CancellationToken::new(), CancellationToken::new());
        let mut holding = std::pin::pin!(async {
            match elector {
                Some(elector) => elector.hold(&let_go).await,
                None => {
                    let_go.cancelled().await;
                    false
                }
            }
        });
        let mut lost = tokio::select! {
            biased;
            () = stop.cancelled() => false,
            lost = &mut holding => lost,
            _ = tokio::time::timeout(CURRENT_AT_MOST, self.cache.current()) => {
                let queues: Vec<_> = self.controllers.iter().map(Controller::queue).collect();
                let mut writing = self.start_writing();
                let mut running = self.start(&cut);
                let mut lost = tokio::select! {
                    biased;
                    () = stop.cancelled() => false,
                    lost = &mut holding => lost,
                };
                queues.iter().for_each(|queue| queue.close());
                if !lost {
                    tokio::select! {
                        biased;
                        ended = tokio::time::timeout(self.grace, all(&mut running)) => if ended.is_err() {
                            tracing::warn!(grace = ?self.grace, "reconciles did not end in time; they are cut off");
                        },
                        now = &mut holding => lost = now,
                    }
                }
                cut.cancel();
                if lost {
                    writing.abort_all();
                }
                if tokio::time::timeout(CUT_AT_MOST, all(&mut running)).await.is_err() {
                    running.shutdown().await;
                }
                self.end_writing(&mut writing, lost).await;
                lost
            }
        };
        let_go.cancel();
        if !lost {
            lost = holding.await;
        }
        if lost { End::Lost } else { End::Stopped }
    }

    /// The writers of events; none where no recorder was given.
    fn start_writing(&self) -> JoinSet<()> {
        let mut writing = JoinSet::new();
        for writer in self.events.iter().flat_map(EventRecorder::open) {
            writing.spawn(writer);
        }
        writing
    }

    /// Waiting events are written while the lease is ours, and for a moment at most; this process writes none after it.
    async fn end_writing(&self, writing: &mut JoinSet<()>, lost: bool) {
        if let Some(events) = &self.events {
            events.close();
        }
        let ended = !lost && tokio::time::timeout(CUT_AT_MOST, all(writing)).await.is_ok();
        if !ended {
            writing.shutdown().await;
        }
    }

    fn start(&self, cut: &CancellationToken) -> JoinSet<()> {
        let mut running = JoinSet::new();
        for controller in &self.controllers {
            if let Some(every) = self.resync {
                running.spawn(resync::run(controller.queue(), controller.kinds(), every));
            }
            running.spawn(retry_on_reconnect(controller.queue(), self.cache.clone()));
            running.spawn(controller.run(self.cache.clone(), self.metrics.clone(), cut.clone()));
        }
        running
    }
}

async fn all(running: &mut JoinSet<()>) {
    while running.join_next().await.is_some() {}
}

/// Failures while the server was away wait for up to a quarter of an hour: the keys come as soon as the server is back.
async fn retry_on_reconnect(queue: Arc<crate::queue::Queue<crate::cache::Key>>, cache: Cache) {
    let reconnections = cache.reconnections();
    let mut seen = reconnections.get();
    loop {
        tokio::select! {
            biased;
            () = queue.closed() => return,
            times = reconnections.wait_for(|times| times != seen) => seen = times,
        }
        queue.retry_on_reconnect();
        tokio::select! {
            biased;
            () = queue.closed() => return,
            () = tokio::time::sleep(HURRY_EVERY) => {}
        }
    }
}
