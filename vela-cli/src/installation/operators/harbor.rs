//! The Harbor operator: its kinds, and the rights, flags, ports and names that `vela-harbor` expects.

use serde_json::{Value, json};

use super::operator::{CERTIFICATE, LEASE, Operator, READ, READ_MAKE, Registration, Service, rule};
use crate::error::{Error, Result};

const NAMESPACE: &str = "harbor-operator";
const SERVICE: &str = "vela-harbor-webhook";
const WEBHOOKS: &str = "--webhook-addr";
/// Other operators keep data behind these: they go with their owner and not by a request of ours.
const READ_MAKE_KEEP: &[&str] = &["get", "list", "watch", "create", "patch"];

pub(crate) const HARBOR: Operator = Operator {
    name: "vela-harbor",
    product: "Harbor",
    flag: "--harbor",
    image_flag: "--harbor-image",
    namespace: NAMESPACE,
    lease: "vela-harbor",
    kinds,
    rules: &[
        rule(
            "goharbor.io",
            &[
                "chartmuseums",
                "cores",
                "exporters",
                "harbors",
                "jobservices",
                "notaryservers",
                "notarysigners",
                "portals",
                "registries",
                "registrycontrollers",
                "trivies",
            ],
            READ_MAKE,
        ),
        rule("goharbor.io", &["harborclusters", "harborserverconfigurations"], READ),
        // A ConfigMap with settings becomes the one, a namespace that asks for a project gets the other.
        rule("goharbor.io", &["harborconfigurations", "pullsecretbindings"], READ_MAKE),
        rule(
            "goharbor.io",
            &[
                "chartmuseums/status",
                "cores/status",
                "exporters/status",
                "harborclusters/status",
                "harborconfigurations/status",
                "harbors/status",
                "harborserverconfigurations/status",
                "jobservices/status",
                "notaryservers/status",
                "notarysigners/status",
                "portals/status",
                "pullsecretbindings/status",
                "registries/status",
                "trivies/status",
            ],
            &["patch"],
        ),
        // Where an API server asks for the right to block the deletion of an owner.
        rule(
            "goharbor.io",
            &[
                "chartmuseums/finalizers",
                "cores/finalizers",
                "exporters/finalizers",
                "harborclusters/finalizers",
                "harbors/finalizers",
                "jobservices/finalizers",
                "notaryservers/finalizers",
                "notarysigners/finalizers",
                "portals/finalizers",
                "pullsecretbindings/finalizers",
                "registries/finalizers",
                "registrycontrollers/finalizers",
                "trivies/finalizers",
            ],
            &["update"],
        ),
        // A HarborServerConfiguration may be for some of them only; what was made for one is written into its annotations.
        rule("", &["namespaces"], &["get", "list", "watch", "patch"]),
        rule("events.k8s.io", &["events"], &["create", "patch"]),
        rule("", &["services", "configmaps", "secrets"], READ_MAKE),
        // A PullSecretBinding names its Secret there.
        rule("", &["serviceaccounts"], &["get", "list", "watch", "patch"]),
        rule("apps", &["deployments"], READ_MAKE),
        // Of a Redis in the cluster.
        rule("apps", &["statefulsets"], READ),
        // Makes the bucket of a MinIO in the cluster.
        rule("batch", &["jobs"], READ_MAKE),
        rule("networking.k8s.io", &["ingresses", "networkpolicies"], READ_MAKE),
        rule("cert-manager.io", &["certificates", "issuers"], READ_MAKE),
        rule("databases.spotahome.com", &["redisfailovers"], READ_MAKE_KEEP),
        rule("acid.zalan.do", &["postgresqls"], READ_MAKE_KEEP),
        rule("minio.min.io", &["tenants"], READ_MAKE_KEEP),
        // Kinds of others may come later; the conversion of its own is registered at them.
        rule("apiextensions.k8s.io", &["customresourcedefinitions"], &["get", "list", "watch", "patch"]),
        rule(
            "admissionregistration.k8s.io",
            &["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
            &["get", "list", "create", "patch"],
        ),
    ],
    home: &[LEASE, CERTIFICATE],
    made: &[rule("goharbor.io", &["harbors", "harborclusters"], READ_MAKE)],
    args: &[
        "--health-addr=[::]:8080",
        "--metrics-addr=[::]:9090",
        "--webhook-addr=[::]:9443",
        "--namespace=harbor-operator",
        "--leader-election-namespace=harbor-operator",
    ],
    ports: &[("health", 8080), ("metrics", 9090), ("webhooks", 9443)],
    services: &[Service { name: SERVICE, ports: &[443], target: "webhooks", flag: WEBHOOKS }],
    registrations: &[
        Registration { kind: "ValidatingWebhookConfiguration", name: SERVICE, flag: WEBHOOKS },
        Registration { kind: "MutatingWebhookConfiguration", name: SERVICE, flag: WEBHOOKS },
    ],
    mark: "goharbor.io/webhooks-by",
    secrets: &["vela-harbor-webhooks"],
    stays: None,
};

fn kinds() -> Result<Vec<Value>> {
    let kinds = vela_crds::harbor_crds();
    let kinds =
        kinds.map_err(|error| Error::internal(format!("a kind of Harbor cannot be made: {error}")))?;
    Ok(kinds.iter().map(|kind| json!(kind)).collect())
}
