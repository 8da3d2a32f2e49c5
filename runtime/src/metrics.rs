//! Metrics of controllers under the names that operators' dashboards know.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, text::encode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::cache::Key;
use crate::queue::Queue;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ControllerLabel {
    controller: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ReconcileLabels {
    controller: String,
    result: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct NameLabel {
    name: String,
}

/// A queue has the name of its controller; dashboards know both labels.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct QueueLabels {
    name: String,
    controller: String,
}

/// The figures of the queues at the moment of a scrape.
#[derive(Debug, Default)]
struct QueueMetrics {
    queues: Mutex<Vec<(String, Arc<Queue<Key>>)>>,
    depth: Family<QueueLabels, Gauge>,
    adds: Family<QueueLabels, Counter>,
    retries: Family<QueueLabels, Counter>,
    unfinished: Family<QueueLabels, Gauge<f64, AtomicU64>>,
    longest: Family<QueueLabels, Gauge<f64, AtomicU64>>,
}

impl QueueMetrics {
    fn register(&self, registry: &mut Registry) {
        registry.register("workqueue_depth", "Keys that wait for a worker", self.depth.clone());
        registry.register("workqueue_adds", "Keys that became due", self.adds.clone());
        registry.register("workqueue_retries", "Keys that were put off", self.retries.clone());
        registry.register(
            "workqueue_unfinished_work_seconds",
            "How long the running reconciles have been at it, together",
            self.unfinished.clone(),
        );
        registry.register(
            "workqueue_longest_running_processor_seconds",
            "How long the longest running reconcile has been at it",
            self.longest.clone(),
        );
    }

    fn collect(&self) {
        for (name, queue) in self.queues.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let (figures, queue_labels) = (queue.figures(), queue_labels(name));
            self.depth.get_or_create(&queue_labels).set(i64::try_from(figures.depth).unwrap_or(i64::MAX));
            self.adds.get_or_create(&queue_labels).inner().store(figures.adds, Ordering::Relaxed);
            self.retries.get_or_create(&queue_labels).inner().store(figures.retries, Ordering::Relaxed);
            self.unfinished.get_or_create(&queue_labels).set(figures.unfinished.as_secs_f64());
            self.longest.get_or_create(&queue_labels).set(figures.longest.as_secs_f64());
        }
    }
}

/// The metrics of one process.
#[derive(Debug)]
pub struct Metrics {
    registry: Mutex<Registry>,
    reconcile: Family<ReconcileLabels, Counter>,
    errors: Family<ControllerLabel, Counter>,
    terminal: Family<ControllerLabel, Counter>,
    panics: Family<ControllerLabel, Counter>,
    timeouts: Family<ControllerLabel, Counter>,
    time: Family<ControllerLabel, Histogram>,
    max: Family<ControllerLabel, Gauge>,
    active: Family<ControllerLabel, Gauge>,
    queues: QueueMetrics,
    queued: Family<QueueLabels, Histogram>,
    worked: Family<QueueLabels, Histogram>,
    leading: Family<NameLabel, Gauge>,
}

fn histogram() -> Histogram {
    // From one millisecond to a little over half a minute.
    Histogram::new(exponential_buckets(0.001, 2.0, 16))
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        let reconcile = Family::<ReconcileLabels, Counter>::default();
        let errors = Family::<ControllerLabel, Counter>::default();
        let terminal = Family::<ControllerLabel, Counter>::default();
        let panics = Family::<ControllerLabel, Counter>::default();
        let timeouts = Family::<ControllerLabel, Counter>::default();
        let time = Family::<ControllerLabel, Histogram>::new_with_constructor(histogram);
        let max = Family::<ControllerLabel, Gauge>::default();
        let active = Family::<ControllerLabel, Gauge>::default();
        let queues = QueueMetrics::default();
        let queued = Family::<QueueLabels, Histogram>::new_with_constructor(histogram);
        let worked = Family::<QueueLabels, Histogram>::new_with_constructor(histogram);
        let leading = Family::<NameLabel, Gauge>::default();
        // The encoder appends `_total` to counters.
        registry.register("controller_runtime_reconcile", "Reconciles by result", reconcile.clone());
        registry.register("controller_runtime_reconcile_errors", "Failed reconciles", errors.clone());
        registry.register(
            "controller_runtime_terminal_reconcile_errors",
            "Reconciles that failed and wait for a change",
            terminal.clone(),
        );
        registry.register("controller_runtime_reconcile_panics", "Reconciles that panicked", panics.clone());
        registry.register("controller_runtime_reconcile_timeouts", "Reconciles cut off", timeouts.clone());
        registry.register(
            "controller_runtime_reconcile_time_seconds",
            "Duration of a reconcile",
            time.clone(),
        );
        registry.register("controller_runtime_max_concurrent_reconciles", "Workers", max.clone());
        registry.register("controller_runtime_active_workers", "Busy workers", active.clone());
        queues.register(&mut registry);
        registry.register("workqueue_work_duration_seconds", "Duration of the work on a key", worked.clone());
        registry.register("workqueue_queue_duration_seconds", "Wait before a reconcile", queued.clone());
        registry.register("leader_election_master_status", "1 while this process leads", leading.clone());
        Self {
            registry: Mutex::new(registry),
            reconcile,
            errors,
            terminal,
            panics,
            timeouts,
            time,
            max,
            active,
            queues,
            queued,
            worked,
            leading,
        }
    }
}

