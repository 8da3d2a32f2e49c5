//! Remembers whose pods were restarted lately, so that a restart that brought no sidecar is not repeated at once.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;

/// So long, pods that came back without a sidecar are left alone.
const REMEMBERED_FOR: Duration = Duration::from_secs(600);
/// More than are restarted in that time at any useful rate; beyond it the memory begins anew.
const REMEMBERED_AT_MOST: usize = 10_000;

/// By the uid of who makes them anew: when the first of its pods was restarted.
#[derive(Clone, Debug, Default)]
pub(super) struct Restarts(HashMap<String, Timestamp>);

impl Restarts {
    /// A pod of this maker is restarted now.
    pub(super) fn note(&mut self, maker: &str, now: Timestamp) {
        if self.0.len() >= REMEMBERED_AT_MOST {
            self.forget(now);
        }
        if self.0.len() >= REMEMBERED_AT_MOST {
            self.0.clear();
        }
        let first = self.0.entry(maker.to_owned()).or_insert(now);
        if is_over(*first, now) {
            *first = now;
        }
    }

    /// Whether a pod of that age came after a restart, which then brought no sidecar. The server's times are whole seconds.
    pub(super) fn came_back(&self, maker: &str, made: Option<Timestamp>, now: Timestamp) -> bool {
        let first = self.0.get(maker).filter(|first| !is_over(**first, now));
        first.zip(made).is_some_and(|(first, made)| made.as_second() >= first.as_second())
    }

    /// Forgets what is over.
    pub(super) fn forget(&mut self, now: Timestamp) {
        self.0.retain(|_, first| !is_over(*first, now));
    }
}

fn is_over(first: Timestamp, now: Timestamp) -> bool {
    now.duration_since(first).unsigned_abs() >= REMEMBERED_FOR
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_000 + second).unwrap()
    }

    #[test]
    fn what_came_back_in_vain_waits_ten_minutes() {
        let mut restarts = Restarts::default();
        assert!(!restarts.came_back("u", Some(at(0)), at(1)));
        restarts.note("u", at(10));
        restarts.note("u", at(30));
        assert!(!restarts.came_back("u", Some(at(9)), at(31)), "a sibling from before");
        assert!(restarts.came_back("u", Some(at(10)), at(31)));
        assert!(restarts.came_back("u", Some(at(20)), at(31)), "the first restart counts");
        assert!(!restarts.came_back("v", Some(at(20)), at(31)), "of another maker");
        assert!(!restarts.came_back("u", None, at(31)));
        assert!(!restarts.came_back("u", Some(at(20)), at(610)));
        restarts.note("u", at(611));
        assert!(restarts.came_back("u", Some(at(612)), at(613)));
    }

    #[test]
    fn the_memory_is_bounded() {
        let mut restarts = Restarts::default();
        for number in 0..=REMEMBERED_AT_MOST {
            restarts.note(&number.to_string(), at(0));
        }
        assert_eq!(restarts.0.len(), 1);
        restarts.forget(at(600));
        assert!(restarts.0.is_empty());
    }
}
