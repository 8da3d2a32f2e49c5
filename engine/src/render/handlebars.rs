//! Renders a handlebars template with `parameter` and `context` to YAML, and reads the objects in it.

use std::io::{self, Write};

use handlebars::{Handlebars, RenderErrorReason, no_escape};
use serde_json::{Value as Json, json};

use crate::diagnostic::{Code, DefinitionPlace, Diagnostic, Diagnostics};
use crate::manifest;

/// Name of the one template in its registry.
const NAME: &str = "template";

/// Bytes of text that a template may make; an API server takes objects of 1.5 MB.
const TEXT_AT_MOST: usize = 4 << 20;

/// Pieces that the text may consist of: loops in loops over a short list make any number.
const PIECES_AT_MOST: usize = 100_000;

/// Text up to [`TEXT_AT_MOST`] in [`PIECES_AT_MOST`].
#[derive(Default)]
struct Text {
    bytes: Vec<u8>,
    pieces: usize,
}

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pieces += 1;
        if self.pieces > PIECES_AT_MOST || self.bytes.len() + bytes.len() > TEXT_AT_MOST {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.bytes.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A compiled handlebars template.
pub struct Template {
    registry: Handlebars<'static>,
    definition: String,
}

impl Template {
    /// Compiles the text; `definition` is what diagnostics call it.
    ///
    /// # Errors
    /// It is no template; the place in the definition's text.
    pub fn compile(definition: &str, text: &str) -> Result<Self, Diagnostic> {
        let mut registry = Handlebars::new();
        registry.set_strict_mode(true);
        registry.register_escape_fn(no_escape);
        registry.register_template_string(NAME, text).map_err(|error| {
            let (line, column) = error.pos().map_or((0, 0), |(line, column)| (number(line), number(column)));
            let place = DefinitionPlace::new(definition.to_owned(), line, column);
            Diagnostic::error(Code::BadDefinition, format!("the template is broken: {}", error.reason()))
                .definition(place)
        })?;
        Ok(Self { registry, definition: definition.to_owned() })
    }

    /// The objects the template makes with these parameters.
    ///
    /// # Errors
    /// A value is missing, the template makes too much, or what it makes is not YAML.
    pub fn render(&self, parameter: &Json, context: &Json) -> Result<Vec<Json>, Diagnostics> {
        let data = json!({"parameter": parameter, "context": context});
        let mut text = Text::default();
        self.registry.render_to_write(NAME, &data, &mut text).map_err(|error| {
            let place = DefinitionPlace::new(
                self.definition.clone(),
                error.line_no.map_or(0, number),
                error.column_no.map_or(0, number),
            );
            let (code, message) = match error.reason() {
                RenderErrorReason::MissingVariable(Some(name)) => {
                    (Code::Parameter, format!("{name} must be given"))
                }
                RenderErrorReason::IOError(_) => {
                    let limits = format!("{TEXT_AT_MOST} bytes or {PIECES_AT_MOST} pieces of text");
                    (Code::Template, format!("the template makes more than {limits}"))
                }
                reason => (Code::Template, reason.to_string()),
            };
            Diagnostics::from(Diagnostic::error(code, message).definition(place))
        })?;
        // The template, its values and so what they make are text.
        let text = String::from_utf8_lossy(&text.bytes);
        let documents = manifest::read("rendered text", &text).map_err(|errors| {
            let place = DefinitionPlace::whole(self.definition.clone());
            errors
                .into_iter()
                .map(|mut error| {
                    error.message = format!("the template made text that is not YAML: {}", error.message);
                    error.code = Code::Template;
                    error.definition(place.clone())
                })
                .collect::<Diagnostics>()
        })?;
        // No later phase reads that text again, so no error would show which of both holds.
        if let Some(twice) = documents.iter().flat_map(manifest::Document::warnings).next() {
            let message = format!("the template made text in which {}", twice.message);
            let place = DefinitionPlace::whole(self.definition.clone());
            return Err(Diagnostic::error(Code::Template, message).definition(place).into());
        }
        Ok(documents.into_iter().map(manifest::Document::into_value).collect())
    }
}

fn number(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_in_loops_end_at_the_limit() {
        let text = "{{#each parameter.n}}{{#each ../parameter.n}}{{#each ../../parameter.n}}\
                    {{#each ../../../parameter.n}}{{this}}{{/each}}{{/each}}{{/each}}{{/each}}";
        let template = Template::compile("loops", text).expect("a template");
        let message =
            template.render(&json!({"n": vec![0; 1000]}), &json!({})).expect_err("far too much").to_string();
        assert!(
            message.contains("the template makes more than 4194304 bytes or 100000 pieces of text"),
            "{message}"
        );
        let long = Template::compile("long", "text: {{parameter.n}}").expect("a template");
        let n = "n".repeat(1 << 20);
        assert_eq!(
            long.render(&json!({"n": n}), &json!({})).expect("long, not too long"),
            [json!({"text": n})]
        );
    }
}
