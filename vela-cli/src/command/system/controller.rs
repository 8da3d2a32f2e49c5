//! A controller as the cluster shows it: its Deployment, and the lease of the one that leads.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use vela_core::access::ACCOUNT;

use crate::cluster::Cluster;
use crate::error::Result;
use crate::health::{self, Health};
use crate::pointer::text;

/// A lease that was not renewed for so many of its own durations is of a controller that is gone.
const STALE_AFTER: i64 = 4;
const CONTAINER: &str = "/spec/template/spec/containers/0";

pub(super) struct Controller {
    deployment: Option<Deployment>,
    lease: Option<Value>,
}

pub(super) struct Deployment(Value);

impl Controller {
    /// That of applications.
    pub(super) async fn of_applications(cluster: &Cluster) -> Result<Self> {
        Self::read(cluster, cluster.system_namespace().await?, ACCOUNT, ACCOUNT).await
    }

    /// The one with this Deployment, whose leader holds this lease.
    pub(super) async fn read(cluster: &Cluster, namespace: &str, name: &str, lease: &str) -> Result<Self> {
        let deployment = cluster.get("apps/v1", "Deployment", Some(namespace), name).await?;
        let lease = cluster.get("coordination.k8s.io/v1", "Lease", Some(namespace), lease).await?;
        Ok(Self {
            deployment: deployment.map(|one| Deployment(json!(one))),
            lease: lease.map(|one| json!(one)),
        })
    }

    pub(super) fn deployment(&self) -> Option<&Deployment> {
        self.deployment.as_ref()
    }

    /// Who holds the lease.
    pub(super) fn leader(&self) -> Option<&str> {
        self.lease
            .as_ref()
            .map(|lease| text(lease, "/spec/holderIdentity"))
            .filter(|holder| !holder.is_empty())
    }

    /// For how long the leader has not said that it is there, where that is too long.
    pub(super) fn silent_for(&self, now: Timestamp) -> Option<SignedDuration> {
        self.leader()?;
        let lease = self.lease.as_ref()?;
        let renewed: Timestamp = text(lease, "/spec/renewTime").parse().ok()?;
        let seconds = lease.pointer("/spec/leaseDurationSeconds").and_then(Value::as_i64).unwrap_or(0).max(1);
        let silent = now.duration_since(renewed);
        (silent.as_secs() > seconds.saturating_mul(STALE_AFTER)).then_some(silent)
    }

    pub(super) fn value(&self) -> Value {
        let deployment = self.deployment.as_ref().map(|one| {
            let (health, message) = one.health();
            json!({
                "image": one.image(), "version": one.version(), "arguments": one.args(), "health": health.word(), "message": message,
            })
        });
        json!({"deployment": deployment, "leader": self.leader()})
    }
}

impl Deployment {
    pub(super) fn health(&self) -> (Health, String) {
        health::judge(&self.0)
    }

    pub(super) fn image(&self) -> &str {
        text(&self.0, &format!("{CONTAINER}/image"))
    }

    /// What the tag of the image says; a host may have a port, which is none.
    pub(super) fn version(&self) -> &str {
        let image = self.image();
        let name = image.split_once('@').map_or(image, |(name, _)| name);
        let tag = name.rsplit_once(':').map(|(_, tag)| tag).filter(|tag| !tag.contains('/'));
        tag.unwrap_or("not in the image's name")
    }

    pub(super) fn args(&self) -> Vec<&str> {
        let args = self.0.pointer(&format!("{CONTAINER}/args")).and_then(Value::as_array);
        args.into_iter().flatten().filter_map(Value::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_tag_of_the_image() {
        for (image, version) in [
            ("vela-core:0.2.0", "0.2.0"),
            ("host:5000/a/vela-core:1", "1"),
            ("host:5000/vela-core", "not in the image's name"),
            ("a/vela-core:2@sha256:00", "2"),
        ] {
            let deployment = json!({"spec": {"template": {"spec": {"containers": [{"image": image}]}}}});
            assert_eq!(Deployment(deployment).version(), version);
        }
    }

    #[test]
    fn a_leader_that_is_silent_too_long_is_gone() {
        let now: Timestamp = "2026-01-01T00:10:00Z".parse().unwrap();
        let of = |renewed: &str, holder: &str| Controller {
            deployment: None,
            lease: Some(
                json!({"spec": {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed}}),
            ),
        };
        assert!(of("2026-01-01T00:09:50.000000Z", "a").silent_for(now).is_none());
        assert_eq!(of("2026-01-01T00:08:00.000000Z", "a").silent_for(now).unwrap().as_secs(), 120);
        assert!(of("2026-01-01T00:08:00.000000Z", "").silent_for(now).is_none());
    }
}
