//! Renders a plan: the definition of every component makes objects from its parameters; sends no request.
//!
//! Per component: the component template makes the workload (`output`) and auxiliary objects (`outputs`); then
//! each trait in the order written sees the workload as patched so far, patches it and adds objects; then
//! every object gets its name, namespace and labels. All diagnostics of all components are reported together.

mod component;
mod context;
mod context_fields;
pub mod cue;
mod env;
mod exhausted_evaluations;
mod findings;
mod handlebars;
mod helm;
mod kube;
mod labels;
mod limits;
mod lint;
mod merged_services;
mod origins;
pub mod parameters;
pub mod patch;
pub mod processing;
mod rendering;
pub mod single;
pub mod stages;
mod steps;
mod templates;
mod terraform;
mod tree;
mod undeclared_parameters;
mod valid_objects;
mod validity;
mod workload_ref;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::observed::ObjectKey;
use crate::parse::AppFile;
use crate::plan::Plan;
use crate::revision::Identity;
use crate::successor::{self, VersionKind};

pub(crate) use component::Site;
pub(crate) use cue::{ScopedPolicy, missing, must_be_given};
pub(crate) use findings::findings;
pub(crate) use labels::short_hash;
pub use limits::{Limits, MEMORY};
pub(crate) use lint::may_declare;
pub use origins::ValueOrigin;
pub(crate) use rendering::maker;
pub use rendering::{Inputs, RenderedComponent, RenderedObject, RenderedPolicy, Role, State};
pub use templates::{Compiled, Templates};
pub use vela_cue::{Budget, Guard};

/// Every component of a plan, rendered or pending.
#[derive(Debug, Clone)]
pub struct Rendered {
    plan: Plan,
    policies: Vec<RenderedPolicy>,
    components: Vec<RenderedComponent>,
    warnings: Diagnostics,
}

impl Rendered {
    /// The plan it was rendered from.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The application.
    pub fn app_file(&self) -> &Arc<AppFile> {
        self.plan.app_file()
    }

    /// Hash and name.
    pub fn identity(&self) -> &Arc<Identity> {
        self.plan.identity()
    }

    /// The components at their places, one for each node of the plan.
    pub fn components(&self) -> &[RenderedComponent] {
        &self.components
    }

    /// The policies that make objects, in the order written.
    pub fn policies(&self) -> &[RenderedPolicy] {
        &self.policies
    }

    /// The warnings, the earlier phases' findings included.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }

    /// The same, unless something that is written would come to nothing. Objects that lack what is not supported yet are not
    /// those that would be made, so what is wrong with them stays a warning.
    ///
    /// # Errors
    /// Parts without effect, as errors, beside the other findings.
    pub fn strictly(self) -> Result<Self, Diagnostics> {
        let is_whole = self.plan.left_out().is_empty();
        let strictly = |warning: Diagnostic| match warning.code {
            Code::InvalidObject if !is_whole => warning,
            _ => warning.strictly(),
        };
        let warnings: Diagnostics = self.warnings.iter().cloned().map(strictly).collect();
        if warnings.has_errors() { Err(warnings) } else { Ok(self) }
    }

    /// The kinds of versions that Kubernetes has withdrawn: the cluster may not serve them any more.
    pub fn withdrawn(&self) -> BTreeSet<VersionKind> {
        let objects = made(&self.policies, &self.components);
        successor::withdrawn(objects.map(|(_, rendered)| &rendered.object))
    }

    /// The same with the objects of these kinds in the version that followed. Two objects may become one by it.
    ///
    /// # Errors
    /// Two objects would become one.
    pub fn with_successors(mut self, not_served: &BTreeSet<VersionKind>) -> Result<Self, Diagnostics> {
        let mut found = self.warnings;
        let app = self.plan.app_file();
        let succeed = |index: usize, rendered: &mut RenderedObject, found: &mut Diagnostics| {
            let (path, _) = maker(app, index, &rendered.role);
            for said in successor::succeed(std::iter::once(&mut rendered.object), not_served) {
                found.push(Diagnostic::warning(Code::WrongKind, said).at(app.document(), path.clone()));
            }
        };
        for rendered in self.policies.iter_mut().flat_map(|policy| &mut policy.objects) {
            succeed(0, rendered, &mut found);
        }
        for component in &mut self.components {
            let State::Ready(objects) = &mut component.state else { continue };
            objects.iter_mut().for_each(|rendered| succeed(component.index, rendered, &mut found));
            workload_ref::write(app, component.index, objects, &mut found);
        }
        collisions(app, made(&self.policies, &self.components), &mut found);
        let ((), warnings) = found.or(())?;
        Ok(Self { warnings, ..self })
    }
}

