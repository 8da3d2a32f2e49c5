//! Refusals that an operator wants beyond objects that cannot be deployed, and the kinds that a definition makes.

use vela_engine::render::Compiled;
use vela_engine::{Definition, Templates};

use crate::verdict::Cause;

/// The refusals beyond objects that cannot be deployed; none by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strictness {
    /// Every parameter that no template declares, and not only one that looks like a declared one.
    pub undeclared_parameters: bool,
    /// A definition whose template makes objects of kinds that the cluster does not have.
    pub absent_kinds: bool,
}

/// A kind that stands in a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MadeKind {
    /// The field that makes the object: `output`, `outputs.service`.
    pub(crate) field: String,
    /// `apps/v1`.
    pub(crate) api_version: String,
    /// `Deployment`.
    pub(crate) kind: String,
}

impl MadeKind {
    /// Why a definition that makes it may not enter.
    pub(crate) fn absent(&self) -> Cause {
        let Self { field, api_version, kind } = self;
        let message = format!(
            "{field} makes {api_version} {kind}, a kind that the cluster does not have: install it first, or switch the \
             feature gate ValidateResourcesExist off"
        );
        Cause::not_found("spec.schematic.cue.template", message)
    }
}

/// The kinds that a template names as they are. Kinds that depend on parameters are not known before an author gives
/// them, and another check reports a template that does not compile.
pub(crate) fn made_kinds(definition: &Definition, templates: &Templates) -> Vec<MadeKind> {
    let Ok(compiled) = templates.get(definition) else { return Vec::new() };
    let Compiled::Cue(template) = &*compiled else { return Vec::new() };
    let named = template.kinds().into_iter();
    named.map(|(field, api_version, kind)| MadeKind { field, api_version, kind }).collect()
}
