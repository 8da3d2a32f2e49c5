//! Finds given parameters that no template declares, and names the nearest declared one.

use serde_json::Value as Json;
use vela_cue::Value;
use vela_cue::input::{Segment, Undeclared};
use vela_cue::value::FieldOptions;

use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::field_path;
use crate::nearest;

/// Does a `parameter` declare no parameter at all?
pub(super) fn nothing(parameter: &Value) -> bool {
    let all = FieldOptions { optional: true, ..FieldOptions::default() };
    parameter.fields(all).is_empty() && !parameter.is_extensible() && !parameter.is_choice()
}

/// The parameters that a template declares; nothing where it takes any.
pub(super) fn names(parameter: &Value) -> Option<Vec<String>> {
    let all = FieldOptions { optional: true, ..FieldOptions::default() };
    let fields = parameter.fields(all);
    let any = fields.is_empty() || parameter.is_extensible() || parameter.is_choice();
    (!any).then(|| fields.into_iter().map(|field| field.name).collect())
}

/// A warning for every given part that is not declared. Where there is no value, nothing is known but whether the template
/// ignores its parameters.
pub(super) fn undeclared(
    title: &str,
    parameter: Option<&Value>,
    given: &Json,
    ignores_parameters: bool,
) -> Diagnostics {
    let found = match given.as_object().filter(|_| ignores_parameters) {
        Some(fields) => fields
            .keys()
            .map(|name| Undeclared { path: vec![Segment::Field(name.clone())], known: Vec::new() })
            .collect(),
        None => parameter.map(|parameter| parameter.undeclared(given)).unwrap_or_default(),
    };
    found.iter().map(|one| warning(title, one)).collect()
}

/// Says that it is not declared, with the nearest declared name.
pub(super) fn warning(title: &str, undeclared: &Undeclared) -> Diagnostic {
    let segments: Vec<field_path::Segment> = undeclared.path.iter().map(segment).collect();
    let (name, around) = match segments.split_last() {
        Some((field_path::Segment::Field(name), around)) => (name.as_str(), around),
        _ => ("", &segments[..]),
    };
    let (message, what) = match around {
        [] => (format!("{title} declares no parameter {name:?}"), "parameters"),
        around => {
            let around = field_path::format(around);
            (format!("{title} declares no field {name:?} in parameter {around}"), "fields")
        }
    };
    let known = undeclared.known.iter().map(String::as_str);
    let mut warning =
        Diagnostic::warning(Code::UnknownParameter, message).hint_opt(nearest::advice(name, what, known));
    warning.path = field_path::format(&segments);
    warning.path = match warning.path.starts_with('[') {
        true => format!("parameter{}", warning.path),
        false => format!("parameter.{}", warning.path),
    };
    warning
}

fn segment(segment: &Segment) -> field_path::Segment {
    match segment {
        Segment::Field(name) => field_path::Segment::Field(name.clone()),
        Segment::Index(index) => field_path::Segment::Index(*index),
    }
}
