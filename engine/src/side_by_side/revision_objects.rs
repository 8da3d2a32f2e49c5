//! Gives the objects of one revision names and marks by which they stand beside those of others.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use vela_crds::labels;

use super::Placed;
use crate::field_path;
use crate::graph::Graph;
use crate::observed::ObjectKey;
use crate::rollout::template::{Template, components, template};

/// Objects that decide how many pods a workload has; where the size is said elsewhere, they would only disagree with it.
const SCALERS: [(&str, &str); 4] = [
    ("core.oam.dev", "ManualScalerTrait"),
    ("standard.oam.dev", "Autoscaler"),
    ("autoscaling", "HorizontalPodAutoscaler"),
    ("keda.sh", "ScaledObject"),
];

/// The owner of the objects.
#[derive(Clone, Debug, PartialEq)]
pub struct Owner {
    /// The namespace it is in, and everything it controls.
    pub namespace: String,
    /// The owner reference that says it controls an object.
    pub reference: Json,
    /// A label that its workloads carry.
    pub label: Option<(String, String)>,
    /// Do workloads keep the names of their components? Then only one revision can run.
    pub in_place: bool,
}

/// One component of a revision.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedComponent {
    /// Its name.
    pub name: String,
    /// Its workload.
    pub workload: Json,
    /// Its other objects.
    pub others: Vec<Json>,
}

/// The objects of a revision, component by component.
///
/// # Errors
/// A component that cannot run so, and why.
pub fn placed(graph: &Graph, placed: &Placed, owner: &Owner) -> Result<Vec<PlacedComponent>, String> {
    components(graph).into_iter().map(|name| component(graph, name, placed, owner)).collect()
}

fn component(graph: &Graph, name: &str, placed: &Placed, owner: &Owner) -> Result<PlacedComponent, String> {
    let template = template(graph, name)?;
    let called = match owner.in_place {
        true => template.base.clone(),
        false => format!("{}-v{}", template.base, graph.identity().number()),
    };
    let Template { mut workload, traits, .. } = template.named(&called);
    let wrong = |error: String| format!("component {name:?} of revision {}: {error}", placed.revision);
    mark_pods(&mut workload, &placed.revision, name, !owner.in_place).map_err(wrong)?;
    if let Some(replicas) = placed.replicas {
        resize(&mut workload, replicas).map_err(wrong)?;
    }
    if let Some((label, value)) = &owner.label {
        set(&mut workload, &format!("metadata.labels[{label}]"), json!(value)).map_err(wrong)?;
    }
    let mut others: Vec<Json> =
        traits.into_iter().filter(|object| placed.replicas.is_none() || !is_scaler(object)).collect();
    for object in others.iter_mut().chain([&mut workload]) {
        own(object, owner).map_err(wrong)?;
    }
    Ok(PlacedComponent { name: name.to_owned(), workload, others })
}

/// Pods of two revisions of a component are told apart by a label. `selected` says that the workload looks for it, too: who has
/// a name of its own was never selected otherwise.
fn mark_pods(workload: &mut Json, revision: &str, component: &str, selected: bool) -> Result<(), String> {
    if !workload.pointer("/spec/template").is_some_and(Json::is_object) {
        return Ok(());
    }
    let marks = [(labels::APP_REVISION, revision), (labels::APP_COMPONENT, component)];
    for (label, value) in marks {
        set(workload, &format!("spec.template.metadata.labels[{label}]"), json!(value))?;
    }
    if selected && workload.pointer("/spec/selector/matchLabels").is_some_and(Json::is_object) {
        set(workload, &format!("spec.selector.matchLabels[{}]", labels::APP_REVISION), json!(revision))?;
    }
    Ok(())
}

fn resize(workload: &mut Json, replicas: i64) -> Result<(), String> {
    let kind = text(workload, "kind");
    let known = match group(workload) {
        "apps" => ["Deployment", "StatefulSet", "ReplicaSet"].contains(&kind),
        "apps.kruise.io" => ["CloneSet", "StatefulSet"].contains(&kind),
        _ => false,
    };
    if !known && !workload.pointer("/spec/replicas").is_some_and(Json::is_i64) {
        return Err(format!(
            "a {kind} has no spec.replicas: leave placement.distribution out for this revision"
        ));
    }
    set(workload, "spec.replicas", json!(replicas))
}

fn own(object: &mut Json, owner: &Owner) -> Result<(), String> {
    let key = ObjectKey::of(object);
    if key.namespace != owner.namespace {
        return Err(format!("{key} is not in namespace {}, where everything of it must be", owner.namespace));
    }
    set(object, "metadata.ownerReferences", json!([owner.reference]))
}

