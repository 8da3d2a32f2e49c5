//! Typed requests to the API server; API paths are made here and nowhere else.
//!
//! kube's client puts names into paths as they are, so that `steal?x=1`, `steal/status` or `../../x` asks for something
//! else than its author was allowed to name. Names are judged where they enter; here nothing passes that was missed.

use std::fmt::Debug;

use futures::Stream;
use kube::Resource;
use kube::api::{
    DeleteParams, ListParams, ObjectList, PartialObjectMeta, Patch, PatchParams, PostParams, WatchEvent,
    WatchParams,
};
use kube::core::NamespaceResourceScope;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The longest name of an object.
pub(crate) const NAME_AT_MOST: usize = 253;
/// The part of a refused name that an error shows.
const SHOWN_AT_MOST: usize = 64;

/// Whether a path may have this as one of its parts. Accounts and roles have colons and capitals in their names, so more
/// passes than what most kinds allow, and nothing that has to be escaped.
pub fn is_part(name: &str) -> bool {
    (1..=NAME_AT_MOST).contains(&name.len())
        && name != "."
        && name != ".."
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~:@!$&'()*+,;=".contains(&byte))
}

/// Whether this is `version` or `group/version`, and nothing else.
pub fn is_group_version(api_version: &str) -> bool {
    let (group, version) = api_version.split_once('/').unwrap_or(("core", api_version));
    is_part(group) && is_part(version)
}

fn refuse(what: &str, name: &str) -> kube::Error {
    let shown: String = name.chars().take(SHOWN_AT_MOST).collect();
    let more = if name.chars().count() > SHOWN_AT_MOST { "…" } else { "" };
    kube::Error::BuildRequest(kube::core::request::Error::Validation(format!(
        "{shown:?}{more} cannot be the name of {what}: letters, digits, '-' and '.', at most {NAME_AT_MOST}"
    )))
}

/// Like kube's, and takes only names that stand for themselves.
#[derive(Clone, Debug)]
pub struct Api<K> {
    inner: kube::Api<K>,
    /// The namespace, where it cannot be one.
    wrong: Option<String>,
}

impl<K: Resource> Api<K> {
    /// Objects of all namespaces, or of a kind without.
    pub fn all_with(client: kube::Client, resource: &K::DynamicType) -> Self {
        Self { inner: kube::Api::all_with(client, resource), wrong: None }
    }

    /// Objects of all namespaces, or of a kind without.
    pub fn all(client: kube::Client) -> Self
    where
        K::DynamicType: Default,
    {
        Self::all_with(client, &K::DynamicType::default())
    }

    fn of(namespace: &str, make: impl FnOnce(&str) -> kube::Api<K>) -> Self {
        match is_part(namespace) {
            true => Self { inner: make(namespace), wrong: None },
            // Every method refuses before this is used.
            false => Self { inner: make("default"), wrong: Some(namespace.to_owned()) },
        }
    }

    /// Objects of one namespace.
    pub fn namespaced(client: kube::Client, namespace: &str) -> Self
    where
        K: Resource<Scope = NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Self::of(namespace, |namespace| kube::Api::namespaced(client, namespace))
    }

    /// kube's own, for what names no object: watches.
    ///
    /// # Errors
    /// The namespace is a name that no path can have.
    pub fn inner(self) -> Result<kube::Api<K>, kube::Error> {
        self.door()?;
        Ok(self.inner)
    }

    fn door(&self) -> Result<&kube::Api<K>, kube::Error> {
        match &self.wrong {
            Some(namespace) => Err(refuse("a namespace", namespace)),
            None => Ok(&self.inner),
        }
    }

    pub(crate) fn to(&self, name: &str) -> Result<&kube::Api<K>, kube::Error> {
        if is_part(name) { self.door() } else { Err(refuse("an object", name)) }
    }
}

impl<K> Api<K>
where
    K: Resource<Scope = kube::core::DynamicResourceScope>,
{
    /// Objects of one namespace.
    pub fn namespaced_with(client: kube::Client, namespace: &str, resource: &K::DynamicType) -> Self {
        Self::of(namespace, |namespace| kube::Api::namespaced_with(client, namespace, resource))
    }
}

