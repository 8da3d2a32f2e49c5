//! A Lease object in → at most one leader at a time; compatible with client-go's leader election.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, ObjectMeta, PostParams};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::clock;

/// How long a lease holds after its last renewal.
pub const LEASE_DURATION: Duration = Duration::from_secs(15);
/// A leader that cannot renew for this long steps down, well before others may take over.
pub const RENEW_DEADLINE: Duration = Duration::from_secs(10);
/// Time between two attempts to acquire or renew.
pub const RETRY_PERIOD: Duration = Duration::from_secs(2);

/// Where the lease lives and who asks for it.
#[derive(Clone, Debug)]
pub struct Config {
    /// Namespace of the Lease.
    pub namespace: String,
    /// Name of the Lease.
    pub name: String,
    /// Who asks: must differ between processes, usually host name and a random part.
    pub identity: String,
}

/// One candidate for the lease.
pub struct Elector {
    api: Api<Lease>,
    config: Config,
    /// The last lease seen and when, by our own clock: other hosts' clocks are not trusted.
    seen: Option<(LeaseSpec, Instant)>,
}

impl std::fmt::Debug for Elector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Elector").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Elector {
    /// A candidate that does not ask yet.
    pub fn new(client: kube::Client, config: Config) -> Self {
        Self { api: Api::namespaced(client, &config.namespace), config, seen: None }
    }

    /// Wait until this process leads; false when stopped first.
    pub async fn acquire(&mut self, stop: &CancellationToken) -> bool {
        loop {
            match self.attempt().await {
                Ok(true) => return true,
                Ok(false) => {}
                Err(error) => tracing::warn!(%error, lease = %self.config.name, "cannot ask for the lease"),
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => return false,
                () = tokio::time::sleep(RETRY_PERIOD) => {}
            }
        }
    }

    /// Renew until stopped or lost; true when the lease was lost.
    pub async fn hold(&mut self, stop: &CancellationToken) -> bool {
        let mut renewed = Instant::now();
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return false,
                () = tokio::time::sleep(RETRY_PERIOD) => {}
            }
            match tokio::time::timeout_at(renewed + RENEW_DEADLINE, self.attempt()).await {
                Ok(Ok(true)) => renewed = Instant::now(),
                Ok(Ok(false)) => return true,
                Ok(Err(error)) => tracing::warn!(%error, lease = %self.config.name, "cannot renew the lease"),
                Err(_) => return true,
            }
            if renewed.elapsed() >= RENEW_DEADLINE {
                return true;
            }
        }
    }

    /// Give the lease back, so that the next candidate need not wait for it to expire.
    pub async fn release(&self) -> Result<(), kube::Error> {
        let mut lease = self.api.get(&self.config.name).await?;
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

    async fn attempt(&mut self) -> Result<bool, kube::Error> {
        let now = MicroTime(clock::now());
        let wanted = |acquired: Option<MicroTime>, transitions: i32| LeaseSpec {
            holder_identity: Some(self.config.identity.clone()),
            lease_duration_seconds: i32::try_from(LEASE_DURATION.as_secs()).ok(),
            acquire_time: Some(acquired.unwrap_or_else(|| now.clone())),
            renew_time: Some(now.clone()),
            lease_transitions: Some(transitions),
            ..LeaseSpec::default()
        };
        let Some(mut lease) = self.api.get_opt(&self.config.name).await? else {
            let spec = wanted(None, 0);
            let lease = Lease {
                metadata: ObjectMeta { name: Some(self.config.name.clone()), ..ObjectMeta::default() },
                spec: Some(spec),
            };
            return written(self.api.create(&PostParams::default(), &lease).await);
        };
        let held = lease.spec.clone().unwrap_or_default();
        if self.seen.as_ref().is_none_or(|(spec, _)| *spec != held) {
            self.seen = Some((held.clone(), Instant::now()));
        }
        let holder = held.holder_identity.as_deref().unwrap_or_default();
        let ours = holder == self.config.identity;
        let duration = held.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
        let duration = duration.map_or(LEASE_DURATION, Duration::from_secs);
        let expired = self.seen.as_ref().is_none_or(|(_, since)| since.elapsed() >= duration);
        if !ours && !holder.is_empty() && !expired {
            return Ok(false);
        }
        let transitions = held.lease_transitions.unwrap_or(0);
        lease.spec = Some(if ours {
            wanted(held.acquire_time, transitions)
        } else {
            wanted(None, transitions.saturating_add(1))
        });
        written(self.api.replace(&self.config.name, &PostParams::default(), &lease).await)
    }
}

/// Another candidate was faster: not an error.
fn written(result: Result<Lease, kube::Error>) -> Result<bool, kube::Error> {
    match result {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
        Err(error) => Err(error),
    }
}
