//! Writes parameters into a raw object at the field paths that its definition names.

use serde_json::Value as Json;

use crate::definition::KubeParameter;
use crate::diagnostic::{Code, Diagnostic};
use crate::field_path;
use crate::nearest;

/// A finding with the parameter it is about ("" for all of them).
pub(super) type Finding = (String, Diagnostic);

/// Writes the properties into the template.
pub(super) fn render(
    template: &Json,
    parameters: &[KubeParameter],
    properties: &Json,
) -> Result<Json, Vec<Finding>> {
    let mut object = template.clone();
    let mut found = Vec::new();
    let given = properties.as_object();
    for name in given.into_iter().flat_map(|given| given.keys()) {
        if !parameters.iter().any(|parameter| parameter.name == *name) {
            let error = Diagnostic::error(Code::UnknownParameter, format!("unsupported parameter {name:?}"));
            let known = parameters.iter().map(|parameter| parameter.name.as_str());
            found.push((name.clone(), error.hint_opt(nearest::advice(name, "parameters", known))));
        }
    }
    for parameter in parameters {
        match given.and_then(|given| given.get(&parameter.name)) {
            None if parameter.required => {
                let message = format!("require parameter {:?}", parameter.name);
                found.push((String::new(), Diagnostic::error(Code::Parameter, message)));
            }
            None => {}
            Some(value) if !has_type(value, &parameter.value_type) => {
                let message = format!(
                    "require {:?} type parameter value, found {}",
                    parameter.value_type,
                    field_path::type_name(value)
                );
                found.push((parameter.name.clone(), Diagnostic::error(Code::Parameter, message)));
            }
            Some(value) => {
                for path in &parameter.field_paths {
                    if let Err(error) = field_path::set(&mut object, path, value.clone()) {
                        let message = format!("parameter {:?} cannot be written: {error}", parameter.name);
                        found.push((parameter.name.clone(), Diagnostic::error(Code::BadDefinition, message)));
                    }
                }
            }
        }
    }
    if found.is_empty() { Ok(object) } else { Err(found) }
}

fn has_type(value: &Json, type_: &str) -> bool {
    match type_ {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        _ => true,
    }
}
