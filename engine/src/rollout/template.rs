//! Splits a revision's graph into what a rollout of one component makes: the workload under its name, its traits, the
//! rest.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;
use vela_crds::{annotations, labels};

use super::workload;
use crate::graph::Graph;
use crate::observed::ObjectKey;
use crate::render::Role;

/// One component of a revision, as its rollout sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    /// The workload under the name it has in a rollout.
    pub workload: Json,
    /// The name it has outside of one.
    pub base: String,
    /// Objects of traits and objects beside the workload; their references to it follow its name.
    pub traits: Vec<Json>,
}

impl Template {
    /// Identity of the workload.
    pub fn key(&self) -> ObjectKey {
        ObjectKey::of(&self.workload)
    }

    /// The same with a workload of another name.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        let before = self.key();
        self.workload["metadata"]["name"] = Json::String(name.to_owned());
        self.traits.iter_mut().for_each(|object| refer(object, &before, name));
        self
    }
}

/// Names of the components of a revision.
pub fn components(graph: &Graph) -> Vec<&str> {
    (0..graph.len()).filter_map(|index| graph.component(index)).map(|each| each.name.as_str()).collect()
}

/// The components to roll out: those named, or the only one that both revisions have.
///
/// # Errors
/// A component that one of the revisions lacks, or that it is not clear which one is meant.
pub fn rolled(listed: &[String], target: &Graph, source: Option<&Graph>) -> Result<Vec<String>, String> {
    let common: Vec<&str> = components(target)
        .into_iter()
        .filter(|name| source.is_none_or(|source| components(source).contains(name)))
        .collect();
    if listed.is_empty() {
        return match common.as_slice() {
            [only] => Ok(vec![(*only).to_owned()]),
            [] => Err(nothing_common(target, source)),
            several => Err(format!(
                "spec.componentList names no component, and there are several: {}; name those to roll out",
                several.join(", ")
            )),
        };
    }
    let mut rolled: Vec<String> = Vec::new();
    for (index, name) in listed.iter().enumerate() {
        if !common.contains(&name.as_str()) {
            return Err(format!(
                "spec.componentList[{index}]: there is no component {name:?} in {}; there are {}",
                if source.is_some() { "both revisions" } else { "the revision" },
                common.join(", ")
            ));
        }
        if !rolled.contains(name) {
            rolled.push(name.clone());
        }
    }
    Ok(rolled)
}

fn nothing_common(target: &Graph, source: Option<&Graph>) -> String {
    let has = |graph: &Graph| format!("{} has {}", graph.identity().name(), components(graph).join(", "));
    let sides: Vec<String> = std::iter::once(target).chain(source).map(has).collect();
    format!(
        "spec.componentList: no component is in both revisions: {}; a component that has another name now is another one: roll it out \
         without a source, with rolloutPlan.targetSize, and delete what it replaces",
        sides.join(", ")
    )
}

/// The components among those listed that both revisions have: where a plan is for all components, one that is new or gone is
/// not rolled out.
pub fn common(listed: &[String], target: &Graph, source: Option<&Graph>) -> Vec<String> {
    let is_common = |name: &str| {
        components(target).contains(&name) && source.is_none_or(|source| components(source).contains(&name))
    };
    let found: BTreeSet<&String> = listed.iter().filter(|name| is_common(name)).collect();
    found.into_iter().cloned().collect()
}

/// The components that both revisions have with the same objects, but for the name of the revision in their labels.
pub fn unchanged<'a>(target: &'a Graph, source: &'a Graph) -> BTreeSet<&'a str> {
    let (target, source) = (contents(target), contents(source));
    let is_same = |(name, objects): &(&'a str, Vec<Json>)| source.get(name) == Some(objects);
    target.into_iter().filter(is_same).map(|(name, _)| name).collect()
}

/// The objects of each component, as far as it can be rendered.
fn contents(graph: &Graph) -> BTreeMap<&str, Vec<Json>> {
    let mut contents: BTreeMap<&str, Vec<Json>> = BTreeMap::new();
    let mut pending = BTreeSet::new();
    for index in 0..graph.len() {
        let Some(component) = graph.component(index) else { continue };
        if !graph.pending(index).is_empty() {
            pending.insert(component.name.as_str());
        }
        let objects = graph.objects_of(index).iter().map(|each| without_revision(&each.object));
        contents.entry(&component.name).or_default().extend(objects);
    }
    contents.retain(|name, _| !pending.contains(name));
    contents
}

fn without_revision(object: &Json) -> Json {
    let mut object = object.clone();
    if let Some(all) = object.pointer_mut("/metadata/labels").and_then(Json::as_object_mut) {
        all.remove(labels::APP_REVISION);
    }
    object
}

/// The objects of one component, in the names they have in a rollout.
///
/// # Errors
/// There is no such component, it has no workload, or it waits for the output of another one.
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
    let mut traits: Vec<Json> =
        objects.iter().filter(|each| each.role != Role::Workload).map(|each| each.object.clone()).collect();
    for object in traits.iter_mut().chain([&mut workload]) {
        unmark(object);
    }
    Ok(Template { workload, base: before.name, traits }.named(&name))
}

/// Objects of the components that are not rolled out, each with its component, in the order of waves.
pub fn others<'a>(
    graph: &'a Graph,
    is_rolled: impl Fn(&str) -> bool + 'a,
) -> impl Iterator<Item = (&'a str, &'a Json)> {
    let waves = graph.waves().iter().flatten();
    let component = |index: &'a usize| Some((*index, graph.component(*index)?.name.as_str()));
    let others = waves.filter_map(component).filter(move |(_, name)| !is_rolled(name));
    others.flat_map(|(index, name)| graph.objects_of(index).iter().map(move |each| (name, &each.object)))
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
