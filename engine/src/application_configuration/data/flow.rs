//! Writes the inputs of a configuration into its rendered objects, and gives what waits for what and the stores to
//! write afterwards.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;
use vela_crds::application_configuration::{DependencyFrom, DependencyTo, UnsatisfiedDependency};

use super::super::render::{Rendered, RenderedObject};
use super::condition::unmet;
use super::fill::fill as write;
use super::limits::size;
use super::operation::{run, same_identity};
use super::readiness::{Readiness, readiness};
use super::{FILLED_LIMIT, Input, Objects, Operation, Output, Path, Store, StorePlan, VALUE_LIMIT};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::manifest::Document;
use crate::observed::ObjectKey;

/// The objects whose live state decides: sources, stores, and targets with conditions.
pub fn wanted(rendered: &Rendered) -> BTreeSet<ObjectKey> {
    let sources = sources(rendered);
    let mut wanted = BTreeSet::new();
    for object in rendered.components().iter().flat_map(|component| component.objects()) {
        for input in &object.flow.inputs {
            wanted.extend(sources.get(&input.from).map(|(key, _)| key.clone()));
            wanted.extend(input.store.iter().map(|store| store.key.clone()));
            if !input.conditions.is_empty() {
                wanted.insert(object.key());
            }
        }
        for store in object.flow.outputs.iter().filter_map(|output| output.store.as_ref()) {
            wanted.insert(store.key.clone());
            wanted.insert(object.key());
        }
    }
    wanted
}

/// The named outputs, each with the object that gives it.
fn sources(rendered: &Rendered) -> BTreeMap<String, (ObjectKey, Output)> {
    let objects = rendered.components().iter().flat_map(|component| component.objects());
    objects
        .flat_map(|object| object.flow.outputs.iter().map(move |output| (object.key(), output)))
        .filter(|(_, output)| !output.name.is_empty())
        .map(|(key, output)| (output.name.clone(), (key, output.clone())))
        .collect()
}

/// Writes the inputs that are there into their objects, marks the objects that must wait, and says which stores the
/// objects fill once they are applied. Every object is looked at before any is applied.
///
/// # Errors
/// Every input or output that cannot be what it says, with its field.
pub fn fill(rendered: &mut Rendered, objects: &Objects) -> Result<Vec<StorePlan>, Diagnostics> {
    let sources = sources(rendered);
    let document = rendered.document().clone();
    let mut filling = Filling {
        sources: &sources,
        objects,
        document: &document,
        unsatisfied: Vec::new(),
        plans: Vec::new(),
        filled: 0,
        found: Diagnostics::new(),
    };
    for object in rendered.components_mut().iter_mut().flat_map(|component| component.objects_mut()) {
        filling.inputs(object);
        filling.outputs(object);
    }
    let Filling { unsatisfied, plans, found, .. } = filling;
    let (plans, _) = found.or(plans)?;
    rendered.set_unsatisfied(unsatisfied);
    Ok(plans)
}

struct Filling<'a> {
    sources: &'a BTreeMap<String, (ObjectKey, Output)>,
    objects: &'a Objects,
    document: &'a Document,
    unsatisfied: Vec<UnsatisfiedDependency>,
    plans: Vec<StorePlan>,
    filled: usize,
    found: Diagnostics,
}

/// An input that is not there, or cannot be used.
enum Stopped {
    Waits(UnsatisfiedDependency),
    Wrong { at: String, message: String },
}

