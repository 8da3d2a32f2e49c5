//! An Application's references → a snapshot of the cluster; reads, never writes.

use std::sync::Arc;

use kube::api::{Api, ApiResource, DynamicObject};
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt};
use vela_crds::finalizers::SYSTEM_NAMESPACE;
use vela_engine::definition::DefinitionKind;
use vela_engine::parse::References;
use vela_engine::{ClusterVersion, Definition, Snapshot};

use crate::kinds::with_kinds;

/// Why the cluster could not be read.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The API server refused or could not be reached.
    #[error("reading {what}: {source}")]
    Api {
        /// What was read.
        what: String,
        /// Why it failed.
        source: kube::Error,
    },
    /// A definition of the cluster is broken.
    #[error("{kind} {name}: {message}")]
    Definition {
        /// Kind of definition.
        kind: &'static str,
        /// Its name.
        name: String,
        /// What is wrong with it.
        message: String,
    },
}

/// Reads what an Application in a namespace needs: the system namespace's definitions first, the
/// namespace's own over them.
pub async fn snapshot(
    client: &Client,
    namespace: &str,
    references: &References,
) -> Result<Snapshot, FetchError> {
    let version = client
        .apiserver_version()
        .await
        .map_err(|source| FetchError::Api { what: "the server's version".to_owned(), source })?;
    let version = serde_json::to_value(version).unwrap_or_default();
    let mut snapshot = Snapshot::new(ClusterVersion::from_version(&version));
    for (kind, name) in &references.definitions {
        for place in [SYSTEM_NAMESPACE, namespace] {
            let Some(object) = definition(client, place, *kind, name).await? else { continue };
            let object = serde_json::to_value(object).unwrap_or_default();
            let definition =
                Definition::from_object(object).map_err(|diagnostic| FetchError::Definition {
                    kind: kind.kind(),
                    name: format!("{place}/{name}"),
                    message: diagnostic.message,
                })?;
            let definition = with_kinds(client, definition).await.map_err(|source| FetchError::Api {
                what: format!("the schemas that {} {place}/{name} imports", kind.kind()),
                source,
            })?;
            snapshot.insert_definition(Arc::new(definition));
        }
    }
    Ok(snapshot)
}

async fn definition(
    client: &Client,
    namespace: &str,
    kind: DefinitionKind,
    name: &str,
) -> Result<Option<DynamicObject>, FetchError> {
    let gvk = GroupVersionKind::gvk(vela_crds::GROUP, "v1beta1", kind.kind());
    let resource = ApiResource::from_gvk(&gvk);
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource);
    let found = api
        .get_opt(name)
        .await
        .map_err(|source| FetchError::Api { what: format!("{} {namespace}/{name}", kind.kind()), source })?;
    Ok(found.map(|mut object| {
        // The engine reads kind and version from the object itself.
        object.types.get_or_insert_with(|| kube::api::TypeMeta {
            api_version: resource.api_version.clone(),
            kind: resource.kind.clone(),
        });
        object.managed_fields_mut().clear();
        object
    }))
}
