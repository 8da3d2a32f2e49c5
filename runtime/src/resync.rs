//! Adds every object that a controller reconciles to its queue once per period; reads stores only.
//!
//! A watch brings every change at once, so a resync only mends unforeseen errors. Each object has its own moment in the
//! period, taken from its name: thousands of objects are spread evenly, and two runs do the same.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use crate::cache::{Informer, Key};
use crate::queue::{Priority, Queue};

/// Steps of one period: a step looks through the names only, and delivers the share of objects whose moment it is.
const STEPS: u32 = 64;

/// Deliver until the queue is closed.
pub(crate) async fn run(queue: Arc<Queue<Key>>, kinds: Vec<Arc<Informer>>, every: Duration) {
    let step = every / STEPS;
    if step.is_zero() {
        return;
    }
    let mut at: u32 = 0;
    loop {
        tokio::select! {
            biased;
            () = queue.closed() => return,
            () = tokio::time::sleep(step) => {}
        }
        for key in kinds.iter().flat_map(|kind| kind.keys()).filter(|key| share(key) == at) {
            queue.add_with(key, Priority::Low);
        }
        at = (at + 1) % STEPS;
    }
}

fn share(key: &Key) -> u32 {
    // Fixed keys: the same name has the same moment in every process.
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    u32::try_from(hasher.finish() % u64::from(STEPS)).unwrap_or(0)
}