impl Filling<'_> {
    fn inputs(&mut self, object: &mut RenderedObject) {
        if object.flow.inputs.is_empty() {
            return;
        }
        let before = object.object.clone();
        let flow = object.flow.clone();
        let mut done = flow.inputs.iter().try_for_each(|input| self.input(object, &before, input));
        // Stores are read last, as the object is then complete but for them.
        let stores = flow.inputs.iter().filter_map(|input| Some((input, input.store.as_ref()?)));
        if done.is_ok() {
            done = stores.into_iter().try_for_each(|(input, store)| self.read_store(object, input, store));
        }
        let done = done.and_then(|()| {
            same_identity(&before, &object.object)
                .map_err(|message| Stopped::Wrong { at: format!("{}.dataInputs", object.path), message })
        });
        match done {
            Ok(()) => {}
            Err(Stopped::Waits(entry)) => {
                object.object = before;
                object.unsatisfied = true;
                self.unsatisfied.push(entry);
            }
            Err(Stopped::Wrong { at, message }) => {
                self.found.push(Diagnostic::error(Code::Template, message).at(self.document, at));
            }
        }
    }

    fn input(&mut self, object: &mut RenderedObject, before: &Json, input: &Input) -> Result<(), Stopped> {
        let target = ObjectKey::of(before);
        let wrong = |message: String| Stopped::Wrong { at: input.at.clone(), message };
        let to_paths = || input.to.iter().map(ToString::to_string).collect::<Vec<_>>();
        let source = self.sources.get(&input.from);
        if let Some((source, output)) = source {
            let configuration = self.document.value();
            let looked =
                readiness(source, output.field.as_ref(), &output.conditions, self.objects, configuration);
            match looked.map_err(wrong)? {
                Readiness::Waits(reason) => {
                    let entry = entry(reason, source, output.field.as_ref(), &target, to_paths());
                    return Err(Stopped::Waits(entry));
                }
                Readiness::Ready(None) => {}
                Readiness::Ready(Some(value)) => {
                    self.filled += size(&value) * input.to.len();
                    if size(&value) > VALUE_LIMIT || self.filled > FILLED_LIMIT {
                        let message = format!(
                            "the value of output {:?} is too large: {VALUE_LIMIT} bytes each and {FILLED_LIMIT} bytes \
                             in all may be passed on",
                            input.from
                        );
                        return Err(wrong(message));
                    }
                    write(&mut object.object, &input.to, &input.keys, &value).map_err(wrong)?;
                }
            }
        }
        if let Some(store) = &input.store {
            self.store_is_ready(store, &target)?;
        }
        // An object that does not exist yet may be made: there is nothing that the conditions could protect.
        let Some(live) = self.objects.get(&target).filter(|_| !input.conditions.is_empty()) else {
            return Ok(());
        };
        match unmet(&input.conditions, live, None, self.document.value()) {
            None => Ok(()),
            Some(reason) => {
                let (source, field) = match (source, &input.store) {
                    (Some((source, output)), _) => (source, output.field.as_ref()),
                    (None, Some(store)) => (&store.key, None),
                    (None, None) => (&target, None),
                };
                let reason = format!("DataInputs Conditions: {reason}");
                Err(Stopped::Waits(entry(reason, source, field, &target, to_paths())))
            }
        }
    }

    fn store_is_ready(&self, store: &Store, target: &ObjectKey) -> Result<(), Stopped> {
        for operation in &store.operations {
            let looked = self.look(&store.key, operation.from.as_ref(), &operation.conditions);
            let looked = looked.map_err(|message| Stopped::Wrong { at: operation.at.clone(), message })?;
            if let Readiness::Waits(reason) = looked {
                let to = vec![place(operation)];
                return Err(Stopped::Waits(entry(reason, &store.key, operation.from.as_ref(), target, to)));
            }
        }
        Ok(())
    }

    fn read_store(&self, object: &mut RenderedObject, input: &Input, store: &Store) -> Result<(), Stopped> {
        let Some(live) = self.objects.get(&store.key) else {
            // No value is read from it, and still it must exist: the wait for it would be silent.
            let message = format!("the input store {} does not exist", store.key);
            return Err(Stopped::Wrong { at: format!("{}.inputStore", input.at), message });
        };
        run(&mut object.object, &store.operations, live, false)
            .map_err(|(at, message)| Stopped::Wrong { at, message })
    }

    fn outputs(&mut self, object: &RenderedObject) {
        let source = object.key();
        for store in object.flow.outputs.iter().filter_map(|output| output.store.as_ref()) {
            let waits = store.operations.iter().find_map(|operation| {
                let looked = self.look(&source, operation.from.as_ref(), &operation.conditions);
                match looked {
                    Ok(Readiness::Ready(_)) => None,
                    Ok(Readiness::Waits(reason)) | Err(reason) => Some((operation, reason)),
                }
            });
            match waits {
                // A source that waits itself gives no value either, and has said so.
                _ if object.unsatisfied => {}
                None => StorePlan::add(&mut self.plans, store, &source),
                Some((operation, reason)) => {
                    let to = vec![place(operation)];
                    self.unsatisfied.push(entry(reason, &source, operation.from.as_ref(), &store.key, to));
                }
            }
        }
    }

    fn look(
        &self,
        source: &ObjectKey,
        field: Option<&Path>,
        conditions: &[super::Condition],
    ) -> Result<Readiness<'_>, String> {
        readiness(source, field, conditions, self.objects, self.document.value())
    }
}

/// `toFieldPath`, with the place in its text in parentheses.
fn place(operation: &Operation) -> String {
    match &operation.data {
        Some(data) => format!("{}({data})", operation.to),
        None => operation.to.to_string(),
    }
}

fn entry(
    reason: String,
    source: &ObjectKey,
    field: Option<&Path>,
    target: &ObjectKey,
    field_paths: Vec<String>,
) -> UnsatisfiedDependency {
    UnsatisfiedDependency {
        reason,
        from: DependencyFrom {
            api_version: source.api_version.clone(),
            kind: source.kind.clone(),
            name: source.name.clone(),
            uid: None,
            field_path: field.map(ToString::to_string),
        },
        to: DependencyTo {
            api_version: target.api_version.clone(),
            kind: target.kind.clone(),
            name: target.name.clone(),
            uid: None,
            field_paths,
        },
    }
}
