//! The Dapr operator: its kinds, and the rights, flags, ports and names that `vela-dapr` and sidecars expect.

use serde_json::{Value, json};

use super::operator::{CERTIFICATE, LEASE, Operator, READ, READ_MAKE, Registration, Service, Stays, rule};
use crate::error::{Error, Result};

/// How often pods without a sidecar are looked for.
const WATCH_INTERVAL: &str = "2m";
const INJECTOR: &str = "--injector-addr";
const OIDC: &str = "--oidc-addr";

pub(crate) const DAPR: Operator = Operator {
    name: "vela-dapr",
    product: "Dapr",
    flag: "--dapr",
    image_flag: "--dapr-image",
    // Certificates of sidecars name it.
    namespace: "dapr-system",
    lease: "operator.dapr.io",
    kinds,
    rules: &[
        rule("apps", &["deployments", "statefulsets"], READ),
        // Where an API server asks for the right to block the deletion of an owner.
        rule("apps", &["deployments/finalizers", "statefulsets/finalizers"], &["update"]),
        // Where the cluster has Rollouts of Argo.
        rule("argoproj.io", &["rollouts"], READ),
        rule("argoproj.io", &["rollouts/finalizers"], &["update"]),
        rule("", &["services"], READ_MAKE),
        // Sidecars are given them, and the values that they name.
        rule(
            "dapr.io",
            &[
                "components",
                "configurations",
                "httpendpoints",
                "mcpservers",
                "resiliencies",
                "subscriptions",
                "workflowaccesspolicies",
            ],
            READ,
        ),
        rule("", &["secrets"], READ),
        // The sentry and the watchdog.
        rule("authentication.k8s.io", &["tokenreviews"], &["create"]),
        rule("", &["pods"], &["get", "list", "delete"]),
        // The injector registers itself, and API servers are told whose certificate it has.
        rule(
            "admissionregistration.k8s.io",
            &["mutatingwebhookconfigurations"],
            &["get", "list", "create", "patch"],
        ),
        rule("admissionregistration.k8s.io", &["validatingwebhookconfigurations"], &["list"]),
        rule("apiextensions.k8s.io", &["customresourcedefinitions"], &["get", "list", "watch", "patch"]),
        rule("events.k8s.io", &["events"], &["create", "patch"]),
    ],
    home: &[LEASE, CERTIFICATE, rule("", &["configmaps"], &["get", "create", "patch"])],
    made: &[rule(
        "dapr.io",
        &["components", "configurations", "httpendpoints", "resiliencies", "subscriptions"],
        READ_MAKE,
    )],
    args: &[
        "--health-addr=:8080",
        "--metrics-addr=:9090",
        "--grpc-addr=:6500",
        "--webhook-addr=:19443",
        "--sentry-addr=:50001",
    ],
    ports: &[
        ("health", 8080),
        ("metrics", 9090),
        ("api", 6500),
        ("webhooks", 19443),
        ("sentry", 50001),
        ("injector", 4000),
        ("oidc", 9080),
    ],
    services: &[
        // Sidecars of older releases ask at port 80.
        Service { name: "dapr-api", ports: &[443, 80], target: "api", flag: "--grpc-addr" },
        Service { name: "dapr-sentry", ports: &[443], target: "sentry", flag: "--sentry-addr" },
        // Others who verify JWTs of sidecars ask it, by way of the address that --jwt-issuer names.
        Service { name: "dapr-sentry-oidc", ports: &[443], target: "oidc", flag: OIDC },
        Service { name: "dapr-webhook", ports: &[443], target: "webhooks", flag: "--webhook-addr" },
        Service { name: "dapr-sidecar-injector", ports: &[443], target: "injector", flag: INJECTOR },
    ],
    registrations: &[Registration {
        kind: "MutatingWebhookConfiguration",
        name: "dapr-sidecar-injector",
        flag: INJECTOR,
    }],
    mark: "dapr.io/webhooks-by",
    secrets: &["vela-dapr-webhooks"],
    stays: Some(Stays {
        kind: "Secret",
        name: "dapr-trust-bundle",
        reason: "running sidecars trust it, and a later installation goes on with it",
    }),
};

/// The flags by which it adds sidecars of this image to pods, and restarts pods that have none.
pub(crate) fn sidecars(image: &str) -> Vec<String> {
    vec![
        format!("{INJECTOR}=:4000"),
        format!("--sidecar-image={image}"),
        format!("--watch-interval={WATCH_INTERVAL}"),
    ]
}

/// The flags by which it signs JWTs of sidecars under the address of this issuer, and serves what verifies them.
pub(crate) fn tokens(issuer: &str) -> Vec<String> {
    vec!["--jwt-enabled".to_owned(), format!("--jwt-issuer={issuer}"), format!("{OIDC}=:9080")]
}

fn kinds() -> Result<Vec<Value>> {
    let kinds = vela_crds::dapr_crds();
    let kinds = kinds.map_err(|error| Error::internal(format!("a kind of Dapr cannot be made: {error}")))?;
    Ok(kinds.iter().map(|kind| json!(kind)).collect())
}
