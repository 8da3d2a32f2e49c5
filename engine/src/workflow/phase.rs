//! The words of `status.workflow`: how far a step or a run is, and why.

/// How far a step is, as `status.workflow.steps[].phase` spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StepPhase {
    /// It waits for other steps or for their values.
    Pending,
    /// It began and is not done.
    Running,
    /// It waits for a person, or for a time.
    Suspending,
    /// It is done.
    Succeeded,
    /// It was passed over.
    Skipped,
    /// It has failed; whether it is tried again, its [`Reason`] says.
    Failed,
}

impl StepPhase {
    /// All of them.
    const ALL: [Self; 6] =
        [Self::Pending, Self::Running, Self::Suspending, Self::Succeeded, Self::Skipped, Self::Failed];

    /// As written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Suspending => "suspending",
            Self::Succeeded => "succeeded",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
        }
    }

    /// The phase that is written like this.
    pub fn of(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.as_str() == text)
    }
}

/// Why a step is in its phase, as `status.workflow.steps[].reason` spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// A call waits.
    Wait,
    /// A call suspends.
    Suspend,
    /// Its `if`, or the steps before it, pass it over.
    Skip,
    /// It went wrong, and is tried again.
    Execute,
    /// It went wrong too often.
    FailedAfterRetries,
    /// It took too long.
    Timeout,
    /// Its definition says so.
    Action,
    /// An input cannot be set.
    Input,
    /// Its template is broken.
    Rendering,
    /// An output cannot be stored.
    Output,
    /// A person ended it, or it ended the workflow itself.
    Terminate,
}

impl Reason {
    /// All of them.
    const ALL: [Self; 11] = [
        Self::Wait,
        Self::Suspend,
        Self::Skip,
        Self::Execute,
        Self::FailedAfterRetries,
        Self::Timeout,
        Self::Action,
        Self::Input,
        Self::Rendering,
        Self::Output,
        Self::Terminate,
    ];

    /// As written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Wait => "Wait",
            Self::Suspend => "Suspend",
            Self::Skip => "Skip",
            Self::Execute => "Execute",
            Self::FailedAfterRetries => "FailedAfterRetries",
            Self::Timeout => "Timeout",
            Self::Action => "Action",
            Self::Input => "Input",
            Self::Rendering => "Rendering",
            Self::Output => "Output",
            Self::Terminate => "Terminate",
        }
    }

    /// The reason that is written like this.
    pub fn of(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == text)
    }
}

/// How far a run is, as `status.workflow.status` spells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunPhase {
    /// Steps go on.
    Executing,
    /// It waits for a person, or for a time.
    Suspending,
    /// A person or a step ended it.
    Terminated,
    /// A step failed for good.
    Failed,
    /// Every step succeeded or was passed over.
    Succeeded,
}

impl RunPhase {
    /// All of them.
    const ALL: [Self; 5] =
        [Self::Executing, Self::Suspending, Self::Terminated, Self::Failed, Self::Succeeded];

    /// As written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Executing => "executing",
            Self::Suspending => "suspending",
            Self::Terminated => "terminated",
            Self::Failed => "failed",
            Self::Succeeded => "succeeded",
        }
    }

    /// The phase that is written like this.
    pub fn of(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.as_str() == text)
    }
}
