//! The gates of a server's priority levels, and which requests it gives to which, as its answers say.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use http::HeaderMap;

use super::classify::Kind;
use super::figures::Figures;
use super::gate::Gate;

/// The header by which a server names the priority level of a request (API Priority and Fairness).
const LEVEL: &str = "x-kubernetes-pf-prioritylevel-uid";
/// Levels that have a gate of their own; requests of further ones share the first. A server has eight unless told otherwise.
const LEVELS_AT_MOST: usize = 16;
/// Kinds of requests whose level is remembered; beyond it the memory starts anew, at the price of a turn in the first gate.
const KINDS_AT_MOST: usize = 1024;

/// The gates of one server.
#[derive(Debug)]
pub(super) struct Levels {
    most: usize,
    /// Where requests wait of which nothing is known, and those of the level that was named first.
    first: Arc<Gate>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    gates: BTreeMap<String, Arc<Gate>>,
    kinds: HashMap<Kind, Arc<Gate>>,
}

impl Levels {
    /// No level is known yet.
    pub(super) fn new(most: usize) -> Self {
        Self { most, first: Gate::new(most), known: Mutex::default() }
    }

    /// Where a request of this kind waits.
    pub(super) fn gate(&self, kind: &Kind) -> Arc<Gate> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.kinds.get(kind).unwrap_or(&self.first).clone()
    }

    /// Remember the level that an answer names.
    pub(super) fn learn(&self, kind: &Kind, headers: &HeaderMap) {
        let Some(level) = headers.get(LEVEL).and_then(|level| level.to_str().ok()) else { return };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let gate = match known.gates.get(level) {
            Some(gate) => gate.clone(),
            None => {
                let gate = match known.gates.len() {
                    // Measurements from before the level had a name belong to it.
                    0 | LEVELS_AT_MOST.. => self.first.clone(),
                    _ => Gate::new(self.most),
                };
                if known.gates.len() < LEVELS_AT_MOST {
                    known.gates.insert(level.to_owned(), gate.clone());
                }
                gate
            }
        };
        if known.kinds.get(kind).is_some_and(|known| Arc::ptr_eq(known, &gate)) {
            return;
        }
        if known.kinds.len() >= KINDS_AT_MOST {
            known.kinds.clear();
        }
        known.kinds.insert(kind.clone(), gate);
    }

    /// The requests in flight in all of them.
    pub(super) fn figures(&self) -> Figures {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let others = known.gates.values().filter(|gate| !Arc::ptr_eq(gate, &self.first));
        others.fold(self.first.figures(), |sum, gate| sum.and(gate.figures()))
    }
}
