//! Route: brings HTTP traffic of a host to a workload.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Condition, Conditioned, TypedReference};

/// Which traffic goes where.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "standard.oam.dev",
    version = "v1alpha1",
    kind = "Route",
    plural = "routes",
    namespaced,
    status = "RouteStatus",
    category = "oam",
    derive = "PartialEq",
    derive = "Default",
    doc = "Brings HTTP traffic of a host to a workload."
)]
#[serde(rename_all = "camelCase")]
pub struct RouteSpec {
    /// The workload the trait belongs to; the controller fills it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload_ref: Option<TypedReference>,
    /// Host name; may be empty.
    pub host: String,
    /// Certificate of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<RouteTls>,
    /// Paths and where they lead.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RouteRule>,
    /// Who serves the traffic: `nginx` (the meaning when absent) or `contour`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
}

/// Certificate of a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RouteTls {
    /// Name of the issuer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer_name: Option<String>,
    /// Kind of the issuer: `Issuer` or `ClusterIssuer`.
    #[serde(rename = "type", default = "issuer")]
    pub issuer_type: String,
}

fn issuer() -> String {
    "Issuer".to_owned()
}

impl Default for RouteTls {
    fn default() -> Self {
        Self { issuer_name: None, issuer_type: issuer() }
    }
}

/// One path and where it leads.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RouteRule {
    /// Name of the rule; part of the name of what is made for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Path of the requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Path that the workload sees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewrite_target: Option<String>,
    /// Headers that are added.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub custom_headers: BTreeMap<String, String>,
    /// Who serves requests when the backend does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_backend: Option<TypedReference>,
    /// Who serves requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<RouteBackend>,
}

/// Who serves requests, and how long they may take.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RouteBackend {
    /// Seconds to wait for an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_timeout: Option<i64>,
    /// Seconds to wait while a request is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_timeout: Option<i64>,
    /// The Service; absent lets the controller find or make it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend_service: Option<BackendService>,
}

/// A Service and its port.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackendService {
    /// Port of the Service.
    pub port: IntOrString,
    /// Name of the Service.
    pub service_name: String,
}

/// Status of a Route.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RouteStatus {
    /// Conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The Ingresses that were made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ingresses: Vec<TypedReference>,
    /// The Service that was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<TypedReference>,
    /// Summary for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

impl Conditioned for RouteStatus {
    fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    fn conditions_mut(&mut self) -> &mut Vec<Condition> {
        &mut self.conditions
    }
}
