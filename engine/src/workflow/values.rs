//! The values of a run beside its status, in a ConfigMap: the values between steps, when a suspension ends, how often a
//! step failed, and which calls with an effect outside were made.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Map, Value as Json, json};

use super::run_status::seconds;
use crate::field_path;
use crate::steps;

/// All values of a run together may take so many bytes: a ConfigMap takes a mebibyte.
pub const BYTES_AT_MOST: usize = 900 * 1024;
/// Where the values stand.
const VARIABLES: &str = "vars";
/// The suffix of a step's key beside the times of its suspensions, after its id.
const RESUME_AT: &str = ".resumeTimeStamp";
const SUSPENDED: &str = ".suspendTimeStamp";
const RESUMED: &str = ".resumedTimeStamp";
const FAILURES: &str = ".failures";
const CALLS: &str = ".calls";
/// Says that some of the values stand in a Secret.
const CONFIDENTIAL: &str = "confidential";
const METRICS: &str = ".metrics.";
const TIME: &str = ".time";

/// The values of a run beside its status.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunValues {
    variables: Map<String, Json>,
    /// Names of the variables that come from a Secret.
    confidential: BTreeSet<String>,
    /// More stands in a Secret that was not read.
    is_divided: bool,
    steps: BTreeMap<String, StepRecord>,
}

/// The record of one step.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct StepRecord {
    resume_at: Option<Timestamp>,
    suspended: BTreeMap<String, Timestamp>,
    resumed: BTreeMap<String, Timestamp>,
    failures: u32,
    next_try: Option<Timestamp>,
    calls: Vec<RecordedCall>,
    /// The answers to its calls come from a Secret.
    is_confidential: bool,
    /// Since when a check says the same.
    since: BTreeMap<String, Timestamp>,
}

/// A call with an effect outside.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedCall {
    /// Where in the template it stands.
    pub path: String,
    /// The answer; nothing as long as it is not known.
    pub answer: Option<Json>,
}

impl RunValues {
    /// As it is stored in the data of a ConfigMap, by us or by KubeVela.
    ///
    /// # Errors
    /// The values are neither JSON nor CUE.
    pub fn read(data: &BTreeMap<String, String>) -> Result<Self, String> {
        let mut values = Self::default();
        if let Some(text) = data.get(VARIABLES).filter(|text| !text.trim().is_empty()) {
            let read = serde_json::from_str(text).or_else(|_| steps::data(VARIABLES, text));
            match read.map_err(|found| format!("{VARIABLES}: {found}"))? {
                Json::Object(variables) => values.variables = variables,
                other => {
                    return Err(format!(
                        "{VARIABLES}: expected a struct, found {}",
                        field_path::type_name(&other)
                    ));
                }
            }
        }
        for (key, text) in data {
            values.read_step(key, text);
        }
        values.is_divided = Self::is_divided(data);
        Ok(values)
    }