impl Metrics {
    /// The text a scraper reads.
    pub fn text(&self) -> String {
        self.queues.collect();
        let mut text = String::new();
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        // Writing into a string cannot fail.
        let _ = encode(&mut text, &registry);
        text
    }

    /// Let an owner of further metrics register them.
    pub fn register(&self, add: impl FnOnce(&mut Registry)) {
        add(&mut self.registry.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// How many reconciles of a controller have ended, whatever came of them.
    pub fn reconciles(&self, controller: &str) -> u64 {
        let results = ["success", "requeue_after", "requeue", "error"];
        let count = |result: &str| {
            let labels = ReconcileLabels { controller: controller.to_owned(), result: result.to_owned() };
            self.reconcile.get_or_create(&labels).get()
        };
        results.into_iter().map(count).sum()
    }

    /// How many workers of a controller are busy.
    pub fn active(&self, controller: &str) -> i64 {
        self.active.get_or_create(&controller_label(controller)).get()
    }

    /// A controller begins: everything it may ever count is there from now on, with nothing in it.
    pub(crate) fn started(&self, controller: &str, workers: usize, queue: &Arc<Queue<Key>>) {
        self.max.get_or_create(&controller_label(controller)).set(i64::try_from(workers).unwrap_or(i64::MAX));
        drop(self.active.get_or_create(&controller_label(controller)));
        drop(self.time.get_or_create(&controller_label(controller)));
        for histogram in [&self.queued, &self.worked] {
            drop(histogram.get_or_create(&queue_labels(controller)));
        }
        for counter in [&self.errors, &self.terminal, &self.panics, &self.timeouts] {
            drop(counter.get_or_create(&controller_label(controller)));
        }
        self.reconciles(controller);
        let mut queues = self.queues.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.retain(|(name, _)| name != controller);
        queues.push((controller.to_owned(), queue.clone()));
    }

    pub(crate) fn working(&self, controller: &str, waited: Duration) {
        self.active.get_or_create(&controller_label(controller)).inc();
        self.queued.get_or_create(&queue_labels(controller)).observe(waited.as_secs_f64());
    }

    pub(crate) fn reconciled(&self, controller: &str, result: &str, took: Duration) {
        self.active.get_or_create(&controller_label(controller)).dec();
        let labels = ReconcileLabels { controller: controller.to_owned(), result: result.to_owned() };
        self.reconcile.get_or_create(&labels).inc();
        if result == "error" {
            self.errors.get_or_create(&controller_label(controller)).inc();
        }
        self.time.get_or_create(&controller_label(controller)).observe(took.as_secs_f64());
        self.worked.get_or_create(&queue_labels(controller)).observe(took.as_secs_f64());
    }

    pub(crate) fn terminal(&self, controller: &str) {
        self.terminal.get_or_create(&controller_label(controller)).inc();
    }

    pub(crate) fn panicked(&self, controller: &str) {
        self.panics.get_or_create(&controller_label(controller)).inc();
    }

    pub(crate) fn timed_out(&self, controller: &str) {
        self.timeouts.get_or_create(&controller_label(controller)).inc();
    }

    pub(crate) fn leading(&self, lease: &str, leads: bool) {
        self.leading.get_or_create(&NameLabel { name: lease.to_owned() }).set(i64::from(leads));
    }
}

fn queue_labels(controller: &str) -> QueueLabels {
    QueueLabels { name: controller.to_owned(), controller: controller.to_owned() }
}

fn controller_label(controller: &str) -> ControllerLabel {
    ControllerLabel { controller: controller.to_owned() }
}
