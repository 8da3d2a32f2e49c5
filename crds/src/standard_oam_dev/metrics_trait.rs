//! MetricsTrait: has the metrics of a workload scraped.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Condition, Conditioned, TypedReference};

/// Which metrics of which workload are scraped.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "standard.oam.dev",
    version = "v1alpha1",
    kind = "MetricsTrait",
    plural = "metricstraits",
    namespaced,
    status = "MetricsTraitStatus",
    category = "oam",
    derive = "PartialEq",
    derive = "Default",
    doc = "Has the metrics of a workload scraped."
)]
#[serde(rename_all = "camelCase")]
pub struct MetricsTraitSpec {
    /// Where the metrics are.
    pub scrape_service: ScrapeService,
    /// The workload the trait belongs to; the controller fills it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload_ref: Option<TypedReference>,
}

/// Where metrics are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScrapeService {
    /// Format of the metrics; `prometheus` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// Port of the pods; 0 or absent lets the controller find it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<IntOrString>,
    /// Labels of the pods; absent lets the controller find them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub selector: BTreeMap<String, String>,
    /// HTTP path; `/metrics` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// `http` (the meaning when absent) or `https`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<String>,
    /// Whether to scrape at all; absent means yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// Status of a MetricsTrait.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetricsTraitStatus {
    /// Conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The ServiceMonitor that was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_monitor_name: Option<String>,
    /// The port that is scraped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<IntOrString>,
    /// The labels of the pods that are scraped.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub selector_labels: BTreeMap<String, String>,
}

impl Conditioned for MetricsTraitStatus {
    fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    fn conditions_mut(&mut self) -> &mut Vec<Condition> {
        &mut self.conditions
    }
}
