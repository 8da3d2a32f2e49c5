//! Finds the first causes among the outcomes of a graph, and when to run again; a failure keeps its type.

use std::fmt;
use std::time::Duration;

/// First causes written out at most where all of them are one text; the rest is counted.
const SHOWN_AT_MOST: usize = 20;

/// Why a node did not come about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause<E> {
    /// May go away by itself.
    Later {
        /// When another try is worth while; nothing where only waiting longer and longer is known to help.
        after: Option<Duration>,
        /// The error.
        error: E,
    },
    /// Only a change of what is wanted mends it.
    Unrecoverable(E),
    /// It was done and does not do its work yet: its change brings the next try.
    NotReady(E),
    /// It ended by a panic; what was said there.
    Panicked(String),
}

impl<E> Cause<E> {
    /// An error that may go away at an unknown time.
    pub fn later(error: E) -> Self {
        Self::Later { after: None, error }
    }

    /// The error, where it was no panic.
    pub fn error(&self) -> Option<&E> {
        match self {
            Self::Later { error, .. } | Self::Unrecoverable(error) | Self::NotReady(error) => Some(error),
            Self::Panicked(_) => None,
        }
    }
}

impl<E: fmt::Display> fmt::Display for Cause<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Later { error, .. } | Self::Unrecoverable(error) => error.fmt(f),
            Self::NotReady(error) => write!(f, "not ready: {error}"),
            Self::Panicked(said) => write!(f, "panicked: {said}"),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for Cause<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error().and_then(std::error::Error::source)
    }
}

/// The outcome of one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome<K, T, E> {
    /// It came about.
    Done(T),
    /// It failed, and is a first cause.
    Failed(Cause<E>),
    /// It was not begun, because of these blockers, which failed or were not begun either.
    Blocked(Vec<K>),
    /// The run was cancelled before its turn.
    NotBegun,
    /// The run was cancelled in the middle of it: some of it may have happened.
    Dropped,
}

/// The outcomes of all nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report<K, T, E> {
    /// Every node in the order they were added in.
    outcomes: Vec<(K, Outcome<K, T, E>)>,
}

/// When to run again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requeue {
    /// Everything is done.
    Never,
    /// Only a change of the wanted object or of an unready one helps.
    WhenChanged,
    /// After this time.
    After(Duration),
    /// Soon, and after every failure later than before.
    BackOff,
}

/// All first causes as one error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed<K, E> {
    /// In the order the nodes were added in.
    pub causes: Vec<(K, Cause<E>)>,
    /// How many nodes were not begun, or begun in vain.
    pub not_run: usize,
    /// When to run again.
    pub requeue: Requeue,
}

impl<K: fmt::Display, E: fmt::Display> fmt::Display for Failed<K, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (key, cause)) in self.causes.iter().take(SHOWN_AT_MOST).enumerate() {
            let part = if at == 0 { "" } else { "; " };
            write!(f, "{part}{key}: {cause}")?;
        }
        if self.causes.len() > SHOWN_AT_MOST {
            write!(f, "; and {} more", self.causes.len() - SHOWN_AT_MOST)?;
        }
        match (self.causes.is_empty(), self.not_run) {
            (_, 0) => Ok(()),
            (true, left) => write!(f, "cancelled, {left} not run"),
            (false, left) => write!(f, "; {left} not run because of it"),
        }
    }
}

impl<K: fmt::Display + fmt::Debug, E: fmt::Display + fmt::Debug> std::error::Error for Failed<K, E> {}

impl<K, T, E> Report<K, T, E> {
    pub(super) fn new(outcomes: Vec<(K, Outcome<K, T, E>)>) -> Self {
        Self { outcomes }
    }

    /// Every node with what became of it, in the order they were added in.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &Outcome<K, T, E>)> {
        self.outcomes.iter().map(|(key, outcome)| (key, outcome))
    }

    /// The same, taken apart.
    pub fn into_outcomes(self) -> Vec<(K, Outcome<K, T, E>)> {
        self.outcomes
    }

    /// First causes in the order their nodes were added in.
    pub fn causes(&self) -> impl Iterator<Item = (&K, &Cause<E>)> {
        self.iter().filter_map(|(key, outcome)| match outcome {
            Outcome::Failed(cause) => Some((key, cause)),
            _ => None,
        })
    }

    /// Is every node done?
    pub fn is_complete(&self) -> bool {
        self.iter().all(|(_, outcome)| matches!(outcome, Outcome::Done(_)))
    }

    /// When to run again. As in a queue, an error without a time wins over one with a time, and the nearest time over
    /// later ones; what only a change mends asks for nothing.
    pub fn requeue(&self) -> Requeue {
        if self.is_complete() {
            return Requeue::Never;
        }
        let mut nearest = None;
        for (_, cause) in self.causes() {
            match cause {
                Cause::Later { after: None, .. } | Cause::Panicked(_) => return Requeue::BackOff,
                Cause::Later { after: Some(after), .. } => {
                    nearest = Some(nearest.map_or(*after, |known: Duration| known.min(*after)));
                }
                Cause::Unrecoverable(_) | Cause::NotReady(_) => {}
            }
        }
        nearest.map_or(Requeue::WhenChanged, Requeue::After)
    }

    /// The results of the nodes, or every first cause.
    ///
    /// # Errors
    /// Some node failed or was not run.
    pub fn into_result(self) -> Result<Vec<(K, T)>, Failed<K, E>> {
        let requeue = self.requeue();
        let (mut done, mut causes, mut not_run) = (Vec::new(), Vec::new(), 0);
        for (key, outcome) in self.outcomes {
            match outcome {
                Outcome::Done(value) => done.push((key, value)),
                Outcome::Failed(cause) => causes.push((key, cause)),
                Outcome::Blocked(_) | Outcome::NotBegun | Outcome::Dropped => not_run += 1,
            }
        }
        if causes.is_empty() && not_run == 0 {
            return Ok(done);
        }
        Err(Failed { causes, not_run, requeue })
    }
}
