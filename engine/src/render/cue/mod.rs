//! Renders a CUE template with `parameter` and `context` to a workload, objects or a patch.

mod kinds;
mod products;
mod scoped;
mod template;

use serde_json::Value as Json;
use vela_cue::calls::{Progress, Run};
use vela_cue::value::{FieldKind, FieldOptions};
use vela_cue::{Input, Instance, Kind, Value};

use super::context_fields::ContextFields;
use super::findings::findings;
use super::parameters::Parameters;
use super::patch::{Field, Markers, Tree};
use super::processing::{Answers, Request};
use super::tree::{DEPTH_LIMIT, Shape, kind_name, shape};
pub(crate) use super::tree::{UNKNOWN, Use, markers, tree};
use super::undeclared_parameters;
use crate::diagnostic::{Code, DefinitionPlace, Diagnostic, Diagnostics};
use crate::steps;
pub use products::{Component, Origin, Patch, Trait};
pub(crate) use scoped::ScopedPolicy;
pub use template::Template;

/// Missing parameters are searched down to this depth.
const MISSING_DEPTH: usize = 16;

impl Template {
    /// Evaluates a component template; the findings are warnings.
    ///
    /// # Errors
    /// The template or its parameters are wrong, or a value is not known.
    pub fn component(
        &self,
        parameter: &Parameters<'_>,
        context: &Json,
    ) -> Result<(Component, Diagnostics), Diagnostics> {
        self.once(&[parameter.value(), context], || {
            let opened = self.opened(parameter, context, None);
            let made = opened.as_ref().map_err(Clone::clone).and_then(|root| self.make_component(root));
            self.with_undeclared(opened.ok(), parameter, made)
        })
    }

    fn make_component(&self, root: &Value) -> Result<Component, Diagnostics> {
        self.sound(root)?;
        let output = root.lookup("output");
        if !output.exists() {
            root.within_budget().map_err(|errors| findings(&self.title, &errors))?;
            return Err(self.error(Code::BadDefinition, "the template has no `output`").into());
        }
        let origin = Some(Origin { value: root.clone(), template: self.clone() });
        Ok(Component { output: self.tree(root, &output, Use::Object)?, outputs: self.objects(root)?, origin })
    }

    /// Evaluates a trait template; the findings are warnings.
    ///
    /// # Errors
    /// The template or its parameters are wrong, or a value is not known.
    pub fn trait_(
        &self,
        parameter: &Parameters<'_>,
        context: &Json,
        answers: Option<&Answers>,
    ) -> Result<(Trait, Diagnostics), Diagnostics> {
        let make = || {
            let opened = self.opened(parameter, context, None);
            let root = opened.as_ref().map_err(Clone::clone);
            let made = root.and_then(|root| self.make_trait(root.clone(), parameter, context, answers));
            self.with_undeclared(opened.ok(), parameter, made)
        };
        // Outside answers decide too: then it is evaluated each time.
        match answers {
            Some(answers) if !answers.is_empty() => make(),
            _ => self.once(&[parameter.value(), context], make),
        }
    }

    fn make_trait(
        &self,
        mut root: Value,
        parameter: &Parameters<'_>,
        context: &Json,
        answers: Option<&Answers>,
    ) -> Result<Trait, Diagnostics> {
        self.sound(&root)?;
        if root.lookup("processing.http").exists() {
            let request = self.request(&root)?;
            let Some(answers) = answers else {
                let message =
                    format!("the template asks {request} while rendering, which is not supported here");
                return Err(self.error(Code::NotSupported, message).into());
            };
            match answers.get(&request) {
                Some(answer) => {
                    root = self.opened(parameter, context, Some(answer))?;
                    self.sound(&root)?;
                }
                None => return Ok(Trait { request: Some(request), ..Trait::default() }),
            }
        }
        let origin = Some(Origin { value: root.clone(), template: self.clone() });
        let mut made = Trait { outputs: self.objects(&root)?, origin, ..Trait::default() };
        for field in root.fields(FieldOptions::default()) {
            match field.name.as_str() {
                // Before the others, as the release that had it made it.
                "output" => {
                    let object = self.tree(&root, &field.value, Use::Object)?;
                    made.outputs.insert(0, (String::new(), object));
                }
                "patch" => made.patch = Some(self.patch(&root, &field.value)?),
                "patchOutputs" => {
                    for target in field.value.fields(FieldOptions::default()) {
                        made.patch_outputs.push((target.name, self.patch(&root, &target.value)?));
                    }
                }
                _ => {}
            }
        }
        Ok(made)
    }

