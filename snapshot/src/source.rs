//! The questions of a reader to a source of cluster state.

use std::future::Future;

use serde_json::Value;
use vela_engine::definition::version;
use vela_engine::reference::{Reference, Referenced};
use vela_engine::snapshot::Resource;
use vela_engine::{Bounds, ClusterVersion, DefinitionKind, Diagnostics, Document, ObjectKey, is_global};
use vela_runtime::{Discovery, discovery};

use crate::registered::ApiKind;

/// Why the state of the cluster could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server refused or could not be reached.
    #[error("reading {what}: {source}")]
    Api {
        /// The object that was read.
        what: String,
        /// Why it failed.
        source: kube::Error,
    },
    /// Which kinds there are could not be asked.
    #[error(transparent)]
    Kind(#[from] discovery::Error),
    /// A watch has not listed its kind yet.
    #[error(transparent)]
    NotSynced(#[from] vela_runtime::cache::NotSynced),
    /// Policies that change applications could not be run.
    #[error("policies of the scope Application were not run: {0}")]
    Policies(String),
    /// A definition is broken.
    #[error("{} {namespace}/{name}: {found}", kind.kind())]
    Definition {
        /// Kind of definition.
        kind: DefinitionKind,
        /// Its namespace; empty for one of a file.
        namespace: String,
        /// Its name as it was asked for.
        name: String,
        /// The error.
        found: Diagnostics,
    },
}

impl Error {
    pub(crate) fn api(what: impl Into<String>, source: kube::Error) -> Self {
        Self::Api { what: what.into(), source }
    }
}

/// A kind as a cluster knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindOf {
    /// Which resource it is.
    pub resource: Resource,
    /// Is it served in the version that was asked for, and not only in the one that followed?
    pub is_served: bool,
}

/// A version of a definition, as a DefinitionRevision keeps it.
#[derive(Clone, Debug)]
pub struct Version {
    /// The definition behind `name@v`.
    pub version: String,
    /// The number of the revision that keeps it: the newest has the greatest.
    pub number: u64,
    /// The definition as it was.
    pub definition: Document,
}

impl Version {
    /// The content of a DefinitionRevision of a namespace, if it belongs to this definition.
    pub(crate) fn of(
        revision: &Value,
        kind: DefinitionKind,
        definition: &str,
        namespace: &str,
    ) -> Option<Self> {
        let (metadata, spec) = (revision.get("metadata")?, revision.get("spec")?);
        let kept = version::of_revision(metadata.get("name")?.as_str()?, spec)?;
        if kept.kind != kind || kept.name != definition {
            return None;
        }
        let stored = metadata.get("resourceVersion").and_then(Value::as_str).unwrap_or_default();
        let number = spec.get("revision").and_then(Value::as_u64).unwrap_or_default();
        let mut frozen = kept.definition.clone();
        // A recorded definition says its kind only where its writer wrote it.
        frozen["kind"] = kept.kind.kind().into();
        if !namespace.is_empty() {
            frozen["metadata"]["namespace"] = namespace.into();
        }
        // The cache key holds the object that keeps the definition; a slash marks a frozen one.
        frozen["metadata"]["resourceVersion"] = format!("{}-v{}/{stored}", kept.name, kept.version).into();
        Some(Self { version: kept.version.to_owned(), number, definition: Document::from_object(frozen) })
    }
}

/// Where the state of a cluster is read from. An absent object is `None`, never an error.
pub trait Source: Send + Sync {
    /// The version of the cluster.
    ///
    /// # Errors
    /// When the cluster does not answer; so with all the others.
    fn cluster_version(&self) -> impl Future<Output = Result<ClusterVersion, Error>> + Send;

    /// The definition of this very namespace and name.
    fn definition(
        &self,
        kind: DefinitionKind,
        namespace: &str,
        name: &str,
    ) -> impl Future<Output = Result<Option<Document>, Error>> + Send;

    /// The versions of a definition that a namespace keeps. Where one is `asked` for by its full name and is among them, the
    /// others may be left out.
    fn versions(
        &self,
        kind: DefinitionKind,
        namespace: &str,
        name: &str,
        asked: Option<&str>,
    ) -> impl Future<Output = Result<Vec<Version>, Error>> + Send;

    /// The names of the definitions of a namespace, for advice about one that is not there: without an answer there is none.
    fn names(&self, kind: DefinitionKind, namespace: &str) -> impl Future<Output = Vec<String>> + Send;

    /// All definitions of a namespace.
    fn definitions(
        &self,
        kind: DefinitionKind,
        namespace: &str,
    ) -> impl Future<Output = Result<Vec<Document>, Error>> + Send;

    /// The PolicyDefinitions of a namespace that act on every application.
    fn global_policies(&self, namespace: &str) -> impl Future<Output = Result<Vec<Document>, Error>> + Send {
        async {
            let all = self.definitions(DefinitionKind::Policy, namespace).await?;
            Ok(all.into_iter().filter(|one| is_global(one.value())).collect())
        }
    }

    /// An object as it is.
    fn object(&self, key: &ObjectKey) -> impl Future<Output = Result<Option<Value>, Error>> + Send;

    /// Which resource a kind is.
    fn kind(
        &self,
        api_version: &str,
        kind: &str,
    ) -> impl Future<Output = Result<Option<KindOf>, Error>> + Send;

    /// The kind behind a resource (`<plural>.<group>`) in a version, or ("") in the first that its CRD lists.
    fn registered(
        &self,
        resource: &str,
        version: &str,
    ) -> impl Future<Output = Result<Option<ApiKind>, Error>> + Send;

    /// What there is of a reference by an application of the namespace `own`, for a preview: nothing where no cluster is asked.
    fn referenced(
        &self,
        _reference: &Reference,
        _own: &str,
        _bounds: Bounds,
    ) -> impl Future<Output = Result<Option<Referenced>, Error>> + Send {
        async { Ok(None) }
    }

    /// The OpenAPI v3 document of a group version.
    fn schemas(&self, api_version: &str) -> impl Future<Output = Result<Option<Value>, Error>> + Send;
}

/// Which resource a kind is in a cluster; one of a withdrawn version is looked for in the version that followed.
pub(crate) async fn kind_of(
    discovery: &Discovery,
    api_version: &str,
    kind: &str,
) -> Result<Option<KindOf>, Error> {
    let of = |found: vela_runtime::Kind, is_served| {
        let resource = Resource { plural: found.resource.plural, namespaced: found.namespaced };
        Some(KindOf { resource, is_served })
    };
    match discovery.resolve(api_version, kind).await {
        Ok(found) => Ok(of(found, true)),
        Err(discovery::Error::Unknown { .. }) => {
            let Some(next) = vela_engine::successor::version(api_version, kind) else { return Ok(None) };
            match discovery.resolve(next, kind).await {
                // Definitions are registered under the old group and the plural, which never changed.
                Ok(found) => Ok(of(found, false)),
                Err(discovery::Error::Unknown { .. }) => Ok(None),
                Err(error) => Err(error.into()),
            }
        }
        Err(error) => Err(error.into()),
    }
}
