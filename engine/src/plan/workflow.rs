//! Builds nodes and steps from the workflow of an application, written or generated: the nodes of each step, and its
//! order.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value as Json;

use super::deploy::{self, Nodes};
use super::node::{Failing, Node};
use crate::definition::{Language, version};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, NotSupported};
use crate::nearest;
use crate::parse::{self, AppFile, Workflow};
use crate::placement::{LOCAL, Placement, remote};
use crate::policy::{self, Policies};
use crate::steps;
pub use crate::workflow::{APPLY_COMPONENT, DEPLOY};
use crate::workflow::{
    BUILT_IN_STEPS, DEPLOY_CLOUD_RESOURCE, SHARE_CLOUD_RESOURCE, STEP_GROUP, SUSPEND, WorkflowSpec,
    applies_by_calls, applies_several,
};

/// Steps begin as soon as the steps that they wait for are done.
pub(super) const DAG: &str = "DAG-DAG";
/// Each step waits for all before it.
const STEP_BY_STEP: &str = "StepByStep-DAG";
/// Workflow steps that run in the order of the list.
pub const SUPPORTED_STEPS: &[&str] = &BUILT_IN_STEPS;

/// One step: the nodes that it applies, and waits for until they are healthy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its name, as the status shows it.
    pub name: String,
    /// Its type.
    pub type_: &'static str,
    /// Names of the policies that it goes by.
    pub policies: Vec<String>,
    /// Indexes of its nodes; none where it cannot succeed.
    pub nodes: Vec<usize>,
}

impl Step {
    fn applying(name: String, nodes: Vec<usize>) -> Self {
        Self { name, type_: APPLY_COMPONENT, policies: Vec::new(), nodes }
    }
}

/// The plan of a workflow.
pub(super) struct Planned {
    pub(super) nodes: Vec<Node>,
    pub(super) steps: Vec<Step>,
    pub(super) mode: &'static str,
    pub(super) failing: Option<Failing>,
    /// The steps that a machine runs.
    pub(super) spec: Option<Arc<WorkflowSpec>>,
}

/// Written steps, or else one for each topology policy, or else one for each component.
pub(super) fn plan(
    app: &AppFile,
    policies: &Policies,
    not_supported: NotSupported,
    found: &mut Diagnostics,
) -> Planned {
    let spec = app.document().value().get("spec").and_then(Json::as_object);
    let deploys = spec.into_iter().flat_map(policy::deploy_steps);
    let named: BTreeSet<&str> = deploys.flat_map(|(_, step)| policy::named_policies(step)).collect();
    for policy in policies.replications.iter().filter(|policy| !named.contains(policy.name.as_str())) {
        let message = format!(
            "no step goes by the replication policy {:?}: there is one of each component",
            policy.name
        );
        let warning = Diagnostic::warning(Code::UnknownReference, message).hint("name it in a deploy step");
        found.push(warning.at(app.document(), policy.path.clone()));
    }
    match app.workflow().filter(|workflow| !workflow.steps.is_empty()) {
        Some(workflow) => {
            // An error reports a step that cannot run, and that step may be the one that uses these policies.
            let is_run =
                |step: &parse::Step| SUPPORTED_STEPS.contains(&type_of(step)) || not_run(step).is_none();
            let all_run = workflow.steps.iter().all(is_run);
            let is_unnamed = |name: &str| all_run && !named.contains(name);
            for topology in policies.topologies.iter().filter(|topology| is_unnamed(&topology.name)) {
                let message = format!(
                    "no step goes by the topology policy {:?}: the components go where the steps apply them",
                    topology.name
                );
                let hint = "name it in a deploy step, or write `namespace` in the properties of the steps";
                let warning = Diagnostic::warning(Code::UnknownReference, message).hint(hint);
                found.push(warning.at(app.document(), topology.path.clone()));
            }
            for policy in policies.overrides.iter().filter(|policy| is_unnamed(&policy.name)) {
                let message = format!(
                    "no step goes by the override policy {:?}: the components stay as they are written",
                    policy.name
                );
                let hint = "name it in a deploy step, or write the values in the components";
                let warning = Diagnostic::warning(Code::UnknownReference, message).hint(hint);
                found.push(warning.at(app.document(), policy.path.clone()));
            }
            written(app, (workflow, policies), not_supported, found)
        }
        None if !policies.topologies.is_empty() => placed(app, policies),
        None if !policies.overrides.is_empty() => overridden(app, policies),
        None => {
            let mut nodes = Vec::new();
            let nodes_at = add(app, &Placement::default(), &mut nodes);
            let name = |node: &usize| app.components()[nodes[*node].component].name.clone();
            let steps = nodes_at.iter().map(|node| Step::applying(name(node), vec![*node])).collect();
            Planned { nodes, steps, mode: DAG, failing: None, spec: None }
        }
    }
}

