//! Revision → Plan: where each component goes and which waits for which; what is understood but not built yet is refused.

mod circle;
mod deploy;
mod node;
mod workflow;

use std::sync::Arc;

use crate::definition::Definition;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, NotSupported};
use crate::parse::{AppFile, Component, Era};
use crate::placement::Placement;
use crate::policy::{self, Policies, Rules};
use crate::revision::{Identity, Revision};
use crate::workflow::WorkflowSpec;

use circle::circle;
pub use node::{Failing, Node};
pub use workflow::{APPLY_COMPONENT, DEPLOY, SUPPORTED_STEPS, Step};

/// Components in the order written, at each place they go to, each with those it waits for; free of circles.
#[derive(Debug, Clone)]
pub struct Plan {
    revision: Revision,
    nodes: Vec<Node>,
    policies: Vec<usize>,
    steps: Vec<Step>,
    mode: &'static str,
    warnings: Diagnostics,
    left_out: Diagnostics,
    failing: Option<Failing>,
    rules: Arc<Rules>,
    spec: Option<Arc<WorkflowSpec>>,
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

    /// The nodes, one a component and place, by place and in the order written.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Indexes of the policies that make objects, in the order written. Their objects go before those of all nodes.
    pub fn policies(&self) -> &[usize] {
        &self.policies
    }

    /// The steps of its workflow: those written, or those that its components and policies stand for.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The workflow that is to be run step by step, where more is written than components to be applied.
    pub fn workflow(&self) -> Option<&Arc<WorkflowSpec>> {
        self.spec.as_ref()
    }

    /// The definition of the step of this name, where its type is not built in.
    pub fn step_definition(&self, name: &str) -> Option<&Arc<Definition>> {
        let steps = &self.revision.app_file().workflow()?.steps;
        steps.iter().find(|step| step.name == name)?.definition.as_ref()
    }

    /// The nodes that the step of this name applies.
    pub fn nodes_of_step(&self, name: &str) -> &[usize] {
        let step = self.steps.iter().find(|step| step.name == name);
        step.map(|step| step.nodes.as_slice()).unwrap_or_default()
    }

    /// The orders of its steps and of steps in groups, as the status shows them: `DAG-DAG` or `StepByStep-DAG`.
    pub fn mode(&self) -> &'static str {
        self.mode
    }

    /// The warnings, the earlier phases' findings included.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }

    /// The first step that cannot succeed.
    pub fn failing(&self) -> Option<&Failing> {
        self.failing.as_ref()
    }

    /// The rules of its policies for its objects.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Those of the warnings that tell what a preview leaves out: [`plan`] refuses each, so the application would not run.
    pub fn left_out(&self) -> &Diagnostics {
        &self.left_out
    }
}

/// Plans the workflow: every component, at each of its places, as soon as those it waits for are healthy.
///
/// # Errors
/// Reports unsupported features (policies, steps, outputs for other components), and components that wait for each
/// other.
pub fn plan(revision: Revision) -> Result<Plan, Diagnostics> {
    make(revision, Diagnostic::error)
}

/// The same for a preview: what is not supported yet is only warned about and left out ([`Plan::left_out`]).
///
/// # Errors
/// Components that wait for each other.
pub fn preview(revision: Revision) -> Result<Plan, Diagnostics> {
    let parsed = revision.app_file().warnings().len();
    let mut plan = make(revision, Diagnostic::warning)?;
    // Further warnings of planning would be errors of a plan, but for a step that only fails when it is reached.
    let planned = plan.warnings.iter().skip(parsed);
    let left_out =
        planned.filter(|finding| matches!(finding.code, Code::NotSupported | Code::UnknownDefinition));
    plan.left_out = left_out.cloned().collect();
    Ok(plan)
}

