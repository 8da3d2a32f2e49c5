//! The `context` of a template that changes applications.

use serde_json::{Map, Value as Json, json};
use vela_crds::annotations;

use crate::definition::{Definition, version};
use crate::manifest::Document;
use crate::parse::DEFAULT_NAMESPACE;
use crate::snapshot::Snapshot;

/// Domains whose labels and annotations steer platforms: a policy that goes by them would go by what others write there.
const PLATFORM: [&str; 4] = ["oam.dev", "kubectl.kubernetes.io", "kubernetes.io", "k8s.io"];

/// The application as the former policies left it, and which policy this is.
pub(super) fn of(
    application: &Document,
    (name, type_, definition): (&str, &str, &Definition),
    custom: &Map<String, Json>,
    snapshot: &Snapshot,
) -> Json {
    let value = application.value();
    let spec = |field: &str| value.get("spec").and_then(|spec| spec.get(field)).cloned();
    let list = |field: &str| spec(field).filter(Json::is_array).unwrap_or_else(|| json!([]));
    let annotation = |key: &str| {
        let all = value.pointer("/metadata/annotations");
        all.and_then(|all| all.get(key)?.as_str()).unwrap_or_default().to_owned()
    };
    let namespace = match application.namespace() {
        "" => DEFAULT_NAMESPACE,
        namespace => namespace,
    };
    let (revision, revision_name) = match version::parse_reference(type_) {
        Some(asked) => {
            (asked.version.parse::<u64>().unwrap_or(0), format!("{}-v{}", asked.name, asked.version))
        }
        None => (0, String::new()),
    };
    json!({
        "name": name,
        "namespace": namespace,
        "appName": application.name(),
        "appLabels": own(value.pointer("/metadata/labels")),
        "appAnnotations": own(value.pointer("/metadata/annotations")),
        "appComponents": list("components"),
        "appWorkflow": spec("workflow").filter(Json::is_object).unwrap_or_else(|| json!({})),
        "appPolicies": list("policies"),
        "policyName": name,
        "policyType": type_,
        "policyRevision": revision,
        "policyRevisionName": revision_name,
        "policyRevisionHash": definition.hash()[..16],
        "publishVersion": annotation(annotations::PUBLISH_VERSION),
        "workflowName": annotation("app.oam.dev/workflowName"),
        "clusterVersion": snapshot.cluster_version().to_json(),
        "custom": custom,
    })
}

/// Labels or annotations that people write.
fn own(written: Option<&Json>) -> Json {
    let is_own = |key: &str| {
        let domain = key.split_once('/').map_or("", |(domain, _)| domain);
        let is_of = |platform: &str| match platform {
            // `app.oam.dev`, `policy.oam.dev` and their like; of Kubernetes only these very domains.
            "oam.dev" => domain == "oam.dev" || domain.ends_with(".oam.dev"),
            platform => domain == platform,
        };
        !PLATFORM.into_iter().any(is_of)
    };
    let all = written.and_then(Json::as_object).into_iter().flatten();
    Json::Object(
        all.filter(|(key, _)| is_own(key)).map(|(key, value)| (key.clone(), value.clone())).collect(),
    )
}
