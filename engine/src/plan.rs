//! Revision → Plan: which component waits for which; what is understood but not built yet is refused.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::definition::{Language, version};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::nearest;
use crate::parse::{AppFile, Component, Workflow};
use crate::revision::{Identity, Revision};

/// Policies that change only what later lives of the application do and cost nothing to accept: none yet.
pub const SUPPORTED_POLICIES: &[&str] = &[];
/// Workflow steps that are run.
pub const SUPPORTED_STEPS: &[&str] = &["apply-component"];
/// The mark before a parameter that names a Secret.
const INSERT_SECRET: &str = "+insertSecretTo=";

/// Components in the order written, each with the components it waits for; free of circles.
#[derive(Debug, Clone)]
pub struct Plan {
    revision: Revision,
    nodes: Vec<Node>,
    warnings: Diagnostics,
    left_out: Diagnostics,
    failing: Option<Failing>,
}

/// A step that cannot succeed: it names a component that is not there. As upstream, the application is taken, and its
/// workflow fails at that step.
#[derive(Debug, Clone)]
pub struct Failing {
    /// Why it fails.
    pub message: String,
    /// Components that only later steps apply.
    pub blocked: BTreeSet<usize>,
}

/// One component in the plan.
#[derive(Debug, Clone)]
pub struct Node {
    /// Index of the component in the AppFile.
    pub component: usize,
    /// Indexes of the nodes that must be healthy before this one is applied.
    pub waits_for: BTreeSet<usize>,
}

impl Plan {
    /// The revision planned.
    pub fn revision(&self) -> &Revision {
        &self.revision
    }

    /// The application.
    pub fn app_file(&self) -> &Arc<AppFile> {
        self.revision.app_file()
    }

    /// Hash and name.
    pub fn identity(&self) -> &Arc<Identity> {
        self.revision.identity()
    }

    /// The nodes, one a component, in the order written.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// What is doubtful, the earlier phases' findings included.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }

    /// The first step that cannot succeed.
    pub fn failing(&self) -> Option<&Failing> {
        self.failing.as_ref()
    }

    /// Those of the warnings that tell what a preview leaves out: [`plan`] refuses each, so the application would not run.
    pub fn left_out(&self) -> &Diagnostics {
        &self.left_out
    }
}

/// Plans the default workflow: every component as soon as those it waits for are healthy.
pub fn plan(revision: Revision) -> Result<Plan, Diagnostics> {
    make(revision, Diagnostic::error)
}

/// The same for a preview: what is not supported yet is only warned about and left out ([`Plan::left_out`]).
pub fn preview(revision: Revision) -> Result<Plan, Diagnostics> {
    let parsed = revision.app_file().warnings().len();
    let mut plan = make(revision, Diagnostic::warning)?;
    // What planning adds to the warnings would be an error of a plan, but for a step that only fails when it is reached.
    let planned = plan.warnings.iter().skip(parsed);
    let left_out =
        planned.filter(|finding| matches!(finding.code, Code::NotSupported | Code::UnknownDefinition));
    plan.left_out = left_out.cloned().collect();
    Ok(plan)
}

/// Every component by itself: for [`crate::check`], when the order could not be planned.
pub(crate) fn without_order(revision: Revision) -> Plan {
    let count = revision.app_file().components().len();
    let nodes = (0..count).map(|component| Node { component, waits_for: BTreeSet::new() }).collect();
    Plan { revision, nodes, warnings: Diagnostics::new(), left_out: Diagnostics::new(), failing: None }
}

fn make(revision: Revision, not_supported: fn(Code, String) -> Diagnostic) -> Result<Plan, Diagnostics> {
    let app = Arc::clone(revision.app_file());
    let mut found = app.warnings().clone();
    for policy in app.policies().iter().filter(|policy| !SUPPORTED_POLICIES.contains(&policy.type_.as_str()))
    {
        let message = format!("policy type {:?} is not supported yet", policy.type_);
        found.push(
            not_supported(Code::NotSupported, message).at(app.document(), format!("{}.type", policy.path)),
        );
    }
    for component in app.components() {
        secrets(&app, component, not_supported, &mut found);
        if !component.inputs.is_empty() {
            let message = "inputs from other components are not supported yet".to_owned();
            found.push(
                not_supported(Code::NotSupported, message)
                    .at(app.document(), format!("{}.inputs", component.path)),
            );
        }
        if !component.outputs.is_empty() {
            let message = "outputs for other components are not supported yet".to_owned();
            found.push(
                not_supported(Code::NotSupported, message)
                    .at(app.document(), format!("{}.outputs", component.path)),
            );
        }
    }
    let mut nodes: Vec<Node> = app
        .components()
        .iter()
        .enumerate()
        .map(|(component, _)| Node { component, waits_for: edges(&app, component) })
        .collect();
    let failing =
        app.workflow().and_then(|workflow| steps(&app, workflow, &mut nodes, not_supported, &mut found));
    if let Some(circle) = circle(&nodes) {
        let names: Vec<&str> = circle.iter().map(|index| app.components()[*index].name.as_str()).collect();
        let first = &app.components()[circle[0]];
        let message = format!("components wait for each other in a circle: {}", names.join(" → "));
        found.push(
            Diagnostic::error(Code::Cycle, message).at(app.document(), format!("{}.dependsOn", first.path)),
        );
    }
    let ((), warnings) = found.or(())?;
    Ok(Plan { revision, nodes, warnings, left_out: Diagnostics::new(), failing })
}

