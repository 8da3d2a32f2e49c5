//! Builds the tree of an application's owned objects with the state of each, from its record and the live objects.

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt;
use kube::Client;
use kube::api::{DynamicObject, ListParams};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use vela_crds::{ManagedResource, ResourceTracker, labels};
use vela_engine::LOCAL;
use vela_runtime::{Api, Discovery};

use crate::data::health::{self, Health};
use crate::error::Error;

/// Requests under way at once while a tree is read.
const AT_ONCE: usize = 8;
/// Objects of one application that are read; the answer says when there are more.
const OBJECTS_AT_MOST: usize = 2_000;
/// Workloads of one application whose own labels are asked for, beside that of the application.
const SELECTORS_AT_MOST: usize = 50;
/// What controllers of the cluster make out of workloads; deeper generations hang below these.
const DESCENDANTS: &[(&str, &str)] = &[("apps/v1", "ReplicaSet"), ("batch/v1", "Job"), ("v1", "Pod")];
/// Owners of owners: a CronJob's Job's Pod is three deep, nothing known is deeper.
const DEPTH_AT_MOST: usize = 8;

/// One object of the tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
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
    /// How it is.
    pub(crate) health: Health,
    /// Why: what is there or missing.
    pub(crate) message: String,
    /// When it was made; empty where it does not exist.
    pub(crate) created: String,
    /// What it made in its turn.
    pub(crate) children: Vec<Node>,
}

/// A tree and whether it is whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
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
    /// Why objects may be missing here; empty where none are.
    pub(crate) note: String,
}

impl Tree {
    /// Every node, parents before their children.
    pub(crate) fn nodes(&self) -> Vec<&Node> {
        below(&self.objects)
    }
}

/// These nodes and all below them, parents before their children.
pub(crate) fn below(roots: &[Node]) -> Vec<&Node> {
    let mut open: Vec<&Node> = roots.iter().rev().collect();
    let mut all = Vec::new();
    while let Some(node) = open.pop() {
        all.push(node);
        open.extend(node.children.iter().rev());
    }
    all
}

/// Reads the tree of an application.
pub(crate) async fn read(
    client: &Client,
    discovery: &Discovery,
    namespace: &str,
    name: &str,
) -> Result<Tree, Error> {
    let selector = format!("{}={name},{}={namespace}", labels::APP_NAME, labels::APP_NAMESPACE);
    let trackers: Api<ResourceTracker> = Api::all(client.clone());
    let params = ListParams::default().labels(&selector);
    let trackers =
        trackers.list(&params).await.map_err(Error::cluster("the record of the application's objects"))?;
    let mut tree = Tree::default();
    let mut recorded = Vec::new();
    for tracker in trackers.items {
        // One of several says which content was applied.
        if let Some(identity) = tracker.spec.identity {
            tree.identity = identity;
            tree.complete = tracker.spec.complete;
        }
        if tracker
            .spec
            .compression
            .is_some_and(|how| how.compression_type.is_some_and(|how| how != "uncompressed"))
        {
            tree.note = "A part of the record is compressed, which is not read yet.".to_owned();
        }
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
    let by_name = format!("{}={name}", labels::APP_NAME);
    let mut places: BTreeSet<(String, String)> =
        namespaces.into_iter().map(|namespace| (namespace.to_owned(), by_name.clone())).collect();
    places.extend(live.iter().flatten().filter_map(selected).take(SELECTORS_AT_MOST));
    let made = made(client, discovery, &places).await.map_err(Error::cluster("what the objects made"))?;
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
        Ok(Value::Null) => {
            node.health = Health::Missing;
            node.message = "does not exist".to_owned();
        }
        Ok(object) => judge(&mut node, object, made, 0),
        Err(message) => node.message.clone_from(message),
    }
    node
}

fn judge(node: &mut Node, object: &Value, made: &[Value], depth: usize) {
    (node.health, node.message) = health::judge(object);
    node.created = object["metadata"]["creationTimestamp"].as_str().unwrap_or_default().to_owned();
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
    if let Some(cluster) = recorded.cluster.as_deref().filter(|cluster| !["", LOCAL].contains(cluster)) {
        return Err(format!("is in the cluster {cluster}, which is not read"));
    }
    let kind = discovery.resolve(api_version, kind).await.map_err(|error| error.to_string())?;
    let api = kind.api(client.clone(), recorded.namespace.as_deref().unwrap_or_default());
    let name = recorded.name.as_deref().unwrap_or_default();
    if kind.resource.group.is_empty() && kind.resource.kind == "Secret" {
        // The console shows no content of it, so it does not even ask for it.
        let found = api.get_metadata_opt(name).await.map_err(|error| error.to_string())?;
        return Ok(found
            .map(|found| json!({"apiVersion": "v1", "kind": "Secret", "metadata": found.metadata}))
            .unwrap_or_default());
    }
    let object = api.get_opt(name).await.map_err(|error| error.to_string())?;
    Ok(object.map(|object| to_json(&object, api_version, &kind.resource.kind)).unwrap_or_default())
}

/// The namespace of a workload and the labels by which it knows what it made: a template need not write the application's.
fn selected(workload: &Value) -> Option<(String, String)> {
    workload["spec"]["template"].as_object()?;
    let labels =
        workload["spec"]["selector"]["matchLabels"].as_object().filter(|labels| !labels.is_empty())?;
    let pairs: Option<Vec<String>> =
        labels.iter().map(|(name, value)| Some(format!("{name}={}", value.as_str()?))).collect();
    Some((workload["metadata"]["namespace"].as_str()?.to_owned(), pairs?.join(",")))
}

/// What the cluster's controllers made in these namespaces with these labels: they copy those of pod templates.
async fn made(
    client: &Client,
    discovery: &Discovery,
    places: &BTreeSet<(String, String)>,
) -> Result<Vec<Value>, kube::Error> {
    let mut made: BTreeMap<[String; 3], Value> = BTreeMap::new();
    for (api_version, kind) in DESCENDANTS {
        // A cluster without the kind has none of its objects.
        let Ok(resolved) = discovery.resolve(api_version, kind).await else { continue };
        for (namespace, selector) in places {
            let limit = u32::try_from(OBJECTS_AT_MOST).unwrap_or(u32::MAX);
            let params = ListParams::default().labels(selector).limit(limit);
            let found = resolved.api(client.clone(), namespace).list(&params).await?;
            made.extend(found.items.iter().map(|object| {
                let text = |text: &Option<String>| text.clone().unwrap_or_default();
                let key = [text(&object.metadata.namespace), text(&object.metadata.name), (*kind).to_owned()];
                (key, to_json(object, api_version, kind))
            }));
        }
    }
    Ok(made.into_values().collect())
}

/// Items of a list come without their kind.
fn to_json(object: &DynamicObject, api_version: &str, kind: &str) -> Value {
    let mut json = serde_json::to_value(object).unwrap_or_default();
    json["apiVersion"] = Value::from(api_version);
    json["kind"] = Value::from(kind);
    json
}
