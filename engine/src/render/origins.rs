//! Where each value of an object was written: an object and the templates that made it in, places out.

use serde_json::Value as Json;

use super::cue;
use crate::diagnostic::{DefinitionPlace, Place};
use crate::field_path::{self, Segment};

/// Values of one object that are traced; further ones are not.
const VALUES_AT_MOST: usize = 2_000;
/// Values deeper than this are not traced.
const DEPTH_AT_MOST: usize = 64;

/// Where a value of an object was written.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueOrigin {
    /// Its field path in the object.
    pub path: String,
    /// The value when it was traced; later steps of the render may change it.
    pub(crate) value: Json,
    /// The place of the parameter that it was made of; nothing where the template alone made it.
    pub given: Option<Place>,
    /// The place in the definition that wrote it last.
    pub definition: DefinitionPlace,
}

/// The origins of the values of an object. The trait that wrote a value last counts; what no definition wrote, such as the
/// labels of every object, is left out. `origins` are those of its template and then of the traits that patched it.
pub(super) fn of(object: &Json, origins: &[cue::Origin]) -> Vec<ValueOrigin> {
    let mut found = Vec::new();
    if !origins.is_empty() {
        trace(object, (object, origins), &mut Vec::new(), &mut found);
    }
    found
}

fn trace(
    value: &Json,
    whole: (&Json, &[cue::Origin]),
    path: &mut Vec<Segment>,
    found: &mut Vec<ValueOrigin>,
) {
    if path.len() > DEPTH_AT_MOST || found.len() >= VALUES_AT_MOST {
        return;
    }
    match value {
        Json::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                path.push(Segment::Field(name.clone()));
                trace(value, whole, path, found);
                path.pop();
            }
        }
        Json::Array(items) if !items.is_empty() => {
            for (index, value) in items.iter().enumerate() {
                path.push(Segment::Index(index));
                trace(value, whole, path, found);
                path.pop();
            }
        }
        leaf => {
            let (object, origins) = whole;
            let written = origins.iter().rev().find_map(|origin| origin.wrote(object, path, leaf));
            if let Some((given, definition)) = written {
                found.push(ValueOrigin {
                    path: field_path::format(path),
                    value: leaf.clone(),
                    given,
                    definition,
                });
            }
        }
    }
}
