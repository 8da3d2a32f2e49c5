//! Parameters of a component or trait, and where in the manifest each was written.

use std::sync::Arc;

use serde_json::Value as Json;
use vela_cue::input::{Place, Positions, Segment};
use vela_cue::{Input, Source};

use crate::field_path;
use crate::manifest::{Document, Places};

/// The value of `parameter` for one template.
#[derive(Clone)]
pub struct Parameters<'a> {
    value: &'a Json,
    written: Option<Arc<Written>>,
}

impl<'a> Parameters<'a> {
    /// Parameters that stand in a document at a field path.
    pub fn written(value: &'a Json, document: &Document, path: &str) -> Self {
        let base = field_path::parse(path).unwrap_or_default();
        Self { value, written: Some(Arc::new(Written { places: document.shared_places(), base })) }
    }

    /// The value.
    pub fn value(&self) -> &'a Json {
        self.value
    }

    /// The input of the evaluator: the value, and the places of its parts.
    pub(super) fn input(&self) -> Input<'a> {
        let input = Input::new("parameter", self.value);
        match &self.written {
            Some(written) => input.with_positions(Arc::<Written>::clone(written)),
            None => input,
        }
    }
}

impl<'a> From<&'a Json> for Parameters<'a> {
    /// Parameters that the author did not write.
    fn from(value: &'a Json) -> Self {
        Self { value, written: None }
    }
}

/// The part of a manifest that holds the parameters.
struct Written {
    places: Arc<Places>,
    base: Vec<field_path::Segment>,
}

impl Positions for Written {
    fn place(&self, path: &[Segment], name: bool) -> Option<Place> {
        let mut segments = self.base.clone();
        segments.extend(path.iter().map(|segment| match segment {
            Segment::Field(name) => field_path::Segment::Field(name.clone()),
            Segment::Index(index) => field_path::Segment::Index(*index),
        }));
        let place = self.places.nearest(&segments, name)?;
        let source = Arc::new(Source::new(&*place.file, ""));
        Some(Place { source, line: place.line, column: place.column })
    }
}
