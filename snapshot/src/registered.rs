//! Resolves a resource name, as definitions register it (`deployments.apps`), to its kind by asking the cluster.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIResource;
use kube::Client;
use tokio::time::Instant;
use vela_runtime::Api;

/// The version of the group without a name.
const CORE: &str = "v1";
/// How long the kind behind a name is remembered: a group seldom gets another preferred version.
const NAMES_TTL: Duration = Duration::from_secs(300);
/// Names remembered; beyond this the memory begins anew.
const NAMES_AT_MOST: usize = 1000;

/// `apiVersion` and `kind`.
pub type ApiKind = (String, String);

/// `apiVersion` and `kind` of a resource in a version, or ("") in the first that its CRD lists or the server names.
pub(crate) async fn kind(client: &Client, name: &str, version: &str) -> Result<Option<ApiKind>, kube::Error> {
    if name.is_empty() {
        return Ok(None);
    }
    match of_crd(client, name, version).await? {
        Some(found) => Ok(Some(found)),
        None => of_group(client, name, version).await,
    }
}

async fn of_crd(client: &Client, name: &str, version: &str) -> Result<Option<ApiKind>, kube::Error> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let Some(crd) = api.get_opt(name).await? else { return Ok(None) };
    let mut served = crd.spec.versions.iter().filter(|candidate| candidate.served);
    let found = served.find(|candidate| version.is_empty() || candidate.name == version);
    Ok(found.map(|found| (format!("{}/{}", crd.spec.group, found.name), crd.spec.names.kind.clone())))
}

/// A built-in resource; `services.` and `services` are of the group without a name.
async fn of_group(client: &Client, name: &str, version: &str) -> Result<Option<ApiKind>, kube::Error> {
    let (plural, group) = name.split_once('.').unwrap_or((name, ""));
    let versions: Vec<String> = if group.is_empty() {
        vec!["v1".to_owned()]
    } else {
        let groups = client.list_api_groups().await?;
        let found = groups.groups.into_iter().find(|candidate| candidate.name == group);
        found.into_iter().flat_map(|found| found.versions).map(|version| version.group_version).collect()
    };
    for api_version in versions {
        let short = api_version.rsplit('/').next().unwrap_or_default();
        if !version.is_empty() && version != short {
            continue;
        }
        let found = in_version(client, &api_version, |resource| resource.name == plural).await?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The first kind of a group version whose resource is meant.
async fn in_version(
    client: &Client,
    api_version: &str,
    is_meant: impl Fn(&APIResource) -> bool,
) -> Result<Option<ApiKind>, kube::Error> {
    let listed = match api_version.contains('/') {
        false => client.list_core_api_resources(api_version).await?,
        true => client.list_api_group_resources(api_version).await?,
    };
    let found = listed.resources.into_iter().find(is_meant);
    Ok(found.map(|found| (api_version.to_owned(), found.kind)))
}

/// `apiVersion` and `kind` of a resource that is named by its plural, its singular or its kind in lower case, in a group or in
/// the first one that has it. The group without a name comes first, and of each group the version that it prefers.
pub(crate) async fn kind_of_resource(
    client: &Client,
    name: &str,
    group: Option<&str>,
) -> Result<Option<ApiKind>, kube::Error> {
    let is_meant = |resource: &APIResource| {
        let is_named =
            resource.name == name || resource.singular_name == name || resource.kind.to_lowercase() == name;
        is_named && !resource.name.contains('/')
    };
    if group.is_none_or(str::is_empty)
        && let Some(found) = in_version(client, CORE, is_meant).await?
    {
        return Ok(Some(found));
    }
    let groups = client.list_api_groups().await?.groups.into_iter();
    for candidate in groups.filter(|candidate| group.is_none_or(|group| candidate.name == group)) {
        let first = candidate.versions.first().cloned();
        let Some(version) = candidate.preferred_version.or(first) else { continue };
        if let Some(found) = in_version(client, &version.group_version, is_meant).await? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The kinds behind names of resources, each with since when that is known.
#[derive(Debug, Default)]
pub(crate) struct ResourceNames(Mutex<Names>);

/// Names and groups of resources.
type Names = BTreeMap<(String, Option<String>), (ApiKind, Instant)>;

impl ResourceNames {
    pub(crate) fn get(&self, asked: &(String, Option<String>)) -> Option<ApiKind> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (kind, since) = known.get(asked)?;
        (since.elapsed() < NAMES_TTL).then(|| kind.clone())
    }

    pub(crate) fn insert(&self, asked: (String, Option<String>), kind: ApiKind) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= NAMES_AT_MOST {
            known.clear();
        }
        known.insert(asked, (kind, Instant::now()));
    }
}
