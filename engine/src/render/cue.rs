//! A CUE template with `parameter` and `context` → workload, objects, patch.

mod made;

use std::sync::Arc;

use serde_json::Value as Json;
use vela_cue::{
    Budget, Era, FieldKind, FieldOptions, Guard, Input, Instance, Kind, Progress, Provider, Run, Source,
    Value,
};

use super::asked::{self, Asked};
use super::declared;
use super::exhausted::Exhausted;
use super::parameters::Parameters;
use super::patch::{Field, Markers, Tree};
use super::processing::{Answers, Request};
use super::templates::Limits;
use super::tree::{DEPTH_LIMIT, Shape, kind_name, shape};
pub(crate) use super::tree::{UNKNOWN, Use, markers, tree};
use super::{context, doubts};
use crate::diagnostic::{Code, DefinitionPlace, Diagnostic, Diagnostics, Place};
use crate::kube_packages::KubePackage;
use crate::steps;
pub use made::{Component, Origin, Patch, Trait};

/// What every template may name without declaring it.
const SURROUNDINGS: &str = "\ncontext: _\nparameter: _\n";

/// What is declared deeper than this is not looked at for parameters that are missing.
const MISSING_DEPTH: usize = 16;

/// A compiled CUE template.
#[derive(Clone)]
pub struct Template {
    title: Arc<str>,
    template: vela_cue::Template,
    /// Whether it neither declares nor reads any parameter.
    ignores_parameters: bool,
    /// What looks like a slip in the text itself.
    doubts: Arc<Diagnostics>,
    asked: Arc<Asked>,
    /// Whether it may import a package with calls.
    asks: bool,
    bounds: Option<Bounds>,
}

/// Who keeps the evaluations of a template within limits.
#[derive(Clone)]
struct Bounds {
    guard: Option<Arc<dyn Guard>>,
    /// The content of the template.
    hash: Arc<str>,
    exhausted: Arc<Exhausted>,
}

/// What finding out the declared parameters may use up: they are looked at once, for all who use the template.
const DECLARED_BUDGET: Budget =
    Budget { steps: 200_000, depth: 400, output: 1 << 20, memory: 16 << 20, time: None };

impl Template {
    /// Compiles the text as its era reads it; `title` is what diagnostics call it.
    pub fn compile(title: &str, text: &str, era: Era) -> Result<Self, Diagnostics> {
        Self::compile_with(title, text, era, steps::workload(), &[])
    }

