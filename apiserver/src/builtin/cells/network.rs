//! Cells of services, endpoints and ingresses.

use serde_json::Value;

use super::read::{list, number, or, scalar, text};

/// More addresses than this are counted, not listed.
const SHOWN_ENDPOINTS: usize = 3;

pub(super) fn service_external(service: &Value) -> String {
    let outside: Vec<&str> = list(service, "/status/loadBalancer/ingress")
        .iter()
        .map(|i| or(text(i, "/ip"), text(i, "/hostname")))
        .chain(list(service, "/spec/externalIPs").iter().filter_map(Value::as_str))
        .collect();
    match (text(service, "/spec/type"), outside.is_empty()) {
        ("ExternalName", _) => text(service, "/spec/externalName").to_owned(),
        ("LoadBalancer", true) => "<pending>".to_owned(),
        (_, true) => "<none>".to_owned(),
        _ => outside.join(","),
    }
}

pub(super) fn service_ports(service: &Value) -> String {
    let ports: Vec<String> = list(service, "/spec/ports")
        .iter()
        .map(|p| match number(p, "/nodePort") {
            0 => format!("{}/{}", number(p, "/port"), text(p, "/protocol")),
            node => format!("{}:{node}/{}", number(p, "/port"), text(p, "/protocol")),
        })
        .collect();
    or(&ports.join(","), "<none>").to_owned()
}

pub(super) fn endpoints(endpoints: &Value) -> String {
    let mut all = Vec::new();
    for subset in list(endpoints, "/subsets") {
        for address in list(subset, "/addresses") {
            let ip = text(address, "/ip");
            let ports = list(subset, "/ports");
            if ports.is_empty() {
                all.push(ip.to_owned());
            }
            all.extend(ports.iter().map(|p| format!("{ip}:{}", number(p, "/port"))));
        }
    }
    listed(&all, "<none>")
}

pub(super) fn slice_ports(slice: &Value) -> String {
    let ports: Vec<String> = list(slice, "/ports").iter().map(|p| scalar(p.get("port"))).collect();
    listed(&ports, "<unset>")
}

pub(super) fn slice_addresses(slice: &Value) -> String {
    let endpoints = list(slice, "/endpoints").iter();
    let addresses: Vec<String> =
        endpoints.flat_map(|e| list(e, "/addresses")).map(|a| scalar(Some(a))).collect();
    listed(&addresses, "<unset>")
}

fn listed(all: &[String], nothing: &str) -> String {
    if all.is_empty() {
        return nothing.to_owned();
    }
    let shown = all.iter().take(SHOWN_ENDPOINTS).cloned().collect::<Vec<_>>().join(",");
    match all.len().saturating_sub(SHOWN_ENDPOINTS) {
        0 => shown,
        more => format!("{shown} + {more} more..."),
    }
}

pub(super) fn ingress_hosts(ingress: &Value) -> String {
    let rules = list(ingress, "/spec/rules").iter();
    let hosts: Vec<&str> = rules.map(|r| text(r, "/host")).filter(|h| !h.is_empty()).collect();
    or(&hosts.join(","), "*").to_owned()
}

pub(super) fn ingress_addresses(ingress: &Value) -> String {
    let points = list(ingress, "/status/loadBalancer/ingress").iter();
    points.map(|i| or(text(i, "/ip"), text(i, "/hostname"))).collect::<Vec<_>>().join(",")
}

pub(super) fn ingress_ports(ingress: &Value) -> &'static str {
    if list(ingress, "/spec/tls").is_empty() { "80" } else { "80, 443" }
}
