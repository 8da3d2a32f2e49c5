//! The spec of a HarborCluster and the connections to its services → the Harbor.

use serde_json::{Value, json};

use super::super::node::{Node, kinds};
use super::service::{Cluster, LABEL, Service};
use crate::error::Error;
use crate::names::NETWORK_POLICIES;

pub(super) const CONDITION: &str = "ServiceReady";

/// Fields that a Harbor has under other names.
const SERVICES: [&str; 3] = ["cache", "database", "storage"];
/// Parts that speak to the storage themselves, beside the registry.
const CLIENTS: [&str; 3] = ["core", "jobservice", "trivy"];

pub(super) fn node(cluster: &Cluster<'_>, services: &[Service; 3]) -> Result<Node, Error> {
    let name = cluster.owner.child("harbor")?;
    let mut spec = cluster.spec("").or_empty();
    if let Some(fields) = spec.as_object_mut() {
        fields.retain(|field, _| !SERVICES.contains(&field.as_str()));
    }
    let [cache, database, storage] = services;
    spec["redis"] = cache.connection.clone();
    spec["database"] = database.connection.clone();
    spec["imageChartStorage"] = storage.connection.clone();
    if let Some(certificate) = storage.connection["s3"]["certificateRef"].as_str() {
        trust(&mut spec, certificate);
    }
    let mut metadata = json!({ "labels": { LABEL: cluster.owner.name() } });
    if let Some(policies) = cluster.owner.annotation(NETWORK_POLICIES) {
        metadata["annotations"] = json!({ NETWORK_POLICIES: policies });
    }
    let object = json!({ "metadata": metadata, "spec": spec });
    let needs = services.iter().flat_map(|service| service.needs.iter().cloned());
    Ok(Node::new(kinds::goharbor("Harbor"), name, object).needs(needs).told_by(CONDITION))
}

/// Has the parts trust the authority of the storage.
fn trust(spec: &mut Value, certificate: &str) {
    for part in CLIENTS {
        let Some(part) = spec.get_mut(part).filter(|part| part.is_object()) else { continue };
        match part["certificateRefs"].as_array_mut() {
            Some(known) if known.iter().any(|known| known == certificate) => {}
            Some(known) => known.push(json!(certificate)),
            None => part["certificateRefs"] = json!([certificate]),
        }
    }
}
