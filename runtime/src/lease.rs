//! Leader election with a Lease: at most one leader at a time; compatible with client-go's.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::api::Api;
use futures::StreamExt as _;
use futures::stream::BoxStream;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{ObjectMeta, PostParams, WatchEvent, WatchParams};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::clock;

/// How long a lease holds after its last renewal.
pub const LEASE_DURATION: Duration = Duration::from_secs(15);
/// A leader that cannot renew for this long steps down, well before others may take over.
pub const RENEW_DEADLINE: Duration = Duration::from_secs(10);
/// Time between two attempts to acquire or renew.
pub const RETRY_PERIOD: Duration = Duration::from_secs(2);
/// A waiting candidate asks up to this much later, each at another moment: candidates must not all write at once.
const JITTER_AT_MOST: Duration = Duration::from_millis(400);
/// One request takes no longer: an answer that got lost must leave time for further attempts before the deadline.
const REQUEST_AT_MOST: Duration = Duration::from_secs(4);
/// Giving the lease back may not hold up the end of a process any longer; afterwards it expires.
const RELEASE_AT_MOST: Duration = Duration::from_secs(5);
/// A renewal that was under way may come between the read and the write of a release.
const RELEASE_ATTEMPTS: usize = 3;
/// Longest life of a candidate's watch, in seconds; the next one follows.
const WATCH_SECONDS: u32 = 280;
/// Pause after a watch that was refused or cut: asking every two seconds goes on without it.
const WATCH_PAUSE: Duration = Duration::from_secs(10);

/// Where the lease lives and who asks for it.
#[derive(Clone, Debug)]
pub struct Config {
    /// Namespace of the Lease.
    pub namespace: String,
    /// Name of the Lease.
    pub name: String,
    /// The identity of the candidate: must differ between processes, usually host name and a random part.
    pub identity: String,
}

/// One candidate for the lease.
pub struct Elector {
    api: Api<Lease>,
    config: Config,
    /// The last lease seen and when, by our own clock: other hosts' clocks are not trusted.
    seen: Option<(LeaseSpec, Instant)>,
    /// When the last write was sent that ended with the lease in our hands.
    renewed: Option<Instant>,
    /// The lease as that write left it: while no other client writes it, renewing takes one request, also where each
    /// takes seconds.
    held: Option<Lease>,
    /// Attempts so far, for the jitter.
    attempts: u64,
    /// The version of the lease seen last, from which a watch goes on.
    version: Option<String>,
    /// Never contended: the lock only lets several threads hold a reference to this candidate.
    watch: Option<Mutex<LeaseEvents>>,
    watch_again: Option<Instant>,
}

type LeaseEvents = BoxStream<'static, Result<WatchEvent<Lease>, kube::Error>>;

/// The result of asking for the lease.
enum Attempted {
    /// It is ours until the duration is over.
    Held,
    /// Another process holds it.
    Foreign,
    /// Another client wrote it between our read and our write: whether it is ours must be asked again.
    Raced,
}

