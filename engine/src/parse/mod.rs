//! Parses an Application against a snapshot into an AppFile with every type resolved, or into all diagnostics; never
//! renders.

mod components;
mod copied_object;
mod deploys;
mod environments;
mod external;
mod external_policies;
mod fields;
mod inserted_secrets;
mod interval;
mod manifest_urls;
mod mixed_forms;
mod not_built_in;
mod parser;
mod policies;
mod referenced_objects;
mod references;
mod scopes;
mod steps;
mod types;
mod updates;
mod user_config;
mod workload_names;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value as Json;
use vela_crds::annotations;

use crate::bounds::Bounds;
use crate::definition::Definition;
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::manifest::Document;
use crate::snapshot::{ClusterVersion, Snapshot};
use crate::transformed::{Transformed, changes_applications};
use crate::workflow::{APPLY_COMPONENT, WorkflowSpec};

use self::environments::with_environments;
use self::parser::{Parser, deployments, overridden};
pub use external::{named_workflow, with_workflow, with_workflow_object};
pub use external_policies::{named_policies, with_policies, with_policy_objects};
pub use inserted_secrets::{InsertedSecret, inserted_secrets};
pub use interval::reconcile_interval;
pub use manifest_urls::{manifest_urls, manifests};
pub use parser::{COMPONENT_LIMIT, DEFAULT_NAMESPACE, Era};
pub use referenced_objects::referenced;
pub use references::{References, references};
pub use scopes::{Scope, registered, resource_of};
pub use updates::contradiction;
pub use user_config::user_configs;

/// An application whose every type is resolved to a definition.
#[derive(Debug, Clone)]
pub struct AppFile {
    document: Document,
    transformed: Option<Arc<Transformed>>,
    era: Era,
    namespace: String,
    components: Vec<Component>,
    policies: Vec<Policy>,
    workflow: Option<Workflow>,
    cluster_version: ClusterVersion,
    bounds: Bounds,
    applies_once: bool,
    warnings: Diagnostics,
}

/// One component.
#[derive(Debug, Clone)]
pub struct Component {
    /// Its name.
    pub name: String,
    /// Its type as written.
    pub type_: String,
    /// The definition of the type.
    pub definition: Arc<Definition>,
    /// Its parameters.
    pub properties: Json,
    /// Its traits in the order written.
    pub traits: Vec<Trait>,
    /// Names of the components it waits for.
    pub depends_on: Vec<String>,
    /// Values it takes from other components.
    pub inputs: Vec<Input>,
    /// Values it gives to other components.
    pub outputs: Vec<Output>,
    /// Scopes it joins, by the name of their definition; only of the v1alpha2 form.
    pub scopes: Vec<Scope>,
    /// `context.config` of its templates, where its settings name a configuration.
    pub config: Option<Json>,
    /// Secrets whose content its template sees.
    pub secrets: Vec<InsertedSecret>,
    /// Why objects that it refers to are not known.
    pub unknown_objects: Vec<String>,
    /// Field path of the component: `spec.components[0]`.
    pub path: String,
}

impl Component {
    /// The objects that it and its traits wait for, in words.
    pub(crate) fn missing_objects(&self) -> Vec<String> {
        let of_traits = self.traits.iter().flat_map(|trait_| &trait_.secrets);
        let secrets = self.secrets.iter().chain(of_traits).filter_map(InsertedSecret::missing);
        secrets.chain(self.unknown_objects.iter().cloned()).collect()
    }

    /// Whether the content of a Secret stands in what it makes.
    pub(crate) fn inserts_secrets(&self) -> bool {
        !self.secrets.is_empty() || self.traits.iter().any(|trait_| !trait_.secrets.is_empty())
    }
}

/// One trait of a component.
#[derive(Debug, Clone)]
pub struct Trait {
    /// Its type as written.
    pub type_: String,
    /// The definition of the type.
    pub definition: Arc<Definition>,
    /// Its parameters.
    pub properties: Json,
    /// Secrets whose content its template sees.
    pub secrets: Vec<InsertedSecret>,
    /// Field path of the trait: `spec.components[0].traits[1]`.
    pub path: String,
}

/// A value that another component gives, or a workflow step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// Name of the output.
    pub from: String,
    /// Where it goes in the parameters.
    pub parameter_key: String,
}

