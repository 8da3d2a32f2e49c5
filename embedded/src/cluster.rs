//! An embedded API server in the time of a clock that jumps, whose workloads move when told to; and checkpoints of it.

use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use jiff::Timestamp;
use serde_json::Value;
use tokio::time::Instant;
use tower::Service as _;
use vela_apiserver::store::Store;
use vela_apiserver::{ApiServer, BuildError, Clock, ManualControllers};

use crate::virtual_time::{EPOCH, VirtualClock};

/// Time that passes with every step, so that all that can run by itself does.
pub const STEP: Duration = Duration::from_millis(1);

/// The cluster. It lives on one thread, inside a runtime whose clock is paused.
#[derive(Debug)]
pub struct EmbeddedCluster {
    server: ApiServer,
    workloads: ManualControllers,
    clock: VirtualClock,
}

/// The checkpoint of clusters: a prepared server, and the memory of its workloads' controllers.
#[derive(Debug)]
pub struct Checkpoint {
    server: ApiServer,
    workloads: ManualControllers,
    at: Timestamp,
}

impl Checkpoint {
    /// A server as it is now; clusters begin at this moment of their time.
    pub fn new(server: ApiServer, workloads: ManualControllers, at: Timestamp) -> Self {
        Self { server, workloads, at }
    }

    /// The same for clusters that begin at another moment.
    #[must_use]
    pub fn moved_to(self, at: Timestamp) -> Self {
        Self { at, ..self }
    }
}

impl EmbeddedCluster {
    /// An empty cluster.
    ///
    /// # Errors
    ///
    /// The server cannot be built.
    pub fn new() -> Result<Self, BuildError> {
        let clock = VirtualClock::begin(EPOCH);
        // A fork draws its uids from a count.
        let server = ApiServer::builder().build()?.fork(clock.of_server());
        let workloads = server.manual_controllers();
        Ok(Self { server, workloads, clock })
    }

    /// A cluster that goes its own way from a checkpoint.
    #[must_use]
    pub fn fork(checkpoint: &Checkpoint) -> Self {
        Self::fork_at(checkpoint, checkpoint.at)
    }

    /// The same at another moment.
    #[must_use]
    pub fn fork_at(checkpoint: &Checkpoint, at: Timestamp) -> Self {
        let clock = VirtualClock::begin(at);
        let server = checkpoint.server.fork(clock.of_server());
        let workloads = checkpoint.workloads.fork(&server);
        Self { server, workloads, clock }
    }

    /// This cluster as it is now, for others to begin with.
    #[must_use]
    pub fn checkpoint(&self) -> Checkpoint {
        let at = self.clock.now();
        let server = self.server.fork(Clock::from_fn(move || at));
        let workloads = self.workloads.fork(&server);
        Checkpoint { server, workloads, at }
    }

    /// Its API.
    #[must_use]
    pub fn server(&self) -> &ApiServer {
        &self.server
    }

    /// Its objects.
    #[must_use]
    pub fn store(&self) -> &Store {
        self.server.store()
    }

    /// Time since it began.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.clock.elapsed()
    }

    /// One turn of the simulated workloads and of the garbage collector; answers with the moment of the next one, if nothing
    /// happens before.
    pub fn turn(&mut self) -> Option<Instant> {
        self.workloads.turn()
    }

    /// Lets time pass.
    pub async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// Lets time pass until a client writes, at most until then: `limit` is a time since the cluster began.
    pub async fn pass_until_news(&mut self, due: Option<Instant>, limit: Duration) {
        let limit = self.clock.began() + limit;
        let due = due.map_or(limit, |due| due.min(limit));
        tokio::select! {
            biased;
            () = self.workloads.changed() => {}
            () = tokio::time::sleep_until(due) => {}
        }
    }

    /// A request as a person sends it, past everything that stands between the controllers and the server.
    pub fn send(&self, method: Method, path: &str, body: Option<&Value>) -> (StatusCode, Value) {
        send(&self.server, method, path, body)
    }
}

/// A request as a person sends it, answered at once: in memory the server never waits. Bodies of `PATCH` are merge patches.
pub fn send(server: &ApiServer, method: Method, path: &str, body: Option<&Value>) -> (StatusCode, Value) {
    let kind = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let bytes = body.map(Value::to_string).unwrap_or_default();
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", kind)
        .header("user-agent", "user")
        .body(Full::new(Bytes::from(bytes)));
    let answer = request.ok().and_then(|request| server.service().call(request).now_or_never());
    let Some(Ok(response)) = answer else { return (StatusCode::BAD_REQUEST, Value::Null) };
    let code = response.status();
    let bytes = response.into_body().collect().now_or_never().and_then(Result::ok).map(|all| all.to_bytes());
    (code, bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or(Value::Null))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::virtual_time;

    const SETTINGS: &str = "/api/v1/namespaces/default/configmaps";

    fn create(cluster: &EmbeddedCluster, name: &str) -> Value {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        let (code, made) = cluster.send(Method::POST, SETTINGS, Some(&object));
        assert_eq!(code, StatusCode::CREATED, "{made}");
        made
    }

    #[test]
    fn forks_go_their_own_way_from_the_moment_of_their_checkpoint() {
        let done = virtual_time::run(async {
            let cluster = EmbeddedCluster::new().unwrap();
            create(&cluster, "before");
            cluster.pass(Duration::from_secs(3600)).await;
            let checkpoint = cluster.checkpoint();
            drop(cluster);
            let made = [(); 2].map(|()| {
                let fork = EmbeddedCluster::fork(&checkpoint);
                let made = create(&fork, "after");
                assert_eq!(fork.send(Method::GET, &format!("{SETTINGS}/before"), None).0, StatusCode::OK);
                made["metadata"].clone()
            });
            assert_eq!(made[0], made[1], "what happens repeats, with uid and time");
            assert_eq!(made[0]["creationTimestamp"], "2026-01-01T01:00:00Z");
        });
        done.unwrap();
    }

    #[test]
    fn time_passes_until_a_client_writes() {
        let done = virtual_time::run(async {
            let mut cluster = EmbeddedCluster::new().unwrap();
            while cluster.turn().is_some() && cluster.elapsed() < Duration::from_secs(1) {
                cluster.pass(STEP).await;
            }
            let quiet = cluster.elapsed();
            cluster.pass_until_news(None, quiet + Duration::from_secs(60)).await;
            let later = cluster.elapsed();
            assert!(later >= quiet + Duration::from_secs(60), "no client wrote");
            create(&cluster, "settings");
            cluster.pass_until_news(None, later + Duration::from_secs(60)).await;
            assert_eq!(cluster.elapsed(), later, "a client wrote");
        });
        done.unwrap();
    }
}
