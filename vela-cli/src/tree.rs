//! An application's objects as a tree: what it became, how each part is, and which part of the manifest made it.

use std::collections::BTreeSet;

use futures::StreamExt;
use serde_json::{Value, json};
use vela_crds::labels;

use crate::changes::Key;
use crate::cluster::Cluster;
use crate::error::Result;
use crate::health::{self, Health};
use crate::pointer::text;
use crate::screen::{BOLD, DIM, styled, text_width};

/// Requests under way at once while the tree is read.
const AT_ONCE: usize = 8;
/// Objects of one application that are read; more are counted, not read.
const MOST_OBJECTS: usize = 2_000;

/// The kind of a node that is a component, and no object.
pub(crate) const COMPONENT: &str = "component";

/// One line of the tree.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// Empty where it is no object of the cluster.
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// Which part of the manifest made it, such as `trait gateway`.
    pub(crate) origin: String,
    pub(crate) health: Health,
    pub(crate) message: String,
    pub(crate) children: Vec<Node>,
}

/// A reference to an object, as statuses hold it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Reference {
    api_version: String,
    kind: String,
    namespace: String,
    name: String,
}

impl Reference {
    fn read(value: &Value, namespace: &str) -> Option<Self> {
        let field = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            api_version: field("apiVersion")?,
            kind: field("kind")?,
            namespace: field("namespace")
                .filter(|name| !name.is_empty())
                .unwrap_or_else(|| namespace.to_owned()),
            name: field("name")?,
        })
    }
}

/// The tree of an Application or ApplicationConfiguration.
pub(crate) async fn read(cluster: &Cluster, application: &Value) -> Result<Node> {
    let namespace = text(application, "/metadata/namespace");
    let mut root = node(application, String::new());
    if text(application, "/kind") == "ApplicationConfiguration" {
        root.children = configuration(cluster, application, namespace).await?;
        // Its own conditions say only that everything was applied; it is as well as its worst part.
        root.health = root.children.iter().map(worst).fold(root.health, Health::and);
        return Ok(root);
    }
    root.children = components(application);
    let references = references(application, "/status/appliedResources", namespace);
    for object in fetch(cluster, references).await? {
        let mut child = found(cluster, &object).await?;
        let component = object.1.as_ref().map_or("", |object| label(object, labels::APP_COMPONENT));
        if is_of_policy(application, &object.0, namespace) {
            child.origin = "policy".to_owned();
        }
        if let Some(object) = &object.1 {
            say_of_trait(&mut child, application, component, label(object, labels::TRAIT_TYPE));
        }
        match root.children.iter_mut().find(|node| node.name == component) {
            Some(parent) => parent.children.push(child),
            None => root.children.push(child),
        }
    }
    // An Application of v1alpha2 becomes an ApplicationConfiguration, which becomes the objects.
    if text(application, "/apiVersion").ends_with("/v1alpha2") {
        root.children.extend(stored_configuration(cluster, application, namespace).await?);
    }
    Ok(root)
}

async fn stored_configuration(
    cluster: &Cluster,
    application: &Value,
    namespace: &str,
) -> Result<Option<Node>> {
    let name = text(application, "/metadata/name");
    let kind = "ApplicationConfiguration";
    let Some(stored) = cluster.get("core.oam.dev/v1alpha2", kind, Some(namespace), name).await? else {
        return Ok(None);
    };
    let stored = json!(stored);
    let owner = text(application, "/metadata/uid");
    let owned = stored.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    if !owned.is_some_and(|owners| owners.iter().any(|by| text(by, "/uid") == owner)) {
        return Ok(None);
    }
    let mut node = node(&stored, "application".to_owned());
    node.children = configuration(cluster, &stored, namespace).await?;
    Ok(Some(node))
}

/// One node per component of an Application, with what its status says about it.
fn components(application: &Value) -> Vec<Node> {
    let none = Vec::new();
    let list = |path: &str| application.pointer(path).and_then(Value::as_array).unwrap_or(&none);
    let services = list("/status/services");
    let component = |component: &Value| {
        let name = text(component, "/name");
        let service = services.iter().find(|service| text(service, "/name") == name);
        Node {
            api_version: String::new(),
            kind: COMPONENT.to_owned(),
            namespace: String::new(),
            name: name.to_owned(),
            origin: text(component, "/type").to_owned(),
            health: match service.and_then(|service| service.get("healthy")).and_then(Value::as_bool) {
                Some(true) => Health::Healthy,
                Some(false) => Health::Progressing,
                None => Health::Unknown,
            },
            message: service.map_or("", |service| text(service, "/message")).trim().to_owned(),
            children: Vec::new(),
        }
    };
    list("/spec/components").iter().map(component).collect()
}

