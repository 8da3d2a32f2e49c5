//! Compares the verdicts of reference CRDs and our CRDs on generated and real objects.
//!
//! A verdict is what an API server would do: drop unknown fields, fill in defaults, then accept or refuse. Several releases
//! describe the same version of a kind; what one of them accepts and understands must be accepted, with all that any of
//! them keeps.

mod compare;
mod known;
mod object;
mod place;
mod real;
mod schemas;

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use place::Place;
use schemas::{Kind, Schemas};

/// One thing to compare: all objects around one place of a reference schema, or one real object.
pub(crate) struct Input(Compared);

enum Compared {
    /// A place in the schema of a release.
    Place { kind: Arc<Kind>, era: usize, place: Place },
    /// An object as a user wrote it.
    Object { kind: Arc<Kind>, object: Value },
}

/// A case to be counted.
pub(crate) struct Found {
    /// The release, or `real`.
    pub(crate) scope: String,
    /// Name for people.
    pub(crate) name: String,
    /// What to compare.
    pub(crate) input: Input,
}

/// Every case below a folder with `crds`; none where it is not there.
pub(crate) fn find(directory: &Path) -> Result<Vec<Found>, String> {
    let references = directory.join("crds");
    if !references.is_dir() {
        return Ok(Vec::new());
    }
    let schemas = Schemas::read(&references)?;
    let mut found = Vec::new();
    for kind in schemas.kinds() {
        for (era, reference) in kind.references.iter().enumerate() {
            for place in place::all(reference.structural.source()) {
                let name = format!("{} {} {}", kind.kind, kind.version, place.path());
                found.push(Found {
                    scope: reference.era.clone(),
                    name,
                    input: Input(Compared::Place { kind: kind.clone(), era, place }),
                });
            }
        }
    }
    for (file, object) in real::objects(directory) {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let Some(kind) = schemas.find(text("/apiVersion"), text("/kind")) else { continue };
        let name = format!("{} {} {file} {}", kind.kind, kind.version, text("/metadata/name"));
        let input = Input(Compared::Object { kind, object });
        found.push(Found { scope: "real".to_owned(), name, input });
    }
    Ok(found)
}

impl Input {
    /// Compares; the error is the first difference.
    pub(crate) fn run(&self) -> Result<(), String> {
        match &self.0 {
            Compared::Object { kind, object } => compare::verdicts(kind, object),
            Compared::Place { kind, era, place } => {
                let Some(reference) = kind.references.get(*era) else { return Ok(()) };
                for (what, object) in object::around(kind, reference.structural.source(), place) {
                    compare::verdicts(kind, &object).map_err(|why| format!("{what}: {why}"))?;
                }
                Ok(())
            }
        }
    }
}
