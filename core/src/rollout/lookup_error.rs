//! Why a rollout has nothing to go between, for those who look for it.

/// Why a rollout has nothing to go between.
pub(crate) enum Missing {
    /// A revision is not there; nothing tells its workloads any more.
    Revision(String),
    /// A component is not in the revisions as it is to be rolled out, and does not get there by itself.
    Component(String),
    /// Something else, which may pass.
    Failed(String),
    /// The process ends, and the next one looks anew.
    Ends,
}

impl Missing {
    /// The same, told with more or with less.
    pub(super) fn reworded(self, words: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::Revision(why) => Self::Revision(words(why)),
            Self::Component(why) => Self::Component(words(why)),
            Self::Failed(why) => Self::Failed(words(why)),
            Self::Ends => Self::Ends,
        }
    }
}

impl From<String> for Missing {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}
