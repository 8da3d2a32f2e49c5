//! Resource names, as definitions register them → the kinds behind them, asked of the cluster and remembered a while.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use tokio::time::Instant;

use crate::context::Context;

/// How long the kind behind a resource name is remembered: a CRD seldom gets another first version.
const REGISTERED_KEPT: Duration = Duration::from_secs(300);

/// `apiVersion` and `kind`.
type ApiKind = (String, String);

/// Resource names (`<plural>.<group>`) and the kinds behind them, as definitions register them.
#[derive(Debug, Default)]
pub(super) struct Registered {
    known: Mutex<BTreeMap<(String, String), (ApiKind, Instant)>>,
}

impl Registered {
    /// `apiVersion` and `kind` of a resource in a version, or ("") in the first that its CRD lists or the server names.
    pub(super) async fn kind(
        &self,
        context: &Context,
        name: &str,
        version: &str,
    ) -> Result<Option<ApiKind>, kube::Error> {
        let key = (name.to_owned(), version.to_owned());
        {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((kind, since)) = known.get(&key)
                && since.elapsed() < REGISTERED_KEPT
            {
                return Ok(Some(kind.clone()));
            }
        }
        let found = match of_crd(context, name, version).await? {
            Some(found) => Some(found),
            None => of_group(context, name, version).await?,
        };
        if let Some(kind) = &found {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert(key, (kind.clone(), Instant::now()));
        }
        Ok(found)
    }
}

async fn of_crd(context: &Context, name: &str, version: &str) -> Result<Option<ApiKind>, kube::Error> {
    let api: Api<CustomResourceDefinition> = Api::all(context.client.clone());
    let Some(crd) = api.get_opt(name).await? else { return Ok(None) };
    let mut served = crd.spec.versions.iter().filter(|candidate| candidate.served);
    let found = served.find(|candidate| version.is_empty() || candidate.name == version);
    Ok(found.map(|found| (format!("{}/{}", crd.spec.group, found.name), crd.spec.names.kind.clone())))
}

/// A built-in resource; `services.` and `services` are of the group without a name.
async fn of_group(context: &Context, name: &str, version: &str) -> Result<Option<ApiKind>, kube::Error> {
    let (plural, group) = name.split_once('.').unwrap_or((name, ""));
    let versions: Vec<String> = if group.is_empty() {
        vec!["v1".to_owned()]
    } else {
        let groups = context.client.list_api_groups().await?;
        let found = groups.groups.into_iter().find(|candidate| candidate.name == group);
        found.into_iter().flat_map(|found| found.versions).map(|version| version.group_version).collect()
    };
    for api_version in versions {
        let short = api_version.rsplit('/').next().unwrap_or_default();
        if !version.is_empty() && version != short {
            continue;
        }
        let listed = match group.is_empty() {
            true => context.client.list_core_api_resources(&api_version).await?,
            false => context.client.list_api_group_resources(&api_version).await?,
        };
        if let Some(found) = listed.resources.into_iter().find(|resource| resource.name == plural) {
            return Ok(Some((api_version, found.kind)));
        }
    }
    Ok(None)
}
