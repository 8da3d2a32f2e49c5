//! The `context` value of templates.

use serde_json::{Map, Value as Json, json};

use crate::definition::{Definition, Language};
use crate::nearest;
use crate::parse::{AppFile, Component};
use crate::placement::Placement;
use crate::revision::Identity;

/// The context of a component's templates, without `output` and `outputs`.
pub(super) fn of(
    app: &AppFile,
    component: &Component,
    placement: &Placement,
    identity: &Identity,
    unnamed_revision: bool,
) -> Json {
    let document = app.document().value();
    let metadata = |key: &str| {
        document.get("metadata").and_then(|metadata| metadata.get(key)).filter(|v| v.is_object()).cloned()
    };
    let annotations = metadata("annotations").unwrap_or_else(|| Json::Object(Map::new()));
    let annotation = |key: &str| annotations.get(key).and_then(Json::as_str).unwrap_or("").to_owned();
    let (revision, number) = match unnamed_revision {
        true => ("", 0),
        false => (identity.name(), identity.number()),
    };
    let namespace = match placement.namespace.as_str() {
        "" => app.namespace(),
        placed => placed,
    };
    let mut context = json!({
        "name": component.name,
        "namespace": namespace,
        "appName": app.name(),
        "appRevision": revision,
        "appRevisionNum": number,
        "appLabels": metadata("labels").unwrap_or_else(|| Json::Object(Map::new())),
        "publishVersion": annotation("app.oam.dev/publishVersion"),
        "workflowName": annotation("app.oam.dev/workflowName"),
        "replicaKey": placement.replica,
        "revision": "",
        "cluster": placement.cluster,
        "clusterVersion": app.cluster_version().to_json(),
        "appAnnotations": annotations,
    });
    if let Some(transformed) = app.transformed().filter(|transformed| !transformed.custom().is_empty()) {
        context["custom"] = Json::Object(transformed.custom().clone());
    }
    if let Some(config) = &component.config {
        context["config"] = config.clone();
    }
    // All components of a large application, once for each of them, would cost the square of their number.
    let definitions =
        std::iter::once(&component.definition).chain(component.traits.iter().map(|t| &t.definition));
    if definitions.into_iter().any(|definition| may_ask(definition, "components")) {
        context["components"] = app
            .document()
            .value()
            .get("spec")
            .and_then(|spec| spec.get("components"))
            .cloned()
            .unwrap_or(Json::Null);
    }
    context
}

/// The fields that templates may read of their context, the workload and its names in revisions included.
pub(super) const NAMES: [&str; 21] = [
    "name",
    "namespace",
    "appName",
    "appRevision",
    "appRevisionNum",
    "appLabels",
    "appAnnotations",
    "publishVersion",
    "workflowName",
    "replicaKey",
    "revision",
    "cluster",
    "clusterVersion",
    "components",
    "componentType",
    "config",
    "custom",
    "output",
    "outputs",
    "parameter",
    "status",
];

/// What the templates of policies may read beside these, where they change applications.
const OF_POLICIES: [&str; 8] = [
    "appComponents",
    "appPolicies",
    "appWorkflow",
    "policyName",
    "policyRevision",
    "policyRevisionHash",
    "policyRevisionName",
    "policyType",
];

/// All fields of the context, of whatever template.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter().chain(OF_POLICIES)
}

/// Advice where the evaluator misses a field that is nearly one of the context.
pub(super) fn meant(message: &str) -> Option<String> {
    let (_, name) = message.rsplit_once("undefined field: ")?;
    nearest::did_you_mean(name.trim(), names())
}

/// Does the template hold the word at all? If not, it cannot ask for it.
fn may_ask(definition: &Definition, word: &str) -> bool {
    match definition.language() {
        Language::Cue(text) | Language::Handlebars(text) => text.contains(word),
        Language::Kube { .. }
        | Language::Helm { .. }
        | Language::Terraform(_)
        | Language::Other(_)
        | Language::None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::NAMES;
    use crate::definition::TAKEN;

    #[test]
    fn no_secret_takes_the_place_of_what_the_context_says() {
        assert!(NAMES.iter().all(|name| TAKEN.contains(name)));
    }
}
