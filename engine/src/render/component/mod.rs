//! Renders one component of the plan: its template, then its traits in order, then names and labels.

mod draft;
mod languages;
mod policy;
mod trait_stages;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use self::draft::Draft;
use self::languages::{
    RELEASE, helm_objects, kube_object, plain, resource_name, terraform_object, text_trait,
};
pub(super) use self::policy::render_policy;
use self::trait_stages::Staged;
use super::parameters::Parameters;
use super::patch::Tree;
use super::processing::Request;
use super::templates::Compiled;
use super::{
    Inputs, RenderedComponent, Role, State, Templates, context, cue, env, helm, labels, merged_services,
    workload_ref,
};
use crate::definition::{Definition, Language};
use crate::diagnostic::{Code, DefinitionPlace, Diagnostic, Diagnostics};
use crate::field_path;
use crate::manifest::Document;
use crate::parse::{AppFile, Component, InsertedSecret, Trait};
use crate::plan::{Node, Plan};

/// More objects from one component are refused.
const OBJECT_LIMIT: usize = 1000;

/// The owner of the template: for diagnostics.
#[derive(Clone, Copy)]
pub(crate) struct Site<'a> {
    pub(crate) document: &'a Document,
    pub(crate) definition: &'a Definition,
    /// Field path of the component, trait or policy.
    pub(crate) path: &'a str,
    /// Name of the field with the parameters.
    pub(crate) field: &'a str,
}

impl Site<'_> {
    /// Puts the manifest place and the definition on findings that lack them; findings about
    /// `parameter.x` point at that parameter.
    pub(crate) fn place(&self, findings: Diagnostics) -> Diagnostics {
        findings.into_iter().map(|finding| self.place_one(finding)).collect()
    }

    /// The parameters with their places in the manifest.
    pub(crate) fn parameters<'v>(&self, value: &'v Json) -> Parameters<'v> {
        Parameters::written(value, self.document, &format!("{}.{}", self.path, self.field))
    }

    fn place_one(&self, mut finding: Diagnostic) -> Diagnostic {
        if finding.definition.is_none() {
            finding.definition = Some(DefinitionPlace::whole(self.definition.title()));
        }
        if finding.manifest.is_some() && !finding.object.is_empty() {
            return finding;
        }
        let written = finding.manifest.take();
        let parameter =
            finding.path.strip_prefix("parameter").map(|rest| rest.strip_prefix('.').unwrap_or(rest));
        let path = match parameter {
            Some("") => format!("{}.{}", self.path, self.field),
            Some(rest) if rest.starts_with('[') => format!("{}.{}{rest}", self.path, self.field),
            Some(rest) => format!("{}.{}.{rest}", self.path, self.field),
            None => self.path.to_owned(),
        };
        let mut finding = match finding.code {
            Code::UnknownParameter => finding.at_key(self.document, path),
            _ => finding.at(self.document, path),
        };
        // The evaluator knows the place of a value that was given; the path alone leads to the nearest one.
        finding.manifest = written.or(finding.manifest);
        finding
    }
}

