//! The state machine of a workflow: a spec, the state of a run, and the outcome of each step → the next step to be run, or
//! why none is; sends no request, and reads no clock.
//!
//! The runner of a workflow asks for the [`next`](Machine::next) step, runs it, [`report`](Machine::report)s its
//! outcome, stores status and values, and asks again. Each step is given out at most once by a machine: what is not done
//! then is looked at by the next reconcile, with a machine of its own.
//!
//! ```
//! use jiff::Timestamp;
//! use serde_json::json;
//! use vela_engine::workflow::{Idle, Machine, Next, RunLimits, RunStatus, RunValues, StepOutcome, WorkflowSpec};
//!
//! let now = Timestamp::UNIX_EPOCH;
//! let spec = json!({"steps": [{"name": "say", "type": "print"}, {"name": "hold", "type": "suspend"}]});
//! let spec = WorkflowSpec::read(&spec, "spec.workflow").map_err(|found| format!("{found:?}"))?;
//! let status = RunStatus::begin("app-v1", spec.modes(), now);
//! let mut machine = Machine::new(&spec, status, RunValues::default(), json!({}), RunLimits::default());
//!
//! let Next::Execute(say) = machine.next(now) else { panic!("the first step comes first") };
//! assert_eq!(say.name, "say");
//! machine.report("say", StepOutcome::done(), now);
//! let Next::Execute(hold) = machine.next(now) else { panic!("then the second") };
//! machine.report(&hold.name, StepOutcome::Wait { message: "not yet".to_owned() }, now);
//! assert!(matches!(machine.next(now), Next::Idle(Idle::Executing { .. })));
//! assert_eq!(machine.status().step("hold").map(|step| step.message.as_str()), Some("not yet"));
//! # Ok::<(), String>(())
//! ```

mod approval;
mod begin;
mod group;
mod idle;
mod settle;
mod task;

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value as Json;

use super::phase::{Reason, StepPhase};
use super::run_status::{RunStatus, StepStatus, after};
use super::spec::{Mode, StepSpec, WorkflowSpec};
use super::values::RunValues;
pub(crate) use settle::WAIT_HEALTHY;
pub use task::{Idle, Next, RunLimits, StepOutcome, Task};

/// A run of a workflow, in one reconcile.
pub struct Machine<'a> {
    spec: &'a WorkflowSpec,
    status: RunStatus,
    values: RunValues,
    /// The values that steps may name as `context`.
    context: Json,
    limits: RunLimits,
    /// Steps that were given out, by name.
    given: BTreeSet<String>,
}

impl<'a> Machine<'a> {
    /// A run as far as it has come.
    pub fn new(
        spec: &'a WorkflowSpec,
        status: RunStatus,
        values: RunValues,
        context: Json,
        limits: RunLimits,
    ) -> Self {
        Self { spec, status, values, context, limits, given: BTreeSet::new() }
    }

    /// How far it has come.
    pub fn status(&self) -> &RunStatus {
        &self.status
    }

    /// The values between its steps.
    pub fn values(&self) -> &RunValues {
        &self.values
    }

    /// The same, for calls that read, write or record them.
    pub fn values_mut(&mut self) -> &mut RunValues {
        &mut self.values
    }

    /// The values of the step of this name come from a Secret: so do its recorded answers.
    pub fn conceal(&mut self, step: &str) {
        for output in self.outputs(step) {
            self.values.conceal(&output.name);
        }
        if let Some(status) = self.status.step(step) {
            self.values.conceal_calls(&status.id);
        }
    }

    /// The step that is to be run now, or why none is. The caller has stored the former reports by now.
    pub fn next(&mut self, now: Timestamp) -> Next {
        self.forget_calls();
        if self.status.finished {
            return Next::Idle(Idle::Ended(self.status.phase));
        }
        if self.is_held() {
            return Next::Idle(self.hold());
        }
        self.forgive(now);
        let spec = self.spec;
        // Each round but the last finishes a step more.
        loop {
            let finished = self.finished();
            if let Some(task) = self.look_at_list(&spec.steps, spec.mode, now) {
                return Next::Execute(task);
            }
            if self.finished() == finished {
                return Next::Idle(self.idle(now));
            }
        }
    }

    /// Another step that may run at the same time as those that were given out and not reported yet.
    pub fn beside(&mut self, now: Timestamp) -> Option<Task> {
        let spec = self.spec;
        self.look_at_list(&spec.steps, spec.mode, now)
    }

