//! Renders a policy of a PolicyDefinition that makes objects: like a component without traits, at the place of the application.

use super::draft::{Draft, finish};
use super::{Environment, Outcome, Staged, drafts};
use crate::diagnostic::{Code, DefinitionPlace, Diagnostic, Diagnostics};
use crate::parse::{AppFile, Component};
use crate::placement::Placement;
use crate::plan::Plan;
use crate::policy;
use crate::render::stages::Stages;
use crate::render::{Inputs, RenderedPolicy, Role, Templates, context, labels};

/// Renders the policy at this index of the application; what goes wrong is added to `found`.
pub(in crate::render) fn render_policy(
    plan: &Plan,
    index: usize,
    templates: &Templates,
    inputs: &Inputs,
    found: &mut Diagnostics,
) -> RenderedPolicy {
    let (app, placement) = (plan.app_file(), Placement::default());
    let name = policy::name(&app.policies()[index], index);
    let Some(component) = as_component(app, index, &name) else {
        return RenderedPolicy { index, name, objects: Vec::new() };
    };
    let context = context::of(app, &component, &placement, plan.identity(), inputs.unnamed_revision);
    let mut environment = Environment { templates, inputs, requests: Vec::new() };
    let mut staged = Staged::new(&component, &Stages::Ignored, 0);
    let mut objects = Vec::new();
    match drafts(app, &component, &context, (&mut environment, &mut staged), found) {
        Outcome::Drafts(drafts) => {
            let revision = if inputs.unnamed_revision { "" } else { plan.identity().name() };
            let traced = inputs.origins;
            let owner = labels::Owner { app, component: &component, placement: &placement, revision, traced };
            let by = (&owner, templates.valid_objects());
            let drafts = drafts.into_iter().map(|draft| of_policy(draft, index));
            objects.extend(drafts.filter_map(|draft| finish(draft, by, found)));
        }
        // No other object brings what a policy lacks: it goes before all of them.
        Outcome::Pending(missing) => {
            for message in missing {
                let place = DefinitionPlace::whole(component.definition.title());
                let error = Diagnostic::error(Code::Incomplete, message).definition(place);
                found.push(error.at(app.document(), &component.path));
            }
        }
        // The reasons are among the findings.
        Outcome::Failed => {}
    }
    RenderedPolicy { index, name, objects }
}

/// The policy as a component without anything that only components have.
fn as_component(app: &AppFile, index: usize, name: &str) -> Option<Component> {
    let policy = &app.policies()[index];
    Some(Component {
        name: name.to_owned(),
        type_: policy.type_.clone(),
        definition: policy.object_definition()?.clone(),
        properties: policy.properties.clone(),
        traits: Vec::new(),
        depends_on: Vec::new(),
        inputs: Vec::new(),
        outputs: Vec::new(),
        scopes: Vec::new(),
        config: None,
        secrets: Vec::new(),
        unknown_objects: Vec::new(),
        path: policy.path.clone(),
    })
}

/// The draft with the role that objects of policies have.
fn of_policy(mut draft: Draft, index: usize) -> Draft {
    let resource = match draft.role {
        Role::Auxiliary { resource } => resource,
        Role::Workload | Role::Trait { .. } | Role::Policy { .. } => String::new(),
    };
    draft.role = Role::Policy { index, resource };
    draft
}