    /// The same with what is confidential, as it is stored in the data of a Secret.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn with_confidential(mut self, data: &BTreeMap<String, String>) -> Result<Self, String> {
        let read = Self::read(data)?;
        for (name, value) in read.variables {
            self.confidential.insert(name.clone());
            self.variables.insert(name, value);
        }
        for (id, record) in read.steps {
            let whole = self.of(&id);
            (whole.calls, whole.is_confidential) = (record.calls, true);
        }
        self.is_divided = false;
        Ok(self)
    }

    /// Does the data of a ConfigMap say that more stands in a Secret?
    pub fn is_divided(data: &BTreeMap<String, String>) -> bool {
        data.contains_key(CONFIDENTIAL)
    }

    /// Keys of no step, or of another writer, are left alone.
    fn read_step(&mut self, key: &str, text: &str) {
        let time = || text.parse::<Timestamp>().ok();
        if let Some(id) = key.strip_suffix(RESUME_AT) {
            self.of(id).resume_at = time();
        } else if let Some((id, field)) = key.strip_suffix(SUSPENDED).and_then(|name| name.split_once('.')) {
            self.of(id).suspended.extend(time().map(|time| (field.to_owned(), time)));
        } else if let Some((id, field)) = key.strip_suffix(RESUMED).and_then(|name| name.split_once('.')) {
            self.of(id).resumed.extend(time().map(|time| (field.to_owned(), time)));
        } else if let Some(id) = key.strip_suffix(FAILURES) {
            let written: Json = serde_json::from_str(text).unwrap_or_default();
            let failures = written["count"].as_u64().unwrap_or_default();
            let record = self.of(id);
            record.failures = u32::try_from(failures).unwrap_or(u32::MAX);
            record.next_try = written["next"].as_str().and_then(|next| next.parse().ok());
        } else if let Some(id) = key.strip_suffix(CALLS) {
            let written: Json = serde_json::from_str(text).unwrap_or_default();
            let calls = written.as_array().into_iter().flatten();
            self.of(id).calls = calls.filter_map(RecordedCall::read).collect();
        } else if let Some((id, name)) = key.strip_suffix(TIME).and_then(|name| name.split_once(METRICS)) {
            let seconds = text.parse::<i64>().ok().filter(|seconds| *seconds > 0);
            let time = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
            self.of(id).since.extend(time.map(|time| (name.to_owned(), time)));
        }
    }

    /// As it is stored in the data of a ConfigMap, without what is confidential. Equal content gives equal data.
    pub fn to_data(&self) -> BTreeMap<String, String> {
        let mut data = BTreeMap::from([(VARIABLES.to_owned(), self.variables(false).to_string())]);
        if self.is_divided || !self.confidential_data().is_empty() {
            data.insert(CONFIDENTIAL.to_owned(), "in the Secret of the same name".to_owned());
        }
        for (id, record) in &self.steps {
            let mut put = |name: String, text: String| data.insert(format!("{id}{name}"), text);
            if let Some(time) = record.resume_at {
                put(RESUME_AT.to_owned(), time.to_string());
            }
            for (field, time) in &record.suspended {
                put(format!(".{field}{SUSPENDED}"), time.to_string());
            }
            for (field, time) in &record.resumed {
                put(format!(".{field}{RESUMED}"), time.to_string());
            }
            if record.failures > 0 {
                let next = record.next_try.map(|time| time.to_string());
                put(FAILURES.to_owned(), json!({"count": record.failures, "next": next}).to_string());
            }
            if !record.calls.is_empty() && !record.is_confidential {
                put(CALLS.to_owned(), record.calls().to_string());
            }
            for (name, time) in &record.since {
                put(format!("{METRICS}{name}{TIME}"), time.as_second().to_string());
            }
        }
        data
    }

    /// The confidential values, as the data of a Secret; empty where there are none.
    pub fn confidential_data(&self) -> BTreeMap<String, String> {
        let mut data = BTreeMap::new();
        let variables = self.variables(true);
        if variables.as_object().is_some_and(|variables| !variables.is_empty()) {
            data.insert(VARIABLES.to_owned(), variables.to_string());
        }
        for (id, record) in self.steps.iter().filter(|(_, record)| record.is_confidential) {
            data.insert(format!("{id}{CALLS}"), record.calls().to_string());
        }
        data
    }

    /// The values that are confidential, or those that are not.
    fn variables(&self, confidential: bool) -> Json {
        let of_it = |name: &str| self.confidential.contains(name) == confidential;
        let variables = self.variables.iter().filter(|(name, _)| of_it(name));
        Json::Object(variables.map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    /// Everything confidential, for those who keep it out of messages.
    pub fn confidential(&self) -> Json {
        self.variables(true)
    }

    /// The value of this name comes from a Secret, from now on.
    pub(super) fn conceal(&mut self, name: &str) {
        self.confidential.insert(first_of(name).to_owned());
    }

    /// The answers to the calls of the step come from a Secret, from now on.
    pub(super) fn conceal_calls(&mut self, id: &str) {
        self.of(id).is_confidential = true;
    }

    /// Does the value of this name come from a Secret?
    pub(super) fn is_confidential(&self, name: &str) -> bool {
        self.confidential.contains(first_of(name))
    }

    fn of(&mut self, id: &str) -> &mut StepRecord {
        self.steps.entry(id.to_owned()).or_default()
    }

    /// The value of this name, which may be a path into one.
    pub fn get(&self, name: &str) -> Option<&Json> {
        if let Some(value) = self.variables.get(name) {
            return Some(value);
        }
        let (first, rest) = name.split_once('.')?;
        field_path::get(self.variables.get(first)?, rest).ok()
    }

    /// Sets a value for the rest of the run. A dotted name is a path. The last value counts: a step that is run again
    /// after a process was ended gives its own once more.
    ///
    /// # Errors
    /// The name cannot be one, or the values of the run grow too large.
    pub fn set(&mut self, name: &str, value: Json) -> Result<(), String> {
        let mut variables = Json::Object(self.variables.clone());
        field_path::set(&mut variables, name, value).map_err(|error| error.to_string())?;
        let bytes = variables.to_string().len() + self.recorded_bytes();
        if bytes > BYTES_AT_MOST {
            return Err(format!(
                "with {name:?}, the values of the run take {bytes} bytes; expected at most {BYTES_AT_MOST}"
            ));
        }
        if let Json::Object(variables) = variables {
            self.variables = variables;
        }
        Ok(())
    }

    /// Forgets a value, so that it may be set anew.
    pub(super) fn remove(&mut self, name: &str) {
        if let Some((path, last)) = name.rsplit_once('.') {
            let (first, rest) = path.split_once('.').unwrap_or((path, ""));
            let Some(mut parent) = self.variables.get_mut(first) else { return };
            for field in rest.split('.').filter(|field| !field.is_empty()) {
                let Some(below) = parent.get_mut(field) else { return };
                parent = below;
            }
            if let Some(fields) = parent.as_object_mut() {
                fields.remove(last);
            }
        }
        self.variables.remove(name);
        self.confidential.retain(|name| self.variables.contains_key(name));
    }

    /// Forgets everything of a step but its values.
    pub(super) fn forget(&mut self, id: &str) {
        self.steps.remove(id);
    }

    /// A call suspends the step: since when, and until when.
    pub(super) fn suspend(&mut self, id: &str, field: &str, now: Timestamp, resume_at: Option<Timestamp>) {
        let record = self.of(id);
        record.suspended.entry(key(field)).or_insert(seconds(now));
        // As it was first said: a suspension does not begin again because the step is evaluated again.
        record.resume_at = record.resume_at.or(resume_at.map(seconds));
    }

    /// Does a suspension stand that was not resumed?
    pub(super) fn is_suspended(&self, id: &str) -> bool {
        let record = self.steps.get(id);
        record.is_some_and(|record| record.suspended.keys().any(|field| !record.resumed.contains_key(field)))
    }

    /// When the suspension ends by itself.
    pub(super) fn resume_at(&self, id: &str) -> Option<Timestamp> {
        self.steps.get(id)?.resume_at
    }

    /// Every suspension of the step so far is over.
    pub(super) fn resume(&mut self, id: &str, now: Timestamp) {
        let Some(record) = self.steps.get_mut(id) else { return };
        record.resume_at = None;
        for field in record.suspended.keys() {
            record.resumed.entry(field.clone()).or_insert(seconds(now));
        }
    }

    /// The record of the step, as it is now.
    pub(super) fn record_of(&self, id: &str) -> StepRecord {
        self.steps.get(id).cloned().unwrap_or_default()
    }

    /// The step failed once more. Gives how often by now.
    pub(super) fn fail(&mut self, id: &str, next_try: impl FnOnce(u32) -> Timestamp) -> u32 {
        let record = self.of(id);
        record.failures = record.failures.saturating_add(1);
        record.next_try = Some(seconds(next_try(record.failures)));
        record.failures
    }

    /// When the step may be tried again.
    pub(super) fn next_try(&self, id: &str) -> Option<Timestamp> {
        self.steps.get(id)?.next_try
    }

    /// The failures are not counted any more.
    pub(super) fn forgive(&mut self, id: &str) {
        let Some(record) = self.steps.get_mut(id) else { return };
        (record.failures, record.next_try) = (0, None);
        self.drop_empty(id);
    }

    /// The calls with an effect outside that the step made.
    pub fn calls(&self, id: &str) -> &[RecordedCall] {
        self.steps.get(id).map(|record| record.calls.as_slice()).unwrap_or_default()
    }

    /// A call with an effect outside begins, or has its answer. A call that begins must be stored before it is made.
    ///
    /// # Errors
    /// The answers of the step grow too large to be stored.
    pub fn record(&mut self, id: &str, path: &str, answer: Option<Json>) -> Result<(), String> {
        let bytes = answer.as_ref().map_or(0, |answer| answer.to_string().len());
        let others = Json::Object(self.variables.clone()).to_string().len() + self.recorded_bytes();
        if bytes > 0 && bytes + others > BYTES_AT_MOST {
            return Err(format!(
                "the answer takes {bytes} bytes, and the other values of the run {others}; expected at most {BYTES_AT_MOST} \
                 together"
            ));
        }
        let calls = &mut self.of(id).calls;
        match calls.iter_mut().find(|call| call.path == path) {
            Some(call) => call.answer = answer,
            None => calls.push(RecordedCall { path: path.to_owned(), answer }),
        }
        Ok(())
    }

    /// A call that was to begin was not made.
    pub fn forget_call(&mut self, id: &str, path: &str) {
        if let Some(record) = self.steps.get_mut(id) {
            record.calls.retain(|call| call.path != path);
        }
        self.drop_empty(id);
    }

    /// The step is over, and so no caller asks for the answers to its calls any more.
    pub(super) fn forget_calls(&mut self, id: &str) {
        if let Some(record) = self.steps.get_mut(id) {
            record.calls.clear();
        }
        self.drop_empty(id);
    }

    /// Of a step of which nothing is recorded nothing is stored.
    fn drop_empty(&mut self, id: &str) {
        if self.steps.get(id).is_some_and(|record| *record == StepRecord::default()) {
            self.steps.remove(id);
        }
    }

    /// Bytes of all answers that are recorded.
    fn recorded_bytes(&self) -> usize {
        let calls = self.steps.values().flat_map(|record| &record.calls);
        calls.filter_map(|call| call.answer.as_ref()).map(|answer| answer.to_string().len()).sum()
    }

    /// Since when a check of the step says this.
    pub fn since(&self, id: &str, name: &str) -> Option<Timestamp> {
        self.steps.get(id)?.since.get(name).copied()
    }

    /// A check of the step says this since that time, or does not say it any more.
    pub fn set_since(&mut self, id: &str, name: &str, time: Option<Timestamp>) {
        let record = self.of(id);
        match time {
            Some(time) => record.since.insert(name.to_owned(), seconds(time)),
            None => record.since.remove(name),
        };
        self.drop_empty(id);
    }
}

impl StepRecord {
    /// Is what the step sees confidential?
    pub(super) fn is_confidential(&self) -> bool {
        self.is_confidential
    }

    /// Is the suspension by this call over?
    pub(super) fn is_resumed(&self, field: &str) -> bool {
        self.resumed.contains_key(&key(field))
    }

    fn calls(&self) -> Json {
        self.calls.iter().map(RecordedCall::to_json).collect()
    }

    /// The call that stands there, where it was begun.
    pub(super) fn call(&self, path: &str) -> Option<&RecordedCall> {
        self.calls.iter().find(|call| call.path == path)
    }
}

impl RecordedCall {
    fn read(written: &Json) -> Option<Self> {
        let path = written["path"].as_str()?.to_owned();
        Some(Self { path, answer: written.get("answer").cloned() })
    }

    fn to_json(&self) -> Json {
        match &self.answer {
            Some(answer) => json!({"path": self.path, "answer": answer}),
            None => json!({"path": self.path}),
        }
    }
}

/// The variable that a name, which may be a path, leads into.
fn first_of(name: &str) -> &str {
    name.split(['.', '[']).next().unwrap_or(name)
}

/// A path in a template as part of a key of a ConfigMap.
fn key(path: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    path.chars().map(|c| if fits(c) { c } else { '_' }).collect()
}
