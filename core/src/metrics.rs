//! Counts the states of applications as metrics, under the names that KubeVela's dashboards know.
//!
//! `runtime` counts the work of any controller (reconciles, queues, the lease); this file counts what only this room knows. All names
//! are listed in `docs/metrics.md`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use serde_json::Value;
use vela_runtime::cache::Informer;

use crate::application_metrics::Each;

/// Phases of the stored application when a reconcile began and of the status that it gave.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ReconcileLabels {
    begin_phase: String,
    end_phase: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
struct PhaseLabel {
    phase: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord, EncodeLabelSet)]
struct StepLabels {
    step_type: String,
    phase: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct StageLabel {
    stage: &'static str,
}

/// A part of the reconcile of an Application, by the name that KubeVela gives it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stage {
    /// From the application to its objects.
    Render,
    /// The revision is recorded.
    Revision,
    /// Objects are applied, by a workflow or by what waits for what.
    Apply,
}

impl Stage {
    fn label(self) -> StageLabel {
        let stage = match self {
            Self::Render => "generate-appfile",
            Self::Revision => "prepare-current-apprev",
            Self::Apply => "execute-workflow",
        };
        StageLabel { stage }
    }
}

/// The figures of one process; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Metrics {
    reconciles: Family<ReconcileLabels, Histogram>,
    stages: Family<StageLabel, Histogram>,
    components: Family<StageLabel, Histogram>,
    workflows: Family<PhaseLabel, Histogram>,
    stored: Arc<Stored>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            reconciles: Family::new_with_constructor(seconds),
            stages: Family::new_with_constructor(seconds),
            components: Family::new_with_constructor(seconds),
            workflows: Family::new_with_constructor(long),
            stored: Arc::default(),
        }
    }
}

fn seconds() -> Histogram {
    // From one millisecond to a little over half a minute.
    Histogram::new(exponential_buckets(0.001, 2.0, 16))
}

fn long() -> Histogram {
    // From a tenth of a second to a little less than two hours: people are waited for.
    Histogram::new(exponential_buckets(0.1, 2.0, 17))
}

impl Metrics {
    /// Figures about each application too, where the operator wants them.
    pub(crate) fn of_each(self, wanted: bool) -> Self {
        // No client has asked for any yet.
        let _ = self.stored.of_each.set(wanted);
        self
    }

    /// Offers everything to clients that scrape this process.
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register(
            "application_reconcile_time_seconds",
            "Duration of a reconcile of an Application, by its phase before and after",
            self.reconciles.clone(),
        );
        registry.register(
            "kubevela_app_reconcile_time_seconds",
            "Duration of the stages of reconciles of Applications",
            self.stages.clone(),
        );
        registry.register(
            "apply_component_time_seconds",
            "Time in which the objects of a component were written",
            self.components.clone(),
        );
        registry.register(
            "workflow_finished_time_seconds",
            "Time from the begin of a workflow to its end, by how it ended",
            self.workflows.clone(),
        );
        registry.register_collector(Box::new(self.stored.clone()));
    }

    /// The applications that are counted when a client scrapes.
    pub(crate) fn count(&self, applications: &Arc<Informer>) {
        // The first copy is as good as any other: one cache serves the whole process.
        let _ = self.stored.applications.set(applications.clone());
    }

    /// A reconcile of an Application gave a status.
    pub(crate) fn reconciled(&self, before: Option<&Value>, after: &Value, took: Duration) {
        let labels =
            ReconcileLabels { begin_phase: before.map_or_else(String::new, phase), end_phase: phase(after) };
        self.reconciles.get_or_create(&labels).observe(took.as_secs_f64());
        if let Some((phase, took)) = finished(before, after) {
            self.workflows.get_or_create(&PhaseLabel { phase }).observe(took);
        }
    }

    /// A stage of a reconcile took so long.
    pub(crate) fn stage(&self, stage: Stage, took: Duration) {
        self.stages.get_or_create(&stage.label()).observe(took.as_secs_f64());
    }

    /// The objects of a component were written, or it was found out that they cannot be.
    pub(crate) fn component_applied(&self, took: Duration) {
        self.components.get_or_create(&StageLabel { stage: "-" }).observe(took.as_secs_f64());
    }
}