/// The methods are kube's, with its names.
impl<K> Api<K>
where
    K: Clone + DeserializeOwned + Debug,
    K: Resource,
{
    /// One object.
    ///
    /// # Errors
    /// The error of the server or of the way to it; a name that no path can have is refused before any request.
    pub async fn get(&self, name: &str) -> Result<K, kube::Error> {
        self.to(name)?.get(name).await
    }

    /// One object, if it is there.
    ///
    /// # Errors
    /// The error of the server or of the way to it; a name that no path can have is refused before any request.
    pub async fn get_opt(&self, name: &str) -> Result<Option<K>, kube::Error> {
        self.to(name)?.get_opt(name).await
    }

    /// The metadata of one object, if it is there.
    ///
    /// # Errors
    /// The error of the server or of the way to it; a name that no path can have is refused before any request.
    pub async fn get_metadata_opt(&self, name: &str) -> Result<Option<PartialObjectMeta<K>>, kube::Error> {
        self.to(name)?.get_metadata_opt(name).await
    }

    /// Objects.
    ///
    /// # Errors
    /// The error of the server or of the way to it; a name that no path can have is refused before any request.
    pub async fn list(&self, params: &ListParams) -> Result<ObjectList<K>, kube::Error> {
        self.door()?.list(params).await
    }

    /// The metadata of objects.
    ///
    /// # Errors
    /// The error of the server or of the way to it; a name that no path can have is refused before any request.
    pub async fn list_metadata(
        &self,
        params: &ListParams,
    ) -> Result<ObjectList<PartialObjectMeta<K>>, kube::Error> {
        self.door()?.list_metadata(params).await
    }

    /// Make an object.
    ///
    /// # Errors
    /// The error of the server or of the way to it; a name that no path can have is refused before any request.
    pub async fn create(&self, params: &PostParams, object: &K) -> Result<K, kube::Error>
    where
        K: Serialize,
    {
        self.door()?.create(params, object).await
    }

    /// Put an object in place of another.
    ///
    /// # Errors
    /// The error of the server or of the way to it; a name that no path can have is refused before any request.
    pub async fn replace(&self, name: &str, params: &PostParams, object: &K) -> Result<K, kube::Error>
    where
        K: Serialize,
    {
        self.to(name)?.replace(name, params, object).await
    }

    /// Change an object.
    ///
    /// # Errors
    /// The error of the server or of the way to it; a name that no path can have is refused before any request.
    pub async fn patch<P: Serialize + Debug>(
        &self,
        name: &str,
        params: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<K, kube::Error> {
        self.to(name)?.patch(name, params, patch).await
    }

    /// Change an object; its metadata is what comes back.
    ///
    /// # Errors
    /// The error of the server or of the way to it; a name that no path can have is refused before any request.
    pub async fn patch_metadata<P: Serialize + Debug>(
        &self,
        name: &str,
        params: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<PartialObjectMeta<K>, kube::Error> {
        self.to(name)?.patch_metadata(name, params, patch).await
    }

    /// Change the status of an object.
    ///
    /// # Errors
    /// The error of the server or of the way to it; a name that no path can have is refused before any request.
    pub async fn patch_status<P: Serialize + Debug>(
        &self,
        name: &str,
        params: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<K, kube::Error> {
        self.to(name)?.patch_status(name, params, patch).await
    }

    /// Delete an object; it comes back where it stays until its finalizers are gone.
    ///
    /// # Errors
    /// The error of the server or of the way to it; a name that no path can have is refused before any request.
    pub async fn delete(&self, name: &str, params: &DeleteParams) -> Result<Option<K>, kube::Error> {
        Ok(self.to(name)?.delete(name, params).await?.left())
    }

    /// The changes from this version on.
    ///
    /// # Errors
    /// The error of the server or of the way to it; a name that no path can have is refused before any request.
    pub async fn watch(
        &self,
        params: &WatchParams,
        version: &str,
    ) -> Result<impl Stream<Item = Result<WatchEvent<K>, kube::Error>> + use<K>, kube::Error> {
        self.door()?.watch(params, version).await
    }
}

#[cfg(test)]
mod tests {
    use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
    use kube::client::Body;
    use serde_json::json;

    use super::*;
    use crate::discovery::Discovery;
    use crate::fault::Faults;

    /// Answers everything; what was asked is in the log.
    fn recording() -> (kube::Client, Faults) {
        let faults = Faults::new();
        let service = tower::service_fn(|_: http::Request<Body>| async {
            let found = json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}, "items": [], "resources": [], "groupVersion": "v1"});
            Ok::<_, std::convert::Infallible>(http::Response::new(Body::from(found.to_string().into_bytes())))
        });
        (kube::Client::new(tower::Layer::layer(&faults, service), "default"), faults)
    }

    fn maps(client: &kube::Client, namespace: &str) -> Api<DynamicObject> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap"));
        Api::namespaced_with(client.clone(), namespace, &resource)
    }

    #[tokio::test]
    async fn no_request_is_made_for_a_name_that_does_not_stand_for_itself() {
        let (client, faults) = recording();
        let object: DynamicObject = serde_json::from_value(json!({"metadata": {"name": "a"}})).unwrap();
        let merge = Patch::Merge(json!({}));
        let (post, patch, delete) = (PostParams::default(), PatchParams::default(), DeleteParams::default());
        for name in vela_testkit::hostile::NAMES.into_iter().chain([""]) {
            let api = maps(&client, "default");
            assert!(api.get(name).await.is_err(), "{name:?}");
            assert!(api.get_opt(name).await.is_err(), "{name:?}");
            assert!(api.get_metadata_opt(name).await.is_err(), "{name:?}");
            assert!(api.replace(name, &post, &object).await.is_err(), "{name:?}");
            assert!(api.patch(name, &patch, &merge).await.is_err(), "{name:?}");
            assert!(api.patch_metadata(name, &patch, &merge).await.is_err(), "{name:?}");
            assert!(api.patch_status(name, &patch, &merge).await.is_err(), "{name:?}");
            assert!(api.delete(name, &delete).await.is_err(), "{name:?}");
            let api = maps(&client, name);
            assert!(api.get("a").await.is_err(), "{name:?}");
            assert!(api.list(&ListParams::default()).await.is_err(), "{name:?}");
            assert!(api.create(&post, &object).await.is_err(), "{name:?}");
            assert!(api.inner().is_err(), "{name:?}");
            // No group and no version of a kind either.
            let discovery = Discovery::new(client.clone());
            for api_version in [name.to_owned(), format!("{name}/v1"), format!("apps/{name}")] {
                // A group and a version are what a slash makes of it.
                if !is_group_version(&api_version) {
                    assert!(discovery.resolve(&api_version, "Deployment").await.is_err(), "{api_version:?}");
                    assert_eq!(crate::openapi::document(&client, &api_version).await.unwrap(), None);
                }
            }
        }
        let asked: Vec<String> = faults.take().into_iter().map(|entry| entry.path).collect();
        assert!(asked.is_empty(), "{asked:?}");
        let error = maps(&client, "default").get("steal?x=1").await.unwrap_err().to_string();
        assert!(error.contains("\"steal?x=1\" cannot be the name"), "{error}");
    }

    #[tokio::test]
    async fn names_of_every_kind_that_has_names_pass() {
        let (client, faults) = recording();
        for name in ["a", "a.b-c.9", "system:controller:x", "Upper_case~1"] {
            maps(&client, "default").get(name).await.unwrap();
        }
        let asked: Vec<String> = faults.take().into_iter().map(|entry| entry.path).collect();
        assert_eq!(asked.len(), 4);
        assert_eq!(asked[2], "/api/v1/namespaces/default/configmaps/system:controller:x");
        assert!(is_group_version("v1") && is_group_version("apps/v1") && !is_group_version("a/b/c"));
    }
}