/// Renders every component of the plan.
///
/// # Errors
/// The errors of templates, parameters and their objects, each with its place.
pub fn render(plan: &Plan, templates: &Templates, inputs: &Inputs) -> Result<Rendered, Diagnostics> {
    let mut found = plan.warnings().clone();
    let policies = plan.policies().iter();
    let policies: Vec<RenderedPolicy> =
        policies.map(|index| component::render_policy(plan, *index, templates, inputs, &mut found)).collect();
    let mut components = Vec::with_capacity(plan.nodes().len());
    let (first, others) = plan.nodes().split_at(plan.app_file().components().len().min(plan.nodes().len()));
    for node in first.iter().enumerate() {
        components.push(component::render(plan, node, templates, inputs, &mut found));
    }
    for (number, node) in others.iter().enumerate() {
        // An error of a component at its first place is an error here, too.
        let mut again = Diagnostics::new();
        let node = (first.len() + number, node);
        components.push(component::render(plan, node, templates, inputs, &mut again));
        found.extend_new(again);
    }
    collisions(plan.app_file(), made(&policies, &components), &mut found);
    out_of_bounds(plan.app_file(), made(&policies, &components), &mut found);
    validity::scalers(plan.app_file(), &components, &mut found);
    steps::undeclared(plan.app_file(), templates, &mut found);
    let found = in_files(plan.app_file(), found);
    let ((), warnings) = found.or(())?;
    Ok(Rendered { plan: plan.clone(), policies, components, warnings })
}

/// Every object with the index of its component; those of policies come first.
fn made<'r>(
    policies: &'r [RenderedPolicy],
    components: &'r [RenderedComponent],
) -> impl Iterator<Item = (usize, &'r RenderedObject)> {
    let of_policies = policies.iter().flat_map(|policy| &policy.objects).map(|object| (0, object));
    let of_components = components.iter().flat_map(|component| {
        let objects = match &component.state {
            State::Ready(objects) => objects.as_slice(),
            State::Pending(_) => &[],
        };
        objects.iter().map(|object| (component.index, object))
    });
    of_policies.chain(of_components)
}

/// Places in templates as places in the files that hold them.
fn in_files(app: &AppFile, found: Diagnostics) -> Diagnostics {
    let definitions = app.definitions();
    let placed = |mut finding: Diagnostic| {
        if let Some(place) = &mut finding.definition
            && let Some(definition) = definitions.iter().find(|one| one.title() == place.definition)
        {
            definition.in_file(place);
        }
        finding
    };
    found.into_iter().map(placed).collect()
}

/// Two objects with one identity would overwrite each other.
fn collisions<'r>(
    app: &AppFile,
    made: impl Iterator<Item = (usize, &'r RenderedObject)>,
    found: &mut Diagnostics,
) {
    let mut seen: BTreeMap<ObjectKey, String> = BTreeMap::new();
    for (index, object) in made {
        let (path, maker) = maker(app, index, &object.role);
        let key = object.key();
        if let Some(first) = seen.get(&key) {
            let message = format!("{key} is made twice: by {first} and by {maker}");
            let hint = "give one of the components or trait objects another name".to_owned();
            let place = crate::diagnostic::DefinitionPlace::whole(object.definition.title());
            let error = Diagnostic::error(Code::Collision, message).at(app.document(), path).hint(hint);
            found.push(error.definition(place));
        } else {
            seen.insert(key, maker);
        }
    }
}

/// Objects that the operator does not allow this application to make.
fn out_of_bounds<'r>(
    app: &AppFile,
    made: impl Iterator<Item = (usize, &'r RenderedObject)>,
    found: &mut Diagnostics,
) {
    for (index, object) in made {
        let (path, _) = maker(app, index, &object.role);
        app.bounds().judge(&object.object, app.namespace(), (app.document(), &path), found);
    }
}
