//! The verbs that commands need, on objects of any kind: find the kind, get, list, apply, delete.

use std::collections::HashMap;
use std::sync::Mutex;

use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams,
};
use kube::discovery::{ApiCapabilities, Scope, pinned_kind};
use kube::{Client, ResourceExt};
use serde_json::Value;

use crate::error::{Error, Failure, Kind, Result};
use crate::target;

/// Owner of the fields that this program applies.
pub(crate) const FIELD_MANAGER: &str = "vela-cli";
/// Objects of one list request; longer lists come in pages.
const PAGE: u32 = 500;
/// Pages of one list: beyond this the list is cut and says so by an error.
const MOST_PAGES: usize = 200;

/// What applying did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Applied {
    Created,
    Changed,
    Unchanged,
}

impl Applied {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Unchanged => "unchanged",
        }
    }
}

/// A connection, with the kinds that were looked up.
pub(crate) struct Cluster {
    client: Client,
    /// How messages call it.
    title: String,
    namespace: String,
    kinds: Mutex<HashMap<(String, String), (ApiResource, Scope)>>,
}

impl Cluster {
    pub(crate) fn new(client: Client, title: String, namespace: String) -> Self {
        Self { client, title, namespace, kinds: Mutex::default() }
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// The namespace of objects that name none.
    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    /// One request that any cluster answers, so that an unreachable one is told before any work is done.
    pub(crate) async fn reach(&self) -> Result<()> {
        self.client.apiserver_version().await.map(drop).map_err(|error| self.failure("be reached", &error))
    }

    /// How the cluster serves a kind.
    pub(crate) async fn kind(&self, api_version: &str, kind: &str) -> Result<(ApiResource, Scope)> {
        let key = (api_version.to_owned(), kind.to_owned());
        if let Ok(kinds) = self.kinds.lock()
            && let Some((resource, scope)) = kinds.get(&key)
        {
            return Ok((resource.clone(), scope.clone()));
        }
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let gvk = GroupVersionKind::gvk(group, version, kind);
        let (resource, ApiCapabilities { scope, .. }) =
            pinned_kind(&self.client, &gvk).await.map_err(|error| {
                let unknown = match &error {
                    kube::Error::Discovery(_) => true,
                    kube::Error::Api(status) => status.code == 404,
                    _ => false,
                };
                if !unknown {
                    return self.failure("say which kinds it has", &error);
                }
                let error = Error::user(format!("{} has no kind {kind} in {api_version}", self.title));
                let ours = group.ends_with("oam.dev");
                Failure::from(if ours {
                    error.hint("check the spelling; on a cluster without vela, run `vela install` first")
                } else {
                    error.hint("check the spelling, or apply the CustomResourceDefinition of that kind first")
                })
            })?;
        if let Ok(mut kinds) = self.kinds.lock() {
            kinds.insert(key, (resource.clone(), scope.clone()));
        }
        Ok((resource, scope))
    }

    /// The door to objects of a kind, in `namespace` (or the usual one) when the kind has namespaces.
    pub(crate) async fn api(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
    ) -> Result<Api<DynamicObject>> {
        let (resource, scope) = self.kind(api_version, kind).await?;
        Ok(match scope {
            Scope::Cluster => Api::all_with(self.client.clone(), &resource),
            Scope::Namespaced => {
                let namespace = namespace.filter(|name| !name.is_empty()).unwrap_or(&self.namespace);
                Api::namespaced_with(self.client.clone(), namespace, &resource)
            }
        })
    }

    /// One object, if it exists.
    pub(crate) async fn get(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Option<DynamicObject>> {
        let api = self.api(api_version, kind, namespace).await?;
        api.get_opt(name).await.map_err(|error| self.failure(&format!("give {kind} {name}"), &error))
    }

    /// All objects of a kind, of one namespace or of all.
    pub(crate) async fn list(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
    ) -> Result<Vec<DynamicObject>> {
        let (resource, scope) = self.kind(api_version, kind).await?;
        let api: Api<DynamicObject> = match (scope, namespace) {
            (Scope::Namespaced, Some(namespace)) => {
                Api::namespaced_with(self.client.clone(), namespace, &resource)
            }
            _ => Api::all_with(self.client.clone(), &resource),
        };
        let mut params = ListParams::default().limit(PAGE);
        let mut objects = Vec::new();
        for _ in 0..MOST_PAGES {
            let page =
                api.list(&params).await.map_err(|error| self.failure(&format!("list {kind}"), &error))?;
            objects.extend(page.items);
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(&token),
                None => return Ok(objects),
            }
        }
        Err(Error::cluster(format!("{} has too many objects of kind {kind}", self.title)).into())
    }

    /// Applies an object by server-side apply. `check` asks the cluster to judge it and to store nothing.
    pub(crate) async fn apply(
        &self,
        object: &Value,
        force: bool,
        check: bool,
    ) -> Result<(Applied, DynamicObject)> {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (text("/apiVersion"), text("/kind"));
        let (name, namespace) = (text("/metadata/name"), text("/metadata/namespace"));
        let api = self.api(api_version, kind, Some(namespace)).await?;
        let cannot = |error: kube::Error| self.failure(&format!("take {kind} {name}"), &error);
        let before = api.get_opt(name).await.map_err(cannot)?;
        let params = PatchParams { dry_run: check, force, ..PatchParams::apply(FIELD_MANAGER) };
        let after = api.patch(name, &params, &Patch::Apply(object)).await.map_err(cannot)?;
        let applied = match before {
            None => Applied::Created,
            Some(before) if before.resource_version() == after.resource_version() => Applied::Unchanged,
            Some(_) => Applied::Changed,
        };
        Ok((applied, after))
    }

    /// Asks for an object's deletion and gives its uid if there was one. What an ApplicationConfiguration owns is
    /// collected by the cluster, so it must go first (foreground); an Application's finalizer does that by itself.
    pub(crate) async fn delete(
        &self,
        api_version: &str,
        kind: &str,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Option<String>> {
        let api = self.api(api_version, kind, namespace).await?;
        let found =
            api.get_opt(name).await.map_err(|error| self.failure(&format!("give {kind} {name}"), &error))?;
        let Some(uid) = found.and_then(|object| object.uid()) else { return Ok(None) };
        let whole = kind == "ApplicationConfiguration";
        let params = if whole { DeleteParams::foreground() } else { DeleteParams::background() };
        match api.delete(name, &params).await {
            Ok(_) => Ok(Some(uid)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(self.failure(&format!("delete {kind} {name}"), &error)),
        }
    }

    /// What the cluster or the way to it said, as an error of ours: `cannot` ends "the cluster cannot …".
    pub(crate) fn failure(&self, cannot: &str, error: &kube::Error) -> Failure {
        let said = |kind: Kind, words: String| Error { kind, message: words, hint: None };
        match error {
            kube::Error::Api(status) => {
                let words = status.message.clone();
                match status.code {
                    400 | 404 | 422 => said(Kind::User, words),
                    409 => said(Kind::User, words)
                        .hint("another program manages these fields: --force-conflicts takes them over"),
                    401 => said(Kind::Config, format!("{} refuses this user: {words}", self.title))
                        .hint("renew the credentials in the kubeconfig"),
                    403 => said(Kind::Cluster, words)
                        .hint("ask for the right to do this, or use another context"),
                    507 => said(Kind::Config, words).hint("free some space on the disk of the sandbox"),
                    _ => said(Kind::Cluster, format!("{} cannot {cannot}: {words}", self.title)),
                }
            }
            other => Error::cluster(format!("{} cannot {cannot}: {}", self.title, target::causes(other)))
                .hint("check that the cluster runs and the kubeconfig points to it, or use --sandbox"),
        }
        .into()
    }
}
