//! Exports the spans of this process to a collector as OTLP over HTTP with JSON bodies.
//!
//! ```text
//! span closes ─layer─▶ Finished ─bounded queue─▶ send ─batch─▶ encode ─JSON─▶ POST …/v1/traces
//! ```
//!
//! A collector that is away, slow or refuses costs spans and nothing else: no caller waits, memory is bounded, and what was
//! lost is counted and said once. The format is small and settled, so it is written here instead of bringing fourteen
//! crates along; the flag therefore works in every build.

mod encode;
mod layer;
mod send;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub(crate) use layer::Spans;
use send::{ANSWER_AT_MOST, Sender};

/// Spans that wait to be sent: some megabytes, a second of a busy controller.
const WAITING_AT_MOST: usize = 4096;
/// The exporter sends the remaining spans at the end, unless that takes longer.
const END_AT_MOST: Duration = Duration::from_secs(3);

/// Sends in the background until it is ended.
pub(crate) struct Exporter {
    stop: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

impl Exporter {
    /// Begins to send to this address, `http://host:4318` for example; the other half hands over what is to be sent.
    pub(crate) fn start(endpoint: &str) -> Result<(Self, Spans), String> {
        let wrong = |why: String| {
            format!("invalid value for --otlp-endpoint: {why}; write for example http://127.0.0.1:4318")
        };
        let uri: http::Uri = endpoint.parse().map_err(|error| wrong(format!("{endpoint:?}: {error}")))?;
        // A password would stand in every warning.
        let named = uri.authority().is_some_and(|authority| authority.as_str().contains('@'));
        if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none() || named {
            return Err(wrong(format!("{endpoint:?} is no address of a collector")));
        }
        let mut config = kube::Config::new(uri);
        (config.connect_timeout, config.read_timeout) = (Some(ANSWER_AT_MOST), Some(ANSWER_AT_MOST));
        let client = kube::Client::try_from(config).map_err(|error| wrong(error.to_string()))?;
        let (queue, waiting) = mpsc::channel(WAITING_AT_MOST);
        let (lost, stop) = (Arc::new(AtomicU64::new(0)), CancellationToken::new());
        let sender = Sender { client, endpoint: endpoint.to_owned(), lost: lost.clone(), away: false };
        let task = tokio::spawn(sender.run(waiting, stop.clone()));
        Ok((Self { stop, task }, Spans::new(queue, lost)))
    }

    /// Sends what is left.
    pub(crate) async fn end(self) {
        self.stop.cancel();
        // Either way it is over.
        let _ = tokio::time::timeout(END_AT_MOST, self.task).await;
    }
}
