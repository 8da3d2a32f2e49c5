//! What controllers do in → counters, gauges and histograms under the names operators' dashboards know.

use std::sync::Mutex;
use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, text::encode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Controller {
    controller: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Reconciled {
    controller: String,
    result: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Name {
    name: String,
}

/// The metrics of one process.
#[derive(Debug)]
pub struct Metrics {
    registry: Mutex<Registry>,
    reconcile: Family<Reconciled, Counter>,
    errors: Family<Controller, Counter>,
    terminal: Family<Controller, Counter>,
    panics: Family<Controller, Counter>,
    timeouts: Family<Controller, Counter>,
    time: Family<Controller, Histogram>,
    max: Family<Controller, Gauge>,
    active: Family<Controller, Gauge>,
    depth: Family<Name, Gauge>,
    queued: Family<Name, Histogram>,
    leading: Family<Name, Gauge>,
}

fn histogram() -> Histogram {
    // From one millisecond to a little over half a minute.
    Histogram::new(exponential_buckets(0.001, 2.0, 16))
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        let reconcile = Family::<Reconciled, Counter>::default();
        let errors = Family::<Controller, Counter>::default();
        let terminal = Family::<Controller, Counter>::default();
        let panics = Family::<Controller, Counter>::default();
        let timeouts = Family::<Controller, Counter>::default();
        let time = Family::<Controller, Histogram>::new_with_constructor(histogram);
        let max = Family::<Controller, Gauge>::default();
        let active = Family::<Controller, Gauge>::default();
        let depth = Family::<Name, Gauge>::default();
        let queued = Family::<Name, Histogram>::new_with_constructor(histogram);
        let leading = Family::<Name, Gauge>::default();
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
        registry.register("workqueue_depth", "Keys that wait for a worker", depth.clone());
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
            depth,
            queued,
            leading,
        }
    }
}

impl Metrics {
    /// The text a scraper reads.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let registry = self.registry.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // Writing into a string cannot fail.
        let _ = encode(&mut text, &registry);
        text
    }

    /// Let an owner of further metrics register them.
    pub fn register(&self, add: impl FnOnce(&mut Registry)) {
        add(&mut self.registry.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    }

    /// How many reconciles of a controller have ended, whatever came of them.
    pub fn reconciles(&self, controller: &str) -> u64 {
        let results = ["success", "requeue_after", "error"];
        let count = |result: &str| {
            let labels = Reconciled { controller: controller.to_owned(), result: result.to_owned() };
            self.reconcile.get_or_create(&labels).get()
        };
        results.into_iter().map(count).sum()
    }

    /// How many workers of a controller are busy.
    pub fn active(&self, controller: &str) -> i64 {
        self.active.get_or_create(&label(controller)).get()
    }

    pub(crate) fn started(&self, controller: &str, workers: usize) {
        self.max.get_or_create(&label(controller)).set(i64::try_from(workers).unwrap_or(i64::MAX));
    }

    pub(crate) fn working(&self, controller: &str, busy: i64, depth: usize, waited: Duration) {
        self.active.get_or_create(&label(controller)).inc_by(busy);
        let name = Name { name: controller.to_owned() };
        self.depth.get_or_create(&name).set(i64::try_from(depth).unwrap_or(i64::MAX));
        self.queued.get_or_create(&name).observe(waited.as_secs_f64());
    }

    pub(crate) fn reconciled(&self, controller: &str, result: &str, took: Duration) {
        self.active.get_or_create(&label(controller)).dec();
        let labels = Reconciled { controller: controller.to_owned(), result: result.to_owned() };
        self.reconcile.get_or_create(&labels).inc();
        if result == "error" {
            self.errors.get_or_create(&label(controller)).inc();
        }
        self.time.get_or_create(&label(controller)).observe(took.as_secs_f64());
    }

    pub(crate) fn terminal(&self, controller: &str) {
        self.terminal.get_or_create(&label(controller)).inc();
    }

    pub(crate) fn panicked(&self, controller: &str) {
        self.panics.get_or_create(&label(controller)).inc();
    }

    pub(crate) fn timed_out(&self, controller: &str) {
        self.timeouts.get_or_create(&label(controller)).inc();
    }

    pub(crate) fn leading(&self, lease: &str, leads: bool) {
        self.leading.get_or_create(&Name { name: lease.to_owned() }).set(i64::from(leads));
    }
}

fn label(controller: &str) -> Controller {
    Controller { controller: controller.to_owned() }
}
