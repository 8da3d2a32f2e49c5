//! Decides which measurements of a batch are due, and whether the batch may end, from what was measured and the time.
//!
//! A batch whose pods are there is measured once an interval, for the first time after one interval, so that a query over that
//! time sees the new pods only. Each metric needs `count` measurements in its range; one failure more than `failureLimit`
//! closes the gate. A measurement without a result (no answer, no value, NaN) is a failure: it never opens the gate, and never
//! waits for ever. All of it stands in the rollout's status, so a controller that starts anew goes on where it was.

mod check;
mod prometheus;
mod query;
mod syntax;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use sha2::{Digest, Sha256};
use vela_crds::rollout_plan::{CanaryAnalysis, MetricStatus};
use vela_crds::{CanaryMetric, RolloutPlan, RolloutStatus};

pub use check::{METRICS_AT_MOST, check};
pub use prometheus::{ANSWER_BYTES_AT_MOST, reading, url};
pub use query::{Origin, Question, render, template};
pub use syntax::{DEFAULT_INTERVAL, PAUSE, REVERT, bound};

/// So many digits of a hash tell definitions of one metric apart.
const HASH_BYTES: usize = 6;
/// So much of a query is repeated in a message.
const QUERY_CHARACTERS_AT_MOST: usize = 200;

/// One measurement that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measurement {
    /// Name of the metric, for people.
    pub name: String,
    /// The field in the plan where it is written.
    pub path: String,
    /// Where address and query come from.
    pub origin: Origin,
    /// The values of placeholders in the query.
    pub words: BTreeMap<&'static str, String>,
}

/// How a measurement ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The query, as far as it came to one.
    pub query: Option<String>,
    /// The number, or why there is none.
    pub value: Result<f64, String>,
}

/// May a batch whose pods are there end?
#[derive(Clone, Debug, PartialEq)]
pub enum Gate {
    /// It may.
    Open,
    /// A metric failed, and nothing was changed since.
    Held(String),
    /// Not yet.
    Measuring(Measuring),
}

/// A batch that is measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measuring {
    /// The measurement, for the status.
    pub analysis: CanaryAnalysis,
    /// The metrics to measure now; may be none.
    pub due: Vec<Measurement>,
    /// Seconds until more is due.
    pub seconds_left: u64,
    metrics: Vec<(String, CanaryMetric)>,
    generation: i64,
    now: Timestamp,
}

/// The result of measurements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every metric was in its range often enough.
    Open,
    /// More must be measured; how far it is.
    Measuring(String),
    /// A metric failed too often; why, and whether the rollout shall go back.
    Failed {
        /// For people.
        message: String,
        /// Go back, rather than wait?
        revert: bool,
    },
}

/// The inputs of a gate.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The plan as it is now.
    pub plan: &'a RolloutPlan,
    /// The status as it was stored.
    pub status: &'a RolloutStatus,
    /// The generation of the object that holds the plan.
    pub generation: i64,
    /// The time of this look.
    pub now: Timestamp,
}

/// The metrics of a batch with their fields: those of the plan, then those of the batch.
pub fn of_batch(plan: &RolloutPlan, batch: i32) -> Vec<(String, CanaryMetric)> {
    let of_plan = plan.canary_metric.iter().enumerate();
    let of_plan = of_plan.map(|(index, metric)| (format!("canaryMetric[{index}]"), metric));
    let index = usize::try_from(batch).unwrap_or(usize::MAX);
    let batches = plan.rollout_batches.as_deref().unwrap_or_default();
    let of_batch = batches.get(index).into_iter().flat_map(|batch| batch.canary_metric.iter().enumerate());
    let of_batch =
        of_batch.map(|(at, metric)| (format!("rolloutBatches[{index}].canaryMetric[{at}]"), metric));
    of_plan
        .chain(of_batch)
        .take(METRICS_AT_MOST.saturating_mul(2))
        .map(|(path, metric)| (path, metric.clone()))
        .collect()
}

/// Why the batch is held, if it is: a metric failed, and the object is of the generation that it was then.
pub fn held(status: &RolloutStatus, generation: i64) -> Option<&str> {
    let analysis = current(status)?;
    let is_held = analysis.failed_generation? == generation;
    is_held.then(|| analysis.message.as_deref().unwrap_or("a metric failed"))
}

