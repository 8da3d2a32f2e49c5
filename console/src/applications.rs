//! The stored Applications, summarized for lists.

use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt};
use serde::Serialize;
use serde_json::Value;
use vela_crds::application::is_v1alpha2_form;
use vela_runtime::Api;

/// One page of a list as it is asked for: large enough to be one for most, small enough for memory.
const PAGE: u32 = 500;
/// More applications than this are not listed; the answer says so.
const APPLICATIONS_AT_MOST: usize = 10_000;

/// An application in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Summary {
    /// Its namespace.
    pub(crate) namespace: String,
    /// Its name.
    pub(crate) name: String,
    /// When it was made.
    pub(crate) created: String,
    /// Its phase; empty before the controller saw it.
    pub(crate) phase: String,
    /// Whether it was written in the v1alpha2 form.
    pub(crate) v1alpha2: bool,
    /// Its components.
    pub(crate) components: Vec<Component>,
}

/// A component in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Component {
    /// Its name.
    pub(crate) name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub(crate) component_type: String,
    /// Its traits' types.
    pub(crate) traits: Vec<String>,
    /// Whether it is healthy; absent while nobody knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) healthy: Option<bool>,
    /// What its status says.
    pub(crate) message: String,
}

/// A list and whether it is all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ApplicationList {
    /// The applications.
    pub(crate) applications: Vec<Summary>,
    /// More exist than are listed.
    pub(crate) truncated: bool,
}

/// The applications of a namespace, or of all.
pub(crate) async fn list(client: &Client, namespace: Option<&str>) -> Result<ApplicationList, kube::Error> {
    let api = api(client, namespace);
    let mut list = ApplicationList { applications: Vec::new(), truncated: false };
    let mut params = ListParams::default().limit(PAGE);
    loop {
        let page = api.list(&params).await?;
        let next = page.metadata.continue_.clone().filter(|token| !token.is_empty());
        list.applications.extend(page.items.iter().map(|item| summary(&to_json(item))));
        match next {
            Some(_) if list.applications.len() >= APPLICATIONS_AT_MOST => {
                list.truncated = true;
                return Ok(list);
            }
            Some(token) => params = params.continue_token(&token),
            None => return Ok(list),
        }
    }
}

/// One application as it is stored.
pub(crate) async fn get(client: &Client, namespace: &str, name: &str) -> Result<Option<Value>, kube::Error> {
    let found = api(client, Some(namespace)).get_opt(name).await?;
    Ok(found.map(|mut object| {
        object.managed_fields_mut().clear();
        to_json(&object)
    }))
}

/// An application in short.
pub(crate) fn summary(application: &Value) -> Summary {
    let services = list_at(&application["status"]["services"]);
    let components = list_at(&application["spec"]["components"])
        .iter()
        .map(|component| {
            let name = text(&component["name"]);
            let service = services.iter().find(|service| text(&service["name"]) == name);
            Component {
                component_type: text(&component["type"]),
                traits: list_at(&component["traits"])
                    .iter()
                    .map(|one| text(one.get("type").unwrap_or(&one["name"])))
                    .collect(),
                healthy: service.and_then(|service| service["healthy"].as_bool()),
                message: service.map(|service| text(&service["message"])).unwrap_or_default(),
                name,
            }
        })
        .collect();
    Summary {
        namespace: text(&application["metadata"]["namespace"]),
        name: text(&application["metadata"]["name"]),
        created: text(&application["metadata"]["creationTimestamp"]),
        phase: text(&application["status"]["status"]),
        v1alpha2: is_v1alpha2_form(application),
        components,
    }
}

fn api(client: &Client, namespace: Option<&str>) -> Api<DynamicObject> {
    // Dynamic, because an object of another writer must not hide the rest of the list.
    let gvk = GroupVersionKind::gvk(vela_crds::GROUP, "v1beta1", "Application");
    let resource = ApiResource::from_gvk(&gvk);
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

fn to_json(object: &DynamicObject) -> Value {
    serde_json::to_value(object).unwrap_or_default()
}

fn list_at(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