/// Every component by itself: for [`crate::check`], when the order could not be planned.
pub(crate) fn without_order(revision: Revision) -> Plan {
    let count = revision.app_file().components().len();
    let nodes = (0..count).map(|component| Node::new(component, Placement::default())).collect();
    let policies = revision.app_file().policies().iter().enumerate();
    let policies = policies.filter(|(_, policy)| policy.object_definition().is_some());
    let policies = policies.map(|(index, _)| index).collect();
    let (warnings, left_out) = (Diagnostics::new(), Diagnostics::new());
    let (steps, mode, rules) = (Vec::new(), workflow::DAG, Arc::default());
    Plan { revision, nodes, policies, steps, mode, warnings, left_out, failing: None, rules, spec: None }
}

fn make(revision: Revision, not_supported: NotSupported) -> Result<Plan, Diagnostics> {
    let app = Arc::clone(revision.app_file());
    let mut found = app.warnings().clone();
    let policies = policy::read(&app, not_supported, &mut found);
    for component in app.components() {
        secrets(&app, component, not_supported, &mut found);
    }
    let makers = makers(&app, &policies, not_supported, &mut found);
    stays(&app, &policies, not_supported, &mut found);
    let workflow::Planned { nodes, steps, mode, failing, spec } =
        workflow::plan(&app, &policies, not_supported, &mut found);
    if spec.is_some() && app.rollout_plan().is_some() {
        let message = "a rollout plan beside workflow steps other than apply-component is not supported yet";
        found.push(
            not_supported(Code::NotSupported, message.to_owned()).at(app.document(), "spec.rolloutPlan"),
        );
    }
    values(&app, &nodes, not_supported, &mut found);
    if let Some(circle) = circle(&nodes) {
        let component = |index: &usize| &app.components()[nodes[*index].component];
        let names: Vec<&str> = circle.iter().map(|index| component(index).name.as_str()).collect();
        let message = format!("components wait for each other in a circle: {}", names.join(" → "));
        let path = format!("{}.dependsOn", component(&circle[0]).path);
        found.push(Diagnostic::error(Code::Cycle, message).at(app.document(), path));
    }
    let ((), warnings) = found.or(())?;
    let (left_out, rules) = (Diagnostics::new(), Arc::new(policies.rules));
    Ok(Plan { revision, nodes, policies: makers, steps, mode, warnings, left_out, failing, rules, spec })
}

/// The policies that make objects, where the application applies objects itself; others are refused.
fn makers(
    app: &AppFile,
    policies: &Policies,
    not_supported: NotSupported,
    found: &mut Diagnostics,
) -> Vec<usize> {
    let others = others_apply(app);
    let mut makers = Vec::with_capacity(policies.makers.len());
    for (index, named) in &policies.makers {
        let Some(definition) = app.policies()[*index].object_definition() else { continue };
        let (message, hint) = match (others, definition.secret_parameters()) {
            (Some(why), _) => (
                format!("policy {:?} makes objects, and is not supported yet in {why}", named.type_),
                "make its objects by a component, or write the application in the v1beta1 form without a rollout",
            ),
            (None, Ok(secrets)) if secrets.is_empty() => {
                makers.push(*index);
                continue;
            }
            (None, Ok(_)) => (
                format!("policy {:?} takes the content of Secrets: not supported yet", named.type_),
                "refer to the Secret by name in the template, for example with secretKeyRef",
            ),
            (None, Err(message)) => (
                format!("{}: {message}", definition.title()),
                "or refer to the Secret by name in the template, for example with secretKeyRef",
            ),
        };
        let finding = not_supported(Code::NotSupported, message).hint(hint);
        found.push(finding.at(app.document(), named.path.clone()));
    }
    makers
}

/// Which applications have their objects applied by another controller.
fn others_apply(app: &AppFile) -> Option<&'static str> {
    match app.era() {
        Era::V1alpha2 => Some("an application in the v1alpha2 form"),
        Era::V1beta1 if app.only_records() || app.rollout_plan().is_some() => {
            Some("an application that is rolled out")
        }
        Era::V1beta1 => None,
    }
}

