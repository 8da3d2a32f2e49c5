//! Metrics of the webhook server under the names that operators' dashboards know.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};

use crate::metrics::Metrics;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct PathLabel {
    webhook: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    code: u16,
    webhook: String,
}

/// The figures of one server.
#[derive(Clone, Debug)]
pub(super) struct ServerMetrics {
    requests: Family<RequestLabels, Counter>,
    latency: Family<PathLabel, Histogram>,
    in_flight: Gauge,
    panics: Counter,
    connections: Gauge,
    reads: Counter,
    read_errors: Counter,
    expires: Gauge,
}

fn histogram() -> Histogram {
    // From half a millisecond to a little over half a minute.
    Histogram::new(exponential_buckets(0.0005, 2.0, 17))
}

impl ServerMetrics {
    pub(super) fn new(metrics: &Metrics) -> Self {
        let server_metrics = Self {
            requests: Family::default(),
            latency: Family::new_with_constructor(histogram),
            in_flight: Gauge::default(),
            panics: Counter::default(),
            connections: Gauge::default(),
            reads: Counter::default(),
            read_errors: Counter::default(),
            expires: Gauge::default(),
        };
        let ours = server_metrics.clone();
        // The encoder appends `_total` to counters.
        metrics.register(move |registry| {
            registry.register("controller_runtime_webhook_requests", "Reviews by status", ours.requests);
            registry.register(
                "controller_runtime_webhook_latency_seconds",
                "Duration of a review",
                ours.latency,
            );
            registry.register(
                "controller_runtime_webhook_requests_in_flight",
                "Reviews under way",
                ours.in_flight,
            );
            registry.register("controller_runtime_webhook_panics", "Reviews that panicked", ours.panics);
            registry.register("webhook_connections", "Connections that stand", ours.connections);
            registry.register("certwatcher_read_certificate", "Looks at the certificate", ours.reads);
            registry.register(
                "certwatcher_read_certificate_errors",
                "Looks that found no usable certificate",
                ours.read_errors,
            );
            registry.register(
                "webhook_certificate_expiration_timestamp_seconds",
                "When the certificate in use expires",
                ours.expires,
            );
        });
        server_metrics
    }

    /// One more review, until the guard goes, by whichever way.
    pub(super) fn began(&self) -> InFlight {
        self.in_flight.inc();
        InFlight(self.in_flight.clone())
    }

    /// A path without a handler could be anything a client thinks of, so it gets no label of its own.
    pub(super) fn ended(&self, path: &str, code: u16, took: Duration) {
        let webhook = if code == 404 { "unknown" } else { path }.to_owned();
        self.latency.get_or_create(&PathLabel { webhook: webhook.clone() }).observe(took.as_secs_f64());
        self.requests.get_or_create(&RequestLabels { code, webhook }).inc();
    }

    pub(super) fn panicked(&self) {
        self.panics.inc();
    }

    pub(super) fn connected(&self, change: i64) {
        self.connections.inc_by(change);
    }

    pub(super) fn read(&self, usable: bool) {
        self.reads.inc();
        if !usable {
            self.read_errors.inc();
        }
    }

    pub(super) fn expires(&self, at: jiff::Timestamp) {
        self.expires.set(at.as_second());
    }
}

/// See [`ServerMetrics::began`].
#[derive(Debug)]
pub(super) struct InFlight(Gauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}
