//! Turns findings of the CUE evaluator into diagnostics, with the place in the template or where the value was given.

use std::sync::Arc;

use super::context;
use crate::diagnostic::{Code, DefinitionPlace, Diagnostic, Diagnostics, Place};

/// Findings of the evaluator as ours: `path` of the value, place in the template.
pub(crate) fn findings(title: &str, found: &vela_cue::Diagnostics) -> Diagnostics {
    found
        .iter()
        .map(|finding| {
            let number = |number: usize| u32::try_from(number).unwrap_or(0);
            let sources = found.sources();
            let place = |given: bool| {
                let mut labels = finding.labels.iter().filter(|l| l.span.file.is_by_line() == given);
                labels.find_map(|label| {
                    sources.position(label.span).filter(|(file, ..)| given || *file == title)
                })
            };
            let (line, column) =
                place(false).map_or((0, 0), |(_, line, column)| (number(line), number(column)));
            // A value that was given is named where the user wrote it.
            let manifest = place(true).map(|(file, line, column)| Place {
                file: Arc::from(file),
                line: number(line),
                column: number(column),
            });
            let code = match finding.code {
                vela_cue::Code::Budget => Code::Limit,
                code if code.class() == vela_cue::diagnostic::Class::Build => Code::BadDefinition,
                _ if finding.path == "parameter" || finding.path.starts_with("parameter.") => Code::Parameter,
                _ => Code::Template,
            };
            let message = match finding.path.as_str() {
                "" => finding.message.clone(),
                path => format!("{path}: {}", finding.message),
            };
            let place = DefinitionPlace::new(title.to_owned(), line, column);
            let mut diagnostic =
                Diagnostic::error(code, message).definition(place).hint_opt(finding.hint.clone());
            if diagnostic.hint.is_none() {
                diagnostic.hint = context::meant(&finding.message);
            }
            diagnostic.path = finding.path.clone();
            diagnostic.manifest = manifest;
            diagnostic
        })
        .collect()
}