impl Input {
    /// A key may say that it lies within the properties, or leave that out.
    fn new(from: String, key: &str) -> Self {
        Self { from, parameter_key: key.strip_prefix("properties.").unwrap_or(key).to_owned() }
    }
}

/// A value for other components.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// CUE expression over `output` and `outputs`, the objects as they are in the cluster.
    pub value_from: String,
}

/// A policy as written.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Its name.
    pub name: String,
    /// Its type.
    pub type_: String,
    /// Its parameters.
    pub properties: Json,
    /// Field path.
    pub path: String,
    /// The definition of its type, where it is not built in.
    pub definition: Option<Arc<Definition>>,
}

impl Policy {
    /// Whether it changed the application before this was parsed.
    pub(crate) fn changes_application(&self) -> bool {
        self.definition.as_ref().is_some_and(|definition| changes_applications(definition))
    }

    /// The definition by which it makes objects, where it does.
    pub fn object_definition(&self) -> Option<&Arc<Definition>> {
        self.definition.as_ref().filter(|_| !self.changes_application())
    }
}

/// A workflow as written.
#[derive(Debug, Clone)]
pub struct Workflow {
    /// Steps in order.
    pub steps: Vec<Step>,
    /// `DAG` or `StepByStep`.
    pub mode: String,
    /// The steps to run, where they do more than apply components one after the other.
    pub spec: Option<Arc<WorkflowSpec>>,
}

/// A workflow step as written.
#[derive(Debug, Clone)]
pub struct Step {
    /// Its name.
    pub name: String,
    /// Its type.
    pub type_: String,
    /// Its parameters.
    pub properties: Json,
    /// Names of the steps it waits for.
    pub depends_on: Vec<String>,
    /// Field path.
    pub path: String,
    /// The definition of its type, where it is not built in.
    pub definition: Option<Arc<Definition>>,
    /// It does more than to apply a component when its turn comes.
    pub(crate) is_more: bool,
    /// Keys of the parameters that get their values of other steps.
    pub(crate) filled: Vec<Input>,
    /// Of a `deploy` step: the components that it applies.
    pub(crate) deploys: Vec<usize>,
}

impl AppFile {
    /// The application as its policies leave it.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// The application as its author wrote it.
    pub fn written(&self) -> &Document {
        self.transformed.as_ref().map_or(&self.document, |transformed| transformed.written())
    }

    /// How policies changed it before it was parsed; nothing where none was meant for it.
    pub fn transformed(&self) -> Option<&Arc<Transformed>> {
        self.transformed.as_ref()
    }

    /// Which form it is written in.
    pub fn era(&self) -> Era {
        self.era
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.document.name()
    }

    /// Its namespace; `default` if it names none.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Its components in the order written.
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// Its policies in the order written.
    pub fn policies(&self) -> &[Policy] {
        &self.policies
    }

    /// Its explicit workflow.
    pub fn workflow(&self) -> Option<&Workflow> {
        self.workflow.as_ref()
    }

    /// Names of the values that components take and no component gives: workflow steps give them.
    pub fn taken_of_steps(&self) -> BTreeSet<&str> {
        let outputs = self.components.iter().flat_map(|component| &component.outputs);
        let given: BTreeSet<&str> = outputs.map(|output| output.name.as_str()).collect();
        let inputs = self.components.iter().flat_map(|component| &component.inputs);
        inputs.map(|input| input.from.as_str()).filter(|from| !given.contains(from)).collect()
    }

    /// The version it is rendered for.
    pub fn cluster_version(&self) -> &ClusterVersion {
        &self.cluster_version
    }

    /// How far its objects may reach.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Whether it leaves applied objects alone, unless its policies say more.
    pub fn applies_once(&self) -> bool {
        self.applies_once
    }

    /// The warnings.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }

    /// Reads from the annotations how far the application goes: some only record a revision, for another controller to
    /// deploy.
    pub fn only_records(&self) -> bool {
        let annotation =
            |name: &str| self.document.value().pointer("/metadata/annotations")?.get(name)?.as_str();
        // A rollout is meant by the annotation's presence, whatever its value. The older form rolls out between
        // configurations, which are made all the same.
        annotation(annotations::ROLLOUT_TEMPLATE).is_some() && self.era == Era::V1beta1
            || annotation(annotations::APP_REVISION_ONLY) == Some("true")
    }

