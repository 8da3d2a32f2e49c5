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
const BETWEEN: [(&str, &str); 2] = [("apps/v1", "ReplicaSet"), ("batch/v1", "Job")];

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

/// The pods of an Application or ApplicationConfiguration, in the order of components and names.
pub(crate) async fn of(cluster: &Cluster, application: &Value) -> Result<Vec<Pod>> {
    let namespace = text(application, "/metadata/namespace");
    let mut owners: HashMap<String, String> = HashMap::new();
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
            owners.insert(text(&object, "/metadata/uid").to_owned(), named.to_owned());
            namespaces.insert(text(&object, "/metadata/namespace").to_owned());
            let children = object.pointer("/status/resources").and_then(Value::as_array);
            let place = text(&object, "/metadata/namespace");
            inner.extend(children.into_iter().flatten().map(|child| Reference::read(child, place, named)));
        }
        next = inner;
    }
    let mut pods = Vec::new();
    for namespace in namespaces.iter().filter(|name| !name.is_empty()) {
        for (api_version, kind) in BETWEEN {
            for object in cluster.list(api_version, kind, Some(namespace)).await? {
                let object = json!(object);
                if let Some(component) = owner(&object, &owners) {
                    owners.insert(text(&object, "/metadata/uid").to_owned(), component);
                }
            }
        }
        for pod in cluster.list("v1", "Pod", Some(namespace)).await? {
            let object = json!(pod);
            let by_itself = owners.get(text(&object, "/metadata/uid")).cloned();
            if let Some(component) = owner(&object, &owners).or(by_itself) {
                pods.push(Pod { component, object });
            }
        }
    }
    pods.sort_by(|a, b| (&a.component, a.name()).cmp(&(&b.component, b.name())));
    Ok(pods)
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
