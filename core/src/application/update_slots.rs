//! Limits how many applications take up a changed definition by themselves at the same time, so that a definition that is
//! valid and wrong spoils few of them.
//!
//! An application keeps its slot until it runs, and not longer than [`HELD_AT_MOST`]. The slots are this process's memory:
//! after a restart those that were being updated go on, and as many others begin.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use vela_runtime::Key;
use vela_runtime::queue::{Priority, Queue};

/// How long an application that does not become healthy keeps its slot.
const HELD_AT_MOST: Duration = Duration::from_secs(10 * 60);

/// The slots.
#[derive(Debug)]
pub(super) struct UpdateSlots {
    at_once: usize,
    slots: Mutex<Slots>,
    queue: OnceLock<Arc<Queue<Key>>>,
}

#[derive(Debug, Default)]
struct Slots {
    taken: BTreeMap<Key, Instant>,
    waiting: BTreeSet<Key>,
}

/// Whether an application may be updated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// It has a slot.
    Taken,
    /// Others have all slots, for so long at most.
    Full(Duration),
}

impl UpdateSlots {
    pub(super) fn new(at_once: usize) -> Self {
        Self { at_once: at_once.max(1), slots: Mutex::default(), queue: OnceLock::new() }
    }

    /// Wake those for whom a slot is free through this queue.
    pub(super) fn wake(&self, queue: Arc<Queue<Key>>) {
        let _ = self.queue.set(queue);
    }

    /// How many slots there are.
    pub(super) fn at_once(&self) -> usize {
        self.at_once
    }

    /// Take a slot, or wait for one.
    pub(super) fn take(&self, application: &Key) -> Slot {
        let now = Instant::now();
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.taken.retain(|_, since| now.duration_since(*since) < HELD_AT_MOST);
        if slots.taken.contains_key(application) || slots.taken.len() < self.at_once {
            slots.taken.entry(application.clone()).or_insert(now);
            slots.waiting.remove(application);
            return Slot::Taken;
        }
        slots.waiting.insert(application.clone());
        let first = slots.taken.values().min().copied().unwrap_or(now);
        Slot::Full(HELD_AT_MOST.saturating_sub(now.duration_since(first)))
    }

    /// A reconcile of the application ended. `waits`: it still waits for a slot. `done`: it runs or is gone, and needs its
    /// slot no longer.
    pub(super) fn reconcile_ended(&self, application: &Key, waits: bool, done: bool) {
        let next: Vec<Key> = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            let left = !waits && slots.waiting.remove(application);
            let freed = done && slots.taken.remove(application).is_some();
            if !left && !freed {
                return;
            }
            let free = self.at_once.saturating_sub(slots.taken.len());
            slots.waiting.iter().take(free).cloned().collect()
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
    async fn a_slot_is_held_until_its_holder_runs_or_for_so_long() {
        let slots = UpdateSlots::new(1);
        let [first, second] = ["a", "b"].map(|name| Key::new("ns", name));
        assert_eq!(slots.take(&first), Slot::Taken);
        assert_eq!(slots.take(&first), Slot::Taken, "who has a slot goes on");
        assert_eq!(slots.take(&second), Slot::Full(HELD_AT_MOST));
        slots.reconcile_ended(&first, false, false);
        assert_eq!(slots.take(&second), Slot::Full(HELD_AT_MOST), "it is not well yet");
        slots.reconcile_ended(&first, false, true);
        assert_eq!(slots.take(&second), Slot::Taken);
        assert_eq!(slots.take(&first), Slot::Full(HELD_AT_MOST));
        tokio::time::advance(HELD_AT_MOST).await;
        assert_eq!(slots.take(&first), Slot::Taken, "one that never gets well blocks no other for ever");
    }

    #[tokio::test]
    async fn those_who_wait_are_woken_in_order() {
        let slots = UpdateSlots::new(1);
        let queue = Arc::new(Queue::new());
        slots.wake(queue.clone());
        let [first, second, third] = ["a", "b", "c"].map(|name| Key::new("ns", name));
        for key in [&first, &third, &second] {
            slots.take(key);
        }
        slots.reconcile_ended(&first, false, true);
        assert_eq!(queue.next().await.map(|item| item.key), Some(second.clone()));
        // The second one has lost interest meanwhile.
        slots.reconcile_ended(&second, false, false);
        assert_eq!(queue.next().await.map(|item| item.key), Some(third));
    }
}
