//! The JSON of a workflow (of an Application, a Workflow or a WorkflowRun) → what is run, or every mistake with its place.

use std::sync::LazyLock;

use jiff::SignedDuration;
use serde_json::{Map, Value as Json};

use super::duration::duration;
use super::finding::SpecFinding;
use super::order;
use super::spec::{
    Mode, STEP_GROUP, STEPS_AT_MOST, StepInput, StepOutput, StepRetry, StepSpec, WorkflowSpec, step_type,
};
use crate::field_path::type_name;

/// More inputs, outputs or dependencies of one step are refused.
const LIST_AT_MOST: usize = 200;

impl WorkflowSpec {
    /// Reads `steps` and `mode` of a workflow that stands at `path`. Where it says no order, steps are run one after the
    /// other, and those of a group as soon as they may.
    ///
    /// # Errors
    /// Every mistake with its place: of types and names, durations, dependencies on what is not there, and circles.
    pub fn read(workflow: &Json, path: &str) -> Result<Self, Vec<SpecFinding>> {
        let mut reader = Reader { found: Vec::new(), count: 0 };
        let fields = reader.object(path, Some(workflow));
        let modes = reader.object(&format!("{path}.mode"), fields.get("mode"));
        let mode = reader.mode(&format!("{path}.mode.steps"), modes.get("steps"));
        let sub_mode = reader.mode(&format!("{path}.mode.subSteps"), modes.get("subSteps"));
        let steps = reader.steps(&format!("{path}.steps"), fields.get("steps"), false);
        let spec =
            Self { mode: mode.unwrap_or(Mode::StepByStep), sub_mode: sub_mode.unwrap_or(Mode::Dag), steps };
        if reader.found.is_empty() {
            order::check(&spec, &mut reader.found);
        }
        if reader.found.is_empty() { Ok(spec) } else { Err(reader.found) }
    }
}

/// A step is tried again at most so often.
const RETRIES_AT_MOST: u64 = 1000;

/// Reads steps, and keeps what is wrong with them.
struct Reader {
    found: Vec<SpecFinding>,
    count: usize,
}

/// No written order.
static NOTHING: LazyLock<Map<String, Json>> = LazyLock::new(Map::new);

impl Reader {
    fn wrong(&mut self, path: &str, message: impl Into<String>) {
        self.found.push(SpecFinding::new(path, message));
    }