    /// That these steps are done is stored: none of them is evaluated again. Not any earlier: a process that ends before
    /// would make their calls once more.
    fn forget_calls(&mut self) {
        for step in self.status.all().filter(|step| step.phase == StepPhase::Succeeded) {
            self.values.forget_calls(&step.id);
        }
    }

    /// A person suspended the whole run, rather than a call one step: nothing goes on.
    fn is_held(&self) -> bool {
        self.status.suspend && !self.status.has_suspended_step()
    }

    /// How many steps are finished.
    fn finished(&self) -> usize {
        self.status.all().filter(|step| self.is_over(step)).count()
    }

    /// The step is over for now. Where failures suspend the run, a failed step is tried again after the run is resumed.
    fn is_over(&self, step: &StepStatus) -> bool {
        match self.limits.suspend_on_failure {
            true => step.is_finished() && step.phase != StepPhase::Failed,
            false => step.is_finished(),
        }
    }

    fn is_finished(&self, step: &StepSpec) -> bool {
        self.status.step(&step.name).is_some_and(|status| self.is_over(status))
    }

    /// The first step of a list that is to be run.
    fn look_at_list(&mut self, steps: &'a [StepSpec], mode: Mode, now: Timestamp) -> Option<Task> {
        for step in steps {
            let list = List { steps, mode };
            let task = if step.is_group() {
                self.look_at_group(step, list, now)
            } else {
                self.look_at(step, list, now)
            };
            if task.is_some() {
                return task;
            }
            if mode == Mode::StepByStep && !self.is_finished(step) {
                return None;
            }
        }
        None
    }

    /// The step, where it is to be run now; else what it waits for is said in its status.
    fn look_at(&mut self, step: &'a StepSpec, list: List<'a>, now: Timestamp) -> Option<Task> {
        if self.is_finished(step) || self.given.contains(&step.name) {
            return None;
        }
        let is_begun = self.status.step(&step.name).is_some_and(|status| status.phase != StepPhase::Pending);
        let may_run = if is_begun { self.goes_on(step, now) } else { self.may_begin(step, list, now) };
        if !may_run {
            return None;
        }
        let properties = match self.properties(step) {
            Ok(properties) => properties,
            Err(message) => {
                self.end(step, StepPhase::Failed, Some(Reason::Input), &message, now);
                return None;
            }
        };
        self.given.insert(step.name.clone());
        Some(self.task(step, properties, now))
    }

    /// Is a step that began before to be run again now?
    fn goes_on(&mut self, step: &'a StepSpec, now: Timestamp) -> bool {
        let Some(status) = self.status.step(&step.name) else { return true };
        let (id, phase) = (status.id.clone(), status.phase);
        if self.is_late(step, now) {
            // A step that applied components is looked at for the last time: its outputs tell later steps how they are, and the
            // status of the application shows why they are not healthy.
            if phase == StepPhase::Running && step.applies_components() {
                return true;
            }
            self.time_out(step, Vec::new(), now);
            return false;
        }
        match phase {
            StepPhase::Suspending if self.values.is_suspended(&id) => {
                if self.values.resume_at(&id).is_none_or(|at| now < at) {
                    return false;
                }
                self.values.resume(&id, now);
            }
            // The reason of its wait was not stored before the process ended: it says so once more.
            StepPhase::Suspending => {}
            // A user resumed it.
            StepPhase::Running => self.values.resume(&id, now),
            StepPhase::Failed => return self.values.next_try(&id).is_none_or(|at| at <= now),
            StepPhase::Pending | StepPhase::Succeeded | StepPhase::Skipped => {}
        }
        true
    }

    /// Has the step taken longer than its timeout?
    fn is_late(&self, step: &StepSpec, now: Timestamp) -> bool {
        self.timeout_of(step).is_some_and(|at| at <= now)
    }

    fn timeout_message(step: &StepSpec) -> String {
        let timeout = step.timeout.unwrap_or_default();
        format!("it took longer than its timeout of {timeout:#}")
    }

    /// When its time is up.
    fn timeout_of(&self, step: &StepSpec) -> Option<Timestamp> {
        let status = self.status.step(&step.name).filter(|status| status.phase != StepPhase::Pending)?;
        step.timeout.map(|timeout| after(status.first, timeout))
    }
}

/// The steps among which one stands, and their order.
#[derive(Clone, Copy)]
struct List<'a> {
    steps: &'a [StepSpec],
    mode: Mode,
}
