//! Reads and writes as another person, or with the token of a ServiceAccount.

use std::path::PathBuf;

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{Api, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::Value;

use crate::Result;
use crate::objects::Cluster;
use crate::target::Target;

/// Longer than any scenario.
const TOKEN_SECONDS: i64 = 3600;

impl Target {
    /// The cluster in the name of a person, who has the rights that the cluster gives them.
    pub async fn person(&self, user: &str, groups: &[&str]) -> Result<Cluster> {
        let mut read = self.read_kubeconfig()?;
        for entry in read["users"].as_array_mut().into_iter().flatten() {
            entry["user"]["as"] = user.into();
            entry["user"]["as-groups"] = groups.into();
        }
        let read: Kubeconfig = serde_json::from_value(read)?;
        let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await?;
        Ok(Cluster::new(Client::try_from(config)?, self.namespace()))
    }

    /// A kubeconfig of this person, for programs that read one.
    pub fn kubeconfig_of(&self, user: &str) -> Result<PathBuf> {
        let mut read = self.read_kubeconfig()?;
        for entry in read["users"].as_array_mut().into_iter().flatten() {
            entry["user"]["as"] = user.into();
        }
        let path = self.home().join(format!("{user}.kubeconfig"));
        std::fs::write(&path, read.to_string())?;
        Ok(path)
    }

    /// A kubeconfig in which every user is this ServiceAccount, by a token: an account that acts for others cannot be
    /// acted for itself.
    pub async fn account(&self, namespace: &str, name: &str) -> Result<PathBuf> {
        let api: Api<ServiceAccount> = Api::namespaced(self.cluster().client().clone(), namespace);
        let spec =
            TokenRequestSpec { expiration_seconds: Some(TOKEN_SECONDS), ..TokenRequestSpec::default() };
        let request = TokenRequest { spec: Some(spec), ..TokenRequest::default() };
        let token = api.create_token_request(name, &PostParams::default(), &request).await?;
        let token = token.status.ok_or("the API server gave no token")?.token;
        let mut read = self.read_kubeconfig()?;
        for entry in read["users"].as_array_mut().into_iter().flatten() {
            entry["user"] = serde_json::json!({"token": token});
        }
        let path = self.home().join(format!("{name}.kubeconfig"));
        std::fs::write(&path, read.to_string())?;
        Ok(path)
    }

    fn read_kubeconfig(&self) -> Result<Value> {
        Ok(serde_json::to_value(Kubeconfig::read_from(self.kubeconfig())?)?)
    }
}
