//! Counts what was done with Services, pods and certificates, under the names of Dapr's own operator, injector and sentry.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct AppLabel {
    app_id: String,
}

/// What was done with the Services of each application.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServiceMetrics {
    created: Family<AppLabel, Counter>,
    updated: Family<AppLabel, Counter>,
    deleted: Family<AppLabel, Counter>,
}

impl ServiceMetrics {
    /// The encoder appends `_total` to the names.
    pub(crate) fn register(&self, registry: &mut Registry) {
        let families = [("created", &self.created), ("updated", &self.updated), ("deleted", &self.deleted)];
        for (done, family) in families {
            registry.register(
                format!("dapr_operator_service_{done}"),
                format!("Services {done}"),
                family.clone(),
            );
        }
    }

    pub(crate) fn created(&self, app_id: &str) {
        count(&self.created, app_id);
    }

    pub(crate) fn updated(&self, app_id: &str) {
        count(&self.updated, app_id);
    }

    pub(crate) fn deleted(&self, app_id: &str) {
        count(&self.deleted, app_id);
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct FailureLabels {
    app_id: String,
    reason: &'static str,
}

/// What was done with the pods that were reviewed.
#[derive(Clone, Debug, Default)]
pub struct InjectionMetrics {
    requests: Counter,
    succeeded: Family<AppLabel, Counter>,
    failed: Family<FailureLabels, Counter>,
}

impl InjectionMetrics {
    /// The encoder appends `_total` to the names.
    pub(crate) fn register(&self, registry: &mut Registry) {
        let name = |what: &str| format!("dapr_injector_sidecar_injection_{what}");
        registry.register(name("requests"), "Reviews of pods", self.requests.clone());
        registry.register(name("succeeded"), "Pods that got a sidecar", self.succeeded.clone());
        registry.register(name("failed"), "Pods that got no sidecar", self.failed.clone());
    }

    pub(crate) fn requested(&self) {
        self.requests.inc();
    }

    pub(crate) fn succeeded(&self, app_id: &str) {
        count(&self.succeeded, app_id);
    }

    pub(crate) fn failed(&self, app_id: &str) {
        let labels = FailureLabels { app_id: app_id.to_owned(), reason: "pod_patch" };
        self.failed.get_or_create(&labels).inc();
    }
}

fn count(family: &Family<AppLabel, Counter>, app_id: &str) {
    family.get_or_create(&AppLabel { app_id: app_id.to_owned() }).inc();
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RefusalLabels {
    reason: String,
}

/// What was done with requests for certificates.
#[derive(Clone, Debug, Default)]
pub(crate) struct SentryMetrics {
    received: Counter,
    signed: Counter,
    refused: Family<RefusalLabels, Counter>,
    expiry: Gauge,
}

impl SentryMetrics {
    /// The encoder appends `_total` to the names of counters.
    pub(crate) fn register(&self, registry: &mut Registry) {
        let name = |what: &str| format!("dapr_sentry_{what}");
        registry.register(
            name("cert_sign_request_received"),
            "Requests for certificates",
            self.received.clone(),
        );
        registry.register(name("cert_sign_success"), "Certificates issued", self.signed.clone());
        registry.register(
            name("cert_sign_failure"),
            "Requests refused, by their status",
            self.refused.clone(),
        );
        registry.register(
            name("issuercert_expiry_timestamp"),
            "When the issuer expires, in seconds since 1970",
            self.expiry.clone(),
        );
    }

    pub(crate) fn received(&self) {
        self.received.inc();
    }

    pub(crate) fn signed(&self) {
        self.signed.inc();
    }

    pub(crate) fn refused(&self, code: tonic::Code) {
        self.refused.get_or_create(&RefusalLabels { reason: format!("{code:?}") }).inc();
    }

    pub(crate) fn expires(&self, second: i64) {
        self.expiry.set(second);
    }
}
