//! A CUE template with `parameter` and `context` → workload, objects, patch; the only file here that evaluates CUE.

use serde_json::Value as Json;

use super::patch::{Markers, Tree};
use crate::diagnostic::{Code, DefinitionPlace, Diagnostic, Diagnostics};

/// A compiled CUE template.
#[derive(Clone)]
pub struct Template {
    title: String,
}

/// What a component template makes.
pub struct Component {
    /// The workload.
    pub output: Tree,
    /// Objects beside it, in the order of the template.
    pub outputs: Vec<(String, Tree)>,
}

/// What a trait template makes.
#[derive(Default)]
pub struct Trait {
    /// Change of the workload.
    pub patch: Option<(Tree, Markers)>,
    /// Changes of objects made before, by their name under `outputs`.
    pub patch_outputs: Vec<(String, Tree, Markers)>,
    /// Objects, in the order of the template.
    pub outputs: Vec<(String, Tree)>,
}

impl Template {
    /// Compiles the text; `title` is what diagnostics call it.
    pub fn compile(title: &str, _text: &str) -> Result<Self, Diagnostics> {
        Ok(Self { title: title.to_owned() })
    }

    fn not_yet(&self) -> Diagnostics {
        let place = DefinitionPlace { definition: self.title.clone(), line: 0, column: 0 };
        Diagnostic::error(Code::NotSupported, "CUE templates are not evaluated yet").definition(place).into()
    }

    /// Evaluates a component template; the findings are warnings.
    pub fn component(
        &self,
        _parameter: &Json,
        _context: &Json,
    ) -> Result<(Component, Diagnostics), Diagnostics> {
        Err(self.not_yet())
    }

    /// Evaluates a trait template; the findings are warnings.
    pub fn trait_(&self, _parameter: &Json, _context: &Json) -> Result<(Trait, Diagnostics), Diagnostics> {
        Err(self.not_yet())
    }

    /// Evaluates a status text and gives one field of it.
    pub fn field(&self, _parameter: &Json, _context: &Json, _field: &str) -> Result<Json, Diagnostics> {
        Err(self.not_yet())
    }
}
