//! ApplicationConfiguration → Snapshot: what it names, and what that names in turn; may not change anything.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::DynamicObject;
use tokio::time::Instant;
use vela_engine::application_configuration::references;
use vela_engine::parse::References;
use vela_engine::{Document, ObjectKey, Snapshot};
use vela_runtime::{Key, Watch, discovery};

use super::Hands;
use super::phase::Stopped;
use crate::context::Context;

/// Components name kinds, kinds name definitions: three rounds see all of it, the rest is a margin.
const ROUNDS_AT_MOST: usize = 6;
/// How long the kind behind a resource name is remembered: a CRD seldom gets another first version.
const REGISTERED_KEPT: Duration = Duration::from_secs(300);

/// The snapshot that has everything the configuration asks for and the cluster has.
pub(super) async fn fetch(hands: &Hands, key: &Key, document: &Document) -> Result<Snapshot, Stopped> {
    let mut asked = References::default();
    let mut snapshot = hands.world.snapshot(&key.namespace, &asked).await?;
    for _ in 0..ROUNDS_AT_MOST {
        let mut wanted = references(document, &snapshot);
        wanted.definitions.extend(asked.definitions.iter().cloned());
        wanted.objects.extend(asked.objects.iter().cloned());
        wanted.kinds.extend(asked.kinds.iter().cloned());
        wanted.registered.extend(asked.registered.iter().cloned());
        if wanted == asked {
            break;
        }
        snapshot = hands.world.snapshot(&key.namespace, &wanted).await?;
        for (name, version) in &wanted.registered {
            if let Some(kind) = hands.registered.kind(&hands.context, name, version).await? {
                snapshot.insert_registered(name, version, kind);
            }
        }
        asked = wanted;
    }
    for scope in scopes(document, &key.namespace) {
        if snapshot.object(&scope).is_none()
            && let Some(found) = self::scope(&hands.context, &scope).await?
        {
            snapshot.insert_object(crate::application::fetch::json(&found));
        }
    }
    Ok(snapshot)
}

fn scopes(document: &Document, namespace: &str) -> Vec<ObjectKey> {
    let components = document.value()["spec"]["components"].as_array();
    let entries = components.into_iter().flatten().filter_map(|entry| entry["scopes"].as_array());
    let part =
        |reference: &serde_json::Value, field: &str| reference[field].as_str().unwrap_or_default().to_owned();
    entries
        .flatten()
        .map(|entry| ObjectKey {
            api_version: part(&entry["scopeRef"], "apiVersion"),
            kind: part(&entry["scopeRef"], "kind"),
            namespace: namespace.to_owned(),
            name: part(&entry["scopeRef"], "name"),
        })
        .collect()
}

/// A scope of any kind: nobody labels scopes, so all objects of the kind are watched; they are few.
pub(super) async fn scope(
    context: &Context,
    key: &ObjectKey,
) -> Result<Option<Arc<DynamicObject>>, crate::application::fetch::Error> {
    let kind = match context.discovery.resolve(&key.api_version, &key.kind).await {
        Ok(kind) => kind,
        Err(discovery::Error::Unknown { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let informer = context.cache.informer(Watch::full(kind.resource));
    informer.synced().await?;
    Ok(informer.get(&Key::new(key.namespace.clone(), key.name.clone())))
}

/// `apiVersion` and `kind`.
type ApiKind = (String, String);

/// Resource names (`<plural>.<group>`) and the kinds behind them, as definitions register them.
#[derive(Debug, Default)]
pub(super) struct Registered {
    known: Mutex<BTreeMap<(String, String), (ApiKind, Instant)>>,
}

impl Registered {
    /// `apiVersion` and `kind` of a resource in a version, or ("") in the first that its CRD lists or the server names.
    async fn kind(
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
