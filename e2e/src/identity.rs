//! Reads and writes as another person, or with the token of a ServiceAccount.

use std::path::PathBuf;

use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::{Api, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::Value;

use crate::Result;
use crate::objects::{Cluster, text};
use crate::target::{Target, is_real};

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

    /// A kubeconfig for a program that runs as this ServiceAccount. A sandbox judges no rights and reviews no tokens: there
    /// it is that of the sandbox.
    pub async fn program_account(&self, namespace: &str, name: &str) -> Result<PathBuf> {
        match is_real() {
            true => self.account(namespace, name).await,
            false => Ok(self.kubeconfig().to_owned()),
        }
    }

    /// A token of a pod of this scenario for one audience, as a kubelet gives it to the pod.
    pub async fn pod_token(&self, pod: &str, audience: &str) -> Result<String> {
        let pod = self.cluster().get("v1", "Pod", pod).await?.ok_or("the pod is not there")?;
        let account = text(&pod, "/spec/serviceAccountName");
        let api: Api<ServiceAccount> = Api::namespaced(self.cluster().client().clone(), self.namespace());
        let bound = BoundObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Pod".to_owned()),
            name: Some(text(&pod, "/metadata/name").to_owned()),
            uid: Some(text(&pod, "/metadata/uid").to_owned()),
        };
        let spec = TokenRequestSpec {
            audiences: Some(vec![audience.to_owned()]),
            expiration_seconds: Some(TOKEN_SECONDS),
            bound_object_ref: Some(bound),
            ..TokenRequestSpec::default()
        };
        let request = TokenRequest { spec: Some(spec), ..TokenRequest::default() };
        let answer = api.create_token_request(account, &PostParams::default(), &request).await?;
        Ok(answer.status.and_then(|status| status.token).ok_or("the API server gave no token")?)
    }

    fn read_kubeconfig(&self) -> Result<Value> {
        Ok(serde_json::to_value(Kubeconfig::read_from(self.kubeconfig())?)?)
    }
}
