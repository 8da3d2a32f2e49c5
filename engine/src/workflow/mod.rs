//! The run of a workflow: what its steps may do now, and how far each of them is; `core` carries the steps out.
//!
//! A workflow of steps that only apply components follows from what is seen of their objects: that comes in, and the nodes that
//! may be applied go out ([`due`]); its journal is part of the application's status. Any other is run by a [`Machine`], which
//! knows of no object: a [`WorkflowSpec`], the [`RunStatus`] so far and the [`RunValues`] between steps come in; the step that is
//! to be run next goes out, and its outcome comes in. Both have one journal, [`RunStatus`].

mod back_off;
mod built_in;
mod conditions;
mod debug;
mod duration;
mod execution;
mod finding;
mod machine;
mod order;
mod phase;
mod read;
mod restart;
mod run_object;
mod run_status;
mod spec;
mod steering;
mod step_result;
mod stored_values;
mod values;
mod verbs;

pub use built_in::built_in;
pub(crate) use built_in::built_in_parameters;
pub use duration::duration;
pub use execution::{CALLS_AT_MOST, Execution, Progress};
pub use finding::SpecFinding;
pub(crate) use machine::WAIT_HEALTHY;
pub use machine::{Idle, Machine, Next, RunLimits, StepOutcome, Task};
pub use phase::{Reason, RunPhase, StepPhase};
pub(crate) use restart::check as check_restart;
pub use restart::{Restart, SCHEDULED_AT};
pub use run_object::{application_of_run, context_of_run, workflow_of_run};
pub(crate) use run_status::seconds;
pub use run_status::{RunStatus, StepStatus};
pub use spec::{
    APPLY_COMPONENT, APPLY_IN_PARALLEL, APPLY_REMAINING, BUILT_IN_STEPS, DEPLOY, DEPLOY_CLOUD_RESOURCE,
    DEPLOY_TO_ENV, DEPLOY_TO_RUNTIME, Mode, STEP_GROUP, STEPS_AT_MOST, SUSPEND, StepInput, StepOutput,
    StepRetry, StepSpec, WorkflowSpec, applies_by_calls, applies_several,
};
pub(crate) use spec::{SHARE_CLOUD_RESOURCE, step_type};
pub use steering::{Order, RestartFrom, restart_from, run_of, steer, steerable};
pub use step_result::{applied, due, live_value};
pub use stored_values::StoredValues;
pub use values::{BYTES_AT_MOST, RecordedCall, RunValues};
pub use verbs::{Refusal, Unsteerable};