/// Renders a component at one of its places; what goes wrong is added to `found`.
pub(super) fn render(
    plan: &Plan,
    (number, node): (usize, &Node),
    templates: &Templates,
    inputs: &Inputs,
    found: &mut Diagnostics,
) -> RenderedComponent {
    let (app, index) = (plan.app_file(), node.component);
    let component = &app.components()[index];
    let context = context::of(app, component, &node.placement, plan.identity(), inputs.unnamed_revision);
    let placed = |state, context, requests| {
        let placement = node.placement.clone();
        let (deferred, withheld) = (Vec::new(), false);
        RenderedComponent { index, placement, state, context, requests, deferred, withheld }
    };
    let mut staged = Staged::new(component, &inputs.stages, number);
    let missing: Vec<String> = component
        .inputs
        .iter()
        .filter(|input| !inputs.outputs.contains_key(&input.from))
        .map(|input| format!("output {:?} is not there yet", input.from))
        .collect();
    if !missing.is_empty() && !inputs.unnamed_revision {
        return placed(State::Pending(missing), context, Vec::new());
    }
    let mut environment = Environment { templates, inputs, requests: Vec::new() };
    let mut findings = Diagnostics::new();
    let absent = component.missing_objects();
    if !absent.is_empty() {
        drafts(app, component, &context, (&mut environment, &mut staged), &mut findings);
        found.extend(findings.into_iter().filter(concerns_parameters).collect());
        return placed(State::Pending(absent), context, Vec::new());
    }
    let outcome = drafts(app, component, &context, (&mut environment, &mut staged), &mut findings);
    // A preview shows what can be said without the values of others; what they leave unsaid is no mistake.
    if !missing.is_empty() && !matches!(outcome, Outcome::Drafts(_)) {
        let field = app.era().properties_field();
        let taken: Vec<String> = component
            .inputs
            .iter()
            .map(|input| format!("{}.{field}.{}", component.path, input.parameter_key))
            .collect();
        let is_taken = |path: &str| taken.iter().any(|key| path.starts_with(key.as_str()));
        let others =
            findings.into_iter().filter(concerns_parameters).filter(|finding| !is_taken(&finding.path));
        found.extend(others.collect());
        return placed(State::Pending(missing), context, Vec::new());
    }
    found.extend(findings);
    let state = match outcome {
        Outcome::Drafts(drafts) => {
            let revision = if inputs.unnamed_revision { "" } else { plan.identity().name() };
            let owner = labels::Owner {
                app,
                component,
                placement: &node.placement,
                revision,
                traced: inputs.origins,
            };
            let by = (&owner, templates.valid_objects());
            let finished = drafts.into_iter().filter_map(|draft| staged.finish(draft, by, found));
            let mut objects = merged_services::merge(finished.collect());
            env::settle(&mut objects, &owner, found);
            workload_ref::write(app, index, &mut objects, found);
            staged.settle(&mut objects);
            State::Ready(objects)
        }
        Outcome::Pending(missing) => State::Pending(missing),
        Outcome::Failed => State::Ready(Vec::new()),
    };
    let withheld = staged.withholds();
    let deferred = staged.into_deferred();
    RenderedComponent { deferred, withheld, ..placed(state, context, environment.requests) }
}

/// The cluster's part of a component: the objects that it may use, and the questions that it asks.
struct Environment<'a> {
    templates: &'a Templates,
    inputs: &'a Inputs,
    requests: Vec<Request>,
}

enum Outcome {
    Drafts(Vec<Draft>),
    Pending(Vec<String>),
    /// The reasons are among the findings.
    Failed,
}

