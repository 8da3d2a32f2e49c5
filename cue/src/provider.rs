//! The one seam for packages that are not the language's own: an import path in, the CUE text of that package out.

use crate::{
    call::{Answer, Call},
    source::Source,
};

/// A package that a file can import beside the builtin ones.
///
/// Its functions are structs that say what they ask for, by fields that its author chooses
/// ([`CallFields`](crate::calls::CallFields)). The evaluator only unifies them; it never asks a provider. A caller that
/// wants the answers makes a [`Run`](crate::calls::Run), which tells one call after the other and takes the answers.
///
/// ```
/// use vela_cue::{Provider, Source, Template};
///
/// struct Greeting;
///
/// impl Provider for Greeting {
///     fn path(&self) -> &str {
///         "my/greeting"
///     }
///
///     fn sources(&self) -> Vec<Source> {
///         let text = "#Greet: {#ask: \"greet\", with: name: string, got?: text: string}";
///         vec![Source::new("greeting.cue", text)]
///     }
/// }
///
/// let step = "import \"my/greeting\"\nhello: greeting.#Greet & {with: name: \"you\"}";
/// let template = Template::compile_with(&[Source::new("step.cue", step)], &[&Greeting])?;
/// assert_eq!(template.instantiate(&[]).root().lookup("hello.with.name").as_str(), Some("you".into()));
/// # Ok::<(), vela_cue::Diagnostics>(())
/// ```
pub trait Provider: Send + Sync {
    /// The path it is imported by, `my/greeting`.
    fn path(&self) -> &str;

    /// The files of the package; they are parsed only when something imports it.
    fn sources(&self) -> Vec<Source>;

    /// The provider of its calls: the last part of the path, unless it says otherwise.
    fn name(&self) -> &str {
        self.path().rsplit('/').next().unwrap_or_default()
    }

    /// Answers a call that needs nothing but what is asked; `None` where an outside provider must be asked.
    ///
    /// # Errors
    /// Why it cannot be answered: the call then fails with this text.
    fn compute(&self, call: &Call) -> Option<Result<Answer, String>> {
        let _ = call;
        None
    }
}

/// A package that is only text: import path and files.
#[derive(Debug, Clone)]
pub struct ImportedPackage {
    /// The path it is imported by.
    pub path: String,
    /// Its files.
    pub sources: Vec<Source>,
}

impl Provider for ImportedPackage {
    fn path(&self) -> &str {
        &self.path
    }

    fn sources(&self) -> Vec<Source> {
        self.sources.clone()
    }
}