    /// The plan by which it goes from one revision to the next; of an application that leaves its rollouts to others, it
    /// means nothing.
    pub fn rollout_plan(&self) -> Option<&Json> {
        let plan = self.document.value().pointer("/spec/rolloutPlan").filter(|plan| !plan.is_null())?;
        (self.era == Era::V1beta1 && !self.only_records()).then_some(plan)
    }

    /// The plan by which an application in the v1alpha2 form goes from one configuration to the next; of one that leaves its
    /// rollouts to others, it means nothing.
    pub fn configuration_plan(&self) -> Option<&Json> {
        let application = self.document.value();
        let plan = application.pointer("/spec/rolloutPlan").filter(|plan| !plan.is_null())?;
        let marks = application.pointer("/metadata/annotations");
        let is_left = marks.is_some_and(|all| all.get(annotations::ROLLOUT_TEMPLATE).is_some());
        (self.era == Era::V1alpha2 && !is_left && !self.only_records()).then_some(plan)
    }

    /// Does an application in the v1alpha2 form ask for a rollout, by annotation or by plan? Then every revision has a
    /// configuration of its own.
    pub fn rolls_out(&self) -> bool {
        let application = self.document.value();
        let annotation = |name: &str| application.pointer("/metadata/annotations")?.get(name);
        let plan = application.pointer("/spec/rolloutPlan").filter(|plan| !plan.is_null());
        self.era == Era::V1alpha2 && (annotation(annotations::ROLLOUT_TEMPLATE).is_some() || plan.is_some())
    }

    /// Every definition used, once, in the order of kind and name.
    pub fn definitions(&self) -> Vec<&Arc<Definition>> {
        let components = self.components.iter().map(|component| &component.definition);
        let traits = self.components.iter().flat_map(|c| c.traits.iter().map(|t| &t.definition));
        let scopes = self.components.iter().flat_map(|c| c.scopes.iter().map(|s| &s.definition));
        let steps = self.workflow.iter().flat_map(|w| w.steps.iter().filter_map(|s| s.definition.as_ref()));
        let policies = self.transformed.iter().flat_map(|transformed| &transformed.definitions);
        let policies = policies.map(|(_, definition)| definition);
        let policies = policies.chain(self.policies.iter().filter_map(Policy::object_definition));
        let used: BTreeMap<_, _> = components
            .chain(traits)
            .chain(scopes)
            .chain(steps)
            .chain(policies)
            .map(|d| ((d.kind(), d.name(), d.hash()), d))
            .collect();
        used.into_values().collect()
    }
}

/// Resolves an Application against the snapshot. All errors are reported together.
///
/// # Errors
/// All findings, when one of them is an error.
pub fn parse(application: &Document, snapshot: &Snapshot) -> Result<AppFile, Diagnostics> {
    let (app_file, found) = resolve(application, snapshot)?;
    if found.has_errors() { Err(found) } else { Ok(app_file) }
}

/// The same, with an AppFile of the components that could be resolved beside the errors of the others: food for
/// [`crate::check`] only, since nothing of it may be applied.
pub(crate) fn resolve(
    application: &Document,
    snapshot: &Snapshot,
) -> Result<(AppFile, Diagnostics), Diagnostics> {
    let era = era(application)?;
    let whole = with_workflow(application, snapshot);
    let application = whole.as_ref().unwrap_or(application);
    let with_policies = with_policies(application, snapshot);
    let application = with_policies.as_ref().unwrap_or(application);
    let transformed = snapshot.transformed(application).cloned();
    let application = snapshot.as_transformed(application);
    let with_environments = with_environments(application);
    let application = with_environments.as_ref().unwrap_or(application);
    let mut found: Diagnostics = application.warnings().cloned().collect();
    found.extend(snapshot.warnings().map(|warning| warning.clone().at(application, "spec")).collect());
    found.extend(transformed.iter().flat_map(|transformed| transformed.found.iter().cloned()).collect());
    let overridden = overridden(application, era);
    let deployments = deployments(application, era);
    let mut parser = Parser { document: application, snapshot, era, found };
    parser.whole();
    parser.metadata();
    let written = parser.object("spec", application.value().get("spec"));
    parser.known_fields("spec", written, fields::SPEC);
    parser.mixed_forms(written);
    let spec = overridden.as_ref().unwrap_or(written);
    let mut components = parser.components(spec);
    parser.references_between(spec);
    let policies = parser.policies(spec);
    parser.were_run(&policies, transformed.as_deref());
    let mut workflow = parser.workflow(spec);
    if let Some(workflow) = &mut workflow {
        parser.deployed(&deployments, spec, &mut components, workflow);
        fill(&mut components, workflow);
    }
    if let Some(plan) = spec.get("rolloutPlan").filter(|plan| !plan.is_null()) {
        parser.rollout_plan(plan);
    }
    let namespace = match application.namespace() {
        "" => DEFAULT_NAMESPACE.to_owned(),
        namespace => namespace.to_owned(),
    };
    let found = parser.found;
    let app_file = AppFile {
        document: application.clone(),
        transformed,
        era,
        namespace,
        components,
        policies,
        workflow,
        cluster_version: snapshot.cluster_version().clone(),
        bounds: snapshot.bounds(),
        applies_once: snapshot.applies_once(),
        warnings: found.iter().filter(|finding| !finding.is_error()).cloned().collect(),
    };
    Ok((app_file, found))
}

