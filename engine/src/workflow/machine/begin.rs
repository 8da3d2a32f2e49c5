//! Whether a step begins: what it waits for, whether it is passed over, and its parameters when it does.

use jiff::Timestamp;
use serde_json::{Map, Value as Json, json};

use super::task::{Task, id};
use super::{List, Machine};
use crate::field_path;
use crate::steps;
use crate::workflow::order;
use crate::workflow::phase::{Reason, StepPhase};
use crate::workflow::run_status::{StepStatus, seconds};
use crate::workflow::spec::{Mode, STEP_GROUP, StepInput, StepOutput, StepSpec, is_within};

/// The beginning of names that are no value of a step.
const CONTEXT: &str = "context.";

impl<'a> Machine<'a> {
    /// May the step begin? Else it says what it waits for, or that it is passed over. A step that is passed over in any
    /// case waits for no value, which may never come.
    pub(super) fn may_begin(&mut self, step: &'a StepSpec, list: List<'a>, now: Timestamp) -> bool {
        let goes_by_others = step.condition.is_none() && !self.limits.suspend_on_failure;
        if goes_by_others && self.is_ended() {
            return self.pass_over(step, "", now);
        }
        if let Some(name) = self.awaited_step(step) {
            let message = format!("Pending on DependsOn: {name}");
            self.record(step, StepPhase::Pending, None, &message, now);
            return false;
        }
        if goes_by_others && self.follows_failure(step, list) {
            return self.pass_over(step, "", now);
        }
        if let Some(from) = self.awaited_input(step) {
            let message = format!("Pending on Input: {from}");
            self.record(step, StepPhase::Pending, None, &message, now);
            return false;
        }
        match self.meets_condition(step) {
            Ok(true) => true,
            Ok(false) => self.pass_over(step, "", now),
            Err(why) => self.pass_over(step, &format!("pre check error: {why}"), now),
        }
    }

    /// It does not begin.
    fn pass_over(&mut self, step: &StepSpec, message: &str, now: Timestamp) -> bool {
        self.end(step, StepPhase::Skipped, Some(Reason::Skip), message, now);
        false
    }

    /// The first step that it depends on and that is not finished.
    fn awaited_step(&self, step: &'a StepSpec) -> Option<&'a str> {
        let is_open =
            |name: &&String| self.spec.dependency(name).is_none_or(|other| !self.is_finished(other));
        step.depends_on.iter().find(is_open).map(String::as_str)
    }

    /// The first value that it takes and that another step may still give. Groups take none.
    fn awaited_input(&self, step: &'a StepSpec) -> Option<&'a str> {
        if step.is_group() {
            return None;
        }
        let is_awaited =
            |input: &&StepInput| self.input(&input.from).is_none() && !self.is_given_up(&input.from);
        step.inputs.iter().find(is_awaited).map(|input| input.from.as_str())
    }

    /// Is every step finished that could give the value?
    fn is_given_up(&self, from: &str) -> bool {
        let gives = |step: &&StepSpec| step.outputs.iter().any(|output| is_within(from, &output.name));
        let mut givers = self.spec.all().map(|(_, step)| step).filter(gives).peekable();
        givers.peek().is_some() && givers.all(|step| self.is_finished(step))
    }

    /// The value that a step takes under this name; nothing as long as no step gave it.
    pub fn input(&self, from: &str) -> Option<&Json> {
        match from.strip_prefix(CONTEXT) {
            Some(path) => field_path::get(&self.context, path).ok(),
            None => self.values.get(from),
        }
    }

    /// Does its `if` hold, where it has one that counts?
    fn meets_condition(&self, step: &StepSpec) -> Result<bool, String> {
        let Some(condition) = step.condition.as_ref().filter(|_| !self.limits.suspend_on_failure) else {
            return Ok(true);
        };
        let named = [
            ("status", self.statuses()),
            ("inputs", self.inputs(step)),
            ("context", self.context_of_step(&step.name)),
            ("parameter", step.properties.clone()),
        ];
        let names: Vec<(&str, &Json)> = named.iter().map(|(name, value)| (*name, value)).collect();
        steps::condition(condition, &names)
            .map_err(|found| found.iter().next().map_or_else(String::new, |first| first.message.clone()))
    }

    /// A person or a step ended the workflow: only what asks for it by its `if` still runs.
    fn is_ended(&self) -> bool {
        let has_failed = || self.status.all().any(|step| step.phase == StepPhase::Failed);
        let is_end = |step: &StepStatus| step.reason == Some(Reason::Terminate);
        self.status.all().any(is_end) || self.status.terminated && !has_failed()
    }

    /// Did something fail that the step builds on? That is what it depends on, or else, step by step, every step before it.
    fn follows_failure(&self, step: &'a StepSpec, list: List<'a>) -> bool {
        let phase = |other: &StepSpec| self.status.step(&other.name).map(|status| status.phase);
        if list.mode == Mode::Dag || !step.depends_on.is_empty() {
            let all = order::dependencies(self.spec, step);
            return all.into_iter().any(|other| phase(other) != Some(StepPhase::Succeeded));
        }
        let mut before = list.steps.iter().take_while(|other| other.name != step.name);
        before.any(|other| phase(other) == Some(StepPhase::Failed))
    }

    /// The fields of every observed step in an `if`, by name.
    fn statuses(&self) -> Json {
        let all = self.status.all().map(|step| (step.name.clone(), status_of(step)));
        Json::Object(all.collect())
    }

    fn inputs(&self, step: &StepSpec) -> Json {
        let values = step.inputs.iter().map(|input| {
            let value = self.input(&input.from).cloned().unwrap_or_default();
            (input.from.clone(), value)
        });
        Json::Object(values.collect())
    }

    /// `context` as the step of this name sees it.
    pub(in crate::workflow) fn context_of_step(&self, step: &str) -> Json {
        let mut context = self.context.clone();
        if let Json::Object(fields) = &mut context {
            fields.insert("stepName".to_owned(), json!(step));
            if let Some(status) = self.status.step(step) {
                fields.insert("stepSessionID".to_owned(), json!(status.id));
                fields.insert("spanID".to_owned(), json!(status.id));
            }
            if let Some(group) = self.group_of(step) {
                fields.insert("stepGroupName".to_owned(), json!(group));
            }
        }
        context
    }

    /// The values that the step of this name gives to others.
    pub(in crate::workflow) fn outputs(&self, step: &str) -> &'a [StepOutput] {
        self.spec.step(step).map(|step| step.outputs.as_slice()).unwrap_or_default()
    }

    fn group_of(&self, step: &str) -> Option<&'a str> {
        let holds = |group: &&StepSpec| group.sub_steps.iter().any(|sub| sub.name == step);
        self.spec.steps.iter().find(holds).map(|group| group.name.as_str())
    }

