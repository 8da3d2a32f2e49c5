//! The Ingresses and network policies of a Harbor.

use serde_json::{Map, Value, json};

use super::super::ingress::{self, route};
use super::super::node::{Id, Node, kinds};
use super::stack::Stack;
use crate::error::Error;
use crate::field::Field;
use crate::names::NETWORK_POLICIES;

/// The paths that core answers; everything else is for the portal.
const CORE_PATHS: [&str; 5] = ["/api/", "/service/", "/v2", "/chartrepo/", "/c/"];

pub(super) fn ingresses(stack: &Stack<'_>) -> Result<Vec<Node>, Error> {
    let mut paths = Vec::new();
    let core = stack.part("core")?;
    for path in CORE_PATHS {
        paths.push(route(path, &core, stack.port()));
    }
    let mut needs = vec![Id::new(kinds::goharbor("Core"), &stack.name)];
    if stack.spec("portal").is_set() {
        paths.push(route("/", &stack.part("portal")?, stack.port()));
        needs.push(Id::new(kinds::goharbor("Portal"), &stack.name));
    }
    let mut nodes = vec![ingress(stack, &stack.name, &stack.spec("expose.core"), paths)?.needs(needs)];
    let expose = stack.spec("expose.notary");
    if stack.spec("notary").is_set() && expose.is_set() {
        let name = stack.part("notaryserver")?;
        let paths = vec![route("/", &name, stack.port())];
        let needs = [Id::new(kinds::goharbor("NotaryServer"), &stack.name)];
        nodes.push(ingress(stack, &name, &expose, paths)?.needs(needs));
    }
    Ok(nodes)
}

fn ingress(stack: &Stack<'_>, name: &str, expose: &Field<'_>, paths: Vec<Value>) -> Result<Node, Error> {
    let mut annotations = json!({
        "nginx.ingress.kubernetes.io/backend-protocol": if stack.tls { "HTTPS" } else { "HTTP" },
        "nginx.ingress.kubernetes.io/proxy-body-size": "0",
    });
    match stack.spec("expose.core.ingress.controller").text_or("default")? {
        "ncp" => {
            annotations["ncp/use-regex"] = json!("true");
            if stack.tls {
                annotations["ncp/http-redirect"] = json!("true");
            }
        }
        "contour" if stack.tls => {
            annotations["ingress.kubernetes.io/force-ssl-redirect"] = json!("true");
        }
        _ => {}
    }
    ingress::ingress(name, expose, annotations, paths)
}

/// One policy for each part that has one; the pods of five of them are named by a label that no pod has, as in the
/// operator whose objects these are, so that these select nothing.
pub(super) fn policies(stack: &Stack<'_>) -> Result<Vec<Node>, Error> {
    let asked = stack.owner.annotation(NETWORK_POLICIES) == Some("true");
    if !(asked || stack.settings.network_policies) {
        return Ok(Vec::new());
    }
    let secure = if stack.tls { "https" } else { "http" };
    // The exporter has none: it is there to be asked.
    let parts: [(&str, &str, &str, &[&str]); 9] = [
        ("core", "", "harbor", &[secure]),
        ("jobservice", "", "harbor", &[]),
        ("registry", "", "registry", &[]),
        ("registryctl", "", "harbor", &[]),
        ("portal", "portal", "harbor", &["http", "https"]),
        ("chartmuseum", "chartmuseum", "chartmuseum", &[]),
        ("trivy", "trivy", "trivy", &[]),
        ("notaryserver", "notary", "harbor", &["api"]),
        ("notarysigner", "notary", "notarysigner", &[]),
    ];
    let mut nodes = Vec::new();
    for (part, field, label, ports) in parts {
        if !field.is_empty() && !stack.spec(field).is_set() {
            continue;
        }
        let rules: Vec<Value> = ports.iter().map(|port| json!({ "port": port, "protocol": "TCP" })).collect();
        let mut spec = Map::from_iter([("policyTypes".to_owned(), json!(["Ingress"]))]);
        if !rules.is_empty() {
            spec.insert("ingress".to_owned(), json!([{ "ports": rules }]));
        }
        nodes.push(policy(stack, part, "ingress", label, spec)?);
        if part == "portal" {
            let spec = Map::from_iter([("policyTypes".to_owned(), json!(["Egress"]))]);
            nodes.push(policy(stack, part, "egress", label, spec)?);
        }
    }
    Ok(nodes)
}

fn policy(
    stack: &Stack<'_>,
    part: &str,
    way: &str,
    label: &str,
    mut spec: Map<String, Value>,
) -> Result<Node, Error> {
    let labels = json!({ format!("{label}.goharbor.io/name"): stack.part(part)? });
    spec.insert("podSelector".to_owned(), json!({ "matchLabels": labels }));
    let name = stack.part(&format!("{part}-{way}"))?;
    Ok(Node::new(kinds::NETWORK_POLICY, name, json!({ "spec": spec })))
}
