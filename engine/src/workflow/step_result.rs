//! Observed components → those that may be applied now, and the result of a step that applies some, with the values it gives.

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json};

use super::machine::StepOutcome;
use super::spec::StepOutput;
use crate::graph::Graph;
use crate::health;
use crate::observed::{ObjectKey, Observed};
use crate::render::{Role, Templates};
use crate::steps;

/// Nodes that may be applied now: all they wait for are healthy, they are not pending, and no step before them failed.
pub fn due(graph: &Graph, observed: &Observed, templates: &Templates) -> Vec<usize> {
    let plan = graph.rendered().plan();
    let nodes = plan.nodes();
    let awaited: BTreeSet<usize> = nodes.iter().flat_map(|node| &node.waits_for).copied().collect();
    let healthy: BTreeSet<usize> = awaited
        .into_iter()
        .filter(|index| health::component(graph, *index, observed, templates).is_dispatched())
        .collect();
    graph
        .waves()
        .iter()
        .flatten()
        .copied()
        .filter(|index| plan.failing().is_none_or(|failing| !failing.blocked.contains(index)))
        .filter(|index| graph.pending(*index).is_empty())
        .filter(|index| nodes[*index].waits_for.is_subset(&healthy))
        .collect()
}

/// The result of a step that applies these nodes, as they were observed: it is done when they are healthy. `None` where
/// a component of theirs is still to be applied, because what it depends on is healthy by now.
pub fn applied(
    graph: &Graph,
    nodes: &[usize],
    outputs: &[StepOutput],
    observed: &Observed,
    templates: &Templates,
) -> Option<StepOutcome> {
    // Later objects of a component do not hold its step up.
    let healthy = |node: usize| health::component(graph, node, observed, templates).is_dispatched();
    for node in nodes {
        if let Some(error) = graph.objects_of(*node).iter().find_map(|object| observed.error(&object.key())) {
            return Some(StepOutcome::Error { message: error.to_owned() });
        }
        if let [missing, ..] = graph.pending(*node) {
            return Some(StepOutcome::Wait { message: format!("waiting: {missing}") });
        }
        let objects = graph.objects_of(*node);
        let is_unseen = |key: &ObjectKey| observed.object(key).is_none() && !observed.is_left_away(key);
        if !objects.is_empty() && objects.iter().all(|object| is_unseen(&object.key())) {
            return awaited(graph, *node, &healthy);
        }
    }
    let live = live_value(graph, nodes, observed);
    let given = |output: &StepOutput| {
        let given = steps::output_of(&live, &output.value_from);
        given.map_err(|found| found.iter().next().map_or_else(String::new, |first| first.message.clone()))
    };
    let outputs = outputs.iter().map(|output| (output.name.clone(), given(output))).collect();
    Some(match nodes.iter().all(|node| healthy(*node)) {
        true => StepOutcome::Done { outputs, message: String::new() },
        false => StepOutcome::Unhealthy { outputs },
    })
}

/// The components that one depends on and that are not healthy yet.
fn awaited(graph: &Graph, node: usize, healthy: &dyn Fn(usize) -> bool) -> Option<StepOutcome> {
    let others = graph.waits_for(node).filter(|other| !healthy(*other));
    let names: Vec<&str> =
        others.filter_map(|other| graph.component(other)).map(|component| component.name.as_str()).collect();
    let message = format!("Pending on DependsOn: {}", names.join(", "));
    (!names.is_empty()).then_some(StepOutcome::Wait { message })
}

/// `output` and `outputs` of the components at these nodes, as their objects were seen in the cluster.
pub fn live_value(graph: &Graph, nodes: &[usize], observed: &Observed) -> Json {
    let mut value = Map::new();
    let mut others = Map::new();
    for object in nodes.iter().flat_map(|node| graph.objects_of(*node)) {
        let Some(live) = observed.object(&object.key()) else { continue };
        match &object.role {
            Role::Workload => {
                value.insert("output".to_owned(), live.clone());
            }
            Role::Auxiliary { resource } => {
                others.insert(resource.clone(), live.clone());
            }
            Role::Trait { .. } | Role::Policy { .. } => {}
        }
    }
    value.insert("outputs".to_owned(), Json::Object(others));
    Json::Object(value)
}
