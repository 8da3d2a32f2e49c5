//! A trait's `workloadRef` in; the live workload, its definition and its children out.

use std::sync::Arc;

use kube::api::DynamicObject;
use serde_json::Value;
use vela_crds::TypedReference;
use vela_engine::standard::definition::{self, Definition};
use vela_runtime::Key;
use vela_runtime::dynamic_watch::{Error, TrackedReads};

use super::error::ReconcileError;
use super::reconciler_base::{ReconcilerBase, json_of};
use crate::context::Context;

/// API version and kinds of the definitions a workload may have, best first.
const DEFINITIONS: [(&str, &str); 2] =
    [("core.oam.dev/v1beta1", "WorkloadDefinition"), ("core.oam.dev/v1beta1", "ComponentDefinition")];
/// Children of one workload looked at; a workload with more is not what a trait is made for.
const CHILDREN_AT_MOST: usize = 500;

/// A live workload and what it is made of.
#[derive(Debug)]
pub(crate) struct Workload {
    /// The workload.
    pub(crate) object: Value,
    /// Its definition; nothing where it has none.
    pub(crate) definition: Option<Definition>,
    /// The live objects it owns, of the kinds its definition names, in their order.
    pub(crate) children: Vec<Value>,
}

/// The workload a trait names, which lives in the namespace of the trait; a change of it wakes the trait.
pub(crate) async fn locate(
    base: &ReconcilerBase,
    look: &TrackedReads,
    namespace: &str,
    reference: Option<&TypedReference>,
    reason: &'static str,
) -> Result<Workload, ReconcileError> {
    let Some(reference) =
        reference.filter(|r| ![&r.api_version, &r.kind, &r.name].into_iter().any(String::is_empty))
    else {
        let message = "spec.workloadRef needs apiVersion, kind and name; an ApplicationConfiguration fills it in where \
                       the trait's definition has workloadRefPath: spec.workloadRef";
        return Err(ReconcileError::wrong(reason, message));
    };
    let TypedReference { api_version, kind, name, uid: _ } = reference;
    base.may_read(reference, namespace).await.map_err(|refused| ReconcileError::retry(reason, refused))?;
    let found = look.get(api_version, kind, &Key::new(namespace, name.clone())).await;
    let object = found.map_err(|error| ReconcileError::look(reason, &error))?;
    let missing = || ReconcileError::wrong(reason, format!("{kind} {namespace}/{name} does not exist"));
    let object = object.ok_or_else(missing)?;
    let failed = |error: Error| ReconcileError::look("failed to fetch workload child resources", &error);
    let definition = definition_of(&base.context, look, &object, api_version, kind).await.map_err(failed)?;
    let children = match &definition {
        Some(definition) => children_of(look, definition, &object).await.map_err(failed)?,
        None => Vec::new(),
    };
    let children = children.iter().map(|child| json_of(child)).collect();
    Ok(Workload { object: json_of(&object), definition, children })
}

async fn definition_of(
    context: &Context,
    look: &TrackedReads,
    workload: &DynamicObject,
    api_version: &str,
    kind: &str,
) -> Result<Option<Definition>, Error> {
    let resource = context.discovery.resolve(api_version, kind).await?.resource;
    let namespace = workload.metadata.namespace.clone().unwrap_or_default();
    let system = context.options.system_namespace.clone();
    for name in definition::names(&json_of(workload), &resource.plural, &resource.group) {
        for (version, kind) in DEFINITIONS {
            for namespace in [&namespace, &system] {
                let found = look.known(version, kind, &Key::new(namespace.clone(), name.clone())).await;
                match found {
                    Ok(Some(found)) => return Ok(Some(Definition::read(&json_of(&found)))),
                    // A cluster with the kinds of one generation only.
                    Ok(None) | Err(Error::Missing { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }
    Ok(None)
}

/// The objects of the definition's child kinds that the workload owns; a kind the cluster does not know has none.
async fn children_of(
    look: &TrackedReads,
    definition: &Definition,
    workload: &DynamicObject,
) -> Result<Vec<Arc<DynamicObject>>, Error> {
    let namespace = workload.metadata.namespace.clone().unwrap_or_default();
    let uid = workload.metadata.uid.clone().unwrap_or_default();
    let mut children = Vec::new();
    for kind in &definition.children {
        let found = match look.owned_by(&kind.api_version, &kind.kind, &namespace, &uid).await {
            Ok(found) => found,
            Err(Error::Missing { .. }) => continue,
            Err(error) => return Err(error),
        };
        let selected = |object: &Arc<DynamicObject>| {
            let labels = object.metadata.labels.clone().unwrap_or_default();
            object.metadata.deletion_timestamp.is_none()
                && kind.selector.iter().all(|(key, value)| labels.get(key) == Some(value))
        };
        children.extend(found.into_iter().filter(selected));
        children.truncate(CHILDREN_AT_MOST);
    }
    Ok(children)
}
