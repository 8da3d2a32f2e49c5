//! Applications that take up a changed definition by themselves → so many at a time, so that a definition that is valid and
//! wrong spoils few.
//!
//! Who has a place keeps it until it runs, and not longer than [`HELD_AT_MOST`]. The places are this process's memory: after
//! a restart those that were under way go on, and as many others begin.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use vela_runtime::Key;
use vela_runtime::queue::{Priority, Queue};

/// How long an application that does not get well holds its place.
const HELD_AT_MOST: Duration = Duration::from_secs(10 * 60);

/// The places.
#[derive(Debug)]
pub(super) struct Turns {
    at_once: usize,
    places: Mutex<Places>,
    queue: OnceLock<Arc<Queue<Key>>>,
}

#[derive(Debug, Default)]
struct Places {
    taken: BTreeMap<Key, Instant>,
    waiting: BTreeSet<Key>,
}

/// Whether an application may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// It has a place.
    Now,
    /// Others have them, for so long at most.
    Later(Duration),
}

impl Turns {
    pub(super) fn new(at_once: usize) -> Self {
        Self { at_once: at_once.max(1), places: Mutex::default(), queue: OnceLock::new() }
    }

    /// Wake those whose turn comes through this queue.
    pub(super) fn wake(&self, queue: Arc<Queue<Key>>) {
        let _ = self.queue.set(queue);
    }

    /// How many have a place at a time.
    pub(super) fn at_once(&self) -> usize {
        self.at_once
    }

    /// Take a place, or wait for one.
    pub(super) fn take(&self, application: &Key) -> Turn {
        let now = Instant::now();
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.taken.retain(|_, since| now.duration_since(*since) < HELD_AT_MOST);
        if places.taken.contains_key(application) || places.taken.len() < self.at_once {
            places.taken.entry(application.clone()).or_insert(now);
            places.waiting.remove(application);
            return Turn::Now;
        }
        places.waiting.insert(application.clone());
        let first = places.taken.values().min().copied().unwrap_or(now);
        Turn::Later(HELD_AT_MOST.saturating_sub(now.duration_since(first)))
    }

    /// A lap of the application ended: it still waits, or has no need to; it runs or is gone, or is still under way.
    pub(super) fn lap_ended(&self, application: &Key, waits: bool, done: bool) {
        let next: Vec<Key> = {
            let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
            let left = !waits && places.waiting.remove(application);
            let freed = done && places.taken.remove(application).is_some();
            if !left && !freed {
                return;
            }
            let free = self.at_once.saturating_sub(places.taken.len());
            places.waiting.iter().take(free).cloned().collect()
        };
        for key in next {
            if let Some(queue) = self.queue.get() {
                queue.add_with(key, Priority::Normal);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_place_is_held_until_its_holder_runs_or_for_so_long() {
        let turns = Turns::new(1);
        let [first, second] = ["a", "b"].map(|name| Key::new("ns", name));
        assert_eq!(turns.take(&first), Turn::Now);
        assert_eq!(turns.take(&first), Turn::Now, "who has a place goes on");
        assert_eq!(turns.take(&second), Turn::Later(HELD_AT_MOST));
        turns.lap_ended(&first, false, false);
        assert_eq!(turns.take(&second), Turn::Later(HELD_AT_MOST), "it is not well yet");
        turns.lap_ended(&first, false, true);
        assert_eq!(turns.take(&second), Turn::Now);
        assert_eq!(turns.take(&first), Turn::Later(HELD_AT_MOST));
        tokio::time::advance(HELD_AT_MOST).await;
        assert_eq!(turns.take(&first), Turn::Now, "one that never gets well holds nobody up for ever");
    }

    #[tokio::test]
    async fn those_who_wait_are_woken_in_order() {
        let turns = Turns::new(1);
        let queue = Arc::new(Queue::new());
        turns.wake(queue.clone());
        let [first, second, third] = ["a", "b", "c"].map(|name| Key::new("ns", name));
        for key in [&first, &third, &second] {
            turns.take(key);
        }
        turns.lap_ended(&first, false, true);
        assert_eq!(queue.next().await.map(|item| item.key), Some(second.clone()));
        // The second one has lost interest meanwhile.
        turns.lap_ended(&second, false, false);
        assert_eq!(queue.next().await.map(|item| item.key), Some(third));
    }
}
