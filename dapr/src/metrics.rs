//! Counts what was done with Services and with pods, under the names of Dapr's own operator and injector.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
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
