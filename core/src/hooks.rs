//! Pre- and post-hooks of an ApplicationConfiguration's reconcile: a typed place for others to take part; none by default.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;

/// Why a hook failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct HookError {
    /// The message of the configuration for people.
    pub message: String,
    /// Come again after this time; by the usual back-off where nothing is said.
    pub again: Option<Duration>,
}

impl HookError {
    /// A failure that is tried again by the usual back-off.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), again: None }
    }
}

/// Takes part in a reconcile. It may be called at any time and for the same content again.
pub trait ReconcileHook: Send + Sync {
    /// The name by which failures are told.
    fn name(&self) -> &str;

    /// Look at the configuration as the reconcile sees it.
    fn run<'a>(&'a self, configuration: &'a Value) -> BoxFuture<'a, Result<(), HookError>>;
}

/// The hooks of a process, called in their order.
#[derive(Clone, Default)]
pub struct Hooks {
    /// Called before anything is rendered; a failure ends the reconcile.
    pub before: Vec<Arc<dyn ReconcileHook>>,
    /// Called at the end of each reconcile, even of one that failed; a failure replaces the reconcile's result.
    pub after: Vec<Arc<dyn ReconcileHook>>,
}

impl std::fmt::Debug for Hooks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = |hooks: &[Arc<dyn ReconcileHook>]| -> Vec<String> {
            hooks.iter().map(|hook| hook.name().to_owned()).collect()
        };
        f.debug_struct("Hooks")
            .field("before", &names(&self.before))
            .field("after", &names(&self.after))
            .finish()
    }
}

/// Call each hook; the first failure is told with the hook's name.
pub(crate) async fn run(hooks: &[Arc<dyn ReconcileHook>], configuration: &Value) -> Result<(), HookError> {
    for hook in hooks {
        hook.run(configuration).await.map_err(|error| HookError {
            message: format!("{}: {}", hook.name(), error.message),
            again: error.again,
        })?;
    }
    Ok(())
}
