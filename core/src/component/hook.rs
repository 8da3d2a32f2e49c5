//! Calls the custom revision hook for a Component in a task of its own, so that a slow hook delays no other Component.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use vela_runtime::Key;
use vela_runtime::egress::{self, EgressClient, EgressPolicy, Limits};
use vela_runtime::queue::{Queue, backoff};

use crate::options;

/// A hook that cannot be connected to in this time is down.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A hook that has not answered by then will not.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(10);
/// A Component is stored in one object twice over; an API server takes one and a half MiB.
const ANSWER_BYTES_AT_MOST: usize = 1 << 20;
/// Requests at the same time; more wait for their turn, without holding a worker.
const REQUESTS_AT_ONCE: usize = 32;
/// Failures after which the delay of the queue's own series is long enough for a server across the network.
const BACKOFF_OFFSET: u32 = 6;
/// Longest delay: a hook that is back should not be waited for longer.
const BACKOFF_LAST: Duration = Duration::from_secs(300);

/// The result of the call.
pub(super) enum Answer {
    /// The request is on its way; its end wakes the component.
    Pending,
    /// The answer, as sent.
    Bytes(Vec<u8>),
    /// No answer that counts; ask again after this time.
    Failed(String, Duration),
}

/// A content of a component: its uid and generation.
pub(super) type Content = (String, i64);

#[derive(Default)]
struct PendingCall {
    content: Content,
    failures: u32,
    outcome: Option<Result<Vec<u8>, String>>,
    running: bool,
}

type State = Arc<Mutex<BTreeMap<Key, PendingCall>>>;

fn lock(state: &State) -> MutexGuard<'_, BTreeMap<Key, PendingCall>> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The hook of a process.
pub(super) struct RevisionHook {
    egress: EgressClient,
    uri: http::Uri,
    state: State,
    turns: Arc<Semaphore>,
    tasks: Mutex<JoinSet<()>>,
    queue: Mutex<Option<Arc<Queue<Key>>>>,
}

impl RevisionHook {
    /// A hook at this address. An operator gave it, so it may be anywhere, also beside us in the pod; no redirect is
    /// followed, so nothing is ever sent to another host.
    pub(super) fn new(hook: &options::Hook) -> Result<Self, egress::Error> {
        let limits =
            Limits { connect: CONNECT_TIMEOUT, total: TOTAL_TIMEOUT, answer_bytes: ANSWER_BYTES_AT_MOST };
        Ok(Self {
            egress: EgressClient::new(EgressPolicy::Anywhere, limits)?,
            uri: hook.uri().clone(),
            state: State::default(),
            turns: Arc::new(Semaphore::new(REQUESTS_AT_ONCE)),
            tasks: Mutex::default(),
            queue: Mutex::default(),
        })
    }

    /// Wake components through this queue.
    pub(super) fn wake(&self, queue: Arc<Queue<Key>>) {
        *self.queue.lock().unwrap_or_else(PoisonError::into_inner) = Some(queue);
    }

    /// The component is settled or gone.
    pub(super) fn forget(&self, key: &Key) {
        lock(&self.state).remove(key);
    }

    /// The answer for this content, or a request for it.
    pub(super) fn ask(&self, key: &Key, content: &Content, request: &Value) -> Answer {
        let mut state = lock(&self.state);
        let asked = state.entry(key.clone()).or_default();
        if asked.content != *content {
            *asked = PendingCall { content: content.clone(), ..PendingCall::default() };
        }
        match asked.outcome.take() {
            Some(Ok(bytes)) => Answer::Bytes(bytes),
            Some(Err(error)) => {
                let delay = backoff(asked.failures.saturating_add(BACKOFF_OFFSET)).min(BACKOFF_LAST);
                asked.failures = asked.failures.saturating_add(1);
                Answer::Failed(error, delay)
            }
            None if asked.running => Answer::Pending,
            None => {
                asked.running = true;
                drop(state);
                self.send(key.clone(), content.clone(), request.to_string());
                Answer::Pending
            }
        }
    }

    /// An answer that could not be used counts as a failure, too.
    pub(super) fn refused(&self, key: &Key) -> Duration {
        let mut state = lock(&self.state);
        let asked = state.entry(key.clone()).or_default();
        asked.failures = asked.failures.saturating_add(1);
        backoff(asked.failures.saturating_add(BACKOFF_OFFSET)).min(BACKOFF_LAST)
    }

    fn send(&self, key: Key, content: Content, body: String) {
        let (egress, uri, turns) = (self.egress.clone(), self.uri.clone(), self.turns.clone());
        let state = self.state.clone();
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            let turn = turns.acquire().await;
            let outcome = post(&egress, &uri, body).await;
            drop(turn);
            if let Some(asked) = lock(&state).get_mut(&key).filter(|asked| asked.content == content) {
                asked.running = false;
                asked.outcome = Some(outcome);
            }
            if let Some(queue) = queue {
                queue.add(key);
            }
        });
    }
}

async fn post(egress: &EgressClient, uri: &http::Uri, body: String) -> Result<Vec<u8>, String> {
    let request = http::Request::post(uri)
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(body.into_bytes())
        .map_err(|error| error.to_string())?;
    let answer = egress.ask(request).await.map_err(|error| match error {
        egress::Error::Long(bytes) => format!("its answer is larger than {bytes} bytes"),
        error => error.to_string(),
    })?;
    if answer.status != http::StatusCode::OK {
        return Err(format!("it answered {}; only 200 counts", answer.status.as_u16()));
    }
    Ok(answer.body.to_vec())
}
