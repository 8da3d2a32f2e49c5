//! A run and what was written of it before → `status.workflow`: what a step has reached it keeps, with the times of that.

use serde_json::{Value as Json, json};

use super::phase::StepPhase;
use super::{Run, StepRun};

impl Run {
    /// As written. `previous` is what was written before, `now` an RFC 3339 time; equal content gives an equal journal. A
    /// journal of another revision is another run's.
    pub fn to_json(&self, revision: &str, previous: Option<&Json>, now: &str) -> Json {
        let old = previous.filter(|old| old.get("appRevision").and_then(Json::as_str) == Some(revision));
        let time = |field: &str| old.and_then(|old| old.get(field)).cloned().unwrap_or_else(|| json!(now));
        let steps: Vec<Json> =
            self.steps.iter().map(|step| step.to_json(before(old, &step.name), now)).collect();
        let mut workflow = json!({
            "appRevision": revision,
            "mode": self.mode,
            "status": if self.finished { "succeeded" } else { "executing" },
            "finished": self.finished,
            "suspend": false,
            "terminated": false,
            "startTime": time("startTime"),
            "steps": steps,
        });
        if self.finished {
            workflow["endTime"] = time("endTime");
        }
        workflow
    }
}

/// The step as it was written before.
fn before<'a>(workflow: Option<&'a Json>, step: &str) -> Option<&'a Json> {
    let steps = workflow?.get("steps")?.as_array()?;
    steps.iter().find(|written| written.get("id").and_then(Json::as_str) == Some(step))
}

impl StepRun {
    /// A step that succeeded has succeeded, whatever becomes of its components later in the run.
    fn to_json(&self, before: Option<&Json>, now: &str) -> Json {
        let was = |phase: StepPhase| {
            before.is_some_and(|step| step.get("phase").and_then(Json::as_str) == Some(phase.as_str()))
        };
        let is_kept = self.phase != StepPhase::Failed && was(StepPhase::Succeeded);
        let phase = if is_kept { StepPhase::Succeeded } else { self.phase };
        let mut step = json!({
            "id": self.name,
            "name": self.name,
            "type": self.type_,
            "phase": phase.as_str(),
        });
        if phase == self.phase && !self.message.is_empty() {
            step["message"] = json!(self.message);
        }
        if phase == StepPhase::Running {
            step["reason"] = json!("Wait");
        }
        let time =
            |field: &str| before.and_then(|step| step.get(field)).cloned().unwrap_or_else(|| json!(now));
        step["firstExecuteTime"] = time("firstExecuteTime");
        let is_same = before.is_some_and(|before| {
            ["phase", "message", "reason"].iter().all(|field| before.get(field) == step.get(field))
        });
        step["lastExecuteTime"] = if is_same { time("lastExecuteTime") } else { json!(now) };
        step
    }
}
