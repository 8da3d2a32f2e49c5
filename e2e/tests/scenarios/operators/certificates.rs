//! Plays cert-manager: its kinds, and certificates that are ready as soon as a controller asks for them.

use serde_json::{Value, json};
use vela_e2e::Result;
use vela_e2e::objects::{Cluster, text, until};

use crate::CONVERGE_DEADLINE;

pub(super) const CERT_MANAGER: &str = "cert-manager.io/v1";
const GROUP: &str = "cert-manager.io";

fn definition(kind: &str, plural: &str) -> Value {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{GROUP}")},
        "spec": {
            "group": GROUP, "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List")},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": any}}],
        },
    })
}

/// Defines the kinds and waits until they are served.
pub(super) async fn install(cluster: &Cluster) -> Result<()> {
    for (kind, plural) in [("Certificate", "certificates"), ("Issuer", "issuers")] {
        cluster.apply(&definition(kind, plural)).await?;
        until("the kinds of cert-manager are served", CONVERGE_DEADLINE, async || {
            cluster.list(CERT_MANAGER, kind).await.map(drop).map_err(|error| error.to_string())
        })
        .await?;
    }
    Ok(())
}

/// Issues what is asked for in the namespace.
pub(super) async fn issue(cluster: &Cluster) -> Result<()> {
    let ready = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    for certificate in cluster.list(CERT_MANAGER, "Certificate").await? {
        if certificate["status"]["conditions"].is_null() {
            let name = text(&certificate, "/metadata/name");
            cluster.patch_status(CERT_MANAGER, "Certificate", name, &ready).await?;
        }
    }
    Ok(())
}
