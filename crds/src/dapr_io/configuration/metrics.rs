//! Which metrics sidecars count, and in how much detail.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which metrics sidecars count.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metrics {
    /// Whether they count any.
    pub enabled: bool,
    /// Details of HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<MetricHttp>,
    /// Bounds of the buckets of latencies, in milliseconds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency_distribution_buckets: Vec<i64>,
    /// Whether error codes are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record_error_codes: Option<bool>,
    /// Rules that shorten the values of labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<MetricRule>,
}

/// Details of the metrics of HTTP.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetricHttp {
    /// Whether each path has its own series.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub increased_cardinality: Option<bool>,
    /// Paths that have their own series.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path_matching: Vec<String>,
    /// Whether methods are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclude_verbs: Option<bool>,
}

/// How the labels of a metric are shortened.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetricRule {
    /// Name of the metric.
    pub name: String,
    /// Its labels.
    pub labels: Vec<MetricLabel>,
}

/// How the values of a label are shortened.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetricLabel {
    /// Name of the label.
    pub name: String,
    /// New values, and the patterns of what they stand for.
    pub regex: BTreeMap<String, String>,
}
