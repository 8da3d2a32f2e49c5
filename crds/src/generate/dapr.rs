//! The CRDs of dapr.io: fields beside the spec, two versions of Subscription, and what types cannot say of a schema.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use schemars::JsonSchema;
use serde_json::{Value, json};

use super::change::place;
use super::error::GenerateError;
use super::tidy;
use super::without_spec::schema;
use crate::dapr_io::{
    Component, Configuration, GROUP, HttpEndpoint, McpServer, Resiliency, SubscriptionV1alpha1,
    SubscriptionV2alpha1, WorkflowAccessPolicy,
};

/// The Service that converts Subscriptions; its namespace is that of the operator, which says so when it starts.
const CONVERSION_SERVICE: (&str, &str) = ("dapr-system", "dapr-webhook");

/// A version of a kind: its name, whether objects are stored in it, and its schema.
type Version = (&'static str, bool, Value);

/// Every CRD of dapr.io.
pub(super) fn crds() -> Result<Vec<CustomResourceDefinition>, GenerateError> {
    let one = |kind, plural, schema| crd(kind, plural, vec![("v1alpha1", true, schema)]);
    Ok(vec![
        one("Component", "components", derived::<Component>())?,
        one("Configuration", "configurations", configuration()?)?,
        one("HTTPEndpoint", "httpendpoints", http_endpoint()?)?,
        one("MCPServer", "mcpservers", mcp_server()?)?,
        one("Resiliency", "resiliencies", derived::<Resiliency>())?,
        subscription()?,
        one("WorkflowAccessPolicy", "workflowaccesspolicies", workflow_access_policy()?)?,
    ])
}

/// Configuration: metrics are counted unless it says otherwise.
fn configuration() -> Result<Value, GenerateError> {
    let mut schema = derived::<Configuration>();
    for path in ["/properties/spec/properties/metric", "/properties/spec/properties/metrics"] {
        place("configurations.dapr.io", &mut schema, path)?["default"] = json!({ "enabled": true });
    }
    Ok(schema)
}

/// HTTPEndpoint: nothing is negotiated anew unless it says otherwise.
fn http_endpoint() -> Result<Value, GenerateError> {
    const RENEGOTIATION: &str = "/properties/spec/properties/clientTLS/properties/renegotiation";
    let mut schema = derived::<HttpEndpoint>();
    place("httpendpoints.dapr.io", &mut schema, RENEGOTIATION)?["default"] = json!("Never");
    Ok(schema)
}

/// MCPServer: it is reached in one way.
fn mcp_server() -> Result<Value, GenerateError> {
    let mut schema = derived::<McpServer>();
    let endpoint = place("mcpservers.dapr.io", &mut schema, "/properties/spec/properties/endpoint")?;
    let ways = ["streamableHTTP", "sse", "stdio"].map(|way| format!("(has(self.{way}) ? 1 : 0)"));
    endpoint["x-kubernetes-validations"] = json!([{
        "rule": format!("{} == 1", ways.join(" + ")),
        "message": "exactly one of streamableHTTP, sse, or stdio must be set",
    }]);
    Ok(schema)
}

/// WorkflowAccessPolicy: a rule is about something, and names no operation twice.
fn workflow_access_policy() -> Result<Value, GenerateError> {
    const RULE: &str = "/properties/spec/properties/rules/items";
    const OPERATIONS: &str =
        "/properties/spec/properties/rules/items/properties/workflows/items/properties/operations";
    let mut schema = derived::<WorkflowAccessPolicy>();
    let lists =
        ["workflows", "activities"].map(|list| format!("(has(self.{list}) && size(self.{list}) > 0)"));
    place("workflowaccesspolicies.dapr.io", &mut schema, RULE)?["x-kubernetes-validations"] = json!([{
        "rule": lists.join(" || "),
        "message": "at least one of workflows or activities must contain a rule",
    }]);
    place("workflowaccesspolicies.dapr.io", &mut schema, OPERATIONS)?["x-kubernetes-list-type"] =
        json!("set");
    Ok(schema)
}

/// Subscription: stored in its newer version, converted by a webhook.
fn subscription() -> Result<CustomResourceDefinition, GenerateError> {
    let versions = vec![
        ("v1alpha1", false, derived::<SubscriptionV1alpha1>()),
        ("v2alpha1", true, derived::<SubscriptionV2alpha1>()),
    ];
    let mut crd = crd("Subscription", "subscriptions", versions)?;
    let (namespace, name) = CONVERSION_SERVICE;
    let conversion = json!({
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": { "service": { "namespace": namespace, "name": name, "path": "/convert" } },
            "conversionReviewVersions": ["v1"],
        },
    });
    let conversion = serde_json::from_value(conversion)
        .map_err(|source| GenerateError::Schema { crd: "subscriptions.dapr.io".to_owned(), source })?;
    crd.spec.conversion = Some(conversion);
    Ok(crd)
}

/// The schema of a type, as an API server is to have it.
fn derived<Fields: JsonSchema>() -> Value {
    let mut schema = schema::<Fields>();
    schema.remove("title");
    let mut schema = schema.to_value();
    tidy::tidy(&mut schema);
    any_size(&mut schema);
    schema
}

/// Dapr bounds a whole number only where its format is `int32`.
fn any_size(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    if map.get("format").is_some_and(|format| format == "int64") {
        map.remove("format");
    }
    for part in ["items", "additionalProperties"] {
        if let Some(inner) = map.get_mut(part) {
            any_size(inner);
        }
    }
    let properties = map.get_mut("properties").and_then(Value::as_object_mut);
    properties.into_iter().flatten().for_each(|(_, inner)| any_size(inner));
}

fn crd(kind: &str, plural: &str, versions: Vec<Version>) -> Result<CustomResourceDefinition, GenerateError> {
    let name = format!("{plural}.{GROUP}");
    let versions: Vec<Value> = versions
        .into_iter()
        .map(|(name, storage, schema)| {
            json!({
                "name": name,
                "served": true,
                "storage": storage,
                "schema": { "openAPIV3Schema": schema },
            })
        })
        .collect();
    let crd = json!({
        "metadata": { "name": name },
        "spec": {
            "group": GROUP,
            "names": {
                "kind": kind,
                "listKind": format!("{kind}List"),
                "plural": plural,
                "singular": kind.to_lowercase(),
            },
            "scope": "Namespaced",
            "versions": versions,
        },
    });
    serde_json::from_value(crd).map_err(|source| GenerateError::Schema { crd: name, source })
}
