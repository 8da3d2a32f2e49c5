//! The products of a CUE template, and the place in it where each part was written.

use std::sync::Arc;

use serde_json::Value as Json;
use vela_cue::Value;

use super::template::Template;
use crate::diagnostic::{Code, DefinitionPlace, Diagnostic, Place};
use crate::field_path;
use crate::render::findings::findings;
use crate::render::patch::{self, Markers, Tree};
use crate::render::processing::Request;

/// The products of a component template.
pub struct Component {
    /// The workload.
    pub output: Tree,
    /// Objects beside it, in the order of the template.
    pub outputs: Vec<(String, Tree)>,
    /// Where all of it was written, when a CUE template made it.
    pub origin: Option<Origin>,
}

/// Where what a template made was written.
#[derive(Clone)]
pub struct Origin {
    pub(super) value: Value,
    pub(super) template: Template,
}

impl Origin {
    /// A part of it.
    pub fn part(&self, name: &str) -> Self {
        Self { value: self.value.field(name), template: self.template.clone() }
    }

    /// An object of a trait, by its name under `outputs`; the single `output` has none.
    pub fn made(&self, resource: &str) -> Self {
        match resource {
            "" => self.part("output"),
            _ => self.part("outputs").part(resource),
        }
    }

    /// The place in the template of the value at this path, and that of the parameter it was made of; of the nearest
    /// value above it where `exact` is not asked for.
    pub fn find(
        &self,
        path: &[field_path::Segment],
        exact: bool,
    ) -> Option<(Option<Place>, DefinitionPlace)> {
        let mut value = self.value.clone();
        if !value.exists() {
            return None;
        }
        for segment in path {
            let inner = match segment {
                field_path::Segment::Field(name) => value.field(name),
                field_path::Segment::Index(index) => value.field(&index.to_string()),
            };
            if !inner.exists() {
                if exact {
                    return None;
                }
                break;
            }
            value = inner;
        }
        Some((given_place(&value), self.template.place(&value)))
    }

    /// The places of the value at this path of an object, where it is this one that was written here. An item of a list is
    /// the one of the same name: a patch counts its items otherwise than the object that it changes.
    pub fn wrote(
        &self,
        object: &Json,
        path: &[field_path::Segment],
        leaf: &Json,
    ) -> Option<(Option<Place>, DefinitionPlace)> {
        let (mut value, mut at) = (self.value.clone(), object);
        for segment in path {
            (value, at) = match segment {
                field_path::Segment::Field(name) => (value.field(name), at.get(name)?),
                field_path::Segment::Index(index) => {
                    let item = at.get(index)?;
                    let name = item.get("name").and_then(Json::as_str);
                    let same = name.map(|name| {
                        let mut items = value.elements().into_iter();
                        items.find(|item| item.field("name").as_str().as_deref() == Some(name))
                    });
                    (same.unwrap_or_else(|| Some(value.field(&index.to_string())))?, item)
                }
            };
            if !value.exists() {
                return None;
            }
        }
        let is_same = value.to_json().is_ok_and(|written| written == *leaf);
        is_same.then(|| (given_place(&value), self.template.place(&value)))
    }

    /// Why the value at this path is none yet.
    pub fn why(&self, path: &[field_path::Segment]) -> Option<Diagnostic> {
        let mut value = self.value.clone();
        for segment in path {
            value = match segment {
                field_path::Segment::Field(name) => value.field(name),
                field_path::Segment::Index(index) => value.field(&index.to_string()),
            };
        }
        let errors = value.exists().then(|| value.validate(true).err()).flatten()?;
        findings(&self.template.title, &errors).into_iter().next()
    }
}

/// Where the parameter that made a value stands in the manifest.
fn given_place(value: &Value) -> Option<Place> {
    let origins = value.origins();
    let origin = origins.iter().find(|origin| origin.span.file.is_by_line())?;
    let sources = value.sources();
    let (file, line, column) = sources.position(origin.span)?;
    let number = |number: usize| u32::try_from(number).unwrap_or(0);
    Some(Place { file: Arc::from(file), line: number(line), column: number(column) })
}

/// The products of a trait template.
#[derive(Default)]
pub struct Trait {
    /// Change of the workload.
    pub patch: Option<Patch>,
    /// Changes of objects made before, by their name under `outputs`.
    pub patch_outputs: Vec<(String, Patch)>,
    /// Objects, in the order of the template; first, without a name, the single `output` of definitions of 0.3.
    pub outputs: Vec<(String, Tree)>,
    /// The open questions; the rest is empty then.
    pub request: Option<Request>,
    /// Where all of it was written, when a CUE template made it.
    pub origin: Option<Origin>,
}

/// A change of an object.
pub struct Patch {
    pub(super) tree: Tree,
    pub(super) markers: Markers,
    /// The value it was made from, and its template.
    pub(super) origin: Option<(Value, Template)>,
}

impl Patch {
    /// A change without markers.
    pub fn plain(tree: Tree) -> Self {
        Self { tree, markers: Markers::default(), origin: None }
    }

    /// Where it was written.
    pub fn origin(&self) -> Option<Origin> {
        self.origin.clone().map(|(value, template)| Origin { value, template })
    }

    /// Whether the template sets the number of pods of a workload.
    pub fn sizes(&self) -> bool {
        self.tree.to_json().pointer("/spec/replicas").is_some_and(Json::is_number)
    }

    /// The object changed.
    ///
    /// # Errors
    /// Where the two conflict.
    pub fn apply(&self, object: &Tree) -> Result<Tree, Diagnostic> {
        patch::patch(object, &self.tree, &self.markers).map_err(|conflict| {
            let mut error = Diagnostic::error(Code::Template, conflict.to_string());
            if let Some((value, template)) = &self.origin {
                // List elements may stand elsewhere in the patch: then the list is the nearest place.
                let mut value = value.clone();
                for segment in field_path::parse(&conflict.path).unwrap_or_default() {
                    let inner = match segment {
                        field_path::Segment::Field(name) => value.field(&name),
                        field_path::Segment::Index(index) => value.field(&index.to_string()),
                    };
                    if !inner.exists() {
                        break;
                    }
                    value = inner;
                }
                error = error.definition(template.place(&value));
            }
            error
        })
    }
}
