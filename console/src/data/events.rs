//! The events of an application and of its objects, newest first.

use std::collections::BTreeSet;

use kube::Client;
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use vela_runtime::Api;

use crate::data::tree::Tree;
use crate::error::Error;

/// Events of one page of a list.
const PAGE: u32 = 500;
/// Events of one namespace that are looked at.
const LOOKED_AT: usize = 5_000;
/// Namespaces that are looked at.
const NAMESPACES_AT_MOST: usize = 16;
/// Events that are shown.
const SHOWN_AT_MOST: usize = 200;

/// One event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Event {
    /// When it happened last.
    pub(crate) last_seen: String,
    /// `Normal` or `Warning`.
    #[serde(rename = "type")]
    pub(crate) event_type: String,
    /// Why, in a word.
    pub(crate) reason: String,
    /// The kind of the object that it is about.
    pub(crate) kind: String,
    /// The name of that object.
    pub(crate) name: String,
    /// What happened.
    pub(crate) message: String,
    /// How often.
    pub(crate) count: i64,
}

/// Events, and whether they are all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct EventList {
    /// The events, newest first.
    pub(crate) items: Vec<Event>,
    /// There are more than are shown.
    pub(crate) truncated: bool,
}

/// Reads them.
pub(crate) async fn read(
    client: &Client,
    namespace: &str,
    name: &str,
    tree: &Tree,
) -> Result<EventList, Error> {
    let mut objects = BTreeSet::from([("Application", name)]);
    let mut namespaces = BTreeSet::from([namespace]);
    for node in tree.nodes() {
        objects.insert((node.kind.as_str(), node.name.as_str()));
        if !node.namespace.is_empty() {
            namespaces.insert(&node.namespace);
        }
    }
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Event"));
    let mut list = EventList::default();
    for namespace in namespaces.into_iter().take(NAMESPACES_AT_MOST) {
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource);
        let mut params = ListParams::default().limit(PAGE);
        let mut looked_at = 0;
        loop {
            let page = api.list(&params).await.map_err(Error::cluster("events"))?;
            looked_at += page.items.len();
            list.items.extend(
                page.items
                    .iter()
                    .map(event)
                    .filter(|event| objects.contains(&(event.kind.as_str(), event.name.as_str()))),
            );
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(_) if looked_at >= LOOKED_AT => {
                    list.truncated = true;
                    break;
                }
                Some(token) => params = params.continue_token(&token),
                None => break,
            }
        }
    }
    list.items.sort_by(|a, b| b.last_seen.cmp(&a.last_seen));
    list.truncated |= list.items.len() > SHOWN_AT_MOST;
    list.items.truncate(SHOWN_AT_MOST);
    Ok(list)
}

fn event(object: &DynamicObject) -> Event {
    let text = |pointer: &str| object.data.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let created =
        object.metadata.creation_timestamp.as_ref().map(|time| time.0.to_string()).unwrap_or_default();
    let times = ["/series/lastObservedTime", "/lastTimestamp", "/eventTime", "/firstTimestamp"];
    let last_seen = times.into_iter().map(text).find(|time| !time.is_empty()).unwrap_or(&created);
    let count = ["/series/count", "/count"].into_iter().find_map(|at| object.data.pointer(at)?.as_i64());
    Event {
        last_seen: last_seen.to_owned(),
        event_type: text("/type").to_owned(),
        reason: text("/reason").to_owned(),
        kind: text("/involvedObject/kind").to_owned(),
        name: text("/involvedObject/name").to_owned(),
        message: text("/message").trim().to_owned(),
        count: count.unwrap_or(1),
    }
}
