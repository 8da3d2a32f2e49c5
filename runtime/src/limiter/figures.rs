//! The metrics of a limiter, and how a scraper reads them.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

/// How many requests are in flight and may be, over all priority levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Requests that were sent and not answered yet.
    pub in_flight: usize,
    /// Requests that wait for their turn.
    pub waiting: usize,
    /// How many may be in flight at present.
    pub limit: usize,
}

impl Figures {
    /// The sum of both.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            in_flight: self.in_flight + other.in_flight,
            waiting: self.waiting + other.waiting,
            limit: self.limit + other.limit,
        }
    }
}

/// Shows the figures of a limiter when a client scrapes them.
pub(super) struct Scraped<F>(pub(super) F);

impl<F> fmt::Debug for Scraped<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scraped").finish_non_exhaustive()
    }
}

impl<F: Fn() -> Figures + Send + Sync + 'static> Collector for Scraped<F> {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let Figures { in_flight, waiting, limit } = (self.0)();
        for (name, help, value) in [
            ("api_requests_in_flight", "Requests to the API server that are not answered yet", in_flight),
            ("api_requests_waiting", "Requests to the API server that wait for their turn", waiting),
            ("api_requests_limit", "Requests to the API server that may be in flight", limit),
        ] {
            let gauge = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
            gauge.encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)?;
        }
        Ok(())
    }
}