/// What the definition of a trait says of its object (`customStatus`, `healthPolicy`), as the status has it.
fn say_of_trait(node: &mut Node, application: &Value, component: &str, type_: &str) {
    if type_.is_empty() {
        return;
    }
    let services = application.pointer("/status/services").and_then(Value::as_array);
    let mut services = services.into_iter().flatten().filter(|service| text(service, "/name") == component);
    let traits = services.find_map(|service| service.get("traits")?.as_array());
    let Some(found) = traits.into_iter().flatten().find(|one| text(one, "/type") == type_) else { return };
    let message = text(found, "/message").trim();
    if !message.is_empty() {
        node.message = message.to_owned();
    }
    if found.get("healthy").and_then(Value::as_bool) == Some(false) {
        node.health = node.health.and(Health::Progressing);
    }
}

/// The workloads, traits and scopes that the status of an ApplicationConfiguration names.
async fn configuration(cluster: &Cluster, object: &Value, namespace: &str) -> Result<Vec<Node>> {
    let none = Vec::new();
    let mut nodes = Vec::new();
    for entry in object.pointer("/status/workloads").and_then(Value::as_array).unwrap_or(&none) {
        let mut component = Node {
            api_version: String::new(),
            kind: COMPONENT.to_owned(),
            namespace: String::new(),
            name: text(entry, "/componentName").to_owned(),
            origin: text(entry, "/componentRevisionName").to_owned(),
            health: Health::Unknown,
            message: String::new(),
            children: Vec::new(),
        };
        let workload = entry.get("workloadRef").and_then(|value| Reference::read(value, namespace));
        let part = |list: &str, field: &str| -> Vec<Reference> {
            let entries = entry.get(list).and_then(Value::as_array).unwrap_or(&none);
            entries.iter().filter_map(|entry| Reference::read(entry.get(field)?, namespace)).collect()
        };
        let (traits, scopes) = (part("traits", "traitRef"), part("scopes", "scopeRef"));
        for (origin, references) in
            [("workload", workload.into_iter().collect()), ("trait", traits), ("scope", scopes)]
        {
            for object in fetch(cluster, references).await? {
                let mut child = found(cluster, &object).await?;
                child.origin = origin.to_owned();
                component.children.push(child);
            }
        }
        component.health =
            component.children.iter().map(worst).reduce(Health::and).unwrap_or(Health::Unknown);
        nodes.push(component);
    }
    Ok(nodes)
}

fn worst(node: &Node) -> Health {
    node.children.iter().map(worst).fold(node.health, Health::and)
}

type Found = (Reference, Option<Value>);

/// The node of an object with those that its status names, such as the Deployment of a ContainerizedWorkload.
async fn found(cluster: &Cluster, (reference, object): &Found) -> Result<Node> {
    let Some(object) = object else {
        return Ok(Node {
            api_version: reference.api_version.clone(),
            kind: reference.kind.clone(),
            namespace: reference.namespace.clone(),
            name: reference.name.clone(),
            origin: String::new(),
            health: Health::Missing,
            message: "not found".to_owned(),
            children: Vec::new(),
        });
    };
    let mut parent = node(object, origin(object));
    let namespace = text(object, "/metadata/namespace");
    for (reference, child) in fetch(cluster, references(object, "/status/resources", namespace)).await? {
        parent.children.push(match child {
            Some(child) => node(&child, origin(&child)),
            None => Node {
                health: Health::Missing,
                api_version: reference.api_version,
                kind: reference.kind,
                namespace: reference.namespace,
                name: reference.name,
                ..node(&Value::Null, String::new())
            },
        });
    }
    Ok(parent)
}

async fn fetch(cluster: &Cluster, references: Vec<Reference>) -> Result<Vec<Found>> {
    let requests = references.into_iter().take(MOST_OBJECTS).map(|reference| async move {
        let Reference { api_version, kind, namespace, name } = &reference;
        let object = cluster.get(api_version, kind, Some(namespace), name).await?;
        Ok((reference, object.map(|object| json!(object))))
    });
    futures::stream::iter(requests).buffered(AT_ONCE).collect::<Vec<_>>().await.into_iter().collect()
}

fn references(object: &Value, path: &str, namespace: &str) -> Vec<Reference> {
    let entries = object.pointer(path).and_then(Value::as_array);
    let mut references: Vec<Reference> = Vec::new();
    for reference in entries.into_iter().flatten().filter_map(|entry| Reference::read(entry, namespace)) {
        if !references.contains(&reference) {
            references.push(reference);
        }
    }
    references
}

