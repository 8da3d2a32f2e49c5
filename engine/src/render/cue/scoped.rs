//! Evaluates a template that changes an application: whether it acts, and what it says of the application.

use serde_json::{Map, Value as Json};
use vela_cue::Value;
use vela_cue::value::FieldOptions;

use super::{Parameters, Template};
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::nearest;
use crate::render::findings::findings;

/// What such a template may say, each with its shape.
const FIELDS: [(&str, &str); 6] = [
    ("components", "a list of objects"),
    ("workflow", "an object"),
    ("policies", "a list of objects"),
    ("labels", "an object of strings"),
    ("annotations", "an object of strings"),
    ("ctx", "an object"),
];

/// The result of a template that changes applications.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ScopedPolicy {
    /// Whether it acts on this application.
    pub(crate) enabled: bool,
    /// What it says, by field.
    pub(crate) output: Map<String, Json>,
}

impl Template {
    /// Evaluates a template that changes applications; the findings are warnings.
    ///
    /// # Errors
    /// The template or its parameters are wrong, or it says something of another shape.
    pub(crate) fn scoped(
        &self,
        parameter: &Parameters<'_>,
        context: &Json,
    ) -> Result<(ScopedPolicy, Diagnostics), Diagnostics> {
        self.once(&[parameter.value(), context], || {
            let opened = self.opened(parameter, context, None);
            let made = opened.as_ref().map_err(Clone::clone).and_then(|root| self.make_scoped(root));
            self.with_undeclared(opened.ok(), parameter, made)
        })
    }

    fn make_scoped(&self, root: &Value) -> Result<ScopedPolicy, Diagnostics> {
        self.sound(root)?;
        if !self.enabled(root)? {
            return Ok(ScopedPolicy::default());
        }
        let output = root.lookup("output");
        if !output.exists() {
            root.within_budget().map_err(|errors| findings(&self.title, &errors))?;
            return Err(self.error(Code::BadDefinition, "the template has no `output`").into());
        }
        let mut said = Map::new();
        for field in output.fields(FieldOptions::default()) {
            let at = |message: String| {
                Diagnostic::error(Code::BadDefinition, message).definition(self.place(&field.value))
            };
            let Some((_, shape)) = FIELDS.iter().find(|(known, _)| *known == field.name) else {
                let names = FIELDS.map(|(name, _)| name);
                let message =
                    format!("output.{}: a policy of the scope Application cannot change this", field.name);
                let hint = nearest::advice(&field.name, "fields of its output", names);
                return Err(at(message).hint_opt(hint).into());
            };
            let value = self.concrete(root, &field.value)?;
            if !has_shape(&value, shape) {
                return Err(at(format!("output.{} must be {shape}", field.name)).into());
            }
            said.insert(field.name, value);
        }
        Ok(ScopedPolicy { enabled: true, output: said })
    }

    /// It acts unless `config.enabled`, or `enabled`, says otherwise.
    fn enabled(&self, root: &Value) -> Result<bool, Diagnostics> {
        let switches = ["config.enabled", "enabled"].map(|path| (path, root.lookup(path)));
        let Some((path, switch)) = switches.iter().find(|(_, switch)| switch.exists()) else {
            return Ok(true);
        };
        match self.concrete(root, switch)? {
            Json::Bool(enabled) => Ok(enabled),
            _ => {
                let message = format!("{path} must be true or false");
                let place = self.place(switch);
                Err(Diagnostic::error(Code::BadDefinition, message).definition(place).into())
            }
        }
    }

    /// A value that is known; a missing parameter explains one that is not.
    fn concrete(&self, root: &Value, value: &Value) -> Result<Json, Diagnostics> {
        value.to_json().map_err(|errors| {
            let missing = self.missing(root);
            if missing.is_empty() { findings(&self.title, &errors) } else { missing }
        })
    }
}

fn has_shape(value: &Json, shape: &str) -> bool {
    match (value, shape) {
        (Json::Array(list), "a list of objects") => list.iter().all(Json::is_object),
        (Json::Object(map), "an object of strings") => map.values().all(Json::is_string),
        (Json::Object(_), "an object") => true,
        _ => false,
    }
}
