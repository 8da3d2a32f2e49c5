//! How far the components of a graph are, by what was seen of their objects: which traits may be rendered now.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json};

use crate::definition::stage::Stage;
use crate::graph::Graph;
use crate::health::{self, ComponentHealth};
use crate::observed::{ObjectKey, Observed};
use crate::parse::Component;
use crate::render::stages::{Dispatched, is_staged};
use crate::render::{RenderedObject, Role, Templates};

/// How far each component is whose traits have stages. `current` names the objects that were written with the content that
/// they have in this graph: a former content says nothing about this one, however healthy it is.
pub fn dispatched(
    graph: &Graph,
    observed: &Observed,
    current: &BTreeSet<ObjectKey>,
    templates: &Templates,
) -> BTreeMap<usize, Dispatched> {
    let mut all = BTreeMap::new();
    for node in 0..graph.len() {
        let Some(component) = graph.component(node).filter(|component| is_staged(component)) else {
            continue;
        };
        if !graph.pending(node).is_empty() {
            continue;
        }
        let health = health::component(graph, node, observed, templates);
        let is_current = |before: bool| {
            let mut objects = graph.objects_of(node).iter();
            objects.all(|object| !counts(component, object, before) || current.contains(&object.key()))
        };
        let before = is_current(true) && is_before_healthy(component, &health);
        let is_healthy = !graph.is_withheld(node) && health.is_dispatched() && is_current(false);
        all.insert(node, Dispatched { before, live: is_healthy.then(|| live(graph, node, observed)) });
    }
    all
}

/// Does the object have to be as it is wanted: of those that go before the component, or of all but those that come after it?
fn counts(component: &Component, object: &RenderedObject, before: bool) -> bool {
    let stage = match &object.role {
        Role::Trait { index, .. } => stage(component, *index),
        Role::Workload | Role::Auxiliary { .. } | Role::Policy { .. } => Stage::DefaultDispatch,
    };
    match before {
        true => stage == Stage::PreDispatch,
        false => stage != Stage::PostDispatch,
    }
}

fn stage(component: &Component, index: usize) -> Stage {
    let trait_ = component.traits.get(index);
    trait_.and_then(|trait_| trait_.definition.stage().ok()).unwrap_or_default()
}

fn is_before_healthy(component: &Component, health: &ComponentHealth) -> bool {
    let traits = health.traits.iter().enumerate();
    let mut before = traits.filter(|(index, _)| stage(component, *index) == Stage::PreDispatch);
    before.all(|(_, trait_)| trait_.health.healthy)
}

/// `output` and `outputs` of a component as they were seen, those of its traits among them.
fn live(graph: &Graph, node: usize, observed: &Observed) -> Json {
    let (mut value, mut others) = (Map::new(), Map::new());
    for object in graph.objects_of(node) {
        let Some(live) = observed.object(&object.key()) else { continue };
        match &object.role {
            Role::Workload => {
                value.insert("output".to_owned(), live.clone());
            }
            Role::Auxiliary { resource } | Role::Trait { resource, .. } if !resource.is_empty() => {
                others.insert(resource.clone(), live.clone());
            }
            Role::Auxiliary { .. } | Role::Trait { .. } | Role::Policy { .. } => {}
        }
    }
    value.insert("outputs".to_owned(), Json::Object(others));
    Json::Object(value)
}