/// When something was last known of the metrics of the current batch.
pub fn last_measured(status: &RolloutStatus) -> Option<Timestamp> {
    let analysis = current(status)?;
    let times = analysis.metrics.iter().filter_map(|metric| metric.measured_at.as_ref());
    times.map(|time| time.0).chain([analysis.since.0]).max()
}

fn current(status: &RolloutStatus) -> Option<&CanaryAnalysis> {
    status.canary_analysis.as_ref().filter(|analysis| analysis.batch == status.current_batch)
}

/// Decides what is to be measured. The words are what placeholders in queries mean.
pub fn gate(seen: &Seen<'_>, words: &BTreeMap<&'static str, String>) -> Gate {
    let metrics = of_batch(seen.plan, seen.status.current_batch);
    if metrics.is_empty() {
        return Gate::Open;
    }
    if let Some(why) = held(seen.status, seen.generation) {
        return Gate::Held(why.to_owned());
    }
    // A failed metric is measured from the beginning after a change of the object.
    let known = current(seen.status).filter(|analysis| analysis.failed_generation.is_none());
    let analysis = CanaryAnalysis {
        batch: seen.status.current_batch,
        since: known.map_or(Time(seen.now), |known| known.since.clone()),
        failed_generation: None,
        message: None,
        metrics: metrics.iter().map(|(path, metric)| entry(known, path, metric)).collect(),
    };
    if analysis.metrics.iter().zip(&metrics).all(|(entry, (_, metric))| entry.passed >= count(metric)) {
        return Gate::Open;
    }
    let mut due = Vec::new();
    let mut seconds_left: Option<i64> = None;
    for (entry, (path, metric)) in analysis.metrics.iter().zip(&metrics) {
        if entry.passed >= count(metric) {
            continue;
        }
        let interval = interval(metric);
        let last = entry.measured_at.as_ref().unwrap_or(&analysis.since).0;
        let left = interval.as_secs() - seen.now.duration_since(last).as_secs();
        let again = if left <= 0 { interval.as_secs() } else { left };
        seconds_left = Some(seconds_left.map_or(again, |sooner| sooner.min(again)));
        if left <= 0 {
            due.push(measurement(path, metric, words));
        }
    }
    Gate::Measuring(Measuring {
        analysis,
        due,
        seconds_left: seconds_left.and_then(|left| u64::try_from(left).ok()).unwrap_or(1).max(1),
        metrics,
        generation: seen.generation,
        now: seen.now,
    })
}

/// The memory of a metric; nothing of one that was written anew.
fn entry(known: Option<&CanaryAnalysis>, path: &str, metric: &CanaryMetric) -> MetricStatus {
    let definition = definition(metric);
    let same = |each: &&MetricStatus| each.path == path && each.definition == definition;
    let known = known.and_then(|known| known.metrics.iter().find(same).cloned());
    known.unwrap_or_else(|| MetricStatus {
        name: metric.name.clone(),
        path: path.to_owned(),
        definition,
        ..MetricStatus::default()
    })
}

fn definition(metric: &CanaryMetric) -> String {
    let text = serde_json::to_string(metric).unwrap_or_default();
    hex::encode(&Sha256::digest(text.as_bytes())[..HASH_BYTES])
}

fn measurement(path: &str, metric: &CanaryMetric, words: &BTreeMap<&'static str, String>) -> Measurement {
    let mut words = words.clone();
    let interval = metric.interval.clone().filter(|text| !text.is_empty());
    words.insert("interval", interval.unwrap_or_else(|| DEFAULT_INTERVAL.to_owned()));
    Measurement { name: metric.name.clone(), path: path.to_owned(), origin: Origin::of(metric), words }
}

fn count(metric: &CanaryMetric) -> i32 {
    metric.count.unwrap_or(1).max(1)
}

fn limit(metric: &CanaryMetric) -> i32 {
    metric.failure_limit.unwrap_or(0).max(0)
}

/// The time between two measurements; one that cannot be read is the default, and admission has told so.
fn interval(metric: &CanaryMetric) -> SignedDuration {
    let written = metric.interval.as_deref().filter(|text| !text.is_empty()).unwrap_or(DEFAULT_INTERVAL);
    check::duration(written).unwrap_or(SignedDuration::from_mins(1))
}