/// Components give each other values of their objects, where the application applies them itself, and each once.
fn values(app: &AppFile, nodes: &[Node], not_supported: NotSupported, found: &mut Diagnostics) {
    let is_direct = app.era() == Era::V1beta1 && !app.only_records() && app.rollout_plan().is_none();
    for component in app.components() {
        // A component that a policy makes of another has its name, too.
        let is_it = |node: &&Node| app.components()[node.component].name == component.name;
        let is_once = || nodes.iter().filter(is_it).count() < 2;
        let mut refuse = |field: &str, what: &str| {
            let finding = not_supported(Code::NotSupported, format!("{what} are not supported yet"));
            found.push(finding.at(app.document(), format!("{}.{field}", component.path)));
        };
        let flows = [("inputs", !component.inputs.is_empty()), ("outputs", !component.outputs.is_empty())];
        for (field, _) in flows.into_iter().filter(|(_, is_there)| *is_there && !(is_direct && is_once())) {
            refuse(
                field,
                &format!("{field} of a component that is rolled out, stored, or at several places"),
            );
        }
        if component.inputs.iter().any(|input| input.parameter_key.starts_with("traits[")) {
            refuse("inputs", "inputs that go into traits");
        }
    }
}

/// A rollout and a stored configuration look for the objects in the application's namespace, and once; what they write does
/// not go by the rules of policies.
fn stays(app: &AppFile, policies: &Policies, not_supported: NotSupported, found: &mut Diagnostics) {
    let Some(why) = others_apply(app) else { return };
    for policy in &policies.about_objects {
        let message =
            format!("policy {:?} of {why} is not supported yet: others write its objects", policy.type_);
        found.push(not_supported(Code::NotSupported, message).at(app.document(), policy.path.clone()));
    }
    let mut places: Vec<&Placement> = Vec::new();
    for topology in policies.topologies.iter().chain(&policies.environments) {
        for placement in &topology.placements {
            let is_elsewhere = !placement.namespace.is_empty() && placement.namespace != app.namespace();
            if is_elsewhere || places.iter().any(|known| !known.is_same_place(placement)) {
                let message =
                    format!("{why} stays in its own namespace: placing it elsewhere is not supported yet");
                let finding = not_supported(Code::NotSupported, message);
                found.push(finding.at(app.document(), format!("{}.properties", topology.path)));
            }
            places.push(placement);
        }
    }
}

/// Refuses markers that cannot be followed, and Secrets in content that is rendered once for all times: a rollout would not see
/// them change, and Components and their revisions would store the values for all their readers.
fn secrets(app: &AppFile, component: &Component, not_supported: NotSupported, found: &mut Diagnostics) {
    let traits = component.traits.iter().map(|trait_| (&trait_.definition, &trait_.path));
    for (definition, path) in traits.chain([(&component.definition, &component.path)]) {
        if let Err(message) = definition.secret_parameters() {
            let finding = not_supported(Code::NotSupported, format!("{}: {message}", definition.title()));
            let hint = "or refer to the Secret by name in the template, for example with secretKeyRef";
            found.push(finding.hint(hint).at(app.document(), path));
        }
    }
    if !component.inserts_secrets() {
        return;
    }
    let is_rolled = app.only_records() || app.rollout_plan().is_some();
    let (message, hint) = match app.era() {
        Era::V1alpha2 => (
            "the v1alpha2 form stores its objects in Components and their revisions, where the content of Secrets does not belong: \
             not supported",
            "write the application in the v1beta1 form (properties instead of settings), which applies its objects itself, or refer \
             to the Secret by name in the template, for example with secretKeyRef",
        ),
        Era::V1beta1 if is_rolled => (
            "an application that is rolled out cannot have the content of Secrets in its objects: not supported yet",
            "refer to the Secret by name in the template, for example with secretKeyRef",
        ),
        Era::V1beta1 => return,
    };
    let finding = not_supported(Code::NotSupported, message.to_owned()).hint(hint);
    found.push(finding.at(app.document(), &component.path));
}
