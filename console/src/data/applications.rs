//! The stored Applications, followed by one watch: pages of a list, changes, and one of them as it is.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kube::Client;
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::broadcast;
use vela_crds::application::is_v1alpha2_form;
use vela_runtime::{Api, Cache, Change, Informer, Key, Watch};

use crate::data::health::{self, Health};
use crate::error::Error;

/// Changes that a slow stream may be behind; beyond that it is asked to read anew.
const CHANGES_AT_MOST: usize = 1024;
/// How long a request waits for the first list.
const FIRST_LIST: Duration = Duration::from_secs(10);
/// Items of a page where nothing is said.
pub(crate) const PAGE: usize = 50;
/// Items of a page at most.
pub(crate) const PAGE_AT_MOST: usize = 500;
/// The version of the kinds that only the console has.
pub(crate) const API_VERSION: &str = "console/v1";

/// Who an object is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Metadata {
    /// Its namespace.
    pub(crate) namespace: String,
    /// Its name.
    pub(crate) name: String,
    /// When it was made.
    pub(crate) creation_timestamp: String,
    /// Its version.
    pub(crate) resource_version: String,
}

/// An application in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ApplicationSummary")]
pub(crate) struct Summary {
    /// Who it is.
    pub(crate) metadata: Metadata,
    /// Its phase; empty before the controller saw it.
    pub(crate) phase: String,
    /// How it is.
    pub(crate) health: Health,
    /// Why.
    pub(crate) message: String,
    /// Whether it was written in the v1alpha2 form.
    pub(crate) v1alpha2: bool,
    /// It is being deleted.
    pub(crate) deleting: bool,
    /// Its components.
    pub(crate) components: Vec<Component>,
}

/// A component in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Component {
    /// Its name.
    pub(crate) name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub(crate) component_type: String,
    /// Its traits' types.
    pub(crate) traits: Vec<String>,
    /// How it is, as the status of the application says.
    pub(crate) health: Health,
    /// What its status says.
    pub(crate) message: String,
}

/// What a list of Kubernetes says about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListMetadata {
    /// Where the next page begins; absent on the last.
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    pub(crate) continue_: Option<String>,
    /// How many items come after this page.
    pub(crate) remaining_item_count: usize,
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApplicationSummaryList {
    /// `console/v1`.
    pub(crate) api_version: &'static str,
    /// `ApplicationSummaryList`.
    pub(crate) kind: &'static str,
    /// Where the next page begins.
    pub(crate) metadata: ListMetadata,
    /// How many applications match, by health.
    pub(crate) counts: BTreeMap<String, usize>,
    /// The applications.
    pub(crate) items: Vec<Summary>,
}

/// A change, as a watch of Kubernetes tells it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct WatchEvent {
    /// `ADDED`, `MODIFIED` or `DELETED`.
    #[serde(rename = "type")]
    pub(crate) change: &'static str,
    /// The application now, or as it was last.
    pub(crate) object: Summary,
}

/// Which applications are wanted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    /// Of this namespace.
    pub(crate) namespace: Option<String>,
    /// With this text in the name of the application, of its namespace, of a component or of a type.
    pub(crate) search: Option<String>,
    /// As well as this.
    pub(crate) health: Option<Health>,
}

impl Filter {
    fn has_text(&self, summary: &Summary) -> bool {
        let Some(search) = &self.search else { return true };
        let search = search.to_lowercase();
        let metadata = &summary.metadata;
        let components = summary.components.iter().flat_map(|one| [&one.name, &one.component_type]);
        [&metadata.name, &metadata.namespace]
            .into_iter()
            .chain(components)
            .any(|text| text.to_lowercase().contains(&search))
    }
}

/// All applications that are watched, in short.
pub(crate) struct Applications {
    informer: Arc<Informer>,
    /// Says why there is no list.
    api: Api<DynamicObject>,
    rows: Arc<Rows>,
}

struct Rows {
    rows: Mutex<BTreeMap<Key, Arc<Summary>>>,
    changes: broadcast::Sender<Arc<WatchEvent>>,
}

impl Rows {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Arc<Summary>>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, change: &Change) {
        let Some(object) = change.object() else { return };
        let (key, row) = (Key::of(object), summary(&to_json(object)));
        let change = match (&change.new, &change.old) {
            (None, _) => "DELETED",
            (Some(_), None) => "ADDED",
            (Some(_), Some(_)) => "MODIFIED",
        };
        match change {
            "DELETED" => self.lock().remove(&key),
            _ => self.lock().insert(key, Arc::new(row.clone())),
        };
        // The receiver may be gone.
        let _ = self.changes.send(Arc::new(WatchEvent { change, object: row }));
    }
}

/// Which kind it is.
pub(crate) fn resource() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(vela_crds::GROUP, "v1beta1", "Application"))
}

