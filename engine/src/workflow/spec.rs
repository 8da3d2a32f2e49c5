//! A workflow as it is run: modes and steps.

use jiff::SignedDuration;
use serde_json::Value as Json;

use crate::definition::version::base_name;

/// The type of a step that applies one component.
pub const APPLY_COMPONENT: &str = "apply-component";
/// The type of a step that waits for a person, or for a time.
pub const SUSPEND: &str = "suspend";
/// The type of a step that holds other steps.
pub const STEP_GROUP: &str = "step-group";
/// The type of a step that applies components as override policies change them, at the places of topology policies. Where the
/// author writes no workflow it stands for the policies.
pub const DEPLOY: &str = "deploy";
/// The type of a step that applies every component, and waits for them.
pub(super) const APPLY_APPLICATION: &str = "apply-application";
/// The type of a step that applies every component, and waits for none.
pub const APPLY_IN_PARALLEL: &str = "apply-application-in-parallel";
/// The type of a step that applies every component but those it excepts.
pub const APPLY_REMAINING: &str = "apply-remaining";
/// The type of a step that applies every component in several clusters.
pub const DEPLOY_TO_RUNTIME: &str = "deploy2runtime";
/// Deploys components to an environment of an `env-binding` policy.
pub const DEPLOY_TO_ENV: &str = "deploy2env";
/// Deploys the components of an environment that Terraform makes, and brings their Secrets there.
pub const DEPLOY_CLOUD_RESOURCE: &str = "deploy-cloud-resource";
/// Brings the Secrets of such components to other places.
pub(crate) const SHARE_CLOUD_RESOURCE: &str = "share-cloud-resource";
/// Types of steps whose meaning no definition says.
pub const BUILT_IN_STEPS: [&str; 9] = [
    APPLY_COMPONENT,
    DEPLOY,
    APPLY_APPLICATION,
    APPLY_IN_PARALLEL,
    APPLY_REMAINING,
    DEPLOY_TO_RUNTIME,
    DEPLOY_TO_ENV,
    SUSPEND,
    STEP_GROUP,
];

/// Does a step of this type apply several components of its application?
pub fn applies_several(type_: &str) -> bool {
    [DEPLOY, APPLY_APPLICATION, APPLY_IN_PARALLEL, APPLY_REMAINING, DEPLOY_TO_RUNTIME, DEPLOY_TO_ENV]
        .contains(&type_)
}

/// Does the template of a step of this type ask for components of its application to be applied?
pub fn applies_by_calls(type_: &str) -> bool {
    base_name(type_) == DEPLOY_CLOUD_RESOURCE
}

/// More steps in one workflow, those in groups included, are refused.
pub const STEPS_AT_MOST: usize = 1000;

/// The type of a step as it is run: what is built in is the same in every version.
pub(crate) fn step_type(written: String) -> String {
    let name = base_name(&written);
    if BUILT_IN_STEPS.contains(&name) { name.to_owned() } else { written }
}

/// In which order steps are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// One after the other as they are written.
    StepByStep,
    /// Each as soon as those it depends on are finished.
    Dag,
}

impl Mode {
    /// As written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::StepByStep => "StepByStep",
            Self::Dag => "DAG",
        }
    }

    /// The order that is written like this.
    pub(super) fn of(text: &str) -> Option<Self> {
        [Self::StepByStep, Self::Dag].into_iter().find(|mode| mode.as_str() == text)
    }
}

/// The steps to run.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkflowSpec {
    /// The order of the steps.
    pub mode: Mode,
    /// The order of the steps of a group that says nothing else.
    pub sub_mode: Mode,
    /// In the order written.
    pub steps: Vec<StepSpec>,
}

/// One step, or a group of them.
#[derive(Debug, Clone, PartialEq)]
pub struct StepSpec {
    /// Its name; steps and those in groups share one set of names.
    pub name: String,
    /// Its type.
    pub type_: String,
    /// The parameters of its type.
    pub properties: Json,
    /// The condition of the step: `always`, or a CUE expression.
    pub condition: Option<String>,
    /// How long it may take.
    pub timeout: Option<SignedDuration>,
    /// How it is tried again when something went wrong.
    pub retry: StepRetry,
    /// The steps that it depends on, as written.
    pub depends_on: Vec<String>,
    /// Values that it takes.
    pub inputs: Vec<StepInput>,
    /// Values that it gives.
    pub outputs: Vec<StepOutput>,
    /// Of a group: the order of its steps.
    pub mode: Option<Mode>,
    /// Of a group: its steps.
    pub sub_steps: Vec<StepSpec>,
    /// Field path.
    pub path: String,
}

/// How a step is tried again when something went wrong; what is not said is as for every step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StepRetry {
    /// How often.
    pub limit: Option<u32>,
    /// The wait before the second try, doubled for each one after it.
    pub backoff: Option<SignedDuration>,
}

/// A value that a step takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepInput {
    /// Name of the value.
    pub from: String,
    /// Where it goes in the parameters; without it, only `if` may name the value.
    pub parameter_key: Option<String>,
}

/// A value that a step gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepOutput {
    /// Name of the value.
    pub name: String,
    /// Path or CUE expression over the evaluated step.
    pub value_from: String,
}

impl WorkflowSpec {
    /// The orders of steps and of steps in groups, as the status shows them: `StepByStep-DAG`.
    pub fn modes(&self) -> String {
        format!("{}-{}", self.mode.as_str(), self.sub_mode.as_str())
    }

    /// The order of the steps of this group.
    pub(super) fn mode_of(&self, group: &StepSpec) -> Mode {
        group.mode.unwrap_or(self.sub_mode)
    }

    /// Every step with the group that it stands in: groups before their steps.
    pub fn all(&self) -> impl Iterator<Item = (Option<&StepSpec>, &StepSpec)> {
        self.steps.iter().flat_map(|step| {
            std::iter::once((None, step)).chain(step.sub_steps.iter().map(move |sub| (Some(step), sub)))
        })
    }

    /// The step of this name, in whatever group.
    pub fn step(&self, name: &str) -> Option<&StepSpec> {
        self.all().map(|(_, step)| step).find(|step| step.name == name)
    }

    /// The step that `dependsOn` means by this name: a step's own, or that of the component or object which it applies.
    pub fn dependency(&self, name: &str) -> Option<&StepSpec> {
        let names = |step: &StepSpec, field: &str| step.properties[field].as_str() == Some(name);
        let applied = || {
            let mut steps = self.all().map(|(_, step)| step);
            steps.find(|step| names(step, "component") || names(step, "name"))
        };
        self.step(name).or_else(applied)
    }
}

impl StepSpec {
    /// Does it hold other steps?
    pub fn is_group(&self) -> bool {
        self.type_ == STEP_GROUP
    }

    /// Does it apply components of the application?
    pub fn applies_components(&self) -> bool {
        self.type_ == APPLY_COMPONENT || applies_several(&self.type_)
    }
}

/// Is it this value, or something in it?
pub(super) fn is_within(from: &str, name: &str) -> bool {
    from.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
