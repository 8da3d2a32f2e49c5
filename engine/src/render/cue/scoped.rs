//! Evaluates a template that changes an application: whether it acts, and what it says of the application.

use serde_json::{Map, Value as Json};
use vela_cue::value::FieldOptions;
use vela_cue::{Input, Value};

use super::template::DECLARED_BUDGET;
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

    /// What a template that changes applications can be known to do wrong before there is an application. A global one gets no
    /// parameters.
    pub(crate) fn scoped_mistakes(&self, is_global: bool) -> Diagnostics {
        let nothing = Json::Object(Map::new());
        let look = self.template.clone().with_budget(DECLARED_BUDGET);
        let root = look.instantiate(&[Input::new("parameter", &nothing)]).root();
        let mut found = Diagnostics::new();
        if is_global {
            let needed = self.missing(&root).into_iter().map(|missing| {
                let message = format!("a global policy has no parameters: {}", missing.message);
                Diagnostic { code: Code::BadDefinition, message, path: String::new(), ..missing }
                    .hint("give the parameter a default, or make it optional (`name?: string`)")
            });
            found.extend(needed.collect());
        }
        // What depends on the application or on parameters is not known yet.
        for field in root.lookup("output").fields(FieldOptions::default()) {
            let value = field.value.to_json().ok();
            found.extend(self.wrong_field(&field.name, &field.value, value.as_ref()).into_iter().collect());
        }
        found
    }

    /// A field of the output that means nothing, or whose value, where it is known, has another shape.
    fn wrong_field(&self, name: &str, place: &Value, value: Option<&Json>) -> Option<Diagnostic> {
        let at =
            |message: String| Diagnostic::error(Code::BadDefinition, message).definition(self.place(place));
        let Some((_, shape)) = FIELDS.iter().find(|(known, _)| *known == name) else {
            let message = format!("output.{name}: a policy of the scope Application cannot change this");
            let names = FIELDS.map(|(name, _)| name);
            return Some(at(message).hint_opt(nearest::advice(name, "fields of its output", names)));
        };
        let is_wrong = value.is_some_and(|value| !has_shape(value, shape));
        is_wrong.then(|| at(format!("output.{name} must be {shape}")))
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
            if let Some(wrong) = self.wrong_field(&field.name, &field.value, None) {
                return Err(wrong.into());
            }
            let value = self.concrete(root, &field.value)?;
            if let Some(wrong) = self.wrong_field(&field.name, &field.value, Some(&value)) {
                return Err(wrong.into());
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
