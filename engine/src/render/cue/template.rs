//! Compiles the text of a CUE template, with what is known of it before it is evaluated.

use std::sync::Arc;

use serde_json::Value as Json;
use vela_cue::{Budget, Era, Guard, Input, Provider, Source, Value};

use crate::definition::secret_parameters;
use crate::diagnostic::{Code, DefinitionPlace, Diagnostic, Diagnostics, Severity};
use crate::kube_packages::KubePackage;
use crate::render::context_fields::{self, ContextFields};
use crate::render::exhausted_evaluations::Exhausted;
use crate::render::findings::findings;
use crate::render::limits::Limits;
use crate::render::{lint, undeclared_parameters};
use crate::steps;

/// The names that every template may use without declaring them.
const SURROUNDINGS: &str = "\ncontext: _\nparameter: _\n";

/// A compiled CUE template.
#[derive(Clone)]
pub struct Template {
    pub(super) title: Arc<str>,
    pub(super) template: vela_cue::Template,
    /// Whether the template neither declares nor reads any parameter.
    pub(super) ignores_parameters: bool,
    /// Likely slips in the text itself.
    pub(super) warnings: Arc<Diagnostics>,
    pub(super) asked: Arc<ContextFields>,
    /// The template's names for the content of Secrets that its parameters name.
    pub(super) inserted: Arc<[String]>,
    /// Whether the template may import a package with calls.
    pub(super) asks: bool,
    bounds: Option<Bounds>,
}

/// The limiter of a template's evaluations.
#[derive(Clone)]
struct Bounds {
    guard: Option<Arc<dyn Guard>>,
    /// The content of the template.
    hash: Arc<str>,
    exhausted: Arc<Exhausted>,
}

/// The limit of the search for declared parameters: it runs once, for all users of the template.
pub(super) const DECLARED_BUDGET: Budget =
    Budget { steps: 200_000, depth: 400, output: 1 << 20, memory: 16 << 20, time: None };

impl Template {
    /// Compiles the text as its era reads it; `title` is what diagnostics call it.
    ///
    /// # Errors
    /// All mistakes of the text.
    pub fn compile(title: &str, text: &str, era: Era) -> Result<Self, Diagnostics> {
        Self::compile_with(title, text, era, steps::workload(), &[])
    }

    /// The same for a text that may import these packages, and kinds of the cluster.
    ///
    /// # Errors
    /// All mistakes of the text, and imports of what is not offered.
    pub fn compile_with(
        title: &str,
        text: &str,
        era: Era,
        own: &[&'static dyn Provider],
        packages: &[Arc<KubePackage>],
    ) -> Result<Self, Diagnostics> {
        // The plan reports markers that cannot be followed, with the component that uses them.
        let marked = secret_parameters(text, era).unwrap_or_default();
        let inserted: Arc<[String]> = marked.into_iter().map(|marked| marked.name).collect();
        let mut around = SURROUNDINGS.to_owned();
        inserted.iter().for_each(|name| around.extend([name.as_str(), ": _\n"]));
        // After the text, so that places in the text stay what they are.
        let source = Source::new(title, format!("{text}{around}")).with_era(era);
        let kinds = packages.iter().map(|package| &**package as &dyn Provider);
        let providers: Vec<&dyn Provider> =
            own.iter().map(|own| *own as &dyn Provider).chain(kinds).collect();
        let template = vela_cue::Template::compile_with(&[source], &providers).map_err(|found| {
            let broken = |finding: Diagnostic| Diagnostic { code: Code::BadDefinition, ..finding };
            findings(title, &found).into_iter().map(broken).collect::<Diagnostics>()
        })?;
        let look = template.clone().with_budget(DECLARED_BUDGET);
        let parameter = look.instantiate(&[]).root().lookup("parameter");
        let ignores_parameters =
            !context_fields::reads(text, "parameter") && undeclared_parameters::nothing(&parameter);
        let warnings =
            Arc::new(lint::of(title, text, undeclared_parameters::names(&parameter).as_deref(), packages));
        let asked = Arc::new(ContextFields::of(text));
        let asks = text.contains("\"vela/");
        Ok(Self {
            title: Arc::from(title),
            template,
            ignores_parameters,
            warnings,
            asked,
            inserted,
            asks,
            bounds: None,
        })
    }

    /// A warning for every given parameter that the template does not declare or take.
    pub(in crate::render) fn undeclared(&self, given: &Json) -> Diagnostics {
        let look = self.template.clone().with_budget(DECLARED_BUDGET);
        let parameter = look.instantiate(&[Input::new("parameter", given)]).root().lookup("parameter");
        let mut found =
            undeclared_parameters::undeclared(&self.title, Some(&parameter), given, self.ignores_parameters);
        let refused = parameter.validate(false).err().map(|refused| findings(&self.title, &refused));
        let warned = |finding| Diagnostic { severity: Severity::Warning, ..finding };
        found.extend_new(refused.into_iter().flatten().map(warned).collect());
        found
    }

    /// The same template; what runs out is kept by the content `hash` of the template.
    pub(in crate::render) fn remembered(self, hash: &str, exhausted: &Arc<Exhausted>) -> Self {
        let bounds = Bounds { guard: None, hash: Arc::from(hash), exhausted: exhausted.clone() };
        Self { bounds: Some(bounds), ..self }
    }

    /// The same template, evaluated within these limits.
    pub(in crate::render) fn within(&self, limits: &Limits) -> Self {
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
    pub(super) fn once<T>(
        &self,
        given: &[&Json],
        evaluate: impl FnOnce() -> Result<T, Diagnostics>,
    ) -> Result<T, Diagnostics> {
        let Some(Bounds { guard, hash, exhausted }) = &self.bounds else { return evaluate() };
        if let Some(diagnostics) = exhausted.get(hash, given) {
            return Err(diagnostics);
        }
        evaluate().inspect_err(|diagnostics| {
            let interrupted = guard.as_ref().is_some_and(|guard| guard.interrupted());
            if !interrupted && diagnostics.iter().any(|diagnostic| diagnostic.code == Code::Limit) {
                exhausted.insert(hash, given, diagnostics);
            }
        })
    }

    /// Where in the template a value is written.
    pub(super) fn place(&self, value: &Value) -> DefinitionPlace {
        let sources = self.template.sources();
        let position = value.origins().iter().find_map(|origin| sources.position(origin.span));
        let number = |number: usize| u32::try_from(number).unwrap_or(0);
        let (line, column) = position.map_or((0, 0), |(_, line, column)| (number(line), number(column)));
        DefinitionPlace::new(self.title.to_string(), line, column)
    }

    /// Likely slips in the text itself, as warnings.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }

    /// Whether the template can ask for that field of the context.
    pub(in crate::render) fn asks(&self, field: &str) -> bool {
        self.asked.includes(field)
    }
}
