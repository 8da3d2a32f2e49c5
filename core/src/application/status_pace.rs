//! A status that says only that something is under way → held back for a moment, so that what comes next is written in its
//! place: an application that soon runs costs one write of its status, not one for each pod that is seen to start.
//!
//! Only what is not written is decided here, and nothing is lost by it: the reconcile comes again when the time is over, and
//! a process that ends meanwhile leaves an application whose next reconcile, in another process, begins at the same place.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use vela_runtime::Key;

/// How long the first status of an application waits for something to tell: until its workloads were looked at by their
/// own controllers, where these are quick.
const FIRST: Duration = Duration::from_millis(80);
/// How long a status waits that says the same as the one before in other words, as that two pods are ready and not one.
const PROGRESS: Duration = Duration::from_secs(2);

/// Applications remembered at most; beyond it the memory starts anew, at the price of waiting once more.
const HELD_AT_MOST: usize = 50_000;

/// Since when the status of each application is held back, as this process saw it.
#[derive(Clone, Debug, Default)]
pub(super) struct StatusPace {
    since: Arc<Mutex<BTreeMap<Key, Instant>>>,
}

impl StatusPace {
    /// How long this status of something under way is still to be held back; nothing when it is to be written.
    pub(super) fn left(&self, key: &Key, former: Option<&Value>, status: &Value) -> Option<Duration> {
        let Some(longest) = longest(former, status) else {
            self.forget(key);
            return None;
        };
        let now = Instant::now();
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        if since.len() >= HELD_AT_MOST && !since.contains_key(key) {
            since.clear();
        }
        let first = *since.entry(key.clone()).or_insert(now);
        let left = longest.saturating_sub(now.duration_since(first));
        if left.is_zero() {
            since.remove(key);
            return None;
        }
        Some(left)
    }

    /// The pace holds back no status of this application: it was written, or is gone.
    pub(super) fn forget(&self, key: &Key) {
        self.since.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

/// How long a status may be held back; nothing where it says something new, or nothing at all.
fn longest(former: Option<&Value>, status: &Value) -> Option<Duration> {
    match former.filter(|former| former["status"].is_string()) {
        None => Some(FIRST),
        Some(former) if former == status => None,
        Some(former) => (outline(former) == outline(status)).then_some(PROGRESS),
    }
}

/// The last change of mere wording, and its time.
const WORDS: [&str; 3] = ["message", "lastTransitionTime", "lastExecuteTime"];

/// A status without its words: what is true, and of what.
fn outline(status: &Value) -> Value {
    match status {
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| !WORDS.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), outline(value)))
            .collect(),
        Value::Array(items) => items.iter().map(outline).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn status(phase: &str, healthy: bool, message: &str) -> Value {
        json!({
            "status": phase, "observedGeneration": 1,
            "conditions": [{"type": "Ready", "status": "False", "message": message, "lastTransitionTime": message}],
            "services": [{"name": "front", "healthy": healthy, "message": message}],
            "workflow": {"steps": [{"phase": "running", "message": message, "lastExecuteTime": message}]},
        })
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_status_waits_a_moment_and_is_written_then() {
        let (pace, key) = (StatusPace::default(), Key::new("ns", "shop"));
        let first = status("runningWorkflow", false, "nothing is known");
        assert_eq!(pace.left(&key, None, &first), Some(FIRST));
        tokio::time::advance(FIRST / 2).await;
        let second = status("runningWorkflow", false, "Replicas:0/1");
        assert_eq!(
            pace.left(&key, Some(&json!({})), &second),
            Some(FIRST / 2),
            "no other one makes it wait longer"
        );
        tokio::time::advance(FIRST / 2).await;
        assert_eq!(pace.left(&key, None, &second), None);
        assert_eq!(pace.left(&key, None, &second), Some(FIRST), "what was not written after all waits anew");
    }

    #[tokio::test(start_paused = true)]
    async fn other_words_for_the_same_wait_and_news_do_not() {
        let (pace, key) = (StatusPace::default(), Key::new("ns", "shop"));
        let former = status("runningWorkflow", false, "Ready:0/3");
        let more = status("runningWorkflow", false, "Ready:1/3");
        assert_eq!(pace.left(&key, Some(&former), &former), None, "there is nothing to write");
        assert_eq!(pace.left(&key, Some(&former), &more), Some(PROGRESS));
        tokio::time::advance(PROGRESS / 4).await;
        assert_eq!(pace.left(&key, Some(&former), &more), Some(PROGRESS / 4 * 3));
        for news in [status("unhealthy", false, "Ready:1/3"), status("runningWorkflow", true, "Ready:3/3")] {
            assert_eq!(pace.left(&key, Some(&former), &news), None);
        }
        assert_eq!(pace.left(&key, Some(&former), &more), Some(PROGRESS), "after it the time begins anew");
        let mut next = more.clone();
        next["observedGeneration"] = json!(2);
        assert_eq!(pace.left(&key, Some(&former), &next), None, "another generation is news");
    }
}
