//! Builds the tree of an application's owned objects with the state of each, from its record and the live objects.

use std::collections::BTreeSet;

use futures::StreamExt;
use kube::Client;
use kube::api::{DynamicObject, ListParams};
use serde::Serialize;
use serde_json::Value;
use vela_crds::{ManagedResource, ResourceTracker, labels};
use vela_engine::readiness;
use vela_runtime::{Api, Discovery};

/// Requests under way at once while a tree is read.
const AT_ONCE: usize = 8;
/// Objects of one application that are read; the answer says when there are more.
const OBJECTS_AT_MOST: usize = 2_000;
/// What controllers of the cluster make out of workloads; deeper generations hang below these.
const DESCENDANTS: &[(&str, &str)] = &[("apps/v1", "ReplicaSet"), ("batch/v1", "Job"), ("v1", "Pod")];
/// Owners of owners: a CronJob's Job's Pod is three deep, nothing known is deeper.
const DEPTH_AT_MOST: usize = 8;

/// One object of the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Node {
    /// Its API version.
    pub(crate) api_version: String,
    /// Its kind.
    pub(crate) kind: String,
    /// Its namespace; empty for cluster-scoped ones.
    pub(crate) namespace: String,
    /// Its name.
    pub(crate) name: String,
    /// Component that asked for it.
    pub(crate) component: String,
    /// Trait that asked for it.
    #[serde(rename = "trait")]
    pub(crate) trait_type: String,
    /// Whether it exists.
    pub(crate) exists: bool,
    /// Whether it does its work.
    pub(crate) ready: bool,
    /// What is there or missing.
    pub(crate) message: String,
    /// What it made in its turn.
    pub(crate) children: Vec<Node>,
}

/// A tree and whether it is whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Tree {
    /// Content hash of the revision whose objects these are.
    pub(crate) identity: String,
    /// Every object of that revision was applied.
    pub(crate) complete: bool,
    /// The objects, as recorded.
    pub(crate) objects: Vec<Node>,
    /// More objects are recorded than are shown.
    pub(crate) truncated: bool,
}

/// Reads the tree of an application.
pub(crate) async fn read(
    client: &Client,
    discovery: &Discovery,
    namespace: &str,
    name: &str,
) -> Result<Tree, kube::Error> {
    let selector = format!("{}={name},{}={namespace}", labels::APP_NAME, labels::APP_NAMESPACE);
    let trackers: Api<ResourceTracker> = Api::all(client.clone());
    let trackers = trackers.list(&ListParams::default().labels(&selector)).await?;
    let mut tree = Tree::default();
    let mut recorded = Vec::new();
    for tracker in trackers.items {
        tree.identity = tracker.spec.identity.unwrap_or_default();
        tree.complete = tracker.spec.complete;
        recorded.extend(tracker.spec.managed_resources.into_iter().filter(|one| !one.deleted));
    }
    tree.truncated = recorded.len() > OBJECTS_AT_MOST;
    recorded.truncate(OBJECTS_AT_MOST);
    let live: Vec<Result<Value, String>> = futures::stream::iter(recorded.clone())
        .map(|one| async move { live(client, discovery, &one).await })
        .buffered(AT_ONCE)
        .collect()
        .await;
    let namespaces: BTreeSet<&str> = recorded.iter().filter_map(|one| one.namespace.as_deref()).collect();
    let made = made(client, discovery, &namespaces, name).await?;
    tree.objects = recorded.iter().zip(&live).map(|(one, live)| node(one, live, &made)).collect();
    Ok(tree)
}

/// One recorded object with its state and what it made.
pub(crate) fn node(recorded: &ManagedResource, live: &Result<Value, String>, made: &[Value]) -> Node {
    let mut node = Node {
        api_version: recorded.api_version.clone().unwrap_or_default(),
        kind: recorded.kind.clone().unwrap_or_default(),
        namespace: recorded.namespace.clone().unwrap_or_default(),
        name: recorded.name.clone().unwrap_or_default(),
        component: recorded.component.clone().unwrap_or_default(),
        trait_type: recorded.trait_type.clone().unwrap_or_default(),
        ..Node::default()
    };
    match live {
        Ok(Value::Null) => node.message = "does not exist".to_owned(),
        Ok(object) => judge(&mut node, object, made, 0),
        Err(message) => node.message.clone_from(message),
    }
    node
}

fn judge(node: &mut Node, object: &Value, made: &[Value], depth: usize) {
    let readiness = readiness::of(object);
    node.exists = true;
    node.ready = readiness.is_ready();
    node.message = readiness.message;
    if depth >= DEPTH_AT_MOST {
        return;
    }
    let Some(uid) = object["metadata"]["uid"].as_str() else { return };
    node.children = made
        .iter()
        .filter(|child| {
            let owners = child["metadata"]["ownerReferences"].as_array();
            owners.is_some_and(|owners| owners.iter().any(|owner| owner["uid"] == uid))
        })
        .map(|child| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let mut below = Node {
                api_version: text(&child["apiVersion"]),
                kind: text(&child["kind"]),
                namespace: text(&child["metadata"]["namespace"]),
                name: text(&child["metadata"]["name"]),
                ..Node::default()
            };
            judge(&mut below, child, made, depth + 1);
            below
        })
        .collect();
}

/// The live object behind a record: null when it is gone, a sentence when it cannot be read.
async fn live(client: &Client, discovery: &Discovery, recorded: &ManagedResource) -> Result<Value, String> {
    let api_version = recorded.api_version.as_deref().unwrap_or_default();
    let kind = recorded.kind.as_deref().unwrap_or_default();
    let kind = discovery.resolve(api_version, kind).await.map_err(|error| error.to_string())?;
    let api = kind.api(client.clone(), recorded.namespace.as_deref().unwrap_or_default());
    let name = recorded.name.as_deref().unwrap_or_default();
    let object = api.get_opt(name).await.map_err(|error| error.to_string())?;
    Ok(object.map(|object| to_json(&object, api_version, &kind.resource.kind)).unwrap_or_default())
}

/// What the cluster's controllers made for the application: they copy its label from pod templates.
async fn made(
    client: &Client,
    discovery: &Discovery,
    namespaces: &BTreeSet<&str>,
    application: &str,
) -> Result<Vec<Value>, kube::Error> {
    let params = ListParams::default()
        .labels(&format!("{}={application}", labels::APP_NAME))
        .limit(u32::try_from(OBJECTS_AT_MOST).unwrap_or(u32::MAX));
    let mut made = Vec::new();
    for (api_version, kind) in DESCENDANTS {
        // A cluster without the kind has none of its objects.
        let Ok(resolved) = discovery.resolve(api_version, kind).await else { continue };
        for namespace in namespaces {
            let found = resolved.api(client.clone(), namespace).list(&params).await?;
            made.extend(found.items.iter().map(|object| to_json(object, api_version, kind)));
        }
    }
    Ok(made)
}

/// Items of a list come without their kind.
fn to_json(object: &DynamicObject, api_version: &str, kind: &str) -> Value {
    let mut json = serde_json::to_value(object).unwrap_or_default();
    json["apiVersion"] = Value::from(api_version);
    json["kind"] = Value::from(kind);
    json
}
