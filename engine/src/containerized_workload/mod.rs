//! Builds the Deployment, Service, ConfigMaps and claims of disks that run a ContainerizedWorkload.
//!
//! The Deployment and the Service are owned by the workload. A ConfigMap is owned by the Deployment, so it is made once
//! the Deployment has a uid. The controller never sets `replicas`: the user or autoscaler that scales the workload owns
//! it.

mod claims;
mod config;
mod deployment;
mod service;

use serde_json::{Map, Value, json};
use vela_crds::containerized_workload::ContainerizedWorkload;
use vela_crds::labels;

pub use claims::{claims, is_large_enough};
pub use config::config_maps;
pub use deployment::deployment;
pub use service::service;

pub use crate::dependent::Error;
use crate::dependent::Identity;

/// The workload kind.
pub const KIND: &str = "ContainerizedWorkload";

fn identity(workload: &ContainerizedWorkload) -> Result<Identity<'_>, Error> {
    Identity::of(workload, KIND)
}

/// The label that ties pods and Service to this workload and no other.
fn selector(identity: &Identity<'_>) -> Map<String, Value> {
    Map::from_iter([(labels::CONTAINERIZED_WORKLOAD.to_owned(), json!(identity.uid))])
}

#[cfg(test)]
mod tests;
