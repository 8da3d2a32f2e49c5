//! Why a set could not be applied.

use vela_runtime::apply as runtime_apply;
use vela_runtime::graph;

use crate::blocking::NotComputed;

/// Why nothing could be applied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot write the record of owned objects: {}", runtime_apply::explain(.0))]
    Record(#[source] kube::Error),
    #[error("cannot read the record of owned objects: {0}")]
    Unreadable(#[from] serde_json::Error),
    #[error("cannot store how far the workflow is: {}", runtime_apply::explain(.0))]
    Run(#[source] kube::Error),
    #[error(transparent)]
    Object(#[from] runtime_apply::Error),
    #[error("cannot tell what may be applied next: {0}")]
    NotJudged(#[from] NotComputed),
    #[error("cannot put the components in order: {0}")]
    Order(#[from] graph::Error<usize>),
    #[error("cannot apply component {component:?}: vela-core panicked: {said}")]
    Panicked { component: String, said: String },
}

impl Error {
    /// The client's error, where a write of the record or of the run failed.
    pub(crate) fn source(&self) -> Option<&kube::Error> {
        if let Self::Record(source) | Self::Run(source) = self { Some(source) } else { None }
    }
}