/// Every component at one place; those it depends on are at the same.
fn add(app: &AppFile, placement: &Placement, nodes: &mut Vec<Node>) -> Vec<usize> {
    let first = nodes.len();
    for component in 0..app.components().len() {
        let waits_for = edges(app, component).into_iter().map(|other| first + other).collect();
        nodes.push(Node { component, placement: placement.clone(), waits_for });
    }
    (first..nodes.len()).collect()
}

/// `dependsOn`, and the givers of `inputs`: indexes of components.
fn edges(app: &AppFile, index: usize) -> BTreeSet<usize> {
    let components = app.components();
    let component = &components[index];
    let named =
        component.depends_on.iter().filter_map(|name| components.iter().position(|c| c.name == *name));
    let given = component.inputs.iter().filter_map(|input| {
        components.iter().position(|c| c.outputs.iter().any(|output| output.name == input.from))
    });
    named.chain(given).collect()
}

/// Override policies without a topology and a workflow: one step, in the local cluster. The components are changed already.
fn overridden(app: &AppFile, policies: &Policies) -> Planned {
    let mut nodes = Vec::new();
    let placement = Placement::new(LOCAL, "");
    let nodes_at = add(app, &placement, &mut nodes);
    let policies = override_names(policies).collect();
    let step = Step { name: DEPLOY.to_owned(), type_: DEPLOY, policies, nodes: nodes_at };
    Planned { nodes, steps: vec![step], mode: DAG, failing: None, spec: None }
}

/// Every override policy is for every step of a generated workflow.
fn override_names(policies: &Policies) -> impl Iterator<Item = String> {
    policies.overrides.iter().map(|policy| policy.name.clone())
}

/// Topology policies without a workflow: a step for each, which do not wait for each other. A place that two policies name
/// is one.
fn placed(app: &AppFile, policies: &Policies) -> Planned {
    let mut nodes: Vec<Node> = Vec::new();
    let mut places: Vec<(Placement, Vec<usize>)> = Vec::new();
    let mut steps = Vec::new();
    for topology in &policies.topologies {
        let names = override_names(policies).chain([topology.name.clone()]).collect();
        let name = format!("deploy-{}", topology.name);
        let mut step = Step { name, type_: DEPLOY, policies: names, nodes: Vec::new() };
        for placement in &topology.placements {
            let known = places.iter().position(|(known, _)| known.is_same_place(placement));
            let at = known.unwrap_or_else(|| {
                let nodes_at = add(app, placement, &mut nodes);
                places.push((placement.clone(), nodes_at));
                places.len() - 1
            });
            step.nodes.extend(&places[at].1);
        }
        steps.push(step);
    }
    Planned { nodes, steps, mode: DAG, failing: None, spec: None }
}