fn drafts(
    app: &AppFile,
    component: &Component,
    context: &Json,
    (environment, staged): (&mut Environment<'_>, &mut Staged<'_>),
    found: &mut Diagnostics,
) -> Outcome {
    let Environment { templates, inputs, .. } = *environment;
    let site = Site {
        document: app.document(),
        definition: &component.definition,
        path: &component.path,
        field: app.era().properties_field(),
    };
    let mut parameter = component.properties.clone();
    for input in component.inputs.iter().filter(|input| !input.parameter_key.is_empty()) {
        let Some(value) = inputs.outputs.get(&input.from).cloned() else { continue };
        if let Err(error) = field_path::set(&mut parameter, &input.parameter_key, value) {
            found.push(site.place_one(Diagnostic::error(Code::WrongType, error.to_string())));
        }
    }
    // Status texts see the context again, and no Secret.
    let mut context = with_secrets(context, &component.secrets).into_owned();
    let mut drafts = match base(&site, &parameter, &context, templates) {
        Ok((made, warnings)) => {
            found.extend(site.place(warnings));
            vec_of(made, &component.definition)
        }
        Err(errors) => {
            let outcome = failed(site.place(errors), found);
            parameters_of_traits(app, component, &context, environment, found);
            return outcome;
        }
    };
    if let Some(fields) = context.as_object_mut() {
        fields.insert("componentType".to_owned(), Json::String(component.type_.clone()));
        fields.insert("parameter".to_owned(), parameter);
    }
    let mut ok = true;
    for (index, trait_) in component.traits.iter().enumerate() {
        if staged.waits(index) {
            continue;
        }
        let site = Site {
            document: app.document(),
            definition: &trait_.definition,
            path: &trait_.path,
            field: "properties",
        };
        let compiled = templates.get(&trait_.definition);
        let asks = |field: &str| match compiled.as_deref() {
            Ok(Compiled::Cue(template)) => template.asks(field),
            _ => true,
        };
        see(&mut context, &drafts, asks);
        staged.see(index, &mut context);
        let seen = with_secrets(&context, &trait_.secrets);
        match apply(&site, trait_, index, &seen, environment, &mut drafts) {
            Ok(warnings) => found.extend(site.place(warnings)),
            Err(errors) if staged.postpones(index, &errors) => {}
            Err(errors) => {
                let place = |error: Diagnostic| {
                    culprit(&error, &site, &component.traits[..index]).unwrap_or(site).place_one(error)
                };
                let placed = errors.into_iter().map(place).collect();
                match failed(placed, found) {
                    Outcome::Pending(missing) => return Outcome::Pending(missing),
                    _ => ok = false,
                }
            }
        }
    }
    if matches!(component.definition.language(), Language::Helm { .. })
        && let Err(message) = release_first(&mut drafts)
    {
        found.push(site.place_one(Diagnostic::error(Code::BadDefinition, message)));
        ok = false;
    }
    if drafts.len() > OBJECT_LIMIT {
        let message = format!("{} objects; the limit for one component is {OBJECT_LIMIT}", drafts.len());
        found.push(site.place_one(Diagnostic::error(Code::Limit, message)));
        ok = false;
    }
    if ok { Outcome::Drafts(drafts) } else { Outcome::Failed }
}

/// The earlier trait whose value makes a later one fail.
fn culprit<'a>(error: &Diagnostic, own: &Site<'a>, earlier: &'a [Trait]) -> Option<Site<'a>> {
    let title = &error.definition.as_ref()?.definition;
    let is_other = |trait_: &&Trait| trait_.definition.title() == *title && *title != own.definition.title();
    let trait_ = earlier.iter().rev().find(is_other)?;
    Some(Site { definition: &trait_.definition, path: &trait_.path, ..*own })
}

/// The parameter errors of traits whose component has no workload for them: all other errors may follow from that.
fn parameters_of_traits(
    app: &AppFile,
    component: &Component,
    context: &Json,
    environment: &Environment<'_>,
    found: &mut Diagnostics,
) {
    for trait_ in &component.traits {
        let (definition, path) = (&trait_.definition, &trait_.path);
        let site = Site { document: app.document(), definition, path, field: "properties" };
        let findings = match environment.templates.get(definition) {
            Ok(compiled) => match &*compiled {
                Compiled::Cue(template) => {
                    let answers = environment.inputs.answers.as_ref();
                    let made = template.trait_(&site.parameters(&trait_.properties), context, answers);
                    made.map_or_else(|errors| errors, |(_, warnings)| warnings)
                }
                Compiled::Kube => kube_object(definition, &trait_.properties).err().unwrap_or_default(),
                _ => Diagnostics::new(),
            },
            Err(broken) => broken,
        };
        found.extend(site.place(findings.into_iter().filter(concerns_parameters).collect()));
    }
}

/// Is it wrong whatever else is missing?
fn concerns_parameters(finding: &Diagnostic) -> bool {
    matches!(finding.code, Code::Parameter | Code::UnknownParameter | Code::BadDefinition)
}

/// The context with the content of Secrets under the names that the template gave them.
fn with_secrets<'a>(context: &'a Json, secrets: &[InsertedSecret]) -> Cow<'a, Json> {
    let mut seen = Cow::Borrowed(context);
    for secret in secrets {
        if let (Some(content), Some(fields)) = (&secret.content, seen.to_mut().as_object_mut()) {
            fields.insert(secret.name.clone(), content.clone());
        }
    }
    seen
}

