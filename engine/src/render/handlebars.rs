//! A handlebars template with `parameter` and `context` → YAML text → objects.

use handlebars::{Handlebars, RenderErrorReason, no_escape};
use serde_json::{Value as Json, json};

use crate::diagnostic::{Code, DefinitionPlace, Diagnostic, Diagnostics};
use crate::manifest;

/// Name of the one template in its registry.
const NAME: &str = "template";

/// A compiled handlebars template.
pub struct Template {
    registry: Handlebars<'static>,
    definition: String,
}

impl Template {
    /// Compiles the text; `definition` is what diagnostics call it.
    pub fn compile(definition: &str, text: &str) -> Result<Self, Diagnostic> {
        let mut registry = Handlebars::new();
        registry.set_strict_mode(true);
        registry.register_escape_fn(no_escape);
        registry.register_template_string(NAME, text).map_err(|error| {
            let (line, column) = error.pos().map_or((0, 0), |(line, column)| (number(line), number(column)));
            let place = DefinitionPlace { definition: definition.to_owned(), line, column };
            Diagnostic::error(Code::BadDefinition, format!("the template is broken: {}", error.reason()))
                .definition(place)
        })?;
        Ok(Self { registry, definition: definition.to_owned() })
    }

    /// The objects the template makes with these parameters.
    pub fn render(&self, parameter: &Json, context: &Json) -> Result<Vec<Json>, Diagnostics> {
        let data = json!({"parameter": parameter, "context": context});
        let text = self.registry.render(NAME, &data).map_err(|error| {
            let place = DefinitionPlace {
                definition: self.definition.clone(),
                line: error.line_no.map_or(0, number),
                column: error.column_no.map_or(0, number),
            };
            let (code, message) = match error.reason() {
                RenderErrorReason::MissingVariable(Some(name)) => {
                    (Code::Parameter, format!("{name} must be given"))
                }
                reason => (Code::Template, reason.to_string()),
            };
            Diagnostics::from(Diagnostic::error(code, message).definition(place))
        })?;
        let documents = manifest::read("rendered text", &text).map_err(|errors| {
            let place = DefinitionPlace { definition: self.definition.clone(), line: 0, column: 0 };
            errors
                .into_iter()
                .map(|mut error| {
                    error.message = format!("the template made text that is not YAML: {}", error.message);
                    error.code = Code::Template;
                    error.definition(place.clone())
                })
                .collect::<Diagnostics>()
        })?;
        // Nobody reads that text again, so nobody would see which of both holds.
        if let Some(twice) = documents.iter().flat_map(manifest::Document::warnings).next() {
            let message = format!("the template made text in which {}", twice.message);
            let place = DefinitionPlace { definition: self.definition.clone(), line: 0, column: 0 };
            return Err(Diagnostic::error(Code::Template, message).definition(place).into());
        }
        Ok(documents.into_iter().map(manifest::Document::into_value).collect())
    }
}

fn number(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
