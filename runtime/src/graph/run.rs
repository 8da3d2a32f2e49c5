//! Runs a graph in one task within limits; nothing about the order depends on chance.

use std::any::Any;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::FutureExt as _;
use tokio_util::sync::CancellationToken;

use super::report::{Cause, Outcome, Report};
use super::{Graph, Node};

/// The treatment of running nodes when the run is cancelled. No new node begins in either case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnCancel {
    /// Let them end, so that no write is left under way. They may look at the token themselves to end early.
    #[default]
    Await,
    /// Leave them where they stand; what was sent to a server may still happen.
    Drop,
}

/// The limits of a run, and its early end.
#[derive(Clone, Debug)]
pub struct Run {
    concurrency: usize,
    cancel: CancellationToken,
    on_cancel: OnCancel,
}

impl Run {
    /// At most this many nodes at the same time, at least one; nothing cancels the run.
    pub fn new(concurrency: usize) -> Self {
        Self {
            concurrency: concurrency.max(1),
            cancel: CancellationToken::new(),
            on_cancel: OnCancel::default(),
        }
    }

    /// Cancel with this token. A node may cancel its own run, which is how one failure ends it.
    #[must_use]
    pub fn until(mut self, cancel: CancellationToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// The treatment of running nodes then.
    #[must_use]
    pub fn on_cancel(mut self, on_cancel: OnCancel) -> Self {
        self.on_cancel = on_cancel;
        self
    }
}

/// Nodes that run, in the order they began in. Whatever wakes one of them, they are looked at in this order: what
/// several wait for may wake them in any order (the waiters of a `tokio::sync::watch` are woken by chance). There are
/// few of them, as many as the limit allows, so that looking at each costs nothing beside what they do.
struct Running<F>(Vec<(usize, Pin<Box<F>>)>);

impl<F: Future> Running<F> {
    /// The next one that ends; nothing when none runs.
    async fn next(&mut self) -> Option<(usize, F::Output)> {
        poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<(usize, F::Output)>> {
        for at in 0..self.0.len() {
            if let Poll::Ready(output) = self.0[at].1.as_mut().poll(context) {
                let (place, _) = self.0.remove(at);
                return Poll::Ready(Some((place, output)));
            }
        }
        if self.0.is_empty() { Poll::Ready(None) } else { Poll::Pending }
    }
}

/// How far a run is.
struct Progress<T, E> {
    /// How many blockers each node still waits for.
    waits_for: Vec<usize>,
    /// Nodes that may begin; the one that was added first comes first.
    ready: BTreeSet<usize>,
    ends: Vec<End<T, E>>,
}

enum End<T, E> {
    Open,
    Running,
    Done(T),
    Failed(Cause<E>),
    Blocked,
}

impl<K: Ord + Clone + Debug, N> Graph<K, N> {
    /// Run every node that can be run. The graph keeps nothing of it: every run begins anew. A node that panics is a
    /// failed one. Dropping the future drops the nodes that run, and nothing goes on behind it.
    pub async fn run<'g, T, E, F, Fut>(&'g self, run: &Run, node: F) -> Report<K, T, E>
    where
        F: Fn(&'g K, &'g N) -> Fut,
        Fut: Future<Output = Result<T, Cause<E>>>,
    {
        let mut progress = Progress::new(&self.nodes);
        let mut running = Running(Vec::new());
        // A future of its own, so that a panic on the way to the first wait is caught too.
        let begin = |place: usize, at: &'g Node<K, N>| {
            let node = &node;
            let work = async move { node(&at.key, &at.content).await };
            (place, Box::pin(AssertUnwindSafe(work).catch_unwind()))
        };
        loop {
            while running.0.len() < run.concurrency && !run.cancel.is_cancelled() {
                let Some(place) = progress.ready.pop_first() else { break };
                progress.ends[place] = End::Running;
                running.0.push(begin(place, &self.nodes[place]));
            }
            let ended = match run.on_cancel {
                OnCancel::Await => running.next().await,
                OnCancel::Drop => tokio::select! {
                    biased;
                    () = run.cancel.cancelled() => break,
                    ended = running.next() => ended,
                },
            };
            let Some((place, ended)) = ended else { break };
            match ended {
                Ok(Ok(value)) => progress.done(&self.nodes, place, value),
                Ok(Err(cause)) => progress.failed(&self.nodes, place, cause),
                Err(panic) => progress.failed(&self.nodes, place, Cause::Panicked(said(&*panic))),
            }
        }
        drop(running);
        Report::new(progress.outcomes(&self.nodes))
    }
}

impl<T, E> Progress<T, E> {
    fn new<K, N>(nodes: &[Node<K, N>]) -> Self {
        let waits_for: Vec<usize> = nodes.iter().map(|node| node.blockers.len()).collect();
        let ready = (0..nodes.len()).filter(|place| waits_for[*place] == 0).collect();
        Self { waits_for, ready, ends: nodes.iter().map(|_| End::Open).collect() }
    }

    fn done<K, N>(&mut self, nodes: &[Node<K, N>], place: usize, value: T) {
        self.ends[place] = End::Done(value);
        for child in &nodes[place].children {
            self.waits_for[*child] -= 1;
            if self.waits_for[*child] == 0 && matches!(self.ends[*child], End::Open) {
                self.ready.insert(*child);
            }
        }
    }

    /// A node that waits for a failed one, directly or not, does not begin.
    fn failed<K, N>(&mut self, nodes: &[Node<K, N>], place: usize, cause: Cause<E>) {
        self.ends[place] = End::Failed(cause);
        let mut left: Vec<usize> = nodes[place].children.clone();
        while let Some(child) = left.pop() {
            if matches!(self.ends[child], End::Open) {
                self.ends[child] = End::Blocked;
                left.extend(&nodes[child].children);
            }
        }
    }

    fn outcomes<K: Clone, N>(self, nodes: &[Node<K, N>]) -> Vec<(K, Outcome<K, T, E>)> {
        let in_the_way: Vec<bool> =
            self.ends.iter().map(|end| matches!(end, End::Failed(_) | End::Blocked)).collect();
        let outcome = |(node, end): (&Node<K, N>, End<T, E>)| {
            let blocked_by = || {
                let blockers = node.blockers.iter().filter(|blocker| in_the_way[**blocker]);
                blockers.map(|blocker| nodes[*blocker].key.clone()).collect()
            };
            let outcome = match end {
                End::Done(value) => Outcome::Done(value),
                End::Failed(cause) => Outcome::Failed(cause),
                End::Blocked => Outcome::Blocked(blocked_by()),
                End::Running => Outcome::Dropped,
                End::Open => Outcome::NotBegun,
            };
            (node.key.clone(), outcome)
        };
        nodes.iter().zip(self.ends).map(outcome).collect()
    }
}

/// The message of a panic.
fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}