    /// The request of `processing.http`.
    fn request(&self, root: &Value) -> Result<Request, Diagnostics> {
        let http = root.lookup("processing.http").to_json().map_err(|errors| {
            let missing = self.missing(root);
            if missing.is_empty() { findings(&self.title, &errors) } else { missing }
        })?;
        Request::read(&http).map_err(|message| self.error(Code::Template, message).into())
    }

    fn patch(&self, root: &Value, value: &Value) -> Result<Patch, Diagnostics> {
        let (tree, markers) = (self.tree(root, value, Use::Patch)?, markers(value));
        Ok(Patch { tree, markers, origin: Some((value.clone(), self.clone())) })
    }

    /// An undeclared parameter is reported even when something else fails: it may be the reason.
    fn with_undeclared<T>(
        &self,
        root: Option<Value>,
        parameter: &Parameters<'_>,
        made: Result<T, Diagnostics>,
    ) -> Result<(T, Diagnostics), Diagnostics> {
        // A stopped evaluation does not know its declared parameters.
        let finished = root.filter(|root| root.within_budget().is_ok());
        let declared = finished.map(|root| root.lookup("parameter"));
        let mut undeclared = undeclared_parameters::undeclared(
            &self.title,
            declared.as_ref(),
            parameter.value(),
            self.ignores_parameters,
        );
        undeclared.extend((*self.warnings).clone());
        match made {
            Ok(made) => Ok((made, undeclared)),
            Err(mut errors) => {
                errors.extend(undeclared);
                Err(errors)
            }
        }
    }

    /// Evaluates a status text and gives one field of it.
    ///
    /// # Errors
    /// The text is wrong, or the field has no value.
    pub fn field(&self, parameter: &Json, context: &Json, field: &str) -> Result<Json, Diagnostics> {
        self.once(&[parameter, context], || {
            let root = self.instance(Input::new("parameter", parameter), context, None).root();
            root.lookup(field).to_json().map_err(|found| findings(&self.title, &found))
        })
    }

    /// The template with its parameters, as much of the context as it can ask for, and what it asked elsewhere.
    fn instance(&self, parameter: Input<'_>, context: &Json, answer: Option<&Json>) -> Instance {
        let mut inputs = vec![parameter];
        inputs.extend(answer.map(|answer| Input::new("processing.output", answer)));
        let nothing = Json::Object(serde_json::Map::new());
        match &*self.asked {
            ContextFields::Everything => inputs.push(Input::new("context", context)),
            ContextFields::Fields(fields) => {
                inputs.push(Input::new("context", &nothing));
                let given = fields.iter().filter_map(|(name, path)| Some((path, context.get(name)?)));
                inputs.extend(given.map(|(path, value)| Input::new(path, value)));
            }
        }
        inputs.extend(self.secrets(context).map(|(name, content)| Input::new(name, content)));
        self.template.instantiate(&inputs)
    }