/// Does the status say that a policy of the application made the object?
fn is_of_policy(application: &Value, object: &Reference, namespace: &str) -> bool {
    let entries = application.pointer("/status/appliedResources").and_then(Value::as_array);
    let mut by_policies = entries.into_iter().flatten().filter(|entry| text(entry, "/creator") == "policy");
    by_policies.any(|entry| Reference::read(entry, namespace).as_ref() == Some(object))
}

/// Which part of the manifest made an object, as its labels say.
fn origin(object: &Value) -> String {
    match (label(object, labels::TRAIT_TYPE), label(object, labels::WORKLOAD_TYPE)) {
        ("", "") => String::new(),
        ("", workload) => format!("component {workload}"),
        (kind, _) => format!("trait {kind}"),
    }
}

fn node(object: &Value, origin: String) -> Node {
    let (health, message) = health::judge(object);
    Node {
        api_version: text(object, "/apiVersion").to_owned(),
        kind: text(object, "/kind").to_owned(),
        namespace: text(object, "/metadata/namespace").to_owned(),
        name: text(object, "/metadata/name").to_owned(),
        origin,
        health,
        message,
        children: Vec::new(),
    }
}

fn label<'a>(object: &'a Value, name: &str) -> &'a str {
    object
        .pointer("/metadata/labels")
        .and_then(|labels| labels.get(name))
        .and_then(Value::as_str)
        .unwrap_or("")
}

impl Node {
    /// The worst health of this node and of everything below it.
    pub(crate) fn worst(&self) -> Health {
        worst(self)
    }

    /// What names the objects of the cluster that the tree has.
    pub(crate) fn keys(&self) -> BTreeSet<Key> {
        let below = self.children.iter().flat_map(Self::keys);
        let key = Key {
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            kind: self.kind.clone(),
            api_version: self.api_version.clone(),
        };
        below.chain([key].into_iter().filter(|key| !key.api_version.is_empty())).collect()
    }

    /// The tree without what was told already.
    #[must_use]
    pub(crate) fn without(mut self, shown: &str) -> Self {
        if shown.contains(self.message.as_str()) {
            self.message.clear();
        }
        self.children = self.children.into_iter().map(|child| child.without(shown)).collect();
        self
    }

    /// The tree for people.
    pub(crate) fn render(&self) -> String {
        let mut rows = Vec::new();
        self.rows("", "", &mut rows);
        let width = rows.iter().map(|(plain, ..)| text_width(plain)).max().unwrap_or(0);
        let mut out = String::new();
        for (plain, painted, health) in rows {
            let gap = " ".repeat(width.saturating_sub(text_width(&plain)) + 2);
            out.push_str(&format!("{painted}{gap}{health}\n"));
        }
        out
    }

    fn rows(&self, lead: &str, below: &str, into: &mut Vec<(String, String, String)>) {
        let origin = if self.origin.is_empty() { String::new() } else { format!(" ({})", self.origin) };
        let mut health = styled(self.health.style(), self.health.word());
        if !self.message.is_empty() {
            health.push_str(&format!("  {}", self.message.replace('\n', " ")));
        }
        into.push((
            format!("{lead}{} {}{origin}", self.kind, self.name),
            format!("{lead}{} {}{}", self.kind, styled(BOLD, &self.name), styled(DIM, &origin)),
            health,
        ));
        for (index, child) in self.children.iter().enumerate() {
            let (branch, rail) =
                if index + 1 == self.children.len() { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            child.rows(&format!("{below}{branch}"), &format!("{below}{rail}"), into);
        }
    }

    /// The tree for programs.
    pub(crate) fn data(&self) -> Value {
        json!({
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "origin": self.origin,
            "health": self.health.word(),
            "message": self.message,
            "children": self.children.iter().map(Node::data).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trait_says_what_its_definition_says() {
        let traits = json!([{"type": "gateway", "healthy": false, "message": "waits for an address\n"}]);
        let services = json!([{"name": "other", "traits": []}, {"name": "web", "traits": traits}]);
        let application = json!({"status": {"services": services}});
        let ingress =
            json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "web"}});
        let mut gateway = node(&ingress, "trait gateway".to_owned());
        assert_eq!(gateway.health, Health::Healthy);
        say_of_trait(&mut gateway, &application, "web", "gateway");
        assert_eq!((gateway.health, gateway.message.as_str()), (Health::Progressing, "waits for an address"));
        let mut scaler = node(&ingress, String::new());
        let message = scaler.message.clone();
        say_of_trait(&mut scaler, &application, "web", "scaler");
        assert_eq!((scaler.health, scaler.message), (Health::Healthy, message));
    }
}
