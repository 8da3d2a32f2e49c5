//! Which objects are to be reconciled, and when.

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;

/// An object to look at: store resource, namespace, name.
pub(super) type Item = (String, String, String);

/// The items to look at, and when; an item waits once, and the first in time comes first.
#[derive(Default)]
pub(super) struct DelayQueue {
    at: BTreeMap<Item, Instant>,
    order: BTreeSet<(Instant, Item)>,
}

impl DelayQueue {
    /// The same items, all of them due at this time.
    pub(super) fn due_at(&self, at: Instant) -> Self {
        let mut queue = Self::default();
        self.at.keys().for_each(|item| queue.insert(item.clone(), at));
        queue
    }

    /// The earlier of two times counts, so that an item that changes again and again is not put off for ever.
    pub(super) fn insert(&mut self, item: Item, at: Instant) {
        match self.at.get(&item) {
            Some(old) if *old <= at => return,
            Some(old) => self.order.remove(&(*old, item.clone())),
            None => false,
        };
        self.at.insert(item.clone(), at);
        self.order.insert((at, item));
    }

    /// Take the next item that is due.
    pub(super) fn pop(&mut self, now: Instant) -> Option<Item> {
        let (at, _) = self.order.first()?;
        if *at > now {
            return None;
        }
        let (_, item) = self.order.pop_first()?;
        self.at.remove(&item);
        Some(item)
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.order.first().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const PAUSE: Duration = Duration::from_millis(100);

    #[test]
    fn the_earliest_entry_comes_first_and_none_is_put_off() {
        let now = Instant::now();
        let later = now + PAUSE;
        let item = |name: &str| (String::new(), String::new(), name.to_owned());
        let mut queue = DelayQueue::default();
        queue.insert(item("z"), now);
        queue.insert(item("z"), later);
        queue.insert(item("a"), later + PAUSE);
        queue.insert(item("a"), later);
        assert_eq!(queue.next(), Some(now));
        assert_eq!(queue.pop(now), Some(item("z")));
        assert_eq!(queue.pop(now), None);
        assert_eq!(queue.pop(later), Some(item("a")));
        assert_eq!((queue.next(), queue.pop(later)), (None, None));
    }
}
