//! A source without any cluster: nothing is there, and the kinds that templates import are those of the sandbox.

use kube::Client;
use serde_json::Value;
use tokio::sync::OnceCell;
use vela_apiserver::ApiServer;
use vela_engine::{ClusterVersion, DefinitionKind, Document, ObjectKey};
use vela_runtime::openapi;
use vela_snapshot::{ApiKind, Error, KindOf, Source, Version};

/// No cluster at all.
pub(crate) struct NoCluster {
    /// What templates see as the version of the cluster.
    version: ClusterVersion,
    /// Started when the first template imports kinds.
    sandbox: OnceCell<Option<Client>>,
}

impl NoCluster {
    pub(crate) fn of_version(version: ClusterVersion) -> Self {
        Self { version, sandbox: OnceCell::new() }
    }
}

impl Source for NoCluster {
    async fn cluster_version(&self) -> Result<ClusterVersion, Error> {
        Ok(self.version.clone())
    }

    async fn definition(&self, _: DefinitionKind, _: &str, _: &str) -> Result<Option<Document>, Error> {
        Ok(None)
    }

    async fn versions(
        &self,
        _: DefinitionKind,
        _: &str,
        _: &str,
        _: Option<&str>,
    ) -> Result<Vec<Version>, Error> {
        Ok(Vec::new())
    }

    async fn names(&self, _: DefinitionKind, _: &str) -> Vec<String> {
        Vec::new()
    }

    async fn definitions(&self, _: DefinitionKind, _: &str) -> Result<Vec<Document>, Error> {
        Ok(Vec::new())
    }

    async fn object(&self, _: &ObjectKey) -> Result<Option<Value>, Error> {
        Ok(None)
    }

    async fn kind(&self, _: &str, _: &str) -> Result<Option<KindOf>, Error> {
        Ok(None)
    }

    async fn registered(&self, _: &str, _: &str) -> Result<Option<ApiKind>, Error> {
        Ok(None)
    }

    async fn schemas(&self, api_version: &str) -> Result<Option<Value>, Error> {
        let start = || async {
            // Where it does not start, the template says which kinds it misses.
            let server = ApiServer::builder().build().ok()?;
            Some(Client::new(server.service(), "default"))
        };
        let Some(client) = self.sandbox.get_or_init(start).await else { return Ok(None) };
        let found = openapi::document(client, api_version).await;
        found.map_err(|source| Error::Api { what: format!("the schemas of {api_version}"), source })
    }
}
