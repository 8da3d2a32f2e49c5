//! Runs the nodes of a dependency graph once each, independent ones at the same time, and reports what failed and why.
//!
//! A graph is built once and run as often as one likes: [`Graph::add`] refuses what cannot be run, [`Graph::run`] is
//! given what to do with a node and what the run may use. A node begins when all its blockers are done; one whose
//! blocker failed is not begun, and the [`Report`] tells the first causes, all of them, each with its type.
//!
//! A blocker has to be added before what waits for it. A circle would need a node that was added before itself, so no
//! graph has one, and nothing has to look for them.
//!
//! | file | in → out |
//! |---|---|
//! | `run` | graph, limits, what to do → outcome of every node |
//! | `report` | outcomes → first causes, and when to come again |
//! | `refusal` | why an object was not applied → type of failure |
//!
//! Chance decides nothing: nodes begin in the order they were added in, as far as their blockers allow, and one run
//! with a limit of one has one order. Nodes that run at the same time are one task's futures, which are polled in the
//! order they began in, regardless of which one wakes. A node may be anything: a component, an object, a step.

mod refusal;
mod report;
mod run;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

pub use report::{Cause, Failed, Outcome, Report, Requeue};
pub use run::{OnCancel, Run};

/// Nodes of one graph at most: what one reconcile looks after comes from one object, which holds far fewer.
pub const NODES_AT_MOST: usize = 100_000;
/// Blockers of all nodes together at most, which bounds memory and time where everything waits for everything.
pub const BLOCKERS_AT_MOST: usize = 1_000_000;

/// Why a node was not added. The graph is as it was before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error<K: Debug> {
    /// A node of that name is there already.
    #[error("{0:?} is there already: give each node a name of its own")]
    Duplicate(K),
    /// A node waits for one that is not there.
    #[error("{node:?} waits for {blocker:?}, which is not there: add what is waited for first")]
    UnknownBlocker {
        /// The node to be added.
        node: K,
        /// Its blockers.
        blocker: K,
    },
    /// The graph is full.
    #[error("{node:?} is one more than the {NODES_AT_MOST} nodes that a graph may have: cut it in parts")]
    TooManyNodes {
        /// The node to be added.
        node: K,
    },
    /// The nodes wait for too many others.
    #[error("with {node:?} the nodes wait for more than {BLOCKERS_AT_MOST} others: cut the graph in parts")]
    TooManyBlockers {
        /// The node to be added.
        node: K,
    },
}

/// The work of a node, and its blockers.
#[derive(Clone, Debug)]
pub struct Graph<K, N> {
    places: BTreeMap<K, usize>,
    nodes: Vec<Node<K, N>>,
    blockers: usize,
}

/// One node; others are named by their places.
#[derive(Clone, Debug)]
struct Node<K, N> {
    key: K,
    content: N,
    blockers: Vec<usize>,
    children: Vec<usize>,
}

impl<K, N> Default for Graph<K, N> {
    fn default() -> Self {
        Self { places: BTreeMap::new(), nodes: Vec::new(), blockers: 0 }
    }
}

impl<K: Ord + Clone + Debug, N> Graph<K, N> {
    /// A graph without nodes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Add a node that waits for others, which are there already. Naming one of them twice changes nothing.
    ///
    /// # Errors
    /// A name that is taken, a blocker that is not there, too much of anything.
    pub fn add(&mut self, key: K, content: N, blockers: impl IntoIterator<Item = K>) -> Result<(), Error<K>> {
        if self.places.contains_key(&key) {
            return Err(Error::Duplicate(key));
        }
        if self.nodes.len() >= NODES_AT_MOST {
            return Err(Error::TooManyNodes { node: key });
        }
        let mut waits_for = BTreeSet::new();
        for blocker in blockers {
            match self.places.get(&blocker) {
                Some(place) => waits_for.insert(*place),
                None => return Err(Error::UnknownBlocker { node: key, blocker }),
            };
            if self.blockers + waits_for.len() > BLOCKERS_AT_MOST {
                return Err(Error::TooManyBlockers { node: key });
            }
        }
        let place = self.nodes.len();
        for blocker in &waits_for {
            if let Some(blocker) = self.nodes.get_mut(*blocker) {
                blocker.children.push(place);
            }
        }
        self.blockers += waits_for.len();
        self.places.insert(key.clone(), place);
        let blockers = waits_for.into_iter().collect();
        self.nodes.push(Node { key, content, blockers, children: Vec::new() });
        Ok(())
    }

    /// How many nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Has it no node?
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The content of a node.
    pub fn get(&self, key: &K) -> Option<&N> {
        Some(&self.nodes.get(*self.places.get(key)?)?.content)
    }

    /// Names and contents in the order they were added in.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &N)> {
        self.nodes.iter().map(|node| (&node.key, &node.content))
    }
}
