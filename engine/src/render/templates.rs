//! The cache of compiled definitions, owned by the caller and shared between threads.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use vela_cue::{Budget, Provider as _};

use super::exhausted_evaluations::Exhausted;
use super::limits::Limits;
use super::valid_objects::ValidObjects;
use super::{cue, handlebars};
use crate::definition::{DEFAULT_ERA, Definition, DefinitionKind, Language};
use crate::diagnostic::{Code, DefinitionPlace, Diagnostic, Diagnostics};
use crate::{kube_packages, steps};

/// More compiled definitions than this are not kept: the cache is emptied and fills again.
const CACHE_LIMIT: usize = 4096;

/// The limits of a health policy or a status text: both say little about one object.
const TEXT_BUDGET: Budget =
    Budget { steps: 500_000, depth: 400, output: 1 << 20, memory: 16 << 20, time: None };

/// A definition ready to be instantiated with parameters.
pub enum Compiled {
    /// A CUE template.
    Cue(cue::Template),
    /// A handlebars template.
    Handlebars(handlebars::Template),
    /// A raw object; the definition itself holds it.
    Kube,
    /// A Helm chart; the definition itself names it.
    Helm,
    /// A terraform configuration; the definition itself holds it.
    Terraform,
    /// No template to render.
    Nothing,
}

type Entry = Result<Arc<Compiled>, Diagnostics>;

/// Compiled definitions by content hash. One value serves many threads and many applications.
#[derive(Clone, Default)]
pub struct Templates {
    cache: Arc<Cache>,
    limits: Limits,
}

#[derive(Default)]
struct Cache {
    compiled: Mutex<HashMap<String, Entry>>,
    health: Mutex<HashMap<String, Result<cue::Template, Diagnostics>>>,
    exhausted: Arc<Exhausted>,
    valid: ValidObjects,
}

impl std::fmt::Debug for Templates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Templates").finish_non_exhaustive()
    }
}

impl Templates {
    /// An empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same cache for evaluations within these limits.
    #[must_use]
    pub fn within(&self, limits: Limits) -> Self {
        Self { cache: self.cache.clone(), limits }
    }

    /// The definition compiled; from the cache if this content was compiled before, failures too.
    ///
    /// # Errors
    /// All mistakes of the template; they are remembered as templates are.
    pub fn get(&self, definition: &Definition) -> Entry {
        if let Some(entry) = lock(&self.cache.compiled).get(definition.hash()).cloned() {
            return self.limited(entry);
        }
        // Compiled outside the lock: two threads may do the same work once, none waits for the other.
        let entry = compile(definition, &self.cache.exhausted).map(Arc::new);
        let mut compiled = lock(&self.cache.compiled);
        if compiled.len() >= CACHE_LIMIT {
            compiled.clear();
        }
        compiled.insert(definition.hash().to_owned(), entry.clone());
        drop(compiled);
        self.limited(entry)
    }

    /// The objects that are known to be valid.
    pub(super) fn valid_objects(&self) -> &ValidObjects {
        &self.cache.valid
    }

    /// A compiled definition whose evaluations keep to the limits.
    fn limited(&self, entry: Entry) -> Entry {
        let compiled = entry?;
        Ok(match &*compiled {
            Compiled::Cue(template) if !self.limits.are_usual() => {
                Arc::new(Compiled::Cue(template.within(&self.limits)))
            }
            _ => compiled,
        })
    }

    /// A health policy or status text compiled; the text itself is the key.
    pub(crate) fn text(&self, title: &str, text: &str) -> Result<cue::Template, Diagnostics> {
        let limits = Limits { budget: TEXT_BUDGET, guard: self.limits.guard.clone() };
        let limited = |template: cue::Template| template.within(&limits);
        if let Some(entry) = lock(&self.cache.health).get(text).cloned() {
            return entry.map(limited);
        }
        let entry = cue::Template::compile(title, text, DEFAULT_ERA)
            .map(|template| template.remembered(text, &self.cache.exhausted));
        let mut health = lock(&self.cache.health);
        if health.len() >= CACHE_LIMIT {
            health.clear();
        }
        health.insert(text.to_owned(), entry.clone());
        drop(health);
        entry.map(limited)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // A panic elsewhere cannot leave a half-made entry: entries are inserted whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn compile(definition: &Definition, exhausted: &Arc<Exhausted>) -> Result<Compiled, Diagnostics> {
    let title = definition.title();
    match definition.language() {
        Language::Cue(text) => {
            let own = match definition.kind() {
                DefinitionKind::WorkflowStep => steps::workflow().to_vec(),
                DefinitionKind::Policy => steps::policy(),
                _ => steps::workload().to_vec(),
            };
            let era = definition.era();
            let template = cue::Template::compile_with(&title, text, era, &own, definition.packages());
            let template = template.map_err(|found| without_packages(definition, found))?;
            let template = template.remembered(definition.hash(), exhausted);
            Ok(Compiled::Cue(template.within(&Limits::default())))
        }
        Language::Handlebars(text) => Ok(Compiled::Handlebars(handlebars::Template::compile(&title, text)?)),
        Language::Kube { .. } => Ok(Compiled::Kube),
        Language::Helm { .. } => Ok(Compiled::Helm),
        Language::Terraform(_) => Ok(Compiled::Terraform),
        Language::Other(name) => {
            let message = format!("schematic {name:?} is not supported yet");
            let place = DefinitionPlace::whole(title);
            let error = Diagnostic::error(Code::NotSupported, message).definition(place);
            Err(error.hint("supported are cue, handlebars, helm, kube and terraform").into())
        }
        Language::None => Ok(Compiled::Nothing),
    }
}

/// Says of an import without a source which kinds it wants.
fn without_packages(definition: &Definition, found: Diagnostics) -> Diagnostics {
    let known = |path: &String| definition.packages().iter().any(|package| package.path() == path);
    let missing: Vec<String> = definition.imports().into_iter().filter(|path| !known(path)).collect();
    let hint = |finding: &Diagnostic| {
        let path = missing.iter().find(|path| finding.message.contains(*path))?;
        let versions = kube_packages::api_versions(path).join(" or ");
        Some(format!("{path} holds the kinds of {versions}, which is not served: import a version that is"))
    };
    found
        .into_iter()
        .map(|finding| match hint(&finding) {
            Some(hint) => finding.hint(hint),
            None => finding,
        })
        .collect()
}