/// Steps that only apply components become edges; a machine runs all others. Steps beyond the machine are not supported
/// yet.
fn written(
    app: &AppFile,
    (workflow, policies): (&Workflow, &Policies),
    not_supported: NotSupported,
    found: &mut Diagnostics,
) -> Planned {
    let mut nodes = Vec::new();
    add(app, &Placement::default(), &mut nodes);
    let expands = |type_: &str| applies_several(type_) || applies_by_calls(type_);
    let deploys = workflow.steps.iter().any(|step| expands(type_of(step)));
    let mut taken: BTreeSet<usize> = BTreeSet::new();
    let mut steps = Vec::new();
    let mut wrong: Option<(usize, String)> = None;
    for step in &workflow.steps {
        if [SUSPEND, STEP_GROUP].contains(&step.type_.as_str()) {
            continue;
        }
        if let Some(type_) =
            BUILT_IN_STEPS.into_iter().find(|type_| *type_ == type_of(step) && applies_several(type_))
        {
            if !step.filled.is_empty() {
                let what = format!("values of other steps in a `{type_}` step");
                refuse_inputs(app, step, &what, not_supported, found);
            }
            let mut all = Nodes { nodes: &mut nodes, taken: &mut taken };
            let deployed = deploy::deploy(app, step, (policies, not_supported), &mut all, found);
            let name = step.name.clone();
            let (policies, nodes) = (deployed.policies, deployed.nodes);
            steps.push((Step { name, type_, policies, nodes }, step));
            continue;
        }
        if [DEPLOY_CLOUD_RESOURCE, SHARE_CLOUD_RESOURCE].contains(&type_of(step)) {
            deploy::one_policy(app, step, found);
        }
        if type_of(step) == DEPLOY_CLOUD_RESOURCE && not_run(step).is_none() {
            let mut all = Nodes { nodes: &mut nodes, taken: &mut taken };
            let deployed = deploy::deploy(app, step, (policies, not_supported), &mut all, found);
            let (name, type_) = (step.name.clone(), DEPLOY_CLOUD_RESOURCE);
            let (policies, nodes) = match is_preview(not_supported) {
                // As upstream, a preview shows the component and not each environment's.
                true => (Vec::new(), as_written(app, deployed.nodes, &nodes, &mut taken)),
                false => (deployed.policies, deployed.nodes),
            };
            steps.push((Step { name, type_, policies, nodes }, step));
            continue;
        }
        if type_of(step) != APPLY_COMPONENT {
            if let Some(message) = not_run(step) {
                let finding = not_supported(Code::NotSupported, message);
                found.push(finding.at(app.document(), format!("{}.type", step.path)));
            }
            continue;
        }
        let is_other = |other: &&parse::Step| {
            other.path != step.path
                && other.type_ == APPLY_COMPONENT
                && other.properties["component"] == step.properties["component"]
        };
        if !step.filled.is_empty() && workflow.steps.iter().any(|other| is_other(&other)) {
            let what = "values of other steps in a component that several steps apply";
            refuse_inputs(app, step, what, not_supported, found);
        }
        let placement = placement(app, step, not_supported, found);
        let name = step.properties.get("component").and_then(Json::as_str).unwrap_or("");
        let component = app.components().iter().position(|component| component.name == name);
        let node = component.map(|component| node(component, placement, &mut nodes, &mut taken));
        if node.is_none() {
            let message = unknown(app, step, name, found);
            wrong.get_or_insert((steps.len(), message));
        }
        steps.push((Step::applying(step.name.clone(), node.into_iter().collect()), step));
    }
    let is_dag = workflow.mode == "DAG";
    // A machine knows the order itself, and which steps fail.
    let is_plain = workflow.spec.is_none();
    if is_plain {
        order(&steps, is_dag, &mut nodes);
    }
    let failing = wrong.filter(|_| is_plain).map(|(step, message)| Failing {
        step,
        message,
        blocked: blocked(&steps, step, is_dag),
    });
    if deploys {
        let (used, places) = deploy::used(app, &nodes, &taken, found);
        nodes = used;
        for (step, _) in &mut steps {
            step.nodes = step.nodes.iter().filter_map(|node| places.get(node).copied()).collect();
        }
    }
    let not_applied = nodes.iter().enumerate().filter(|(index, _)| !deploys && !taken.contains(index));
    for (index, node) in not_applied {
        debug_assert_eq!(index, node.component);
        let component = &app.components()[node.component];
        let message = format!("no workflow step applies component {:?}", component.name);
        found.push(not_supported(Code::NotSupported, message).at(app.document(), &component.path));
    }
    let mode = if is_dag { DAG } else { STEP_BY_STEP };
    let steps = steps.into_iter().map(|(step, _)| step).collect();
    Planned { nodes, steps, mode, failing, spec: workflow.spec.clone() }
}

/// Is it planned for a preview, which only warns of what is not supported?
fn is_preview(not_supported: NotSupported) -> bool {
    !not_supported(Code::NotSupported, String::new()).is_error()
}

/// The components as they are written in the place of those that a step makes of them.
fn as_written(app: &AppFile, made: Vec<usize>, nodes: &[Node], taken: &mut BTreeSet<usize>) -> Vec<usize> {
    let components = app.components();
    let mut written = BTreeSet::new();
    for node in made {
        taken.remove(&node);
        let path = &components[nodes[node].component].path;
        // The nodes of all components stand first, in their order.
        written.extend(components.iter().position(|component| component.path == *path));
    }
    taken.extend(&written);
    written.into_iter().collect()
}

/// The reason why a step that has a template, or should have one, cannot run.
fn not_run(step: &parse::Step) -> Option<String> {
    let message = format!("workflow step type {:?} is not supported yet", step.type_);
    let Some(definition) = &step.definition else { return Some(message) };
    let Language::Cue(text) = definition.language() else { return Some(message) };
    let call = steps::unanswered(text)?;
    Some(format!("{message}: no provider answers its call {call}"))
}

