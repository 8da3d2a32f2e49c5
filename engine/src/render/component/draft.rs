//! An object that traits still change; finished, it has its name and labels.

use std::sync::Arc;

use serde_json::Value as Json;

use crate::definition::Definition;
use crate::diagnostic::{Code, DefinitionPlace, Diagnostic, Diagnostics};
use crate::field_path;
use crate::placement::remote;
use crate::render::patch::{self, Tree};
use crate::render::valid_objects::ValidObjects;
use crate::render::{RenderedObject, Role, cue, labels, origins, validity};

/// An object on its way through the traits.
pub(super) struct Draft {
    pub(super) tree: Tree,
    pub(super) role: Role,
    definition: Arc<Definition>,
    pub(super) patched_by: Vec<String>,
    /// Where it was written, and then what the traits changed.
    origins: Vec<cue::Origin>,
    /// The trait that said how many pods there are.
    pub(super) sized_by: Option<String>,
}

impl Draft {
    pub(super) fn new(
        tree: Tree,
        role: Role,
        definition: &Arc<Definition>,
        origin: Option<cue::Origin>,
    ) -> Self {
        let definition = Arc::clone(definition);
        let origins = origin.into_iter().collect();
        Self { tree, role, definition, patched_by: Vec::new(), origins, sized_by: None }
    }

    /// Changes it as a trait says. Where a value that the trait meets failed before, the error is that of its definition.
    pub(super) fn patch(&mut self, patch: &cue::Patch, type_: &str) -> Result<(), Diagnostic> {
        self.tree = patch.apply(&self.tree).map_err(|error| self.earlier_failure(&error).unwrap_or(error))?;
        self.patched_by.push(type_.to_owned());
        self.origins.extend(patch.origin());
        Ok(())
    }

    /// The failed value of the template or an earlier trait that makes a patch fail.
    fn earlier_failure(&self, error: &Diagnostic) -> Option<Diagnostic> {
        let open = self.tree.finish().err()?;
        let failed = open.iter().filter(|incomplete| incomplete.text == cue::UNKNOWN);
        let met = failed.filter(|incomplete| error.message.starts_with(&format!("{}: ", incomplete.path)));
        met.filter_map(|incomplete| {
            let (reason, why) = self.reason(incomplete);
            let message = format!("{} has no value: {reason}", incomplete.path);
            let why = why?;
            Some(Diagnostic::error(Code::Template, message).definition(why.definition?).hint_opt(why.hint))
        })
        .next()
    }

    /// Why a field has no value, and the finding that says so.
    fn reason(&self, incomplete: &patch::Incomplete) -> (String, Option<Diagnostic>) {
        let segments = field_path::parse(&incomplete.path).unwrap_or_default();
        let why = self.origins.iter().rev().find_map(|origin| origin.why(&segments));
        let reason = match &why {
            Some(why) if incomplete.text == cue::UNKNOWN => {
                why.message.strip_prefix(&format!("{}: ", why.path)).unwrap_or(&why.message)
            }
            _ => incomplete.text.as_str(),
        };
        (reason.to_owned(), why)
    }
}

/// The role of a draft in its template, and the field path of its component or trait.
fn site_of<'a>(draft: &Draft, owner: &labels::Owner<'a>) -> (String, &'a str) {
    let component = owner.component;
    match &draft.role {
        Role::Workload => ("output".to_owned(), &component.path),
        Role::Auxiliary { resource } => (format!("outputs.{resource}"), &component.path),
        Role::Trait { resource, index, .. } => {
            let path = component.traits.get(*index).map_or(&component.path, |trait_| &trait_.path);
            (made_as(resource), path)
        }
        Role::Policy { resource, .. } => (made_as(resource), &component.path),
    }
}

/// The field of a template that made an object; only the single `output` has no name.
fn made_as(resource: &str) -> String {
    if resource.is_empty() { "output".to_owned() } else { format!("outputs.{resource}") }
}

/// A field of an object that neither the template nor a trait gave a value: why, and where it is written.
fn incomplete_value(draft: &Draft, incomplete: &patch::Incomplete, owner: &labels::Owner<'_>) -> Diagnostic {
    let (what, path) = site_of(draft, owner);
    let (reason, why) = draft.reason(incomplete);
    let message = format!("{what}.{} has no value: {reason}", incomplete.path);
    let (place, hint) = why.map(|why| (why.definition, why.hint)).unwrap_or_default();
    let place = place.unwrap_or_else(|| DefinitionPlace::whole(draft.definition.title()));
    Diagnostic::error(Code::Template, message).at(owner.app.document(), path).definition(place).hint_opt(hint)
}

/// A draft becomes an object: it must have a kind; then it gets its name and labels.
pub(super) fn finish(
    draft: Draft,
    (owner, valid): (&labels::Owner<'_>, &ValidObjects),
    found: &mut Diagnostics,
) -> Option<RenderedObject> {
    let object = match draft.tree.finish() {
        Ok(object) => object,
        Err(open) => {
            for incomplete in open {
                found.push(incomplete_value(&draft, &incomplete, owner));
            }
            return None;
        }
    };
    for field in ["apiVersion", "kind"] {
        if object.get(field).and_then(Json::as_str).is_none_or(str::is_empty) {
            let (what, path) = site_of(&draft, owner);
            let place = DefinitionPlace::whole(draft.definition.title());
            let error =
                Diagnostic::error(Code::Template, format!("{what} has no {field}: it is not an object"));
            found.push(error.at(owner.app.document(), path).definition(place));
            return None;
        }
    }
    let (_, path) = site_of(&draft, owner);
    let Draft { tree: _, role, definition, patched_by, origins: written, sized_by: _ } = draft;
    let cluster = remote(&owner.placement.cluster).to_owned();
    let mut traced = match owner.traced {
        true => origins::of(&object, &written),
        false => Vec::new(),
    };
    if !traced.is_empty() {
        let definitions = owner.app.definitions();
        for place in traced.iter_mut().map(|origin| &mut origin.definition) {
            if let Some(known) = definitions.iter().find(|known| known.title() == place.definition) {
                known.in_file(place);
            }
        }
    }
    let mut rendered = RenderedObject { object, cluster, role, definition, patched_by, origins: traced };
    labels::assign(&mut rendered, owner);
    validity::object(&rendered, &written, ((owner.app.document(), path), valid), found);
    Some(rendered)
}
