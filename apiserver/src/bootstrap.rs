//! The work of a new server before its first request: stored definitions are served, and the objects that every cluster
//! has are made where they are missing.

use serde_json::{Value, json};

use crate::admission::FIRST_CLUSTER_IP;
use crate::catalog::DEFINITIONS;
use crate::crd;
use crate::object;
use crate::state::State;
use crate::store::{self, Change, Key, Precondition};
use crate::verbs;

/// Namespaces that every cluster has.
const NAMESPACES: &[&str] = &["default", "kube-node-lease", "kube-public", "kube-system"];

/// Why the server could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The store could not be read or written.
    #[error("store: {0}")]
    Store(#[from] store::Error),
    /// A CustomResourceDefinition in the store can no longer be read.
    #[error("stored CustomResourceDefinition {0:?} is not usable")]
    Definition(String),
    /// A deletion that was under way when the last process ended could not be finished.
    #[error("an unfinished deletion: {0}")]
    Deletion(String),
}

/// Serves what the stored definitions say.
pub(crate) fn load_definitions(state: &State) -> Result<(), BuildError> {
    for stored in state.store.list(DEFINITIONS, None).0 {
        if crd::is_established(&stored) {
            let definition = crd::Definition::read(&stored)
                .map_err(|_| BuildError::Definition(object::name(&stored).to_owned()))?;
            state.registry.put(definition);
        }
    }
    Ok(())
}

/// Finishes the deletions that the last process was in the middle of.
pub(crate) fn resume_deletions(state: &State) -> Result<(), BuildError> {
    verbs::resume_deletions(&state.context()).map_err(|error| BuildError::Deletion(error.message))
}

/// Makes the namespaces, service accounts and the service of the API that every cluster has.
pub(crate) fn create_first_objects(state: &State) -> Result<(), BuildError> {
    for name in NAMESPACES {
        create_if_absent(
            state,
            "namespaces",
            "",
            json!({
                "apiVersion": "v1", "kind": "Namespace",
                "metadata": { "name": name, "labels": { "kubernetes.io/metadata.name": name } },
                "spec": { "finalizers": ["kubernetes"] },
                "status": { "phase": "Active" },
            }),
        )?;
        create_if_absent(
            state,
            "serviceaccounts",
            name,
            json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "default", "namespace": name } }),
        )?;
    }
    create_if_absent(
        state,
        "services",
        "default",
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": { "name": "kubernetes", "namespace": "default",
                          "labels": { "component": "apiserver", "provider": "kubernetes" } },
            "spec": { "type": "ClusterIP", "clusterIP": FIRST_CLUSTER_IP,
                      "clusterIPs": [FIRST_CLUSTER_IP], "ipFamilies": ["IPv4"],
                      "ipFamilyPolicy": "SingleStack", "internalTrafficPolicy": "Cluster", "sessionAffinity": "None",
                      "ports": [{ "name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443 }] },
            "status": { "loadBalancer": {} },
        }),
    )
}

fn create_if_absent(
    state: &State,
    resource: &str,
    namespace: &str,
    mut new: Value,
) -> Result<(), BuildError> {
    let key = Key {
        resource: resource.into(),
        namespace: namespace.to_owned(),
        name: object::name(&new).to_owned(),
    };
    if state.store.get(&key).is_some() {
        return Ok(());
    }
    object::set_meta(&mut new, "uid", state.ids.next().to_string());
    object::set_meta(&mut new, "creationTimestamp", state.clock.text());
    match state.store.write(&key, Precondition::Absent, Change::Put(new)) {
        Ok(_) | Err(store::Error::AlreadyExists) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