    fn object<'a>(&mut self, path: &str, value: Option<&'a Json>) -> &'a Map<String, Json> {
        match value {
            Some(Json::Object(fields)) => return fields,
            None | Some(Json::Null) => {}
            Some(other) => self.wrong(path, format!("expected an object, found {}", type_name(other))),
        }
        &NOTHING
    }

    fn list<'a>(&mut self, path: &str, value: Option<&'a Json>, at_most: usize) -> &'a [Json] {
        match value {
            Some(Json::Array(items)) if items.len() <= at_most => return items,
            Some(Json::Array(items)) => {
                self.wrong(path, format!("expected at most {at_most} items, found {}", items.len()));
            }
            None | Some(Json::Null) => {}
            Some(other) => self.wrong(path, format!("expected a list, found {}", type_name(other))),
        }
        &[]
    }

    /// A text; nothing where there is none or an empty one.
    fn text(&mut self, path: &str, value: Option<&Json>) -> Option<String> {
        match value {
            Some(Json::String(text)) => return Some(text.clone()).filter(|text| !text.is_empty()),
            None | Some(Json::Null) => {}
            Some(other) => self.wrong(path, format!("expected a string, found {}", type_name(other))),
        }
        None
    }

    fn required(&mut self, path: &str, fields: &Map<String, Json>, field: &str, whose: &str) -> String {
        let found = self.found.len();
        let text = self.text(&format!("{path}.{field}"), fields.get(field));
        if text.is_none() && self.found.len() == found {
            self.wrong(path, format!("{whose} needs a field {field:?}"));
        }
        text.unwrap_or_default()
    }

    fn mode(&mut self, path: &str, value: Option<&Json>) -> Option<Mode> {
        let text = self.text(path, value)?;
        let mode = Mode::of(&text);
        if mode.is_none() {
            self.wrong(path, format!("{text:?} is no order of steps; write \"StepByStep\" or \"DAG\""));
        }
        mode
    }

    fn steps(&mut self, path: &str, value: Option<&Json>, in_group: bool) -> Vec<StepSpec> {
        let items = self.list(path, value, STEPS_AT_MOST);
        self.count += items.len();
        if self.count > STEPS_AT_MOST {
            self.wrong(path, format!("expected at most {STEPS_AT_MOST} steps in a workflow"));
            return Vec::new();
        }
        let steps = items.iter().enumerate();
        steps.map(|(index, item)| self.step(&format!("{path}[{index}]"), item, in_group)).collect()
    }

    fn step(&mut self, path: &str, value: &Json, in_group: bool) -> StepSpec {
        let fields = self.object(path, Some(value));
        let name = self.required(path, fields, "name", "a workflow step");
        let type_ = step_type(self.required(path, fields, "type", "a workflow step"));
        let is_group = type_ == STEP_GROUP;
        if in_group && is_group {
            self.wrong(&format!("{path}.type"), "a group cannot stand in a group: write its steps beside it");
        }
        let below = format!("{path}.subSteps");
        let has_steps =
            fields.get("subSteps").and_then(Json::as_array).is_some_and(|steps| !steps.is_empty());
        if has_steps && !is_group {
            self.wrong(&below, format!("only a step of type {STEP_GROUP:?} has steps of its own"));
        }
        let is_read = is_group && !in_group;
        let sub_steps = if is_read { self.steps(&below, fields.get("subSteps"), true) } else { Vec::new() };
        let properties = self.object(&format!("{path}.properties"), fields.get("properties")).clone();
        StepSpec {
            name,
            type_,
            properties: Json::Object(properties),
            condition: self.text(&format!("{path}.if"), fields.get("if")),
            timeout: self.duration(&format!("{path}.timeout"), fields.get("timeout")),
            retry: self.retry(&format!("{path}.retry"), fields.get("retry")),
            depends_on: self.names(&format!("{path}.dependsOn"), fields.get("dependsOn")),
            inputs: self.inputs(&format!("{path}.inputs"), fields.get("inputs")),
            outputs: self.outputs(&format!("{path}.outputs"), fields.get("outputs")),
            mode: self.mode(&format!("{path}.mode"), fields.get("mode")),
            sub_steps,
            path: path.to_owned(),
        }
    }

    fn duration(&mut self, path: &str, value: Option<&Json>) -> Option<SignedDuration> {
        let text = self.text(path, value)?;
        let duration = duration(&text);
        if duration.is_none() {
            let message = format!("{text:?} is no duration; write for example \"90s\", \"10m\" or \"1h30m\"");
            self.wrong(path, message);
        }
        duration
    }

    fn retry(&mut self, path: &str, value: Option<&Json>) -> StepRetry {
        let fields = self.object(path, value);
        for field in fields.keys().filter(|field| !["limit", "backoff"].contains(&field.as_str())) {
            self.wrong(path, format!("no field {field:?} is known here; write limit and backoff"));
        }
        let limit = fields.get("limit").filter(|limit| !limit.is_null());
        let read = limit.and_then(Json::as_u64).filter(|limit| *limit <= RETRIES_AT_MOST);
        if limit.is_some() && read.is_none() {
            let message = format!("expected a number of tries from 0 to {RETRIES_AT_MOST}");
            self.wrong(&format!("{path}.limit"), message);
        }
        let backoff = self.duration(&format!("{path}.backoff"), fields.get("backoff"));
        StepRetry { limit: read.and_then(|limit| u32::try_from(limit).ok()), backoff }
    }

    fn names(&mut self, path: &str, value: Option<&Json>) -> Vec<String> {
        let items = self.list(path, value, LIST_AT_MOST).iter().enumerate();
        items.filter_map(|(index, item)| self.text(&format!("{path}[{index}]"), Some(item))).collect()
    }

    fn inputs(&mut self, path: &str, value: Option<&Json>) -> Vec<StepInput> {
        let mut inputs = Vec::new();
        for (index, item) in self.list(path, value, LIST_AT_MOST).iter().enumerate() {
            let path = format!("{path}[{index}]");
            let fields = self.object(&path, Some(item));
            let from = self.required(&path, fields, "from", "an input");
            let parameter_key = self.text(&format!("{path}.parameterKey"), fields.get("parameterKey"));
            inputs.push(StepInput { from, parameter_key });
        }
        inputs
    }

    fn outputs(&mut self, path: &str, value: Option<&Json>) -> Vec<StepOutput> {
        let mut outputs = Vec::new();
        for (index, item) in self.list(path, value, LIST_AT_MOST).iter().enumerate() {
            let path = format!("{path}[{index}]");
            let fields = self.object(&path, Some(item));
            let name = self.required(&path, fields, "name", "an output");
            let value_from = self.required(&path, fields, "valueFrom", "an output");
            outputs.push(StepOutput { name, value_from });
        }
        outputs
    }
}