    /// The content of Secrets that its parameters name, as far as it is known.
    fn secrets<'a>(&'a self, context: &'a Json) -> impl Iterator<Item = (&'a str, &'a Json)> {
        self.inserted.iter().filter_map(|name| Some((name.as_str(), context.get(name)?)))
    }

    /// The template with all that is given; what is wrong with it is another matter.
    fn opened(
        &self,
        parameter: &Parameters<'_>,
        context: &Json,
        answer: Option<&Json>,
    ) -> Result<Value, Diagnostics> {
        match self.asks {
            true => self.answered(parameter, context, answer),
            false => Ok(self.instance(parameter.input(), context, answer).root()),
        }
    }

    /// Everything that is wrong with the evaluated template.
    fn sound(&self, root: &Value) -> Result<(), Diagnostics> {
        let refused: Diagnostics = root
            .lookup("errs")
            .elements()
            .iter()
            .filter_map(Value::as_str)
            .map(|message| self.error(Code::Refused, message))
            .collect();
        if !refused.is_empty() {
            return Err(refused);
        }
        // Parameters first: a template may ask `parameter.x != _|_`, which hides a wrong value inside x.
        if let Err(errors) = root.lookup("parameter").validate(false) {
            let mut found = findings(&self.title, &errors);
            found.extend(self.missing(root));
            return Err(found);
        }
        root.validate(false).map_err(|errors| findings(&self.title, &errors))
    }

    /// The template with those calls answered that need no outside provider.
    fn answered(
        &self,
        parameter: &Parameters<'_>,
        context: &Json,
        answer: Option<&Json>,
    ) -> Result<Value, Diagnostics> {
        let inputs = [("parameter", parameter.value()), ("context", context)];
        let given = inputs.into_iter().chain(answer.map(|answer| ("processing.output", answer)));
        let given = given.chain(self.secrets(context));
        let owned = given.map(|(path, value)| (path.to_owned(), value.clone())).collect();
        let mut run = Run::new(self.template.clone(), steps::CALLS, owned);
        let plain = || self.instance(parameter.input(), context, answer).root();
        match run.advance(steps::workload()) {
            Ok(Progress::Done(value)) => Ok(value),
            // An unknown value is reported as a missing parameter.
            Ok(Progress::Wait(..)) => Ok(plain()),
            Ok(Progress::Ask(call)) => {
                let (who, what) = (&call.provider, &call.function);
                let message = format!("{} asks {who} {what}, which is not supported yet", call.path);
                let mut error = Diagnostic::error(Code::NotSupported, message);
                error = error.definition(self.place(&call.value));
                Err(error.into())
            }
            Err(found) => {
                let plain = plain();
                match plain.validate(false) {
                    Ok(()) => Err(findings(&self.title, &found)),
                    Err(_) => Ok(plain),
                }
            }
        }
    }

    /// Every parameter that must be given and was not.
    fn missing(&self, root: &Value) -> Diagnostics {
        let mut found = Diagnostics::new();
        missing(&root.lookup("parameter"), 0, &mut |value| {
            let path = value.path();
            let message = must_be_given(value);
            let error = Diagnostic::error(Code::Parameter, message).definition(self.place(value));
            found.push(Diagnostic { path, ..error });
        });
        found
    }

    fn objects(&self, root: &Value) -> Result<Vec<(String, Tree)>, Diagnostics> {
        let mut objects = Vec::new();
        let mut found = Diagnostics::new();
        for object in root.lookup("outputs").fields(FieldOptions::default()) {
            match self.tree(root, &object.value, Use::Object) {
                Ok(tree) => objects.push((object.name, tree)),
                Err(errors) => found.extend(errors),
            }
        }
        found.or(objects).map(|(objects, _)| objects)
    }

    /// A part of the template's value. An error that names the missing parameter explains incomplete fields; a single
    /// open field stays open, since a later patch may close it.
    fn tree(&self, root: &Value, value: &Value, use_: Use) -> Result<Tree, Diagnostics> {
        let too_deep = || {
            let message = format!("{} is nested deeper than {DEPTH_LIMIT} levels", value.path());
            Diagnostics::from(self.error(Code::Limit, message))
        };
        let made = || {
            let made = tree(value, use_, 0);
            // A walk that ran out of its limits lacks fields.
            value.within_budget().map_err(|errors| findings(&self.title, &errors))?;
            made.ok_or_else(too_deep)
        };
        let Err(errors) = value.validate(true) else { return made() };
        let found = self.missing(root);
        if !found.is_empty() {
            return Err(found);
        }
        let closable = errors.iter().all(|error| {
            error.code.class() == vela_cue::diagnostic::Class::Incomplete
                && matches!(shape(&root.lookup(&error.path)), Shape::Open)
        });
        if closable { made() } else { Err(findings(&self.title, &errors)) }
    }

    fn error(&self, code: Code, message: impl Into<String>) -> Diagnostic {
        let place = DefinitionPlace::whole(self.title.to_string());
        Diagnostic::error(code, message).definition(place)
    }

    /// The whole value, for patches of a bare text.
    pub(super) fn whole(&self) -> Result<Tree, Diagnostics> {
        let fields = self.template.instantiate(&[]).root().fields(FieldOptions::default());
        let mut kept = Vec::new();
        for field in
            fields.into_iter().filter(|field| !["parameter", "context"].contains(&field.name.as_str()))
        {
            let value = self.tree(&field.value, &field.value, Use::Object)?;
            kept.push(Field { name: field.name, value, markers: Markers::default() });
        }
        Ok(Tree::Struct(kept))
    }
}

/// What is said of a parameter that must be given and was not.
pub(crate) fn must_be_given(value: &Value) -> String {
    format!("{} must be given ({})", value.path(), kind_name(value.kind()))
}

/// Tells every parameter that must be given and was not.
pub(crate) fn missing(value: &Value, depth: usize, report: &mut dyn FnMut(&Value)) {
    if depth > MISSING_DEPTH {
        return;
    }
    for field in value.fields(FieldOptions::default()) {
        let given = field.kind == FieldKind::Regular && field.value.is_concrete();
        match field.value.kind() {
            // Another phase reports the error.
            Kind::Bottom => {}
            _ if !given => report(&field.value),
            Kind::Struct => missing(&field.value, depth + 1, report),
            Kind::List => {
                field.value.elements().iter().for_each(|element| missing(element, depth + 1, report))
            }
            _ => {}
        }
    }
}