/// Templates that want the content of a Secret beside the parameters cannot have it yet.
fn secrets(
    app: &AppFile,
    component: &Component,
    not_supported: fn(Code, String) -> Diagnostic,
    found: &mut Diagnostics,
) {
    let traits = component.traits.iter().map(|trait_| (&trait_.definition, &trait_.path));
    for (definition, path) in traits.chain([(&component.definition, &component.path)]) {
        if let Language::Cue(template) = definition.language()
            && template.contains(INSERT_SECRET)
        {
            let message = format!(
                "{} takes the content of a Secret by `{INSERT_SECRET}`, which is not supported yet",
                definition.title()
            );
            let hint = "refer to the Secret by name in the template, for example with secretKeyRef";
            let finding = not_supported(Code::NotSupported, message).hint(hint.to_owned());
            found.push(finding.at(app.document(), path));
        }
    }
}

/// `dependsOn`, and the givers of `inputs`.
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

/// Steps that only apply components become edges; any other step is not supported yet. Gives the first that must fail.
fn steps(
    app: &AppFile,
    workflow: &Workflow,
    nodes: &mut [Node],
    not_supported: fn(Code, String) -> Diagnostic,
    found: &mut Diagnostics,
) -> Option<Failing> {
    let components = app.components();
    let mut applied: Vec<Option<usize>> = Vec::new();
    let mut failing: Option<(Failing, BTreeSet<&str>)> = None;
    for step in &workflow.steps {
        let name = step.properties.get("component").and_then(Json::as_str).unwrap_or("");
        let node = components.iter().position(|component| component.name == name);
        let type_ = version::asked(&step.type_).map_or(step.type_.as_str(), |asked| asked.name);
        match (type_, node) {
            ("apply-component", Some(node)) => {
                if let Some((failing, names)) = &mut failing {
                    let is_later = workflow.mode != "DAG"
                        || step.depends_on.iter().any(|name| names.contains(name.as_str()));
                    if is_later && !applied.contains(&Some(node)) {
                        failing.blocked.insert(node);
                        names.insert(&step.name);
                    }
                }
                let before = applied.iter().flatten().copied();
                if workflow.mode == "DAG" {
                    let waited = step.depends_on.iter().filter_map(|name| {
                        let position = workflow.steps.iter().position(|other| other.name == *name)?;
                        let name = workflow.steps[position].properties.get("component")?.as_str()?;
                        components.iter().position(|component| component.name == name)
                    });
                    nodes[node].waits_for.extend(waited);
                } else {
                    nodes[node].waits_for.extend(before.filter(|earlier| *earlier != node));
                }
                applied.push(Some(node));
            }
            ("apply-component", None) => {
                let message =
                    format!("step {:?} applies component {name:?}, which does not exist", step.name);
                let path = format!("{}.properties.component", step.path);
                let names = components.iter().map(|component| component.name.as_str());
                let warning = Diagnostic::warning(
                    Code::UnknownReference,
                    format!("{message}: the workflow fails there"),
                );
                let hint = nearest::advice(name, "components", names);
                found.push(warning.at(app.document(), path).hint_opt(hint));
                failing.get_or_insert_with(|| {
                    (Failing { message, blocked: BTreeSet::new() }, BTreeSet::from([step.name.as_str()]))
                });
            }
            _ => {
                let message = format!("workflow step type {:?} is not supported yet", step.type_);
                found.push(
                    not_supported(Code::NotSupported, message)
                        .at(app.document(), format!("{}.type", step.path)),
                );
            }
        }
    }
    for (index, component) in components.iter().enumerate() {
        if !workflow.steps.is_empty() && !applied.contains(&Some(index)) {
            let message = format!("no workflow step applies component {:?}", component.name);
            found.push(not_supported(Code::NotSupported, message).at(app.document(), &component.path));
        }
    }
    failing.map(|(failing, _)| failing)
}

/// Nodes that wait for each other in a circle: the first one again at the end.
pub(crate) fn circle(nodes: &[Node]) -> Option<Vec<usize>> {
    // Take away nodes that wait for nothing left, again and again; what remains holds the circle.
    let mut left: BTreeSet<usize> = (0..nodes.len()).collect();
    loop {
        let free: Vec<usize> =
            left.iter().copied().filter(|node| nodes[*node].waits_for.is_disjoint(&left)).collect();
        if free.is_empty() {
            break;
        }
        for node in free {
            left.remove(&node);
        }
    }
    let mut path = vec![*left.first()?];
    loop {
        let last = *path.last()?;
        let next = *nodes[last].waits_for.intersection(&left).next()?;
        if let Some(start) = path.iter().position(|node| *node == next) {
            path.push(next);
            return Some(path.split_off(start));
        }
        path.push(next);
    }
}