fn set(object: &mut Json, path: &str, value: Json) -> Result<(), String> {
    field_path::set(object, path, value).map_err(|error| format!("{path} cannot be written: {error}"))
}

fn is_scaler(object: &Json) -> bool {
    SCALERS.contains(&(group(object), text(object, "kind")))
}

fn group(object: &Json) -> &str {
    text(object, "apiVersion").split_once('/').map_or("", |(group, _)| group)
}

fn text<'a>(object: &'a Json, field: &str) -> &'a str {
    object.get(field).and_then(Json::as_str).unwrap_or_default()
}

/// Every object once, those of the later entries in place of the earlier ones: an object of a trait keeps its name through all
/// revisions, and the newest revision has it. Workloads come last: objects that pods read are there before them, and the apply
/// finds foreign objects before any pod starts.
pub fn objects<'a>(revisions: impl IntoIterator<Item = (u64, &'a [PlacedComponent])>) -> Vec<&'a Json> {
    let mut sorted: Vec<(u64, &[PlacedComponent])> = revisions.into_iter().collect();
    sorted.sort_by_key(|(number, _)| *number);
    let components: Vec<&'a PlacedComponent> =
        sorted.into_iter().flat_map(|(_, components)| components.iter()).collect();
    let mut others: BTreeMap<ObjectKey, &'a Json> = BTreeMap::new();
    for component in &components {
        others.extend(component.others.iter().map(|object| (ObjectKey::of(object), object)));
    }
    others.into_values().chain(components.into_iter().map(|component| &component.workload)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner() -> Owner {
        Owner {
            namespace: "space".to_owned(),
            reference: json!({"kind": "AppDeployment", "name": "both", "uid": "u", "controller": true}),
            label: None,
            in_place: false,
        }
    }

    fn deployment() -> Json {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web-v1", "namespace": "space"},
            "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}}},
        })
    }

    #[test]
    fn pods_of_two_revisions_are_told_apart() {
        let mut workload = deployment();
        mark_pods(&mut workload, "shop-v1", "web", true).unwrap();
        let revision = json!({"a": "b", labels::APP_REVISION: "shop-v1"});
        assert_eq!(workload["spec"]["selector"]["matchLabels"], revision);
        assert_eq!(workload["spec"]["template"]["metadata"]["labels"][labels::APP_COMPONENT], "web");
        let mut in_place = deployment();
        mark_pods(&mut in_place, "shop-v1", "web", false).unwrap();
        assert_eq!(
            in_place["spec"]["selector"]["matchLabels"],
            json!({"a": "b"}),
            "a selector never changes"
        );
        let mut config = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {}});
        mark_pods(&mut config, "shop-v1", "web", true).unwrap();
        assert_eq!(config, json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {}}));
    }

    #[test]
    fn only_what_has_a_number_of_pods_gets_one() {
        let mut workload = deployment();
        resize(&mut workload, 3).unwrap();
        assert_eq!(workload["spec"]["replicas"], 3);
        let mut own_kind = json!({"apiVersion": "x/v1", "kind": "Web", "spec": {"replicas": 1}});
        resize(&mut own_kind, 2).unwrap();
        let mut job = json!({"apiVersion": "batch/v1", "kind": "Job", "spec": {}});
        assert!(resize(&mut job, 1).unwrap_err().contains("a Job has no spec.replicas"));
    }

    #[test]
    fn what_is_elsewhere_is_refused() {
        let mut workload = deployment();
        own(&mut workload, &owner()).unwrap();
        assert_eq!(workload["metadata"]["ownerReferences"][0]["name"], "both");
        workload["metadata"]["namespace"] = json!("other");
        assert!(own(&mut workload, &owner()).unwrap_err().contains("not in namespace space"));
    }

    #[test]
    fn the_newest_revision_has_what_keeps_its_name() {
        let component = |number: u64, note: &str| PlacedComponent {
            name: "web".to_owned(),
            workload: json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": format!("web-v{number}")}}),
            others: vec![
                json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "note": note}),
            ],
        };
        let (new, old) = ([component(2, "new")], [component(1, "old")]);
        let found = objects([(2, new.as_slice()), (1, old.as_slice())]);
        let names: Vec<&str> = found.iter().map(|one| one["metadata"]["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["web", "web-v1", "web-v2"]);
        assert_eq!(found[0]["note"], "new");
    }
}
