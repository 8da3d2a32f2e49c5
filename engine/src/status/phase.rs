//! The phases of an application.

/// The phase of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// It could not be read or rendered (yet); in the v1alpha2 form also while its objects are not all there.
    Rendering,
    /// Objects are being applied, or are not healthy for the first time.
    RunningWorkflow,
    /// Its workflow waits for a person, or for a time.
    WorkflowSuspending,
    /// A person, or a step, ended its workflow.
    WorkflowTerminated,
    /// A step of its workflow cannot succeed.
    WorkflowFailed,
    /// A rollout replaces the former revision.
    RollingOut,
    /// Everything is applied, and not healthy; of the v1alpha2 form only.
    HealthChecking,
    /// Everything is applied and healthy.
    Running,
    /// It was running, and is not healthy any more.
    Unhealthy,
    /// Its objects are being removed.
    Deleting,
}

impl Phase {
    /// As written in `status.status`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rendering => "rendering",
            Self::RunningWorkflow => "runningWorkflow",
            Self::WorkflowSuspending => "workflowSuspending",
            Self::WorkflowTerminated => "workflowTerminated",
            Self::WorkflowFailed => "workflowFailed",
            Self::RollingOut => "rollingOut",
            Self::HealthChecking => "healthChecking",
            Self::Running => "running",
            Self::Unhealthy => "unhealthy",
            Self::Deleting => "deleting",
        }
    }
}
