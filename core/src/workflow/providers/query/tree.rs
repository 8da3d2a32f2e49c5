//! An object and what the controllers of the cluster made out of it, generation by generation, by the rules of
//! [`vela_engine::children`].

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use vela_engine::children::{RULES_LABEL, Rules, Search};
use vela_engine::readiness::{self, Readiness, State};

use super::super::provider::Reach;
use crate::reading::Selection;

/// Generations below an object: a CronJob's Job's Pod is two deep, what Flux installs is one deeper.
const DEPTH_AT_MOST: usize = 5;
/// Objects of all trees of one call.
const OBJECTS_AT_MOST: usize = 2000;

/// Makes the trees of one call. What was listed once is not listed again.
pub(super) struct Trees {
    rules: Rules,
    listed: BTreeMap<Search, Vec<Value>>,
    /// Objects that may still be added.
    left: usize,
}

/// An object with what is below it, parents before their children.
pub(super) struct Tree(Vec<Node>);

struct Node {
    object: Value,
    /// Where its parent is; the root has none.
    parent: Option<usize>,
    depth: usize,
}

impl Trees {
    /// With the rules of users beside the built-in ones, or why these cannot be read.
    pub(super) async fn new<R: Reach>(reach: &mut R) -> Result<Result<Self, String>, R::Error> {
        let mut rules = Rules::default();
        match reach.list_shared(RULES_LABEL).await? {
            Ok(found) => {
                for config_map in &found {
                    if let Err(why) = rules.add(config_map) {
                        // The mistake of one is no reason to show nothing.
                        tracing::warn!("rules of resources are left out: {why}");
                    }
                }
            }
            Err(why) => return Ok(Err(format!("the rules of resources cannot be read: {why}"))),
        }
        Ok(Ok(Self { rules, listed: BTreeMap::new(), left: OBJECTS_AT_MOST }))
    }

    /// The tree of an object, or why it cannot be read.
    pub(super) async fn of<R: Reach>(
        &mut self,
        reach: &mut R,
        root: Value,
    ) -> Result<Result<Tree, String>, R::Error> {
        let mut tree = Tree(vec![Node { object: root, parent: None, depth: 0 }]);
        let mut known = BTreeSet::new();
        let mut at = 0;
        // The number of objects is limited.
        while let Some(node) = tree.0.get(at) {
            let (depth, searches) = (node.depth + 1, self.rules.searches(&node.object));
            for search in searches.iter().filter(|_| depth <= DEPTH_AT_MOST) {
                let found = match self.found(reach, search).await? {
                    Ok(found) => found,
                    Err(why) => return Ok(Err(why)),
                };
                for object in found {
                    let is_new = known.insert(object["metadata"]["uid"].to_string());
                    if !is_new {
                        continue;
                    }
                    let Some(left) = self.left.checked_sub(1) else {
                        return Ok(Err(format!(
                            "the tree has more than {OBJECTS_AT_MOST} objects; write a filter"
                        )));
                    };
                    self.left = left;
                    tree.0.push(Node { object, parent: Some(at), depth });
                }
            }
            at += 1;
        }
        Ok(Ok(tree))
    }

    /// What a search finds, in order of the names; nothing of a kind that the cluster does not know.
    async fn found<R: Reach>(
        &mut self,
        reach: &mut R,
        search: &Search,
    ) -> Result<Result<Vec<Value>, String>, R::Error> {
        if let Some(found) = self.listed.get(search) {
            return Ok(Ok(found.clone()));
        }
        if !reach.is_served(&search.api_version, &search.kind).await? {
            return Ok(Ok(Vec::new()));
        }
        let selection = Selection {
            api_version: search.api_version.clone(),
            kind: search.kind.clone(),
            namespace: search.namespace.clone(),
            labels: search.labels.clone(),
            ..Selection::default()
        };
        let listed = match reach.list_objects(&selection).await? {
            Ok(listed) => listed,
            Err(why) => return Ok(Err(format!("{} cannot be listed: {why}", search.kind))),
        };
        let mut found: Vec<Value> = listed.into_iter().filter(|object| search.finds(object)).collect();
        found.sort_by_key(|object| object["metadata"]["name"].as_str().unwrap_or_default().to_owned());
        self.listed.insert(search.clone(), found.clone());
        Ok(Ok(found))
    }
}

