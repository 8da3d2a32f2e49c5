//! Runs computations with templates, which may take a while, away from the threads that serve requests.

use std::sync::Arc;

use tokio::runtime::{Handle, RuntimeFlavor};
use vela_engine::Templates;
use vela_runtime::{Allowance, Computations};
use vela_webhooks::allowance::limits;

/// Why there is no result; the same computation may have one at another time.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotComputed {
    /// It panicked.
    #[error(transparent)]
    Panicked(#[from] tokio::task::JoinError),
    /// There was no memory or no time for it; in the words of who refused it.
    #[error("{0}")]
    Interrupted(String),
    /// The process ends: the next process computes it, and no caller need hear of it.
    #[error("the process ends")]
    Ends,
}

/// Cancels computations that no caller waits for any more.
struct Cancelled(Arc<Allowance>);

impl Drop for Cancelled {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Compute it, within what the process has for computations.
pub(crate) async fn run_blocking<T: Send + 'static, E: Send + 'static>(
    computations: &Computations,
    templates: &Templates,
    compute: impl FnOnce(&Templates) -> Result<T, E> + Send + 'static,
) -> Result<Result<T, E>, NotComputed> {
    let allowance = computations.begin(None).await;
    let templates = templates.within(limits(computations, &allowance));
    // A runtime of one thread has no other requests to keep going, and a run of it can be repeated exactly.
    let computed = if Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread {
        Ok(compute(&templates))
    } else {
        let _cancelled = Cancelled(allowance.clone());
        let own = allowance.clone();
        tokio::task::spawn_blocking(move || own.run(|| compute(&templates))).await?
    };
    let interrupted = |reason: String| match computations.is_stopped() {
        true => NotComputed::Ends,
        false => NotComputed::Interrupted(reason),
    };
    let computed = computed.map_err(interrupted)?;
    // A computation without the memory that it wanted has no result, whatever it returned.
    match allowance.refusal() {
        Some(reason) => Err(interrupted(reason.to_owned())),
        None => Ok(computed),
    }
}
