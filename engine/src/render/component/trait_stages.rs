//! The stages of the traits of one component: which are not rendered yet, and which objects wait for others.

use serde_json::{Map, Value as Json};

use super::draft::{Draft, finish};
use crate::definition::Definition;
use crate::definition::stage::Stage;
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::parse::Component;
use crate::render::stages::{Deferred, Dispatched, Stages};
use crate::render::valid_objects::ValidObjects;
use crate::render::{RenderedObject, Role, cue, labels};

/// The message of a trait that is rendered when its component is healthy, in the words of upstream.
const WAITS: &str = "Waiting for component to be healthy";

/// The stages of one component while it is rendered.
pub(super) struct Staged<'a> {
    component: &'a Component,
    stages: &'a Stages,
    dispatched: Option<&'a Dispatched>,
    deferred: Vec<Deferred>,
}

impl<'a> Staged<'a> {
    pub(super) fn new(component: &'a Component, stages: &'a Stages, node: usize) -> Self {
        let dispatched = match stages {
            Stages::Known(known) => known.get(&node),
            Stages::Ignored | Stages::Assumed => None,
        };
        Self { component, stages, dispatched, deferred: Vec::new() }
    }

    /// The stage of a trait; that of its component where no stages are known.
    fn stage(&self, index: usize) -> Stage {
        let trait_ = self.component.traits.get(index).filter(|_| *self.stages != Stages::Ignored);
        trait_.and_then(|trait_| trait_.definition.stage().ok()).unwrap_or_default()
    }

    fn is_late(&self, index: usize) -> bool {
        self.stage(index) == Stage::PostDispatch
    }

    fn live(&self) -> Option<&'a Map<String, Json>> {
        self.dispatched?.live.as_ref()?.as_object()
    }

    /// Is the trait to be rendered later?
    pub(super) fn waits(&mut self, index: usize) -> bool {
        let waits = self.is_late(index) && matches!(self.stages, Stages::Known(_)) && self.live().is_none();
        if waits {
            self.deferred.push(Deferred { index, why: WAITS.to_owned() });
        }
        waits
    }

    /// A trait that is rendered late sees the objects of its component as they are in the cluster.
    pub(super) fn see(&self, index: usize, context: &mut Json) {
        let Some(live) = self.live().filter(|_| self.is_late(index)) else { return };
        let Some(fields) = context.as_object_mut() else { return };
        if let Some(output) = live.get("output") {
            fields.insert("output".to_owned(), output.clone());
        }
        let Some(Json::Object(outputs)) = fields.get_mut("outputs") else { return };
        for (name, object) in live.get("outputs").and_then(Json::as_object).into_iter().flatten() {
            outputs.insert(name.clone(), object.clone());
        }
    }

    /// Does a late trait fail for lack of a value that its component may still show? Then it waits.
    pub(super) fn postpones(&mut self, index: usize, errors: &Diagnostics) -> bool {
        let is_open = |error: &Diagnostic| matches!(error.code, Code::Incomplete | Code::Template);
        let mut failures = errors.iter().filter(|error| error.is_error());
        let Some(first) = failures.next().filter(|_| self.is_late(index)) else { return false };
        if !is_open(first) || !failures.all(is_open) {
            return false;
        }
        self.deferred.push(Deferred { index, why: first.message.clone() });
        true
    }

    /// A draft becomes an object, but for that of a late trait which lacks a value.
    pub(super) fn finish(
        &mut self,
        draft: Draft,
        owner: (&labels::Owner<'_>, &ValidObjects),
        found: &mut Diagnostics,
    ) -> Option<RenderedObject> {
        let late = match &draft.role {
            Role::Trait { index, .. } if self.is_late(*index) => *index,
            _ => return finish(draft, owner, found),
        };
        let mut own = Diagnostics::new();
        let finished = finish(draft, owner, &mut own);
        if finished.is_none() && self.postpones(late, &own) {
            return None;
        }
        found.extend(own);
        finished
    }

    /// An object that a late trait has a part in is its own: as long as that trait waits, the object stays as it is.
    fn take(&self, object: &mut RenderedObject) {
        let Role::Trait { index, resource, .. } = &object.role else { return };
        if self.is_late(*index) || !matches!(self.stages, Stages::Known(_)) {
            return;
        }
        let has_part = |type_: &String| object.patched_by.contains(type_);
        let mut traits = self.component.traits.iter().enumerate();
        if let Some((late, trait_)) = traits.find(|(at, trait_)| self.is_late(*at) && has_part(&trait_.type_))
        {
            let (type_, resource) = (trait_.type_.clone(), resource.clone());
            object.role = Role::Trait { type_, index: late, resource };
        }
    }

    /// Leaves out the objects of traits that wait, and those of a component that waits for its traits.
    pub(super) fn settle(&self, objects: &mut Vec<RenderedObject>) {
        objects.iter_mut().for_each(|object| self.take(object));
        let withheld = self.withholds();
        objects.retain(|object| match &object.role {
            Role::Trait { index, .. } => {
                let is_deferred = self.deferred.iter().any(|deferred| deferred.index == *index);
                !is_deferred && (!withheld || self.stage(*index) == Stage::PreDispatch)
            }
            Role::Workload | Role::Auxiliary { .. } | Role::Policy { .. } => !withheld,
        });
    }

    /// Does the component wait for what goes before it?
    pub(super) fn withholds(&self) -> bool {
        let any_before = (0..self.component.traits.len()).any(|at| self.stage(at) == Stage::PreDispatch);
        let is_known = matches!(self.stages, Stages::Known(_));
        is_known && any_before && !self.dispatched.is_some_and(|dispatched| dispatched.before)
    }

    /// The traits that wait.
    pub(super) fn into_deferred(self) -> Vec<Deferred> {
        let mut deferred = self.deferred;
        deferred.dedup_by_key(|deferred| deferred.index);
        deferred
    }
}

/// An unknown stage, and a patch of objects that are in the cluster by then, cannot be followed.
pub(super) fn refused(definition: &Definition, stages: &Stages, made: &cue::Trait) -> Option<Diagnostic> {
    let refuse = |message: String| Diagnostic::error(Code::BadDefinition, message);
    let stage = match definition.stage() {
        Ok(stage) => stage,
        Err(message) => return Some(refuse(message)),
    };
    let patches = made.patch.is_some() || !made.patch_outputs.is_empty();
    (patches && stage == Stage::PostDispatch && *stages != Stages::Ignored).then(|| {
        let message = "a trait of stage PostDispatch patches an object that is in the cluster by then: expected only `outputs`";
        refuse(message.to_owned()).hint("make objects only, or take the stage out of the definition")
    })
}