    /// The parameters of the step with the values that it takes.
    pub(super) fn properties(&self, step: &StepSpec) -> Result<Json, String> {
        let mut properties = step.properties.clone();
        if !properties.is_object() {
            properties = Json::Object(Map::new());
        }
        for input in &step.inputs {
            let Some(key) = input.parameter_key.as_deref() else { continue };
            let value = self.input(&input.from).cloned().unwrap_or_default();
            field_path::set(&mut properties, key, value)
                .map_err(|error| format!("input {:?} cannot be set: {error}", input.from))?;
        }
        Ok(properties)
    }

    /// The step as it is given out, from now on running.
    pub(super) fn task(&mut self, step: &'a StepSpec, properties: Json, now: Timestamp) -> Task {
        let group = self.group_of(&step.name).map(str::to_owned);
        let status = self.entry(step, StepPhase::Running, now);
        if status.phase == StepPhase::Pending {
            // Its time begins now, not when it was first told to wait.
            status.first = seconds(now);
            status.set(StepPhase::Running, None, "", now);
        }
        let (id, name, type_) = (status.id.clone(), step.name.clone(), step.type_.clone());
        // A value made of a confidential one is confidential.
        if step.inputs.iter().any(|input| self.values.is_confidential(&input.from)) {
            self.conceal(&step.name);
        }
        Task { id, name, type_, group, properties }
    }

    /// The status of the step; begun, where it is looked at for the first time.
    pub(super) fn entry(&mut self, step: &StepSpec, phase: StepPhase, now: Timestamp) -> &mut StepStatus {
        let group = self.group_of(&step.name);
        let time = now.to_string();
        let id = id(&[&self.limits.seed, &self.status.revision, &time, &step.name]);
        let list = match group {
            None => &mut self.status.steps,
            Some(group) => {
                let at = self.status.steps.iter().position(|status| status.name == group);
                let at = at.unwrap_or(self.status.steps.len());
                if at == self.status.steps.len() {
                    // A group is begun before its steps; a foreign status may lack it.
                    let of_group = StepStatus::begin(format!("{id}g"), group, STEP_GROUP, phase, now);
                    self.status.steps.push(of_group);
                }
                &mut self.status.steps[at].sub_steps
            }
        };
        let at = list.iter().position(|status| status.name == step.name).unwrap_or(list.len());
        if at == list.len() {
            list.push(StepStatus::begin(id, &step.name, &step.type_, phase, now));
        }
        &mut list[at]
    }

    /// The step has come so far.
    pub(super) fn record(
        &mut self,
        step: &StepSpec,
        phase: StepPhase,
        reason: Option<Reason>,
        message: &str,
        now: Timestamp,
    ) {
        self.entry(step, phase, now).set(phase, reason, message, now);
    }

    /// The step is over. Those who wait for a value that it did not give are given none; what failed ends the run.
    pub(super) fn end(
        &mut self,
        step: &StepSpec,
        phase: StepPhase,
        reason: Option<Reason>,
        message: &str,
        now: Timestamp,
    ) {
        self.record(step, phase, reason, message, now);
        if phase == StepPhase::Failed && !self.limits.suspend_on_failure {
            self.status.terminated = true;
        }
        for output in &step.outputs {
            if self.values.get(&output.name).is_none() {
                // `null` takes no room, and an absent output has no other value.
                let _ = self.values.set(&output.name, Json::Null);
            }
        }
    }
}

/// The fields of a step in an `if`.
fn status_of(step: &StepStatus) -> Json {
    let reason = step.reason.map(Reason::as_str).unwrap_or_default();
    let is = |reason: Reason| step.reason == Some(reason);
    let phase = |phase: StepPhase| step.phase == phase;
    json!({
        "id": step.id,
        "name": step.name,
        "type": step.type_,
        "phase": step.phase.as_str(),
        "reason": reason,
        "message": step.message,
        "failed": phase(StepPhase::Failed),
        "succeeded": phase(StepPhase::Succeeded),
        "skipped": phase(StepPhase::Skipped),
        "timeout": phase(StepPhase::Failed) && is(Reason::Timeout),
        "failedAfterRetries": phase(StepPhase::Failed) && is(Reason::FailedAfterRetries),
        "terminate": is(Reason::Terminate),
    })
}
