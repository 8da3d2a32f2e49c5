//! The effects of a run's steps beyond their calls: it applies components and looks at them, and stores how far the run is.

use vela_engine::workflow::{Execution, Progress, RunStatus, RunValues, StepOutcome, StepOutput};

use super::providers::Reach;

/// The part of a run that is stored first. A process may be ended between the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum First {
    /// The values of a step are stored before any reader sees that the step is done.
    Values,
    /// The suspension of a step is read before it is recorded: the other way round it would look as though a user had
    /// resumed it.
    Status,
}

/// The executor of steps, which also stores how far they are.
pub(crate) trait Effects: Reach {
    /// Apply these nodes, several at the same time.
    async fn apply(&mut self, nodes: &[usize]) -> Result<(), Self::Error>;

    /// Did a former reconcile make every object of this node?
    fn is_made(&self, node: usize) -> bool;

    /// The result of a step that applies these nodes and gives these values; nothing where one is to be applied.
    async fn look(
        &mut self,
        nodes: &[usize],
        outputs: &[StepOutput],
    ) -> Result<Option<StepOutcome>, Self::Error>;

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