/// Findings that all say “not there yet” make the component pending; anything else is an error.
fn failed(errors: Diagnostics, found: &mut Diagnostics) -> Outcome {
    let incomplete =
        errors.iter().filter(|error| error.is_error()).all(|error| error.code == Code::Incomplete);
    if incomplete && errors.has_errors() {
        return Outcome::Pending(errors.iter().map(|error| error.message.clone()).collect());
    }
    found.extend(errors);
    Outcome::Failed
}

fn vec_of(made: cue::Component, definition: &Arc<Definition>) -> Vec<Draft> {
    let origin = |part: &str| made.origin.as_ref().map(|origin| origin.part(part));
    let (workload, others) = (origin("output"), origin("outputs"));
    let workload = Draft::new(made.output, Role::Workload, definition, workload);
    let others = made.outputs.into_iter().map(|(resource, tree)| {
        let origin = others.as_ref().map(|origin| origin.part(&resource));
        Draft::new(tree, Role::Auxiliary { resource }, definition, origin)
    });
    std::iter::once(workload).chain(others).collect()
}

/// The component template alone.
fn base(
    site: &Site<'_>,
    parameter: &Json,
    context: &Json,
    templates: &Templates,
) -> Result<(cue::Component, Diagnostics), Diagnostics> {
    match &*templates.get(site.definition)? {
        Compiled::Cue(template) => template.component(&site.parameters(parameter), context),
        Compiled::Handlebars(template) => {
            let mut objects = template.render(parameter, context)?.into_iter();
            let Some(output) = objects.next() else {
                return Err(Diagnostic::error(Code::Template, "the template makes no object").into());
            };
            let outputs = objects.map(|object| (resource_name(&object), Tree::from(&object))).collect();
            Ok((plain(&output, outputs), Diagnostics::new()))
        }
        Compiled::Kube => {
            let object = kube_object(site.definition, parameter)?;
            Ok((plain(&object, Vec::new()), Diagnostics::new()))
        }
        Compiled::Helm => Ok((helm_objects(site.definition, parameter, context)?, Diagnostics::new())),
        Compiled::Terraform => {
            let object = terraform_object(site.definition, parameter, context)?;
            Ok((plain(&object, Vec::new()), Diagnostics::new()))
        }
        Compiled::Nothing => {
            let message = format!("{} has no template, so it makes no objects", site.definition.title());
            Err(Diagnostic::error(Code::BadDefinition, message).into())
        }
    }
}

/// Puts the release of a chart in the place of the bare workload; what traits wrote into that goes along.
fn release_first(drafts: &mut Vec<Draft>) -> Result<(), String> {
    let is_release =
        |draft: &Draft| matches!(&draft.role, Role::Auxiliary { resource } if resource == RELEASE);
    let (Some(bare), Some(at)) =
        (drafts.iter().position(|draft| draft.role == Role::Workload), drafts.iter().position(is_release))
    else {
        return Ok(());
    };
    let mut release = drafts.remove(at);
    release.role = Role::Workload;
    if !drafts[bare].patched_by.is_empty() {
        let mut object = release.tree.to_json();
        helm::patch(&mut object, &drafts[bare].tree.to_json())?;
        release.tree = Tree::from(&object);
        release.patched_by.append(&mut drafts[bare].patched_by);
    }
    drafts[bare] = release;
    Ok(())
}

