//! Resolves a resource name, as definitions register it (`deployments.apps`), to its kind by asking the cluster.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use vela_runtime::Api;

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
        let listed = match group.is_empty() {
            true => client.list_core_api_resources(&api_version).await?,
            false => client.list_api_group_resources(&api_version).await?,
        };
        if let Some(found) = listed.resources.into_iter().find(|resource| resource.name == plural) {
            return Ok(Some((api_version, found.kind)));
        }
    }
    Ok(None)
}
