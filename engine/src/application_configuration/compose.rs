//! Rendered Application → the ApplicationConfiguration and Components that carry it, as objects.

use serde_json::{Map, Value as Json, json};
use vela_crds::{annotations, labels};

use super::{API_VERSION, KIND, text};
use crate::render::{Rendered, RenderedObject, Role, State};

/// Annotation kubectl keeps its own copy in: it belongs to the object it was written on only.
const KUBECTL_LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The objects to store.
#[derive(Debug, Clone, PartialEq)]
pub struct Composed {
    /// The ApplicationConfiguration.
    pub configuration: Json,
    /// One Component per component, in the order written.
    pub components: Vec<Json>,
    /// Components that are not ready to be stored yet, with what they wait for.
    pub pending: Vec<(String, Vec<String>)>,
}

/// Makes the objects. They are owned by the Application where it has a uid.
pub fn compose(rendered: &Rendered) -> Composed {
    let app = rendered.app_file();
    let metadata = |name: &str| {
        let mut metadata =
            json!({"name": name, "namespace": app.namespace(), "labels": {labels::APP_NAME: app.name()}});
        if let Some(owner) = owner_reference(app.document().value()) {
            metadata["ownerReferences"] = json!([owner]);
        }
        metadata
    };
    let mut configured = Vec::new();
    let mut components = Vec::new();
    let mut pending = Vec::new();
    for rendered in rendered.components() {
        let component = &app.components()[rendered.index];
        let objects = match &rendered.state {
            State::Ready(objects) => objects,
            State::Pending(missing) => {
                pending.push((component.name.clone(), missing.clone()));
                continue;
            }
        };
        let mut traits = Vec::new();
        for object in objects {
            match object.role {
                Role::Workload => components.push(json!({
                    "apiVersion": API_VERSION,
                    "kind": "Component",
                    "metadata": metadata(&component.name),
                    "spec": {"workload": stored(object)},
                })),
                Role::Auxiliary { .. } | Role::Trait { .. } => traits.push(json!({"trait": stored(object)})),
            }
        }
        let mut entry = json!({"componentName": component.name, "traits": traits});
        if !component.scopes.is_empty() {
            let scopes = component.scopes.iter().map(|(kind, name)| {
                json!({"scopeRef": {"apiVersion": API_VERSION, "kind": scope_kind(kind), "name": name}})
            });
            entry["scopes"] = Json::Array(scopes.collect());
        }
        configured.push(entry);
    }
    let mut own = metadata(app.name());
    let source = app.document().value().get("metadata");
    let copy = |field: &str| {
        source.and_then(|m| m.get(field)).and_then(Json::as_object).cloned().unwrap_or_default()
    };
    let mut all_labels = Map::from_iter([(labels::APP_NAME.to_owned(), json!(app.name()))]);
    all_labels.extend(copy("labels"));
    own["labels"] = Json::Object(all_labels);
    let mut all_annotations = copy("annotations");
    all_annotations.remove(KUBECTL_LAST_APPLIED);
    all_annotations.remove(annotations::LAST_APPLIED_CONFIGURATION);
    if !all_annotations.is_empty() {
        own["annotations"] = Json::Object(all_annotations);
    }
    let configuration =
        json!({"apiVersion": API_VERSION, "kind": KIND, "metadata": own, "spec": {"components": configured}});
    Composed { configuration, components, pending }
}

/// The object without the labels that say which application it belongs to: the configuration gives
/// them again, and with them every revision of the application would cut a revision of the component.
fn stored(object: &RenderedObject) -> Json {
    let mut stored = object.object.clone();
    if let Some(all) = stored.pointer_mut("/metadata/labels").and_then(Json::as_object_mut) {
        for label in [
            labels::APP_NAME,
            labels::APP_NAMESPACE,
            labels::APP_COMPONENT,
            labels::APP_REVISION,
            labels::RESOURCE_TYPE,
        ] {
            all.remove(label);
        }
    }
    stored
}

/// A scope is named by its definition (`healthscopes.core.oam.dev`) in an Application.
fn scope_kind(definition: &str) -> String {
    match definition.split('.').next() {
        Some("healthscopes" | "healthscope") => "HealthScope".to_owned(),
        _ => definition.to_owned(),
    }
}

/// Controller reference to an object, where the object has a uid.
pub fn owner_reference(owner: &Json) -> Option<Json> {
    let uid = text(owner, &["metadata", "uid"]);
    (!uid.is_empty()).then(|| {
        json!({
            "apiVersion": text(owner, &["apiVersion"]),
            "kind": text(owner, &["kind"]),
            "name": text(owner, &["metadata", "name"]),
            "uid": uid,
            "controller": true,
            "blockOwnerDeletion": true,
        })
    })
}
