//! A computation that may take a while → its result, away from the threads that serve requests.

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::JoinError;

/// Compute it; fails only where the computation panicked.
pub(crate) async fn apart<T: Send + 'static>(
    compute: impl FnOnce() -> T + Send + 'static,
) -> Result<T, JoinError> {
    // A runtime of one thread has no other requests to keep going, and a run of it can be repeated exactly.
    if Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread {
        return Ok(compute());
    }
    tokio::task::spawn_blocking(compute).await
}
