//! Builds the Service for the first port of a workload.

use serde_json::{Value, json};
use vela_crds::containerized_workload::ContainerizedWorkload;

use super::{Error, identity, selector};

/// The Service of a workload: same name, the first port of the first container; `None` where there is no port,
/// because an API server refuses a Service without one.
///
/// # Errors
/// A workload without a name or uid.
pub fn service(workload: &ContainerizedWorkload) -> Result<Option<Value>, Error> {
    let identity = identity(workload)?;
    let Some(port) = workload.spec.containers.first().and_then(|container| container.ports.first()) else {
        return Ok(None);
    };
    let mut service_port = json!({
        "name": identity.name, "port": port.container_port, "targetPort": port.container_port,
    });
    if let Some(protocol) = port.protocol {
        service_port["protocol"] = json!(protocol);
    }
    Ok(Some(identity.service(&selector(&identity), vec![service_port])))
}