impl std::fmt::Debug for Elector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Elector").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Elector {
    /// A candidate that does not ask yet.
    pub fn new(client: kube::Client, config: Config) -> Self {
        let api = Api::namespaced(client, &config.namespace);
        Self {
            api,
            config,
            seen: None,
            renewed: None,
            held: None,
            attempts: 0,
            version: None,
            watch: None,
            watch_again: None,
        }
    }

    /// The name of the lease.
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// Wait until this process leads; false when stopped first, and then nothing is held.
    pub async fn acquire(&mut self, stop: &CancellationToken) -> bool {
        let mut reported = None;
        loop {
            let attempt = tokio::select! {
                biased;
                () = stop.cancelled() => None,
                attempt = self.attempt() => Some(attempt),
            };
            match attempt {
                // The attempt may have reached the server before it was dropped.
                None => {
                    if self.attempts > 0
                        && let Err(error) = self.release().await
                    {
                        tracing::debug!(%error, lease = %self.config.name, "cannot look whether the lease is ours");
                    }
                    return false;
                }
                Some(Ok(Attempted::Held)) => {
                    self.watch = None;
                    return true;
                }
                Some(Ok(Attempted::Foreign | Attempted::Raced)) => {
                    let holder = self.seen.as_ref().and_then(|(spec, _)| spec.holder_identity.clone());
                    if holder != reported {
                        let name = holder.as_deref().unwrap_or_default();
                        tracing::info!(lease = %self.config.name, holder = name, "another process leads; waiting");
                        reported = holder;
                    }
                }
                Some(Err(error)) => {
                    tracing::warn!(%error, lease = %self.config.name, "cannot ask for the lease");
                }
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => return false,
                () = self.wait_for_attempt() => {}
            }
        }
    }

    /// Renew until told to let go, or until lost; true when the lease was lost. The lease has to be acquired before.
    pub async fn hold(&mut self, let_go: &CancellationToken) -> bool {
        loop {
            let deadline = self.renewed.unwrap_or_else(Instant::now) + RENEW_DEADLINE;
            tokio::select! {
                biased;
                () = let_go.cancelled() => return false,
                () = sleep_until(deadline.min(Instant::now() + RETRY_PERIOD)) => {}
            }
            // Also when the whole process stood still for a while: another process may lead since.
            if Instant::now() >= deadline {
                return true;
            }
            let attempt = timeout_at(deadline, self.attempt());
            let answer = tokio::select! {
                biased;
                () = let_go.cancelled() => return false,
                answer = attempt => answer,
            };
            match answer {
                Ok(Ok(Attempted::Held)) => {}
                Ok(Ok(Attempted::Foreign)) => return true,
                // Another client's write, a label for example, is no loss.
                Ok(Ok(Attempted::Raced)) => {
                    tracing::debug!(lease = %self.config.name, "the lease was written meanwhile")
                }
                Ok(Err(error)) => tracing::warn!(%error, lease = %self.config.name, "cannot renew the lease"),
                Err(_) => tracing::warn!(lease = %self.config.name, "no answer to the renewal of the lease"),
            }
        }
    }

    /// Give the lease back, so that the next candidate need not wait for it to expire.
    ///
    /// # Errors
    /// The server did not take the last of several tries; the lease then ends by itself.
    pub async fn release(&self) -> Result<(), kube::Error> {
        in_time(RELEASE_AT_MOST, self.release_inside()).await
    }

    async fn release_inside(&self) -> Result<(), kube::Error> {
        for _ in 1..RELEASE_ATTEMPTS {
            match self.release_once().await {
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                other => return other,
            }
        }
        self.release_once().await
    }

    async fn release_once(&self) -> Result<(), kube::Error> {
        let Some(mut lease) = self.api.get_opt(&self.config.name).await? else { return Ok(()) };
        let spec = lease.spec.get_or_insert_default();
        if spec.holder_identity.as_deref() != Some(&self.config.identity) {
            return Ok(());
        }
        spec.holder_identity = Some(String::new());
        spec.lease_duration_seconds = Some(1);
        spec.renew_time = Some(MicroTime(clock::now()));
        self.api.replace(&self.config.name, &PostParams::default(), &lease).await?;
        Ok(())
    }

    async fn attempt(&mut self) -> Result<Attempted, kube::Error> {
        self.attempts += 1;
        let (now, identity) = (MicroTime(clock::now()), self.config.identity.clone());
        let wanted = |acquired: Option<MicroTime>, transitions: i32| LeaseSpec {
            holder_identity: Some(identity.clone()),
            lease_duration_seconds: i32::try_from(LEASE_DURATION.as_secs()).ok(),
            acquire_time: Some(acquired.unwrap_or_else(|| now.clone())),
            renew_time: Some(now.clone()),
            lease_transitions: Some(transitions),
            ..LeaseSpec::default()
        };
        if let Some(mut lease) = self.held.take() {
            let spec = lease.spec.unwrap_or_default();
            lease.spec = Some(wanted(spec.acquire_time, spec.lease_transitions.unwrap_or(0)));
            match self.write(lease).await? {
                // Another client wrote it, which is no loss unless the holder changed.
                Attempted::Raced => {}
                answer => return Ok(answer),
            }
        }
        let read = in_time(REQUEST_AT_MOST, self.api.get_opt(&self.config.name));
        let Some(mut lease) = read.await? else {
            let metadata = ObjectMeta { name: Some(self.config.name.clone()), ..ObjectMeta::default() };
            return self.write(Lease { metadata, spec: Some(wanted(None, 0)) }).await;
        };
        let held = lease.spec.clone().unwrap_or_default();
        let (acquired, transitions) = (held.acquire_time.clone(), held.lease_transitions.unwrap_or(0));
        let ours = held.holder_identity.as_deref() == Some(self.config.identity.as_str());
        self.version = lease.metadata.resource_version.clone();
        lease.spec = Some(if ours {
            wanted(acquired, transitions)
        } else {
            wanted(None, transitions.saturating_add(1))
        });
        self.observe(held);
        if !ours && self.free_at().is_some_and(|free| free > Instant::now()) {
            return Ok(Attempted::Foreign);
        }
        self.write(lease).await
    }

    /// Make or replace the lease, which holds from the moment this is sent. Another candidate that was faster is not an error.
    async fn write(&mut self, lease: Lease) -> Result<Attempted, kube::Error> {
        let (sent, params) = (Instant::now(), PostParams::default());
        let written = match lease.metadata.resource_version {
            None => in_time(REQUEST_AT_MOST, self.api.create(&params, &lease)).await,
            Some(_) => in_time(REQUEST_AT_MOST, self.api.replace(&self.config.name, &params, &lease)).await,
        };
        match written {
            Ok(lease) => {
                (self.renewed, self.held) = (Some(sent), Some(lease));
                Ok(Attempted::Held)
            }
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(Attempted::Raced),
            Err(error) => Err(error),
        }
    }

    /// A lease counts from the moment we saw it change, whatever its own times say.
    fn observe(&mut self, held: LeaseSpec) {
        if self.seen.as_ref().is_none_or(|(spec, _)| *spec != held) {
            self.seen = Some((held, Instant::now()));
        }
    }

    /// When the lease seen last may be taken; nothing when it may be taken now.
    fn free_at(&self) -> Option<Instant> {
        let (held, since) = self.seen.as_ref()?;
        if held.holder_identity.as_deref().unwrap_or_default().is_empty() {
            return None;
        }
        let seconds = held.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
        Some(*since + seconds.map_or(LEASE_DURATION, Duration::from_secs))
    }

    /// Wait until asking again makes sense: the holder gave the lease back, it expires, or a while has passed.
    async fn wait_for_attempt(&mut self) {
        let next = Instant::now() + RETRY_PERIOD + self.jitter();
        loop {
            let until =
                self.free_at().filter(|free| *free > Instant::now()).map_or(next, |free| free.min(next));
            tokio::select! {
                biased;
                event = self.next_event() => if self.observe_event(event) { return },
                () = sleep_until(until) => return,
            }
        }
    }

    /// Another moment for each candidate and attempt, and the same in every run of one.
    fn jitter(&self) -> Duration {
        let mut hasher = DefaultHasher::new();
        (&self.config.identity, self.attempts).hash(&mut hasher);
        JITTER_AT_MOST.mul_f64(f64::from((hasher.finish() >> 32) as u32) / f64::from(u32::MAX))
    }

    /// The next event of the watch, which is opened if it may be; nothing when it ended. Waits for ever without one.
    async fn next_event(&mut self) -> Option<WatchEvent<Lease>> {
        if self.watch.is_none() {
            let Some(version) = self.version.clone() else { return std::future::pending().await };
            if let Some(again) = self.watch_again {
                sleep_until(again).await;
            }
            let name = format!("metadata.name={}", self.config.name);
            let params = WatchParams::default().fields(&name).timeout(WATCH_SECONDS);
            match self.api.watch(&params, &version).await {
                Ok(watch) => self.watch = Some(Mutex::new(watch.boxed())),
                Err(error) => {
                    tracing::debug!(%error, lease = %self.config.name, "cannot watch the lease");
                    return None;
                }
            }
        }
        let watch = self.watch.as_mut()?.get_mut().unwrap_or_else(PoisonError::into_inner);
        watch.next().await?.ok()
    }

    /// Take in an event; true when it is worth asking for the lease at once.
    fn observe_event(&mut self, event: Option<WatchEvent<Lease>>) -> bool {
        match event {
            Some(WatchEvent::Added(lease) | WatchEvent::Modified(lease)) => {
                self.version = lease.metadata.resource_version;
                self.observe(lease.spec.unwrap_or_default());
                self.free_at().is_none()
            }
            Some(WatchEvent::Deleted(_)) => true,
            Some(WatchEvent::Bookmark(_)) => false,
            // Closed or refused: the next question brings a version from which a new one can go on.
            Some(WatchEvent::Error(_)) | None => {
                self.watch = None;
                self.version = None;
                self.watch_again = Some(Instant::now() + WATCH_PAUSE);
                false
            }
        }
    }
}

/// The answer of a request, or that none came in time.
async fn in_time<T>(
    at_most: Duration,
    request: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, kube::Error> {
    timeout(at_most, request).await.unwrap_or_else(|_| {
        let message = format!("no answer within {} s", at_most.as_secs());
        Err(kube::Error::Service(std::io::Error::new(std::io::ErrorKind::TimedOut, message).into()))
    })
}