/// Inputs that cannot change what a step applies.
fn refuse_inputs(
    app: &AppFile,
    step: &parse::Step,
    what: &str,
    not_supported: NotSupported,
    found: &mut Diagnostics,
) {
    let finding = not_supported(Code::NotSupported, format!("{what} are not supported yet"))
        .hint("leave out `parameterKey`: then only the `if` of the step goes by the value");
    found.push(finding.at(app.document(), format!("{}.inputs", step.path)));
}

/// The type of a step without its version.
fn type_of(step: &parse::Step) -> &str {
    version::parse_reference(&step.type_).map_or(step.type_.as_str(), |asked| asked.name)
}

/// The node of a component at a place: the first step that applies the component says where that is, and a step that says
/// another place makes a node of its own.
fn node(component: usize, placement: Placement, nodes: &mut Vec<Node>, taken: &mut BTreeSet<usize>) -> usize {
    if taken.insert(component) {
        nodes[component].placement = placement;
        return component;
    }
    let is_it = |node: &Node| node.component == component && node.placement.is_same_place(&placement);
    nodes.iter().position(is_it).unwrap_or_else(|| {
        let waits_for = nodes[component].waits_for.clone();
        nodes.push(Node { component, placement, waits_for });
        taken.insert(nodes.len() - 1);
        nodes.len() - 1
    })
}

/// `cluster` and `namespace` of a step.
fn placement(
    app: &AppFile,
    step: &parse::Step,
    not_supported: NotSupported,
    found: &mut Diagnostics,
) -> Placement {
    let text = |field: &str| step.properties.get(field).and_then(Json::as_str).unwrap_or("").to_owned();
    let path = |field: &str| format!("{}.properties.{field}", step.path);
    let mut placement = Placement::new(text("cluster"), text("namespace"));
    if !remote(&placement.cluster).is_empty() {
        let message = format!("cluster {:?}: other clusters are not supported yet", placement.cluster);
        let finding =
            not_supported(Code::NotSupported, message).hint(format!("write {LOCAL:?}, or leave it out"));
        found.push(finding.at(app.document(), path("cluster")));
        placement.cluster = String::new();
    }
    if let Some((message, hint)) = app.bounds().refusal_of_namespace(&placement.namespace, app.namespace()) {
        found
            .push(Diagnostic::error(Code::Refused, message).at(app.document(), path("namespace")).hint(hint));
    }
    placement
}

/// A step whose component is absent: why it fails, which the plan reports as well.
fn unknown(app: &AppFile, step: &parse::Step, name: &str, found: &mut Diagnostics) -> String {
    let message = format!("step {:?} applies component {name:?}, which does not exist", step.name);
    let path = format!("{}.properties.component", step.path);
    let names = app.components().iter().map(|component| component.name.as_str());
    let warning = Diagnostic::warning(Code::UnknownReference, format!("{message}: the workflow fails there"));
    let hint = nearest::advice(name, "components", names);
    found.push(warning.at(app.document(), path).hint_opt(hint));
    message
}

/// The order of the steps as edges between their nodes.
fn order(steps: &[(Step, &parse::Step)], is_dag: bool, nodes: &mut [Node]) {
    for (index, (step, written)) in steps.iter().enumerate() {
        let before: Vec<usize> = match is_dag {
            true => {
                let is_named = |other: &&(Step, &parse::Step)| written.depends_on.contains(&other.0.name);
                steps.iter().filter(is_named).flat_map(|(other, _)| other.nodes.clone()).collect()
            }
            false => steps[..index].iter().flat_map(|(other, _)| other.nodes.clone()).collect(),
        };
        for node in &step.nodes {
            nodes[*node].waits_for.extend(before.iter().filter(|earlier| is_dag || *earlier != node));
        }
    }
}

/// Nodes that only steps after the failing one apply.
fn blocked(steps: &[(Step, &parse::Step)], failing: usize, is_dag: bool) -> BTreeSet<usize> {
    let applied: BTreeSet<usize> =
        steps[..failing].iter().flat_map(|(step, _)| step.nodes.iter().copied()).collect();
    let mut names: BTreeSet<&str> = BTreeSet::from([steps[failing].0.name.as_str()]);
    let mut blocked = BTreeSet::new();
    for (step, written) in &steps[failing + 1..] {
        let is_later = !is_dag || written.depends_on.iter().any(|name| names.contains(name.as_str()));
        if is_later && step.nodes.iter().all(|node| !applied.contains(node)) {
            blocked.extend(&step.nodes);
            names.insert(&step.name);
        }
    }
    blocked
}