/// A step that applies a component may fill parameters of the component with values of other steps.
fn fill(components: &mut [Component], workflow: &Workflow) {
    for step in workflow.steps.iter().filter(|step| step.type_ == APPLY_COMPONENT) {
        let component =
            components.iter_mut().find(|component| step.properties["component"] == component.name);
        if let Some(component) = component {
            component.inputs.extend(step.filled.iter().cloned());
        }
    }
}

/// The form it is written in, where it is an Application of a version that is known.
fn era(document: &Document) -> Result<Era, Diagnostic> {
    match (document.kind(), document.api_version()) {
        ("Application", "core.oam.dev/v1alpha2" | "core.oam.dev/v1beta1") => Ok(Era::of(document.value())),
        ("Application", version) => Err(Diagnostic::error(
            Code::WrongKind,
            format!("Application of version {version:?} is not known"),
        )
        .at(document, "apiVersion")
        .hint("write core.oam.dev/v1beta1")),
        (kind, _) => {
            Err(Diagnostic::error(Code::WrongKind, format!("expected an Application, found {kind:?}"))
                .at(document, "kind"))
        }
    }
}

impl<'a> Parser<'a> {
    /// The plan must be right, and complete: no later step fills it in.
    fn rollout_plan(&mut self, plan: &Json) {
        self.known_below("rolloutPlan", plan);
        let mut found = crate::rollout::plan::check(plan);
        let has = |field: &str| !plan[field].is_null();
        if plan.is_object() && !has("rolloutBatches") && !(has("targetSize") && has("numBatches")) {
            found.push(crate::rollout::plan::Finding {
                path: "rolloutBatches".to_owned(),
                missing: true,
                message: "a rollout plan needs batches: write rolloutBatches, or targetSize and numBatches"
                    .to_owned(),
            });
        }
        for finding in found {
            let path = format!("spec.rolloutPlan.{}", finding.path);
            let code = if finding.missing { Code::MissingField } else { Code::WrongType };
            self.error(code, path.trim_end_matches('.'), finding.message, None);
        }
    }

    /// The object around `spec`.
    fn whole(&mut self) {
        let document = self.document.value();
        let fields = self.object("", Some(document));
        self.known_fields("", fields, fields::TOP);
        let metadata = self.object("metadata", document.get("metadata"));
        self.known_fields("metadata", metadata, fields::METADATA);
    }

    fn metadata(&mut self) {
        let name = self.document.name();
        self.namespace();
        self.workload_names();
        self.one_way_of_updates();
        if name.is_empty() {
            self.error(Code::MissingField, "metadata.name", "an Application needs a name", None);
        } else if !fields::is_name(name) {
            let message = format!("{name:?} is not a name: {}", fields::NAME_RULE);
            self.error(Code::WrongType, "metadata.name", message, None);
        }
        self.restart();
        if let Some(why) = interval::check(self.document) {
            let mut path = "metadata.annotations".to_owned();
            crate::field_path::push_field(&mut path, annotations::RECONCILE_INTERVAL);
            self.found.push(Diagnostic::warning(Code::WrongType, why).at(self.document, path));
        }
    }
}