/// The error in a value, if there is one.
fn misses(metric: &CanaryMetric, value: f64) -> Option<String> {
    let Some(range) = &metric.metrics_range else {
        return Some("metricsRange is missing, so no value can be right".to_owned());
    };
    if range.min.is_none() && range.max.is_none() {
        return Some("metricsRange has neither min nor max, so no value can be right".to_owned());
    }
    if value.is_nan() {
        return Some("the value is NaN, mostly because nothing was counted (0 divided by 0)".to_owned());
    }
    let mut bounds = Vec::new();
    for (name, written) in [("min", &range.min), ("max", &range.max)] {
        match written.as_ref().map(bound) {
            None => {}
            Some(Err(why)) => return Some(format!("metricsRange.{name}: {why}")),
            Some(Ok(bound)) => bounds.push((name, bound)),
        }
    }
    let missed =
        bounds.iter().find(|(name, bound)| if *name == "min" { value < *bound } else { value > *bound });
    missed.map(|(name, bound)| {
        let side = if *name == "min" { "below" } else { "above" };
        format!("{value} is {side} metricsRange.{name} {bound}")
    })
}

impl Measuring {
    /// Takes what was measured, in the order of [`Measuring::due`].
    pub fn judge(&mut self, readings: &[Reading]) -> Verdict {
        let mut verdict = None;
        for (measured, reading) in self.due.iter().zip(readings) {
            let found = self.metrics.iter().find(|(path, _)| *path == measured.path);
            let entry = self.analysis.metrics.iter_mut().find(|entry| entry.path == measured.path);
            let (Some((_, metric)), Some(entry)) = (found, entry) else { continue };
            record(entry, metric, reading, self.now);
            if entry.failed > limit(metric) && verdict.is_none() {
                verdict = Some((failure(entry, metric, reading), is_revert(metric)));
            }
        }
        self.due.clear();
        if let Some((message, revert)) = verdict {
            let message = format!("batch {} is not let through: {message}", self.number());
            self.analysis.failed_generation = Some(self.generation);
            self.analysis.message = Some(message.clone());
            return Verdict::Failed { message, revert };
        }
        let mut entries = self.analysis.metrics.iter().zip(&self.metrics);
        match entries.all(|(entry, (_, metric))| entry.passed >= count(metric)) {
            true => Verdict::Open,
            false => Verdict::Measuring(self.progress()),
        }
    }

    /// How far it is; the words change only when something was measured.
    pub fn progress(&self) -> String {
        let each = self.analysis.metrics.iter().zip(&self.metrics).map(|(entry, (_, metric))| {
            let last = match (&entry.message, &entry.value) {
                (Some(why), _) => format!(", last: {why}"),
                (None, Some(value)) => format!(", last {value}"),
                (None, None) => String::new(),
            };
            format!(
                "{} {:?}: {} of {} measurements in range, {} failed of {} tolerated{last}",
                entry.path,
                entry.name,
                entry.passed,
                count(metric),
                entry.failed,
                limit(metric)
            )
        });
        format!("batch {} is measured: {}", self.number(), each.collect::<Vec<_>>().join("; "))
    }

    /// The batch as people count.
    fn number(&self) -> i64 {
        i64::from(self.analysis.batch) + 1
    }
}

fn is_revert(metric: &CanaryMetric) -> bool {
    metric.on_failure.as_deref() == Some(REVERT)
}

fn record(entry: &mut MetricStatus, metric: &CanaryMetric, reading: &Reading, now: Timestamp) {
    entry.measured_at = Some(Time(now));
    entry.value = reading.value.as_ref().ok().map(ToString::to_string);
    let wrong = match &reading.value {
        Ok(value) => misses(metric, *value),
        Err(why) => Some(why.clone()),
    };
    match &wrong {
        None => entry.passed = entry.passed.saturating_add(1),
        Some(_) => entry.failed = entry.failed.saturating_add(1),
    }
    entry.message = wrong;
}

/// Name, value, range and query, for people.
fn failure(entry: &MetricStatus, metric: &CanaryMetric, reading: &Reading) -> String {
    let why = entry.message.as_deref().unwrap_or_default();
    let query = reading.query.as_deref().map(|query| {
        let short: String = query.chars().take(QUERY_CHARACTERS_AT_MOST).collect();
        let more = if short.len() < query.len() { "…" } else { "" };
        format!("; the query is {short}{more}")
    });
    format!(
        "{} {:?}: {why} ({} failed, {} tolerated){}",
        entry.path,
        entry.name,
        entry.failed,
        limit(metric),
        query.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests;