/// Traits see the workload as patched so far, and the objects made before, if they can ask for them.
fn see(context: &mut Json, drafts: &[Draft], asks: impl Fn(&str) -> bool) {
    let Some(fields) = context.as_object_mut() else { return };
    let workload = drafts.iter().find(|draft| draft.role == Role::Workload);
    if let Some(workload) = workload.filter(|_| asks("output")) {
        fields.insert("output".to_owned(), workload.tree.to_json());
    }
    if asks("outputs") {
        let outputs: Map<String, Json> = drafts
            .iter()
            .filter_map(|draft| match &draft.role {
                Role::Workload | Role::Policy { .. } => None,
                // The single `output` of a trait has no name to ask for it by.
                Role::Auxiliary { resource } | Role::Trait { resource, .. } => {
                    (!resource.is_empty()).then(|| (resource.clone(), draft.tree.to_json()))
                }
            })
            .collect();
        fields.insert("outputs".to_owned(), Json::Object(outputs));
    }
}

/// Runs one trait over the drafts.
fn apply(
    site: &Site<'_>,
    trait_: &Trait,
    index: usize,
    context: &Json,
    environment: &mut Environment<'_>,
    drafts: &mut Vec<Draft>,
) -> Result<Diagnostics, Diagnostics> {
    let mut warnings = Diagnostics::new();
    let made = match &*environment.templates.get(site.definition)? {
        Compiled::Cue(template) => {
            let answers = environment.inputs.answers.as_ref();
            let (made, found) = template.trait_(&site.parameters(&trait_.properties), context, answers)?;
            warnings = found;
            if let Some(request) = made.request {
                let message = format!("the answer to {request} is not there yet");
                environment.requests.push(request);
                return Err(Diagnostic::error(Code::Incomplete, message).into());
            }
            made
        }
        Compiled::Handlebars(template) => text_trait(template.render(&trait_.properties, context)?),
        Compiled::Kube => {
            let object = kube_object(site.definition, &trait_.properties)?;
            cue::Trait {
                outputs: vec![(resource_name(&object), Tree::from(&object))],
                ..cue::Trait::default()
            }
        }
        Compiled::Terraform => {
            let object = terraform_object(site.definition, &trait_.properties, context)?;
            cue::Trait {
                outputs: vec![(resource_name(&object), Tree::from(&object))],
                ..cue::Trait::default()
            }
        }
        Compiled::Helm => {
            let message = format!("{} is a chart; only components can be charts", site.definition.title());
            return Err(Diagnostic::error(Code::NotSupported, message).into());
        }
        Compiled::Nothing => {
            let message = format!("{} has no template, so it changes nothing", site.definition.title());
            return Err(Diagnostic::error(Code::BadDefinition, message).into());
        }
    };
    if let Some(refused) = trait_stages::refused(site.definition, &environment.inputs.stages, &made) {
        return Err(refused.into());
    }
    let unfit = |mut error: Diagnostic| {
        let is_own = |place: &DefinitionPlace| place.definition == site.definition.title();
        if error.definition.as_ref().is_none_or(is_own) {
            error.message =
                format!("trait {:?} does not fit the object it patches: {}", trait_.type_, error.message);
        }
        error
    };
    if let Some(patch) = &made.patch
        && let Some(workload) = drafts.iter_mut().find(|draft| draft.role == Role::Workload)
    {
        workload.patch(patch, &trait_.type_).map_err(unfit)?;
        if patch.sizes()
            && let Some(first) = workload.sized_by.replace(trait_.type_.clone())
        {
            let message = format!(
                "traits {first:?} and {:?} both say how many replicas there are; the later one wins",
                trait_.type_
            );
            warnings.push(Diagnostic::warning(Code::InvalidObject, message).hint("leave one of them out"));
        }
    }
    for (resource, tree) in made.outputs {
        let origin = made.origin.as_ref().map(|origin| origin.made(&resource));
        let role = Role::Trait { type_: trait_.type_.clone(), index, resource };
        drafts.push(Draft::new(tree, role, &trait_.definition, origin));
    }
    for (name, patch) in &made.patch_outputs {
        let target = drafts.iter_mut().find(|draft| match &draft.role {
            Role::Auxiliary { resource } | Role::Trait { resource, .. } => resource == name,
            Role::Workload | Role::Policy { .. } => false,
        });
        if let Some(target) = target {
            target.patch(patch, &trait_.type_).map_err(unfit)?;
        }
    }
    Ok(warnings)
}