impl Tree {
    /// The object that the others are below.
    pub(super) fn root(&self) -> &Value {
        self.0.first().map_or(&Value::Null, |node| &node.object)
    }

    /// The objects of a kind, each with what it hangs below: itself for the root.
    pub(super) fn of_kind<'a>(
        &'a self,
        api_version: &'a str,
        kind: &'a str,
    ) -> impl Iterator<Item = (&'a Value, &'a Value)> {
        let is_meant =
            move |node: &&Node| node.object["apiVersion"] == api_version && node.object["kind"] == kind;
        self.0.iter().filter(is_meant).map(|node| {
            let parent = node.parent.and_then(|at| self.0.get(at)).unwrap_or(node);
            (&parent.object, &node.object)
        })
    }

    /// The tree as steps and views are given it.
    pub(super) fn written(&self) -> Value {
        let mut written: Vec<Value> = self.0.iter().map(|node| one(&node.object)).collect();
        // Children stand behind their parents: from the end each is whole before it is moved.
        for at in (1..written.len()).rev() {
            let Some(child) = written.pop() else { break };
            if let Some(parent) = self.0[at].parent.and_then(|parent| written.get_mut(parent)) {
                match parent["leafNodes"].as_array_mut() {
                    Some(leaves) => leaves.insert(0, child),
                    None => parent["leafNodes"] = json!([child]),
                }
            }
        }
        written.pop().unwrap_or_default()
    }
}

/// A node without what is below it.
fn one(object: &Value) -> Value {
    let metadata = &object["metadata"];
    let Readiness { state, message } = readiness::of(object);
    let code = match state {
        State::Current => "Healthy",
        State::InProgress | State::Terminating => "Progressing",
        State::Failed => "UnHealthy",
    };
    let mut node = Map::new();
    for (name, value) in [
        ("cluster", &json!("")),
        ("apiVersion", &object["apiVersion"]),
        ("kind", &object["kind"]),
        ("namespace", &metadata["namespace"]),
        ("name", &metadata["name"]),
        ("uid", &metadata["uid"]),
        ("healthStatus", &json!({"statusCode": code, "reason": "", "message": message})),
        ("creationTimestamp", &metadata["creationTimestamp"]),
        ("deletionTimestamp", &metadata["deletionTimestamp"]),
        ("additionalInfo", &more(object)),
    ] {
        if !value.is_null() {
            node.insert(name.to_owned(), value.clone());
        }
    }
    Value::Object(node)
}

/// What people look for in a kind.
fn more(object: &Value) -> Value {
    match (object["apiVersion"].as_str(), object["kind"].as_str()) {
        (Some("v1"), Some("Pod")) => {
            let list = |pointer: &str| {
                object.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
            };
            let statuses = list("/status/containerStatuses");
            let ready = statuses.iter().filter(|one| one["ready"] == true).count();
            let restarts: u64 = statuses.iter().filter_map(|one| one["restartCount"].as_u64()).sum();
            let stopped = statuses.iter().find_map(|one| {
                let state = &one["state"];
                state["waiting"]["reason"].as_str().or(state["terminated"]["reason"].as_str())
            });
            let status =
                stopped.or(object["status"]["reason"].as_str()).or(object["status"]["phase"].as_str());
            json!({
                "Ready": format!("{ready}/{}", list("/spec/containers").len()),
                "Status": status.unwrap_or("Unknown"),
                "Restarts": restarts,
            })
        }
        (Some("v1"), Some("Service")) if object["spec"]["type"] == "LoadBalancer" => {
            let given = object["status"]["loadBalancer"]["ingress"].as_array();
            let mut address =
                given.into_iter().flatten().filter_map(|one| one["ip"].as_str().or(one["hostname"].as_str()));
            json!({"EIP": address.next_back().unwrap_or("pending")})
        }
        _ => Value::Null,
    }
}
