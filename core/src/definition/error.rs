//! Why a definition is not as it should be in the cluster, and whether another try may help.

use vela_runtime::apply as runtime_apply;
use vela_runtime::{Action, Failure, discovery};

/// Why a reconcile of a definition failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// The definition cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// Admission refuses it.
    #[error("{0}")]
    Faulty(String),
    /// Its name of a version belongs to another content.
    #[error("{0}")]
    Conflict(String),
    #[error("cannot record the revision {name}: {}", runtime_apply::explain(source))]
    Revision { name: String, source: kube::Error },
    #[error("the next {tried} revision names are all taken")]
    Taken { tried: usize },
    #[error("cannot make the WorkloadDefinition {name}: {}", runtime_apply::explain(source))]
    Workload { name: String, source: kube::Error },
    #[error(transparent)]
    Apply(#[from] runtime_apply::Error),
    #[error(transparent)]
    Discovery(#[from] discovery::Error),
    #[error("cannot write an object: {0}")]
    Malformed(#[from] serde_json::Error),
    #[error("cannot read the schemas that the template imports: {0}")]
    Schemas(#[from] vela_snapshot::Error),
}

impl Error {
    /// Does only a change of the definition help? That wakes us; anything else is tried again.
    fn is_lasting(&self) -> bool {
        matches!(self, Self::Unreadable(_) | Self::Faulty(_) | Self::Conflict(_))
    }

    /// When the queue hands out the definition again.
    pub(super) fn end(self) -> Result<Action, Failure> {
        if self.is_lasting() { Ok(Action::Done) } else { Err(Failure::retry(self)) }
    }
}
