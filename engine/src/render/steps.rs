//! Finds undeclared parameters of workflow steps. The effect of a step is known when it runs; a name that it never reads is reported before.

use vela_cue::input::{Segment, Undeclared};

use super::Templates;
use super::component::Site;
use super::templates::Compiled;
use super::undeclared_parameters;
use crate::diagnostic::Diagnostics;
use crate::parse::{AppFile, Step};
use crate::workflow::built_in_parameters;

/// A warning for every parameter of a written step that its type does not declare.
pub(super) fn undeclared(app: &AppFile, templates: &Templates, found: &mut Diagnostics) {
    for step in app.workflow().into_iter().flat_map(|workflow| &workflow.steps) {
        found.extend_new(of_definition(app, step, templates).unwrap_or_else(|| of_built_in(app, step)));
    }
}

/// None where the type of the step has no definition. The run of the step reports a broken template.
fn of_definition(app: &AppFile, step: &Step, templates: &Templates) -> Option<Diagnostics> {
    let definition = step.definition.as_deref()?;
    let compiled = templates.get(definition).ok();
    let Some(Compiled::Cue(template)) = compiled.as_deref() else { return Some(Diagnostics::new()) };
    let site = Site { document: app.document(), definition, path: &step.path, field: "properties" };
    Some(site.place(template.undeclared(&step.properties)))
}

fn of_built_in(app: &AppFile, step: &Step) -> Diagnostics {
    let Some(known) = built_in_parameters(&step.type_) else { return Diagnostics::new() };
    let given = step.properties.as_object().into_iter().flat_map(|given| given.keys());
    let unknown = given.filter(|name| !known.contains(&name.as_str()));
    let title = format!("workflow step type {:?}", step.type_);
    unknown
        .map(|name| {
            let path = vec![Segment::Field(name.clone())];
            let known = known.iter().map(|name| (*name).to_owned()).collect();
            let warning = undeclared_parameters::warning(&title, &Undeclared { path, known });
            warning.at_key(app.document(), format!("{}.properties.{name}", step.path))
        })
        .collect()
}