    /// The same for a text that may import these packages, and kinds of the cluster.
    pub fn compile_with(
        title: &str,
        text: &str,
        era: Era,
        own: &[&'static dyn Provider],
        packages: &[Arc<KubePackage>],
    ) -> Result<Self, Diagnostics> {
        // After the text, so that places in the text stay what they are.
        let source = Source::new(title, format!("{text}{SURROUNDINGS}")).with_era(era);
        let kinds = packages.iter().map(|package| &**package as &dyn Provider);
        let providers: Vec<&dyn Provider> =
            own.iter().map(|own| *own as &dyn Provider).chain(kinds).collect();
        let template = vela_cue::Template::compile_with(&[source], &providers).map_err(|found| {
            let broken = |finding: Diagnostic| Diagnostic { code: Code::BadDefinition, ..finding };
            findings(title, &found).into_iter().map(broken).collect::<Diagnostics>()
        })?;
        let look = template.clone().with_budget(DECLARED_BUDGET);
        let parameter = look.instantiate(&[]).root().lookup("parameter");
        let ignores_parameters = !asked::reads(text, "parameter") && declared::nothing(&parameter);
        let doubts = Arc::new(doubts::of(title, text, declared::names(&parameter).as_deref(), packages));
        let asked = Arc::new(Asked::of(text));
        let asks = text.contains("\"vela/");
        Ok(Self { title: Arc::from(title), template, ignores_parameters, doubts, asked, asks, bounds: None })
    }

    /// The same template; what runs out is kept by the content `hash` of the template.
    pub(super) fn remembered(self, hash: &str, exhausted: &Arc<Exhausted>) -> Self {
        let bounds = Bounds { guard: None, hash: Arc::from(hash), exhausted: exhausted.clone() };
        Self { bounds: Some(bounds), ..self }
    }

    /// The same template, evaluated within these limits.
    pub(super) fn within(&self, limits: &Limits) -> Self {
        let mut within = self.clone();
        within.template = within.template.with_budget(limits.budget);
        if let Some(guard) = &limits.guard {
            within.template = within.template.with_guard(guard.clone());
        }
        if let Some(bounds) = &mut within.bounds {
            bounds.guard = limits.guard.clone();
        }
        within
    }

    /// Evaluates, unless the same content ran out before.
    fn once<T>(
        &self,
        given: &[&Json],
        evaluate: impl FnOnce() -> Result<T, Diagnostics>,
    ) -> Result<T, Diagnostics> {
        let Some(Bounds { guard, hash, exhausted }) = &self.bounds else { return evaluate() };
        if let Some(told) = exhausted.get(hash, given) {
            return Err(told);
        }
        evaluate().inspect_err(|told| {
            let interrupted = guard.as_ref().is_some_and(|guard| guard.interrupted());
            if !interrupted && told.iter().any(|diagnostic| diagnostic.code == Code::Limit) {
                exhausted.keep(hash, given, told);
            }
        })
    }

    /// Evaluates a component template; the findings are warnings.
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
        // What was answered elsewhere decides too: then it is evaluated each time.
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

    /// What `processing.http` asks for.
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

    /// A parameter nobody declared is told even when something else fails: it may be the reason.
    fn with_undeclared<T>(
        &self,
        root: Option<Value>,
        parameter: &Parameters<'_>,
        made: Result<T, Diagnostics>,
    ) -> Result<(T, Diagnostics), Diagnostics> {
        // What was stopped does not know what it declares.
        let finished = root.filter(|root| root.within_budget().is_ok());
        let declared = finished.map(|root| root.lookup("parameter"));
        let mut undeclared =
            declared::undeclared(&self.title, declared.as_ref(), parameter.value(), self.ignores_parameters);
        undeclared.extend((*self.doubts).clone());
        match made {
            Ok(made) => Ok((made, undeclared)),
            Err(mut errors) => {
                errors.extend(undeclared);
                Err(errors)
            }
        }
    }

    /// Where in the template a value is written.
    fn place(&self, value: &Value) -> DefinitionPlace {
        let sources = self.template.sources();
        let position = value.origins().iter().find_map(|origin| sources.position(origin.span));
        let number = |number: usize| u32::try_from(number).unwrap_or(0);
        let (line, column) = position.map_or((0, 0), |(_, line, column)| (number(line), number(column)));
        DefinitionPlace::new(self.title.to_string(), line, column)
    }

    /// Evaluates a status text and gives one field of it.
    pub fn field(&self, parameter: &Json, context: &Json, field: &str) -> Result<Json, Diagnostics> {
        self.once(&[parameter, context], || {
            let root = self.instance(Input::new("parameter", parameter), context, None).root();
            root.lookup(field).to_json().map_err(|found| findings(&self.title, &found))
        })
    }

    /// What looks like a slip in the text itself, as warnings.
    pub fn doubts(&self) -> &Diagnostics {
        &self.doubts
    }

    /// Whether the template can ask for that field of the context.
    pub(super) fn asks(&self, field: &str) -> bool {
        self.asked.includes(field)
    }

    /// The template with its parameters, as much of the context as it can ask for, and what it asked elsewhere.
    fn instance(&self, parameter: Input<'_>, context: &Json, answer: Option<&Json>) -> Instance {
        let mut inputs = vec![parameter];
        inputs.extend(answer.map(|answer| Input::new("processing.output", answer)));
        let nothing = Json::Object(serde_json::Map::new());
        match &*self.asked {
            Asked::Everything => inputs.push(Input::new("context", context)),
            Asked::Fields(fields) => {
                inputs.push(Input::new("context", &nothing));
                let given = fields.iter().filter_map(|(name, path)| Some((path, context.get(name)?)));
                inputs.extend(given.map(|(path, value)| Input::new(path, value)));
            }
        }
        self.template.instantiate(&inputs)
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

    /// The template with the calls answered that need nobody outside.
    fn answered(
        &self,
        parameter: &Parameters<'_>,
        context: &Json,
        answer: Option<&Json>,
    ) -> Result<Value, Diagnostics> {
        let inputs = [("parameter", parameter.value()), ("context", context)];
        let given = inputs.into_iter().chain(answer.map(|answer| ("processing.output", answer)));
        let owned = given.map(|(path, value)| (path.to_owned(), value.clone())).collect();
        let mut run = Run::new(self.template.clone(), owned);
        let plain = || self.instance(parameter.input(), context, answer).root();
        match run.advance(steps::workload()) {
            Ok(Progress::Done(value)) => Ok(value),
            // What is not known yet is told as a parameter that is missing.
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
            let message = format!("{path} must be given ({})", kind_name(value.kind()));
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

    /// A part of the template's value. What is incomplete because of a parameter nobody gave is told by that
    /// parameter; a single open field stays open, since a later patch may close it.
    fn tree(&self, root: &Value, value: &Value, use_: Use) -> Result<Tree, Diagnostics> {
        let too_deep = || {
            let message = format!("{} is nested deeper than {DEPTH_LIMIT} levels", value.path());
            Diagnostics::from(self.error(Code::Limit, message))
        };
        let made = || {
            let made = tree(value, use_, 0);
            // What ran out while it was walked over lacks fields.
            value.within_budget().map_err(|errors| findings(&self.title, &errors))?;
            made.ok_or_else(too_deep)
        };
        let Err(errors) = value.validate(true) else { return made() };
        let found = self.missing(root);
        if !found.is_empty() {
            return Err(found);
        }
        let closable = errors.iter().all(|error| {
            error.code.class() == vela_cue::Class::Incomplete
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

/// Tells every parameter that must be given and was not.
fn missing(value: &Value, depth: usize, tell: &mut dyn FnMut(&Value)) {
    if depth > MISSING_DEPTH {
        return;
    }
    for field in value.fields(FieldOptions::default()) {
        let given = field.kind == FieldKind::Regular && field.value.is_concrete();
        match field.value.kind() {
            // What is wrong is told elsewhere.
            Kind::Bottom => {}
            _ if !given => tell(&field.value),
            Kind::Struct => missing(&field.value, depth + 1, tell),
            Kind::List => field.value.elements().iter().for_each(|element| missing(element, depth + 1, tell)),
            _ => {}
        }
    }
}

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
                code if code.class() == vela_cue::Class::Build => Code::BadDefinition,
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
