//! The cache of compiled definitions, owned by the caller and shared between threads.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use vela_cue::Provider as _;

use super::{cue, handlebars};
use crate::definition::{DEFAULT_ERA, Definition, DefinitionKind, Language};
use crate::diagnostic::{Code, DefinitionPlace, Diagnostic, Diagnostics};
use crate::{kube_packages, steps};

/// More compiled definitions than this are not kept: the cache is emptied and fills again.
const CACHE_LIMIT: usize = 4096;

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
    /// Nothing to render.
    Nothing,
}

type Entry = Result<Arc<Compiled>, Diagnostics>;

/// Compiled definitions by content hash. One value serves many threads and many applications.
#[derive(Default)]
pub struct Templates {
    compiled: Mutex<HashMap<String, Entry>>,
    health: Mutex<HashMap<String, Result<cue::Template, Diagnostics>>>,
}

impl Templates {
    /// An empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// The definition compiled; from the cache if this content was compiled before, failures too.
    pub fn get(&self, definition: &Definition) -> Entry {
        if let Some(entry) = lock(&self.compiled).get(definition.hash()) {
            return entry.clone();
        }
        // Compiled outside the lock: two threads may do the same work once, none waits for the other.
        let entry = compile(definition).map(Arc::new);
        let mut compiled = lock(&self.compiled);
        if compiled.len() >= CACHE_LIMIT {
            compiled.clear();
        }
        compiled.insert(definition.hash().to_owned(), entry.clone());
        entry
    }

    /// A health policy or status text compiled; the text itself is the key.
    pub(crate) fn text(&self, title: &str, text: &str) -> Result<cue::Template, Diagnostics> {
        if let Some(entry) = lock(&self.health).get(text) {
            return entry.clone();
        }
        let entry = cue::Template::compile(title, text, DEFAULT_ERA);
        let mut health = lock(&self.health);
        if health.len() >= CACHE_LIMIT {
            health.clear();
        }
        health.insert(text.to_owned(), entry.clone());
        entry
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // A panic elsewhere cannot leave a half-made entry: entries are inserted whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn compile(definition: &Definition) -> Result<Compiled, Diagnostics> {
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
            Ok(Compiled::Cue(template.map_err(|found| without_packages(definition, found))?))
        }
        Language::Handlebars(text) => Ok(Compiled::Handlebars(handlebars::Template::compile(&title, text)?)),
        Language::Kube { .. } => Ok(Compiled::Kube),
        Language::Helm { .. } => Ok(Compiled::Helm),
        Language::Terraform(_) => Ok(Compiled::Terraform),
        Language::Other(name) => {
            let message = format!("schematic {name:?} is not supported yet");
            let place = DefinitionPlace { definition: title, line: 0, column: 0 };
            let error = Diagnostic::error(Code::NotSupported, message).definition(place);
            Err(error.hint("supported are cue, handlebars, helm, kube and terraform").into())
        }
        Language::None => Ok(Compiled::Nothing),
    }
}

/// Says of an import that nobody gave which kinds it wants.
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
