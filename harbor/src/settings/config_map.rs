//! A ConfigMap with the annotation `goharbor.io/configuration` → a HarborConfiguration of its name, which goes with it.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::api::{DynamicObject, TypeMeta};
use serde_json::{Map, Value, json};
use vela_runtime::apply::{self, Applier, Conflicts};
use vela_runtime::cache::Change;
use vela_runtime::controller::{Action, Failure, Reconciler};
use vela_runtime::events::{self, EventRecorder};
use vela_runtime::{Informer, Key, owner as ownership};

use super::configuration::api_name;
use crate::applied;
use crate::defaults::Defaults;
use crate::parts::kinds;

/// Names the HarborCluster whose Harbor gets the settings.
const ANNOTATION: &str = "goharbor.io/configuration";
/// The key whose text holds the settings.
const FILE: &str = "config.yaml";
const CONFIGURATION: kinds::Kind = kinds::goharbor("HarborConfiguration");

/// The ConfigMaps with settings among those that change; one that had them counts, too.
pub(crate) fn configuring(change: &Change) -> Vec<Key> {
    let both = [change.old.as_deref(), change.new.as_deref()];
    let of = both.into_iter().flatten().find(|object| cluster(object).is_some());
    of.map(Key::of).into_iter().collect()
}

fn cluster(object: &DynamicObject) -> Option<&str> {
    object.metadata.annotations.as_ref()?.get(ANNOTATION).map(String::as_str)
}

/// Why there is no HarborConfiguration.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum Error {
    /// The text is not there.
    #[error("data has no key {FILE}: write the settings there, such as \"self_registration: false\"")]
    NoFile,
    /// The text is no YAML.
    #[error("data.{FILE} is no YAML: {0}")]
    Text(String),
    /// It has no settings.
    #[error("data.{FILE} must be a map of settings, such as \"self_registration: false\"")]
    NoMap,
    /// A setting that is not known would be lost.
    #[error("data.{FILE}: {0:?} is no setting that a HarborConfiguration has: take it out, or mend its name")]
    Unknown(String),
}

/// What the reconciler reads.
pub(crate) struct Stores {
    /// All ConfigMaps.
    pub(crate) maps: Arc<Informer>,
    /// All HarborConfigurations.
    pub(crate) made: Arc<Informer>,
}

/// Makes the HarborConfigurations.
pub(crate) struct ConfigMapReconciler {
    applier: Applier,
    events: EventRecorder,
    stores: Stores,
    /// The names of settings in a HarborConfiguration by those in Harbor's API.
    names: BTreeMap<String, String>,
}

impl ConfigMapReconciler {
    /// A reconciler of what these stores know.
    pub(crate) fn new(client: kube::Client, applier: Applier, stores: Stores, defaults: &Defaults) -> Self {
        let events = EventRecorder::new(client, "vela-harbor");
        let names = defaults.settings().map(|name| (api_name(name), name.to_owned())).collect();
        Self { applier, events, stores, names }
    }
}

impl Reconciler for ConfigMapReconciler {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let live = self.stores.maps.get(&key).filter(|live| live.metadata.deletion_timestamp.is_none());
        // What was made names it as its owner.
        let Some(live) = live else { return Ok(Action::Done) };
        let uid = live.metadata.uid.clone().unwrap_or_default();
        let guard = |live: &DynamicObject| ownership::controlled_by(live, &uid);
        let Some(cluster) = cluster(&live) else {
            let (api_version, kind) = CONFIGURATION;
            return match self.applier.delete(api_version, kind, &key, None, &guard).await {
                Ok(_) | Err(apply::Error::Foreign { .. }) => Ok(Action::Done),
                Err(error) => Err(Failure::retry(error)),
            };
        };
        let mut desired = match desired(&live, cluster, &self.names) {
            Ok(desired) => serde_json::from_value::<DynamicObject>(desired).map_err(Failure::terminal)?,
            Err(error) => return self.refuse(&live, &error.to_string()).await,
        };
        let known = self.stores.made.get(&key);
        let recorded = applied::note(&mut desired, known.as_deref());
        match self.applier.apply(&desired, known, recorded, Conflicts::Force, &guard).await {
            Ok(_) => Ok(Action::Done),
            Err(error @ apply::Error::Foreign { .. }) => self.refuse(&live, &error.to_string()).await,
            Err(error) => Err(Failure::retry(error)),
        }
    }
}

impl ConfigMapReconciler {
    /// A ConfigMap has no status: an event says what is wrong, and its change wakes the reconcile.
    async fn refuse(&self, live: &DynamicObject, why: &str) -> Result<Action, Failure> {
        let mut object = live.clone();
        object.types = Some(TypeMeta { api_version: "v1".to_owned(), kind: "ConfigMap".to_owned() });
        self.events.warning(&events::reference(&object), "ConfigurationApplyError", why).await;
        Ok(Action::Done)
    }
}

fn desired(live: &DynamicObject, cluster: &str, names: &BTreeMap<String, String>) -> Result<Value, Error> {
    let text = live.data["data"][FILE].as_str().ok_or(Error::NoFile)?;
    let reference = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": live.metadata.name,
        "uid": live.metadata.uid,
        "controller": true,
        "blockOwnerDeletion": true,
    });
    Ok(json!({
        "apiVersion": CONFIGURATION.0,
        "kind": CONFIGURATION.1,
        "metadata": {
            "name": live.metadata.name,
            "namespace": live.metadata.namespace,
            "ownerReferences": [reference],
        },
        "spec": { "harborClusterRef": cluster, "configuration": settings(text, names)? },
    }))
}

/// The settings by the names that a HarborConfiguration has for them, which may stand in the file, too.
fn settings(text: &str, names: &BTreeMap<String, String>) -> Result<Map<String, Value>, Error> {
    let read: Value = serde_saphyr::from_str(text).map_err(|error| Error::Text(error.to_string()))?;
    let Value::Object(read) = read else { return Err(Error::NoMap) };
    let mut settings = Map::new();
    for (name, value) in read {
        let known = names.get(&api_name(&name)).ok_or(Error::Unknown(name))?;
        settings.insert(known.clone(), value);
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_have_the_names_of_both_kinds() {
        let names = ["emailSsl", "oidcClientSecret"].map(|name| (api_name(name), name.to_owned()));
        let names = BTreeMap::from(names);
        let read = |text| settings(text, &names).map(Value::Object);
        let wanted = json!({"emailSsl": true, "oidcClientSecret": "oidc"});
        assert_eq!(read("email_ssl: true\noidc_client_secret: oidc"), Ok(wanted.clone()));
        assert_eq!(read("emailSsl: true\noidcClientSecret: oidc"), Ok(wanted));
        assert_eq!(read("email_tls: true"), Err(Error::Unknown("email_tls".to_owned())));
        assert_eq!(read("- email_ssl"), Err(Error::NoMap));
        assert!(matches!(read("email_ssl: ["), Err(Error::Text(_))));
    }
}
