//! Judges what a controller writes while it runs a workflow, by the simulation's own reading of journal and objects.
//!
//! * No step counts as succeeded that did not run: of a component something was made, a message was sent, a suspension was ended
//!   by a person.
//! * No step sends its message twice.
//! * Nothing is made before its turn: what stands behind the suspension is made when it was stored that it is over.
//! * A run does not go back: what has succeeded in it has succeeded.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use vela_apiserver::store::{Event, EventKind};

use super::{HOLD, TELL, steps};
use crate::model::{Form, OWNED};
use crate::outside::Outside;
use crate::violation::Violation;

const REVISIONS: &str = "applicationrevisions.core.oam.dev";
/// The labels of an object that name its component and by which revision it was made.
const COMPONENT: &str = "app.oam.dev/component";
const REVISION: &str = "app.oam.dev/appRevision";

/// The known state of one schedule's workflows.
pub(crate) struct WorkflowChecker {
    /// The messages of steps.
    outside: Outside,
    /// The component that the first step of each revision applies.
    first: BTreeMap<String, String>,
    /// Revisions of which it was stored that their suspension is over.
    passed: BTreeSet<String>,
    /// Ids of the steps that people resumed.
    resumed: BTreeSet<String>,
    /// Components of which controllers made something.
    made: BTreeSet<String>,
}

impl WorkflowChecker {
    pub(crate) fn new(outside: Outside) -> Self {
        let (first, passed, resumed, made) = Default::default();
        Self { outside, first, passed, resumed, made }
    }

    /// Did a step send its message more than once?
    pub(crate) fn judge_outside(&self) -> Result<(), Violation> {
        match self.outside.repeated() {
            Some(id) => {
                Err(Violation::new("outside", format!("the step {id} sent its message more than once")))
            }
            None => Ok(()),
        }
    }

    /// People resumed these steps.
    pub(crate) fn resumed(&mut self, ids: Vec<String>) {
        self.resumed.extend(ids);
    }

    /// Remembers what a revision applies first.
    pub(crate) fn apply(&mut self, event: &Event) {
        if event.key.resource.as_ref() != REVISIONS || event.kind == EventKind::Deleted {
            return;
        }
        let steps = &event.entry["spec"]["application"]["spec"]["workflow"]["steps"];
        if let Some(first) = steps[0]["name"].as_str() {
            self.first.insert(event.key.name.clone(), first.to_owned());
        }
    }

    /// One change that a controller made.
    pub(crate) fn judge(&mut self, event: &Event) -> Result<(), Violation> {
        let resource = event.key.resource.as_ref();
        if resource == Form::Workflow.resource() {
            return self.judge_journal(event);
        }
        let labels = &event.entry["metadata"]["labels"];
        let component = labels[COMPONENT].as_str().filter(|_| OWNED.contains(&resource));
        let Some(component) = component.filter(|_| event.kind != EventKind::Deleted) else { return Ok(()) };
        if event.kind == EventKind::Added {
            let revision = labels[REVISION].as_str().unwrap_or_default();
            let is_first = self.first.get(revision).is_none_or(|first| first == component);
            if !is_first && !self.passed.contains(revision) {
                let what = format!(
                    "{resource} {} is made by {revision}, whose suspension is not stored to be over",
                    event.key.name
                );
                return Err(Violation::new("order", what));
            }
        }
        self.made.insert(component.to_owned());
        Ok(())
    }

    fn judge_journal(&mut self, event: &Event) -> Result<(), Violation> {
        let journal = &event.entry["status"]["workflow"];
        for step in steps(journal).filter(|step| step["phase"] == "succeeded") {
            self.has_run(step)?;
            if step["name"] == HOLD {
                self.passed.extend(journal["appRevision"].as_str().map(str::to_owned));
            }
        }
        let before = event.previous.as_ref().map(|before| &before["status"]["workflow"]);
        match before.filter(|before| is_same_run(before, journal)) {
            Some(before) => goes_on(before, journal),
            None => Ok(()),
        }
    }

    /// Did a step that is said to have succeeded run?
    fn has_run(&self, step: &Value) -> Result<(), Violation> {
        let text = |field: &str| step[field].as_str().unwrap_or_default();
        let has_run = match text("type") {
            TELL => self.resumed.contains(text("id")) && self.outside.has_sent(text("id")),
            "apply-component" => self.made.contains(text("name")),
            _ => true,
        };
        match has_run {
            true => Ok(()),
            false => {
                let what =
                    format!("step {} ({}) counts as succeeded and did not run", text("name"), text("id"));
                Err(Violation::new("unrun", what))
            }
        }
    }
}

fn is_same_run(before: &Value, now: &Value) -> bool {
    ["appRevision", "startTime"].iter().all(|field| before[field] == now[field] && !now[field].is_null())
}

/// A step that has succeeded stays so.
fn goes_on(before: &Value, now: &Value) -> Result<(), Violation> {
    for done in steps(before).filter(|step| step["phase"] == "succeeded" && step["type"] != "step-group") {
        let is_done = |step: &Value| step["id"] == done["id"] && step["phase"] == "succeeded";
        if !steps(now).any(is_done) {
            let what = format!("step {} had succeeded, and now the run knows nothing of it", done["name"]);
            return Err(Violation::new("journal", what));
        }
    }
    Ok(())
}
