//! Between the calls of steps and the cluster: what a provider is given, and what it gives back.

use serde_json::Value;
use vela_engine::steps::Question;
use vela_engine::workflow::StepOutcome;

/// What a call came to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Called {
    /// The step goes on with this.
    Answer(Value),
    /// The step ends.
    Ended(StepOutcome),
}

impl Called {
    /// The call can never be answered: it is wrong, or nobody answers it yet.
    pub(super) fn broken(message: impl Into<String>) -> Self {
        Self::Ended(StepOutcome::Broken { message: message.into() })
    }

    /// The call went wrong, and is made again when the step is tried again.
    pub(super) fn failed(message: impl Into<String>) -> Self {
        Self::Ended(StepOutcome::Error { message: message.into() })
    }
}

/// The objects that the steps of one application reach.
pub(crate) trait Objects {
    /// Why the run ends before its time.
    type Error;

    /// Apply an object. Gives it as it is in the cluster, or why it is not there.
    async fn apply_object(&mut self, object: Value) -> Result<Result<Value, String>, Self::Error>;

    /// The object of this kind and name as it is in the cluster; nothing where there is none, or why it cannot be read.
    async fn read_object(&mut self, object: &Value) -> Result<Result<Option<Value>, String>, Self::Error>;
}

/// Somebody who answers the calls of one package.
pub(super) trait Provider {
    /// What the calls of its package name as `#provider`, in the present form and in that of `vela/op`.
    const NAMES: &'static [&'static str];

    /// The answer to a call; nothing where it is not one of its calls.
    async fn call<O: Objects>(objects: &mut O, call: &Question) -> Result<Option<Called>, O::Error>;
}
