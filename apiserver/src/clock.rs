//! Where the server's times and uids come from.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The time of the server: what it writes into `creationTimestamp` and conditions.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> jiff::Timestamp + Send + Sync>);

impl Clock {
    /// The time of this machine.
    pub fn system() -> Self {
        Self(Arc::new(jiff::Timestamp::now))
    }

    /// A time of the caller's choice, for tests and simulations.
    pub fn from_fn(now: impl Fn() -> jiff::Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The present moment.
    pub fn now(&self) -> jiff::Timestamp {
        (self.0)()
    }

    /// The present second, as `metav1.Time` is written.
    pub(crate) fn text(&self) -> String {
        seconds(self.now())
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clock")
    }
}

/// A moment as `metav1.Time` is written: to the second.
pub(crate) fn seconds(at: jiff::Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Where uids and the ends of generated names come from.
#[derive(Debug)]
pub(crate) enum Ids {
    /// The random numbers of this machine.
    Random,
    /// A hashed count: the same in every run.
    Counted(AtomicU64),
}

impl Ids {
    /// A count that goes on where this one is, so that no uid is drawn twice.
    pub(crate) fn fork(&self) -> Self {
        Self::Counted(AtomicU64::new(match self {
            Self::Random => 0,
            Self::Counted(count) => count.load(Ordering::SeqCst),
        }))
    }

    pub(crate) fn next(&self) -> uuid::Uuid {
        match self {
            Self::Random => uuid::Uuid::new_v4(),
            Self::Counted(count) => {
                let count = count.fetch_add(1, Ordering::SeqCst);
                let made = uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_OID, &count.to_le_bytes());
                uuid::Builder::from_random_bytes(made.into_bytes()).into_uuid()
            }
        }
    }
}
