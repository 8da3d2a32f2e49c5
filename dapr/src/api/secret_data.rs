//! Reads the Secrets that objects take values from, each once for each of its versions. Only the metadata of Secrets is watched, and
//! nothing is read of those that no object names.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use tokio::sync::OnceCell;
use vela_runtime::cache::Watch;
use vela_runtime::{Api, Cache, Informer, Key};

use super::pending::SecretsBefore;
use crate::resources::Secrets;

/// Secrets whose data is remembered at most; beyond that all are forgotten and read again when they are needed.
const REMEMBERED_AT_MOST: usize = 10_000;

/// The data of a Secret; nothing where it is not there, or may not be read.
type Data = Option<BTreeMap<String, String>>;
/// One read, which all who need it wait for.
type Read = Arc<OnceCell<Data>>;

/// A Secret that was read.
#[derive(Debug)]
struct Remembered {
    version: String,
    read: Read,
    /// The version before that: whether a change of the Secret is one to a sidecar shows by comparison.
    former: Option<(String, Read)>,
}

/// The Secrets of the cluster.
pub(super) struct SecretReader {
    client: kube::Client,
    names: Arc<Informer>,
    read: Mutex<HashMap<Key, Remembered>>,
}

impl std::fmt::Debug for SecretReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecretReader").field("names", &self.names).finish_non_exhaustive()
    }
}

impl SecretReader {
    pub(super) fn new(client: kube::Client, cache: &Cache) -> Self {
        let names = cache.informer(Watch::metadata(resource()));
        Self { client, names, read: Mutex::default() }
    }

    /// The watch of their metadata.
    pub(super) fn informer(&self) -> &Arc<Informer> {
        &self.names
    }

    /// The Secrets of these names that are there.
    pub(super) async fn read(
        &self,
        namespace: &str,
        names: BTreeSet<String>,
    ) -> Result<Secrets, kube::Error> {
        let mut secrets = Secrets::new();
        for name in names {
            let key = Key::new(namespace, name);
            let Some(known) = self.names.get(&key) else {
                self.remembered().remove(&key);
                continue;
            };
            let version = known.metadata.resource_version.clone().unwrap_or_default();
            let read = self.of_version(&key, version);
            if let Some(data) = read.get_or_try_init(|| self.ask(&key)).await? {
                secrets.insert(key.name, data.clone());
            }
        }
        Ok(secrets)
    }

    fn remembered(&self) -> MutexGuard<'_, HashMap<Key, Remembered>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of_version(&self, key: &Key, version: String) -> Read {
        let mut remembered = self.remembered();
        if let Some(known) = remembered.get(key).filter(|known| known.version == version) {
            return known.read.clone();
        }
        let former = remembered.remove(key).map(|known| (known.version, known.read));
        if remembered.len() >= REMEMBERED_AT_MOST {
            remembered.clear();
        }
        let read = Read::default();
        remembered.insert(key.clone(), Remembered { version, read: read.clone(), former });
        read
    }

    /// The Secrets as they were: in these versions, and those that are not named here as they are. Nothing where one was not read, or
    /// is forgotten.
    pub(super) fn remembered_before(
        &self,
        namespace: &str,
        names: BTreeSet<String>,
        versions: &SecretsBefore,
    ) -> Option<Secrets> {
        let mut secrets = Secrets::new();
        for name in names {
            let key = Key::new(namespace, name);
            let version = match versions.get(&key.name) {
                Some(before) => before.clone()?,
                None => self.names.get(&key)?.metadata.resource_version.clone()?,
            };
            let remembered = self.remembered();
            let known = remembered.get(&key)?;
            let read = match &known.former {
                _ if known.version == version => &known.read,
                Some((former, read)) if *former == version => read,
                _ => return None,
            };
            secrets.insert(key.name.clone(), read.get()?.clone()?);
        }
        Some(secrets)
    }

    async fn ask(&self, key: &Key) -> Result<Data, kube::Error> {
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), &key.namespace, &resource());
        match api.get_opt(&key.name).await {
            Ok(secret) => {
                Ok(secret
                    .map(|secret| serde_json::from_value(secret.data["data"].clone()).unwrap_or_default()))
            }
            Err(kube::Error::Api(refusal)) if refusal.code == 403 => {
                tracing::warn!(secret = %key, "this account may not read the Secret; allow it to get Secrets");
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

fn resource() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Secret"))
}