/// How the workflow ended, and after how many seconds, where it ended between these two statuses.
fn finished(before: Option<&Value>, after: &Value) -> Option<(String, f64)> {
    let is_finished = |status: &Value| status["workflow"]["finished"] == true;
    let run = |status: &Value| status["workflow"]["appRevision"].clone();
    let was_finished = before.is_some_and(|before| is_finished(before) && run(before) == run(after));
    if was_finished || !is_finished(after) {
        return None;
    }
    let workflow = &after["workflow"];
    let time = |field: &str| workflow[field].as_str().and_then(|time| time.parse::<Timestamp>().ok());
    let took = time("endTime")?.duration_since(time("startTime")?);
    Some((text(&workflow["status"]), took.as_secs_f64().max(0.0)))
}

/// Counts of the stored applications. They are made when they are asked for, so they cannot drift from what is there.
#[derive(Default)]
struct Stored {
    applications: OnceLock<Arc<Informer>>,
    /// Whether each application is told of by its name.
    of_each: OnceLock<bool>,
}

impl fmt::Debug for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stored").finish_non_exhaustive()
    }
}

impl Collector for Stored {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let of_each = self.of_each.get().copied().unwrap_or_default();
        let (mut counts, mut each) = (Counts::default(), Each::default());
        if let Some(applications) = self.applications.get() {
            // One by one: no worker is to wait until thousands are read.
            for key in applications.keys() {
                let Some(application) = applications.get(&key) else { continue };
                let status = &application.data["status"];
                counts.add(status);
                if of_each {
                    each.add(&key, status);
                }
            }
        }
        if of_each {
            for (name, help, figures) in each.families() {
                write(&mut encoder, name, help, figures)?;
            }
        }
        let help = "Applications by phase";
        write(&mut encoder, "application_phase_number", help, &counts.phases)?;
        let help = "Steps of the workflows of all Applications by type and phase";
        write(&mut encoder, "workflow_step_phase_number", help, &counts.steps)
    }
}

fn write<L: EncodeLabelSet>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    counts: &BTreeMap<L, i64>,
) -> Result<(), fmt::Error> {
    let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (labels, count) in counts {
        ConstGauge::new(*count).encode(family.encode_family(labels)?)?;
    }
    Ok(())
}

/// How many applications and steps there are of each sort.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counts {
    phases: BTreeMap<PhaseLabel, i64>,
    steps: BTreeMap<StepLabels, i64>,
}

impl Counts {
    fn add(&mut self, status: &Value) {
        *self.phases.entry(PhaseLabel { phase: phase(status) }).or_default() += 1;
        for step in status["workflow"]["steps"].as_array().into_iter().flatten() {
            let labels = StepLabels { step_type: text(&step["type"]), phase: text(&step["phase"]) };
            *self.steps.entry(labels).or_default() += 1;
        }
    }
}

/// The phase in a status; "" of an application that has none yet.
fn phase(status: &Value) -> String {
    text(&status["status"])
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_workflow_is_counted_when_it_ends() {
        let status = |revision: &str, finished: bool| {
            json!({"workflow": {"appRevision": revision, "status": "succeeded", "finished": finished,
                "startTime": "2026-01-01T00:00:00Z", "endTime": "2026-01-01T00:01:30Z"}})
        };
        let (running, ended) = (status("a-v1", false), status("a-v1", true));
        let counted = Some(("succeeded".to_owned(), 90.0));
        assert_eq!(finished(Some(&running), &ended), counted);
        assert_eq!(finished(None, &ended), counted);
        assert_eq!(finished(Some(&ended), &ended), None);
        assert_eq!(finished(Some(&ended), &running), None);
        assert_eq!(finished(Some(&ended), &status("a-v2", true)), counted, "another run");
    }

    #[test]
    fn applications_and_steps_are_counted_by_phase() {
        let step = |phase: &str| json!({"type": "apply-component", "phase": phase});
        let running =
            json!({"status": "running", "workflow": {"steps": [step("succeeded"), step("succeeded")]}});
        let begun =
            json!({"status": "runningWorkflow", "workflow": {"steps": [step("succeeded"), step("running")]}});
        let mut counts = Counts::default();
        [&running, &running, &begun, &Value::Null].into_iter().for_each(|status| counts.add(status));
        let phases: Vec<_> =
            counts.phases.iter().map(|(label, count)| (label.phase.as_str(), *count)).collect();
        assert_eq!(phases, [("", 1), ("running", 2), ("runningWorkflow", 1)]);
        let steps: Vec<_> =
            counts.steps.iter().map(|(label, count)| (label.phase.as_str(), *count)).collect();
        assert_eq!(steps, [("running", 1), ("succeeded", 5)]);
    }
}
