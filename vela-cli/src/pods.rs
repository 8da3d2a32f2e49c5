//! An application → its pods: those of its objects, and of what the cluster's controllers made for these.

use std::collections::{BTreeSet, HashMap};

use futures::StreamExt as _;
use serde_json::{Value, json};
use vela_crds::labels;
use vela_runtime::pod_log;

use crate::cluster::Cluster;
use crate::error::Result;
use crate::pointer::text;

/// Requests under way at once.
const AT_ONCE: usize = 8;
/// Objects of one application that are looked at.
const MOST_OBJECTS: usize = 2_000;
/// What stands between workloads and pods.
pub(crate) const BETWEEN: [(&str, &str); 2] = [("apps/v1", "ReplicaSet"), ("batch/v1", "Job")];

/// A pod of an application.
pub(crate) struct Pod {
    /// The component that it belongs to; empty where no object says so.
    pub(crate) component: String,
    /// The whole object.
    pub(crate) object: Value,
}

impl Pod {
    pub(crate) fn name(&self) -> &str {
        text(&self.object, "/metadata/name")
    }

    pub(crate) fn namespace(&self) -> &str {
        text(&self.object, "/metadata/namespace")
    }

    /// The names of its containers, those that run before the others first.
    pub(crate) fn containers(&self) -> Vec<&str> {
        pod_log::containers(&self.object)
    }
}

/// What the pods of an application are found by.
pub(crate) struct Owners {
    /// The uid of each object of the application, and its component.
    components: HashMap<String, String>,
    /// Where its objects are.
    pub(crate) namespaces: BTreeSet<String>,
}

/// The pods of an Application or ApplicationConfiguration, in the order of components and names.
pub(crate) async fn of(cluster: &Cluster, application: &Value) -> Result<Vec<Pod>> {
    let owners = owners(cluster, application).await?;
    let (mut between, mut pods) = (Vec::new(), Vec::new());
    for namespace in &owners.namespaces {
        for (api_version, kind) in BETWEEN {
            let found = cluster.list(api_version, kind, Some(namespace)).await?;
            between.extend(found.into_iter().map(|object| json!(object)));
        }
        let found = cluster.list("v1", "Pod", Some(namespace)).await?;
        pods.extend(found.into_iter().map(|object| json!(object)));
    }
    Ok(owned(&owners, between.iter(), pods.iter()))
}

/// The objects that an Application or ApplicationConfiguration names.
pub(crate) async fn owners(cluster: &Cluster, application: &Value) -> Result<Owners> {
    let namespace = text(application, "/metadata/namespace");
    let mut components: HashMap<String, String> = HashMap::new();
    let mut namespaces: BTreeSet<String> = BTreeSet::from([namespace.to_owned()]);
    let mut next = references(application, namespace);
    // What an object of the v1alpha2 form became is named in its status.
    for _ in 0..2 {
        let mut inner = Vec::new();
        let requests = next.into_iter().take(MOST_OBJECTS).map(|reference| async move {
            let [api_version, kind, namespace, name] = &reference.fields;
            Ok((cluster.get(api_version, kind, Some(namespace), name).await?, reference.component))
        });
        let found: Vec<Result<_>> = futures::stream::iter(requests).buffered(AT_ONCE).collect().await;
        for one in found {
            let (Some(object), component) = one? else { continue };
            let object = json!(object);
            let named = object["metadata"]["labels"][labels::APP_COMPONENT].as_str().unwrap_or(&component);
            components.insert(text(&object, "/metadata/uid").to_owned(), named.to_owned());
            namespaces.insert(text(&object, "/metadata/namespace").to_owned());
            let children = object.pointer("/status/resources").and_then(Value::as_array);
            let place = text(&object, "/metadata/namespace");
            inner.extend(children.into_iter().flatten().map(|child| Reference::read(child, place, named)));
        }
        next = inner;
    }
    namespaces.remove("");
    Ok(Owners { components, namespaces })
}

/// Those of the pods that belong to an application, through what stands between or by themselves.
pub(crate) fn owned<'a>(
    owners: &Owners,
    between: impl Iterator<Item = &'a Value>,
    pods: impl Iterator<Item = &'a Value>,
) -> Vec<Pod> {
    let mut components = owners.components.clone();
    for object in between {
        if let Some(component) = owner(object, &owners.components) {
            components.insert(text(object, "/metadata/uid").to_owned(), component);
        }
    }
    let pod = |object: &Value| {
        let by_itself = components.get(text(object, "/metadata/uid")).cloned();
        let component = owner(object, &components).or(by_itself)?;
        Some(Pod { component, object: object.clone() })
    };
    let mut pods: Vec<Pod> = pods.filter_map(pod).collect();
    pods.sort_by(|a, b| (&a.component, a.name()).cmp(&(&b.component, b.name())));
    pods
}

/// The component of what owns an object.
fn owner(object: &Value, owners: &HashMap<String, String>) -> Option<String> {
    let all = object.pointer("/metadata/ownerReferences").and_then(Value::as_array)?;
    all.iter().find_map(|by| owners.get(text(by, "/uid")).cloned())
}

/// An object that a status names.
struct Reference {
    /// API version, kind, namespace and name.
    fields: [String; 4],
    component: String,
}

impl Reference {
    fn read(value: &Value, namespace: &str, component: &str) -> Self {
        let [api_version, kind, place, name] =
            ["/apiVersion", "/kind", "/namespace", "/name"].map(|path| text(value, path).to_owned());
        let place = if place.is_empty() { namespace.to_owned() } else { place };
        Self { fields: [api_version, kind, place, name], component: component.to_owned() }
    }
}

fn references(application: &Value, namespace: &str) -> Vec<Reference> {
    let list = |path: &str| application.pointer(path).and_then(Value::as_array).into_iter().flatten();
    let applied = list("/status/appliedResources").map(|one| Reference::read(one, namespace, ""));
    let workloads = list("/status/workloads").filter_map(|entry| {
        Some(Reference::read(entry.get("workloadRef")?, namespace, text(entry, "/componentName")))
    });
    applied.chain(workloads).collect()
}
