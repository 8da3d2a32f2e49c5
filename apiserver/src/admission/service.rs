//! A new service in, the same with what only the whole cluster can choose (cluster addresses, node ports) out.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::catalog::Resource;
use crate::cause::Cause;
use crate::object::{self, text};
use crate::status::{ApiError, ApiResult};
use crate::store::IndexKey;
use crate::verbs::Context;

/// Cluster addresses are 10.96.0.0/16, as most clusters have them; the first one is the API's.
pub(crate) const FIRST_CLUSTER_IP: &str = "10.96.0.1";
const CLUSTER_IPS: u32 = 0x0A60_0000;
const CLUSTER_IPS_COUNT: u32 = 65_534;
const NODE_PORTS: std::ops::RangeInclusive<i64> = 30_000..=32_767;

/// Gives a new service its cluster address and its node ports.
pub(super) fn allocate(context: &Context<'_>, resource: &Resource, service: &mut Value) -> ApiResult<()> {
    let kind = text(service, "/spec/type").to_owned();
    if kind != "ExternalName" {
        let asked = text(service, "/spec/clusterIP").to_owned();
        let used = |address: &str| context.store.has("services", &IndexKey::ClusterIp(address.to_owned()));
        let address = if asked.is_empty() {
            // Chosen by the name, so that the same service has the same address on every machine.
            let seed =
                object::name(service).bytes().fold(17u32, |h, b| h.wrapping_mul(31).wrapping_add(b.into()));
            (0..CLUSTER_IPS_COUNT)
                .map(|i| CLUSTER_IPS + 1 + (seed.wrapping_add(i)) % CLUSTER_IPS_COUNT)
                .map(|bits| std::net::Ipv4Addr::from(bits).to_string())
                .find(|address| !used(address))
                .ok_or_else(|| ApiError::internal("no cluster address is left"))?
        } else if asked != "None" && used(&asked) {
            let cause = Cause::invalid(
                "spec.clusterIPs",
                &json!([asked]),
                "failed to allocate IP: provided IP is already allocated",
            );
            return Err(ApiError::invalid(resource.named(), object::name(service), &[cause]));
        } else {
            asked
        };
        object::set_at(service, "spec.clusterIP", address.clone().into());
        object::set_at(service, "spec.clusterIPs", json!([address]));
    }
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer") {
        let ports = service["spec"]["ports"].as_array().into_iter().flatten();
        let mut taken: HashSet<i64> = ports.filter_map(|port| port["nodePort"].as_i64()).collect();
        let mut free = NODE_PORTS;
        for port in service["spec"]["ports"].as_array_mut().into_iter().flatten() {
            if port["nodePort"].as_i64().unwrap_or(0) == 0 {
                let chosen = free
                    .find(|p| !taken.contains(p) && !context.store.has("services", &IndexKey::NodePort(*p)))
                    .ok_or_else(|| ApiError::internal("no node port is left"))?;
                taken.insert(chosen);
                port["nodePort"] = chosen.into();
            }
        }
    }
    Ok(())
}
