//! A revision's graph → what a rollout of one of its components makes: the workload under its name, its traits, the rest.

use serde_json::Value as Json;
use vela_crds::annotations;

use super::workload;
use crate::graph::Graph;
use crate::observed::ObjectKey;
use crate::render::Role;

/// One component of a revision, as its rollout sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    /// The workload under the name it has in a rollout.
    pub workload: Json,
    /// Objects of traits and objects beside the workload; their references to it follow its name.
    pub traits: Vec<Json>,
}

impl Template {
    /// Identity of the workload.
    pub fn key(&self) -> ObjectKey {
        ObjectKey::of(&self.workload)
    }
}

/// Names of the components of a revision.
pub fn components(graph: &Graph) -> Vec<&str> {
    (0..graph.len()).filter_map(|index| graph.component(index)).map(|each| each.name.as_str()).collect()
}

/// The component to roll out: the only one named, or the only one that both revisions have.
pub fn component(listed: &[String], target: &Graph, source: Option<&Graph>) -> Result<String, String> {
    let common: Vec<&str> = components(target)
        .into_iter()
        .filter(|name| source.is_none_or(|source| components(source).contains(name)))
        .collect();
    match listed {
        [] => {
            match common.as_slice() {
                [only] => Ok((*only).to_owned()),
                [] => Err("the two revisions have no component in common; name revisions of one application"
                    .to_owned()),
                several => Err(format!(
                    "spec.componentList names no component, and there are several: {}; name the one to roll out",
                    several.join(", ")
                )),
            }
        }
        [only] if common.contains(&only.as_str()) => Ok(only.clone()),
        [only] => Err(format!(
            "spec.componentList[0]: there is no component {only:?} in {}; there are {}",
            if source.is_some() { "both revisions" } else { "the revision" },
            common.join(", ")
        )),
        [_, _, ..] => Err("spec.componentList names several components; a rollout has one".to_owned()),
    }
}

/// The objects of one component, in the names they have in a rollout.
pub fn template(graph: &Graph, component: &str) -> Result<Template, String> {
    let revision = graph.identity().name();
    let index = (0..graph.len())
        .find(|index| graph.component(*index).is_some_and(|each| each.name == component))
        .ok_or_else(|| format!("revision {revision} has no component {component:?}"))?;
    let missing = graph.pending(index);
    if !missing.is_empty() {
        return Err(format!(
            "component {component:?} of revision {revision} cannot be rendered yet: it waits for {}",
            missing.join(", ")
        ));
    }
    let objects = graph.objects_of(index);
    let workload = objects.iter().find(|object| object.role == Role::Workload);
    let mut workload = workload
        .map(|workload| workload.object.clone())
        .ok_or_else(|| format!("component {component:?} of revision {revision} has no workload"))?;
    let before = ObjectKey::of(&workload);
    let name = workload::name(&before.api_version, &before.kind, &before.name, graph.identity().number());
    workload["metadata"]["name"] = Json::String(name.clone());
    let mut traits: Vec<Json> =
        objects.iter().filter(|each| each.role != Role::Workload).map(|each| each.object.clone()).collect();
    for object in &mut traits {
        refer(object, &before, &name);
    }
    for object in traits.iter_mut().chain([&mut workload]) {
        unmark(object);
    }
    Ok(Template { workload, traits })
}

/// Objects of the components that are not rolled out, in the order of waves.
pub fn others<'a>(graph: &'a Graph, component: &'a str) -> impl Iterator<Item = &'a Json> {
    let waves = graph.waves().iter().flatten();
    let other = move |index: &&usize| graph.component(**index).is_some_and(|each| each.name != component);
    waves.filter(other).flat_map(|index| graph.objects_of(*index)).map(|each| &each.object)
}

/// That an application leaves its workloads to rollouts is said of the application, and means nothing on what they make.
fn unmark(object: &mut Json) {
    let marks = object.pointer_mut("/metadata/annotations").and_then(Json::as_object_mut);
    if let Some(marks) = marks {
        marks.remove(annotations::ROLLOUT_TEMPLATE);
    }
}

/// References `{apiVersion, kind, name}` to an object follow its new name, wherever they stand.
fn refer(value: &mut Json, before: &ObjectKey, name: &str) {
    match value {
        Json::Object(fields) => {
            let says = |field: &str, text: &str| fields.get(field).and_then(Json::as_str) == Some(text);
            if says("apiVersion", &before.api_version)
                && says("kind", &before.kind)
                && says("name", &before.name)
            {
                fields.insert("name".to_owned(), Json::String(name.to_owned()));
            }
            fields.values_mut().for_each(|value| refer(value, before, name));
        }
        Json::Array(items) => items.iter_mut().for_each(|value| refer(value, before, name)),
        _ => {}
    }
}
