//! Compares the objects of an application with those of another run, without what differs from run to run.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::cluster::SimulatedCluster;
use crate::model::{self, NAMESPACE, OWNED, Place};

/// Kinds of which a deleted application leaves nothing.
const RECORDS: [&str; 6] = [
    "resourcetrackers.core.oam.dev",
    "applicationrevisions.core.oam.dev",
    "applications.core.oam.dev",
    "controllerrevisions.apps",
    model::CONFIGURATIONS,
    model::COMPONENTS,
];
/// Labels and annotations that carry the number or hash of a revision or a generation, which depend on the way to it.
const OF_THE_REVISION: [&str; 5] = [
    "app.oam.dev/appRevision",
    "app.oam.dev/app-revision-hash",
    "app.oam.dev/revision",
    "app.oam.dev/generation",
    "app.oam.dev/last-applied-configuration",
];

/// The application's objects, without what differs from run to run.
pub(crate) fn objects(cluster: &SimulatedCluster) -> BTreeMap<Place, Value> {
    let mut found = BTreeMap::new();
    for resource in OWNED {
        for entry in cluster.store().list(resource, Some(NAMESPACE)).0 {
            let name = entry["metadata"]["name"].as_str().unwrap_or_default();
            // The values of a workflow tell of its way, too.
            if name != "kube-root-ca.crt" && !name.starts_with("workflow-") {
                found.insert((resource.to_owned(), name.to_owned()), normal(entry.value()));
            }
        }
    }
    found
}

/// Annotations of the cluster's own controllers.
fn is_the_clusters(name: &str) -> bool {
    name.split('/').next().is_some_and(|domain| domain.ends_with("kubernetes.io"))
}

fn normal(object: &Value) -> Value {
    let mut object = object.clone();
    let mut metadata = Map::new();
    for field in ["name", "labels", "annotations", "finalizers", "deletionTimestamp"] {
        let mut value = object["metadata"][field].take();
        if let Some(map) = value.as_object_mut() {
            map.retain(|name, _| !OF_THE_REVISION.contains(&name.as_str()) && !is_the_clusters(name));
        }
        if !value.is_null() && value != json!({}) {
            metadata.insert(field.to_owned(), value);
        }
    }
    if let Some(spec) = object["spec"].as_object_mut() {
        spec.remove("volumeName");
    }
    object["metadata"] = metadata.into();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    object
}

/// The differences of two sets of objects.
pub(crate) fn difference(found: &BTreeMap<Place, Value>, wanted: &BTreeMap<Place, Value>) -> String {
    let places: BTreeSet<&Place> = found.keys().chain(wanted.keys()).collect();
    let differ = places.into_iter().filter(|place| found.get(*place) != wanted.get(*place));
    let show = |object: Option<&Value>| object.map_or_else(|| "nothing".to_owned(), Value::to_string);
    let lines = differ.map(|place| {
        format!(
            "{} {}: found {}, wanted {}",
            place.0,
            place.1,
            show(found.get(place)),
            show(wanted.get(place))
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The remains of the application anywhere.
pub(crate) fn left(cluster: &SimulatedCluster) -> Vec<String> {
    let store = cluster.store();
    let mut left = Vec::new();
    for resource in OWNED.into_iter().chain(RECORDS) {
        for entry in store.list(resource, None).0 {
            let namespace = entry["metadata"]["namespace"].as_str().unwrap_or(NAMESPACE);
            let name = entry["metadata"]["name"].as_str().unwrap_or_default();
            if namespace == NAMESPACE && name != "kube-root-ca.crt" {
                left.push(format!("{resource} {name}"));
            }
        }
    }
    left
}
