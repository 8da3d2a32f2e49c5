//! Looks at the webhooks that API servers call: whether they can verify them, and whether there is a Service.

use serde_json::{Value, json};
use vela_crds::labels::{WEBHOOKS, WEBHOOKS_OF_CORE};

use super::findings::Finding;
use super::judged::AGAIN;
use crate::cluster::Cluster;
use crate::error::Result;
use crate::pointer::text;

const ABOUT: &str = "webhooks";
pub(super) const GROUP: &str = "admissionregistration.k8s.io/v1";
const CONTROLLER_ADDS: &str = "the controller adds it when it runs with --use-webhook; look at its log, or run `vela install` without --webhooks";

pub(super) async fn check(cluster: &Cluster) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let mut fine = 0;
    for kind in ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"] {
        for configuration in cluster.list(GROUP, kind, None).await? {
            let labels = configuration.metadata.labels.clone().unwrap_or_default();
            if labels.get(WEBHOOKS).is_none_or(|whose| whose != WEBHOOKS_OF_CORE) {
                continue;
            }
            let object = json!(configuration);
            let title = format!("{kind} {}", text(&object, "/metadata/name"));
            let found = faults(cluster, ABOUT, &title, &object, CONTROLLER_ADDS).await?;
            fine += usize::from(found.is_empty());
            findings.extend(found);
        }
    }
    if findings.is_empty() {
        let message = match fine {
            0 => "none is registered; applications are judged by the controller only".to_owned(),
            fine => format!("{fine} configurations, each with a CA bundle"),
        };
        findings.push(Finding::right(ABOUT, message));
    }
    Ok(findings)
}

/// Why API servers cannot call the webhooks of a configuration. `adds` says who adds a CA bundle.
pub(super) async fn faults(
    cluster: &Cluster,
    about: &'static str,
    title: &str,
    configuration: &Value,
    adds: &str,
) -> Result<Vec<Finding>> {
    let hooks = configuration["webhooks"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut found = Vec::new();
    if hooks.iter().any(|hook| text(hook, "/clientConfig/caBundle").is_empty()) {
        let message = format!("{title} has no CA bundle, so API servers cannot call the controller");
        found.push(Finding::wrong(about, message, adds));
    }
    if let Some(service) = missing_service(cluster, hooks).await? {
        let message = format!("{title} calls the Service {service}, which is not there");
        found.push(Finding::wrong(about, message, AGAIN));
    }
    Ok(found)
}

/// The first Service that the webhooks name and that is not there.
async fn missing_service(cluster: &Cluster, hooks: &[Value]) -> Result<Option<String>> {
    let mut looked_at = Vec::new();
    for hook in hooks {
        let of = |field: &str| text(hook, &format!("/clientConfig/service/{field}")).to_owned();
        let (namespace, name) = (of("namespace"), of("name"));
        let title = format!("{namespace}/{name}");
        if name.is_empty() || looked_at.contains(&title) {
            continue;
        }
        if cluster.get("v1", "Service", Some(&namespace), &name).await?.is_none() {
            return Ok(Some(title));
        }
        looked_at.push(title);
    }
    Ok(None)
}