impl Applications {
    /// Begins to watch those of a namespace, or all.
    pub(crate) fn watch(cache: &Cache, client: &Client, namespace: Option<String>) -> Self {
        let api = match &namespace {
            None => Api::all_with(client.clone(), &resource()),
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource()),
        };
        let informer = cache.informer(Watch { namespace, ..Watch::full(resource()) });
        let rows =
            Arc::new(Rows { rows: Mutex::default(), changes: broadcast::Sender::new(CHANGES_AT_MOST) });
        let taken = rows.clone();
        informer.on_change(Arc::new(move |change| taken.take(change)));
        Self { informer, api, rows }
    }

    /// Waits for the first list.
    pub(crate) async fn listed(&self) -> Result<(), Error> {
        match tokio::time::timeout(FIRST_LIST, self.informer.synced()).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => {
                self.refused().await?;
                Err(Error::NotListed(format!("{error}; `vela install` puts the kinds into the cluster")))
            }
            Err(_) => Err(Error::NotListed(format!(
                "the cluster gave no list within {} s; `vela install` puts the kinds into the cluster",
                FIRST_LIST.as_secs()
            ))),
        }
    }

    /// Passes on that the user may not list them, in the words of the API server.
    async fn refused(&self) -> Result<(), Error> {
        match self.api.list(&ListParams::default().limit(1)).await {
            Err(kube::Error::Api(status)) if [401, 403].contains(&status.code) => {
                Err(Error::cluster("the applications")(kube::Error::Api(status)))
            }
            _ => Ok(()),
        }
    }

    /// Changes from now on.
    pub(crate) fn changes(&self) -> broadcast::Receiver<Arc<WatchEvent>> {
        self.rows.changes.subscribe()
    }

    /// A page of those that are wanted, behind the key that an earlier page ended with.
    pub(crate) fn page(
        &self,
        filter: &Filter,
        after: Option<&str>,
        limit: usize,
    ) -> Result<ApplicationSummaryList, Error> {
        let after = match after {
            None => None,
            Some(text) => match text.split_once('/') {
                Some((namespace, name)) => Some(Key::new(namespace, name)),
                None => return Err(Error::BadRequest(format!("continue: {text:?} is no NAMESPACE/NAME"))),
            },
        };
        let mut list = ApplicationSummaryList {
            api_version: API_VERSION,
            kind: "ApplicationSummaryList",
            metadata: ListMetadata::default(),
            counts: BTreeMap::new(),
            items: Vec::new(),
        };
        let rows = self.rows.lock();
        for (key, row) in rows.iter() {
            let in_namespace = filter.namespace.as_ref().is_none_or(|namespace| *namespace == key.namespace);
            if !in_namespace || !filter.has_text(row) {
                continue;
            }
            *list.counts.entry(row.health.as_str().to_owned()).or_default() += 1;
            let is_before = after.as_ref().is_some_and(|after| key <= after);
            if is_before || filter.health.is_some_and(|health| health != row.health) {
                continue;
            }
            match list.items.len() < limit {
                true => list.items.push(row.as_ref().clone()),
                false => list.metadata.remaining_item_count += 1,
            }
        }
        if list.metadata.remaining_item_count > 0 {
            list.metadata.continue_ =
                list.items.last().map(|last| format!("{}/{}", last.metadata.namespace, last.metadata.name));
        }
        Ok(list)
    }

    /// One of them as it is.
    pub(crate) fn get(&self, namespace: &str, name: &str) -> Result<Value, Error> {
        let found = self.informer.get(&Key::new(namespace, name));
        found.map(|object| to_json(&object)).ok_or_else(|| {
            Error::NotFound(format!(
                "there is no application {name:?} in namespace {namespace:?}; see /api/v1/applications"
            ))
        })
    }
}

/// An application in short.
pub(crate) fn summary(application: &Value) -> Summary {
    let services = list_at(&application["status"]["services"]);
    let components = list_at(&application["spec"]["components"])
        .iter()
        .map(|component| {
            let name = text(&component["name"]);
            let service = services.iter().find(|service| text(&service["name"]) == name);
            let traits = list_at(&component["traits"]).iter();
            Component {
                component_type: text(&component["type"]),
                traits: traits.map(|one| text(one.get("type").unwrap_or(&one["name"]))).collect(),
                health: match service.and_then(|service| service["healthy"].as_bool()) {
                    Some(true) => Health::Healthy,
                    Some(false) => Health::Progressing,
                    None => Health::Unknown,
                },
                message: service.map(|service| text(&service["message"])).unwrap_or_default(),
                name,
            }
        })
        .collect();
    let metadata = &application["metadata"];
    let (health, message) = health::judge(application);
    Summary {
        metadata: Metadata {
            namespace: text(&metadata["namespace"]),
            name: text(&metadata["name"]),
            creation_timestamp: text(&metadata["creationTimestamp"]),
            resource_version: text(&metadata["resourceVersion"]),
        },
        phase: text(&application["status"]["status"]),
        health,
        message,
        v1alpha2: is_v1alpha2_form(application),
        deleting: metadata["deletionTimestamp"].is_string(),
        components,
    }
}

/// A watched object, with the kind that lists leave out.
pub(crate) fn to_json(object: &DynamicObject) -> Value {
    let resource = resource();
    let mut json = serde_json::to_value(object).unwrap_or_default();
    json["apiVersion"] = Value::from(resource.api_version);
    json["kind"] = Value::from(resource.kind);
    json
}

fn list_at(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
