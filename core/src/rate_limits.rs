//! How often something was asked lately → whether it may be asked now.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Names remembered at most; beyond it the memory starts anew.
const NAMES_AT_MOST: usize = 1024;
/// Times remembered of one name: who may ask more often is not limited.
const TIMES_AT_MOST: usize = 10_000;

/// When something was asked, as this process knows it.
#[derive(Clone, Debug, Default)]
pub(crate) struct RateLimits {
    asked: Arc<Mutex<BTreeMap<String, VecDeque<Instant>>>>,
}

impl RateLimits {
    /// May it be asked now, so that it is asked no more than `limit` times in a period? Then it counts as asked.
    pub(crate) fn admits(&self, name: &str, limit: usize, period: Duration) -> bool {
        if limit > TIMES_AT_MOST {
            return true;
        }
        let now = Instant::now();
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.len() >= NAMES_AT_MOST && !asked.contains_key(name) {
            asked.clear();
        }
        let times = asked.entry(name.to_owned()).or_default();
        while times.front().is_some_and(|at| now.duration_since(*at) >= period) {
            times.pop_front();
        }
        let admitted = times.len() < limit;
        if admitted {
            times.push_back(now);
        }
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_asked_too_often_waits_for_its_period() {
        let limits = RateLimits::default();
        let minute = Duration::from_secs(60);
        assert!(limits.admits("a", 2, minute) && limits.admits("a", 2, minute));
        assert!(!limits.admits("a", 2, minute));
        assert!(limits.admits("b", 2, minute), "each name for itself");
        assert!(!limits.admits("c", 0, minute));
        tokio::time::advance(minute).await;
        assert!(limits.admits("a", 2, minute));
    }
}
