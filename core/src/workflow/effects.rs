//! The effects of a run's steps beyond their calls: it applies components and looks at them, and stores how far the run is.

use vela_engine::workflow::{Execution, Progress, RunStatus, RunValues, StepOutcome, StepOutput};

use super::Apply;
use super::providers::{Objects, Reach};

/// The part of a run that is stored first. A process may be ended between the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum First {
    /// The values of a step are stored before any reader sees that the step is done.
    Values,
    /// The suspension of a step is read before it is recorded: the other way round it would look as though a user had
    /// resumed it.
    Status,
}

/// The nodes that a step applies, and the values that it gives.
pub(crate) type Applying = (Vec<usize>, Vec<StepOutput>);

/// The executor of steps, which also stores how far they are.
pub(crate) trait Effects: Reach + Apply<<Self as Objects>::Error> {
    /// Did a former reconcile make every object of this node?
    fn is_made(&self, node: usize) -> bool;

    /// The results of steps that apply nodes and give values; nothing for a step of which one is to be applied.
    async fn look(&mut self, steps: Vec<Applying>) -> Result<Vec<Option<StepOutcome>>, Self::Error>;

    /// Do these nodes make Secrets? Messages of a step about one are kept out of status and logs.
    fn make_secrets(&self, nodes: &[usize]) -> bool;

    /// Compute a step as far as it goes without an answer.
    async fn advance(&mut self, execution: Execution) -> Result<(Execution, Progress), Self::Error>;

    /// Store how far the run is, where it came further.
    async fn store(
        &mut self,
        status: &RunStatus,
        values: &RunValues,
        first: First,
    ) -> Result<(), Self::Error>;
}
