//! Sends queued spans to a collector in batches; what the collector does not take is dropped and counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kube::client::Body;
use tokio::sync::mpsc::Receiver;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use super::encode;
use super::layer::FinishedSpan;

/// No collector takes longer to accept a connection or to answer.
pub(super) const ANSWER_AT_MOST: Duration = Duration::from_secs(5);
/// Where collectors take spans, below their address.
pub(super) const PATH: &str = "/v1/traces";
/// Spans of one request.
const BATCH: usize = 512;
/// How long the first span of a request waits for others.
const WAIT: Duration = Duration::from_secs(1);

pub(super) struct Sender {
    pub(super) client: kube::Client,
    pub(super) endpoint: String,
    pub(super) lost: Arc<AtomicU64>,
    /// The last request failed, and that was said.
    pub(super) away: bool,
}

impl Sender {
    /// Until it is stopped, and then what is left.
    pub(super) async fn run(mut self, mut waiting: Receiver<FinishedSpan>, stop: CancellationToken) {
        loop {
            let first = tokio::select! {
                biased;
                () = stop.cancelled() => None,
                first = waiting.recv() => first,
            };
            let Some(first) = first else { break };
            let mut batch = vec![first];
            let until = Instant::now() + WAIT;
            while batch.len() < BATCH && !stop.is_cancelled() {
                let next = tokio::select! {
                    () = stop.cancelled() => break,
                    next = timeout_at(until, waiting.recv()) => next,
                };
                let Ok(Some(next)) = next else { break };
                batch.push(next);
            }
            self.send(&batch).await;
        }
        let mut batch = Vec::new();
        while let Ok(next) = waiting.try_recv() {
            batch.push(next);
            if batch.len() == BATCH {
                self.send(&batch).await;
                batch.clear();
            }
        }
        if !batch.is_empty() {
            self.send(&batch).await;
        }
    }

    async fn send(&mut self, batch: &[FinishedSpan]) {
        let sent = timeout(ANSWER_AT_MOST, self.request(batch)).await;
        let outcome = sent.unwrap_or_else(|_| Err("no answer in time".to_owned()));
        match outcome {
            Ok(()) => {
                let lost = self.lost.swap(0, Ordering::Relaxed);
                if lost > 0 || self.away {
                    tracing::info!(endpoint = self.endpoint, lost, "spans are exported again");
                }
                self.away = false;
            }
            Err(error) => {
                self.lost.fetch_add(batch.len() as u64, Ordering::Relaxed);
                if !self.away {
                    tracing::warn!(
                        endpoint = self.endpoint,
                        error,
                        "cannot export spans; they are dropped until it answers"
                    );
                }
                self.away = true;
            }
        }
    }

    async fn request(&self, batch: &[FinishedSpan]) -> Result<(), String> {
        let body = Body::from(encode::body(batch).to_string().into_bytes());
        let request = http::Request::post(PATH).header(http::header::CONTENT_TYPE, "application/json");
        let request = request.body(body).map_err(|error| error.to_string())?;
        let answer = self.client.send(request).await.map_err(|error| error.to_string())?;
        let status = answer.status();
        if status.is_success() { Ok(()) } else { Err(format!("the collector answered {status}")) }
    }
}
