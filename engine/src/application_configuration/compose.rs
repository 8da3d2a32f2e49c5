//! Composes the ApplicationConfiguration and the Components that carry a rendered Application.

use serde_json::{Map, Value as Json, json};
use vela_crds::{annotations, labels};

use super::{API_VERSION, KIND, text};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::parse::{AppFile, Component, resource_of};
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
///
/// # Errors
/// Scopes whose kind is not known.
pub fn compose(rendered: &Rendered) -> Result<Composed, Diagnostics> {
    let app = rendered.app_file();
    let mut found = Diagnostics::new();
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
                Role::Auxiliary { .. } | Role::Trait { .. } | Role::Policy { .. } => {
                    traits.push(json!({"trait": stored(object)}))
                }
            }
        }
        let mut entry = json!({"componentName": component.name, "traits": traits});
        let scopes = scope_references(app, component, &mut found);
        if !scopes.is_empty() {
            entry["scopes"] = Json::Array(scopes);
        }
        configured.push(entry);
    }
    let own = own_metadata(app, metadata(&configuration_name(rendered)));
    let configuration =
        json!({"apiVersion": API_VERSION, "kind": KIND, "metadata": own, "spec": {"components": configured}});
    found.or(Composed { configuration, components, pending }).map(|(composed, _)| composed)
}

/// The name of the configuration: the application's, or its revision's where a rollout goes from one to the next.
pub fn configuration_name(rendered: &Rendered) -> String {
    match rendered.app_file().rolls_out() {
        true => rendered.identity().name().to_owned(),
        false => rendered.app_file().name().to_owned(),
    }
}

impl Composed {
    /// Pins a component to a revision, as a configuration that belongs to one revision of the application must be.
    pub fn pin(&mut self, component: &str, revision: &str) {
        let entries = self.configuration.pointer_mut("/spec/components").and_then(Json::as_array_mut);
        for entry in entries.into_iter().flatten() {
            if text(entry, &["componentName"]) == component
                && let Some(fields) = entry.as_object_mut()
            {
                fields.remove("componentName");
                fields.insert("revisionName".to_owned(), json!(revision));
            }
        }
    }
}

/// The application's labels and annotations, with what says whose configuration it is.
fn own_metadata(app: &AppFile, mut own: Json) -> Json {
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
    all_annotations.retain(|key, _| !annotations::STAMPS.contains(&key.as_str()));
    all_annotations.remove(annotations::APP_GENERATION);
    if app.rolls_out() {
        all_annotations.insert(annotations::ROLLOUT_TEMPLATE.to_owned(), json!("true"));
    } else if let Some(generation) = source.and_then(|m| m.get("generation")).and_then(Json::as_i64) {
        // A reader of the configuration can tell whether it carries the latest wish.
        all_annotations.insert(annotations::APP_GENERATION.to_owned(), json!(generation.to_string()));
    }
    if !all_annotations.is_empty() {
        own["annotations"] = Json::Object(all_annotations);
    }
    own
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

/// The references to the scopes of a component; each whose kind the cluster did not tell is a finding.
fn scope_references(app: &AppFile, component: &Component, found: &mut Diagnostics) -> Vec<Json> {
    let mut references = Vec::with_capacity(component.scopes.len());
    for scope in &component.scopes {
        if let Some((api_version, kind)) = &scope.kind {
            references
                .push(json!({"scopeRef": {"apiVersion": api_version, "kind": kind, "name": scope.name}}));
            continue;
        }
        let message = format!(
            "scope definition {:?} is for {:?}, which the cluster does not know: install it first",
            scope.definition.name(),
            resource_of(&scope.definition).0
        );
        found.push(Diagnostic::error(Code::UnknownReference, message).at(app.document(), &scope.path));
    }
    references
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
