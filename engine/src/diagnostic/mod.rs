//! Diagnostics: what is wrong or doubtful, where in the manifest, where in the definition, and what to do.

mod code;

use std::fmt;
use std::sync::Arc;

pub use code::Code;

/// More diagnostics than this are not shown: the reader fixes the first ones first.
const SHOWN_LIMIT: usize = 100;

/// A place in a text: file, line and column, both counted from one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Name of the file as the caller gave it.
    pub file: Arc<str>,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

/// A place inside a definition's template.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DefinitionPlace {
    /// Kind and name of the definition, e.g. `trait definition "scaler"`.
    pub definition: String,
    /// The file that the definition was read from, when that is known: then line and column count in it.
    pub file: Option<Arc<str>>,
    /// Line in the template text, from 1; 0 when the whole definition is meant.
    pub line: u32,
    /// Column in the template text, from 1; 0 when the whole definition is meant.
    pub column: u32,
}

impl DefinitionPlace {
    /// A place in the text of the template.
    pub fn new(definition: impl Into<String>, line: u32, column: u32) -> Self {
        Self { definition: definition.into(), file: None, line, column }
    }

    /// The whole definition.
    pub fn whole(definition: impl Into<String>) -> Self {
        Self::new(definition, 0, 0)
    }
}

impl fmt::Display for DefinitionPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, &self.file) {
            (0, _) => f.write_str(&self.definition),
            (line, None) => write!(f, "{} at {line}:{}", self.definition, self.column),
            (line, Some(file)) => write!(f, "{} at {file}:{line}:{}", self.definition, self.column),
        }
    }
}

/// Does it stop the reconcile?
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The reconcile cannot go on.
    Error,
    /// Probably not what the author meant; the reconcile goes on.
    Warning,
}

/// Turns the finding into one about an unsupported feature: an error, or a warning of a preview.
pub(crate) type NotSupported = fn(Code, String) -> Diagnostic;

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// The class of the error.
    pub code: Code,
    /// The error in one sentence.
    pub message: String,
    /// The object concerned, e.g. `Application default/web`; empty when not known yet.
    pub object: String,
    /// Path of the field in the object, e.g. `spec.components[0].type`; empty for the whole object.
    pub path: String,
    /// Where in the manifest, when the object came from a text.
    pub manifest: Option<Place>,
    /// Where in the definition, when one takes part.
    pub definition: Option<DefinitionPlace>,
    /// The remedy.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// An error.
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code,
            message: message.into(),
            object: String::new(),
            path: String::new(),
            manifest: None,
            definition: None,
            hint: None,
        }
    }

    /// A warning.
    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, message) }
    }

    /// The same with advice.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same with optional advice.
    #[must_use]
    pub fn hint_opt(mut self, hint: Option<String>) -> Self {
        self.hint = hint.or(self.hint);
        self
    }

    /// The same with its place in a definition.
    #[must_use]
    pub fn definition(mut self, place: DefinitionPlace) -> Self {
        self.definition = Some(place);
        self
    }

    /// The same as an error, where it tells of something written that would come to nothing.
    #[must_use]
    pub(crate) fn strictly(self) -> Self {
        match self.code {
            Code::UnknownField | Code::UnknownParameter | Code::InvalidObject | Code::Condition => {
                Self { severity: Severity::Error, ..self }
            }
            _ => self,
        }
    }

    /// Does it stop the reconcile?
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Diagnostic {
    /// `app.yaml:9:13: error[code]: message`, then the field, the definition and the advice on lines of their own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.manifest, self.object.is_empty()) {
            (Some(place), _) => write!(f, "{place}: ")?,
            (None, false) => write!(f, "{}: ", self.object)?,
            (None, true) => {}
        }
        let severity = if self.is_error() { "error" } else { "warning" };
        write!(f, "{severity}[{}]: {}", self.code, self.message)?;
        if !self.path.is_empty() {
            write!(f, "\n  field: {}", self.path)?;
        }
        if let Some(definition) = &self.definition {
            write!(f, "\n  definition: {definition}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  help: {hint}")?;
        }
        Ok(())
    }
}

/// All findings of a phase together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    /// No finding yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more finding.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.0.push(diagnostic);
    }

    /// The findings of another phase or part as well.
    pub fn extend(&mut self, other: Diagnostics) {
        self.0.extend(other.0);
    }

    /// Those of the findings that were not told yet.
    pub fn extend_new(&mut self, other: Diagnostics) {
        for finding in other.0 {
            if !self.0.contains(&finding) {
                self.0.push(finding);
            }
        }
    }

    /// The same where nothing may be dropped in silence: whatever is written and would come to nothing is an error.
    #[must_use]
    pub fn strictly(self) -> Self {
        self.0.into_iter().map(Diagnostic::strictly).collect()
    }

    /// Is there an error among them?
    pub fn has_errors(&self) -> bool {
        self.0.iter().any(Diagnostic::is_error)
    }

    /// Is there nothing?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Each finding in the order found.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.0.iter()
    }

    /// `value` when nothing is an error; warnings are left in `self` for the caller to pass on.
    ///
    /// # Errors
    /// All findings, when one of them is an error.
    pub fn or<T>(self, value: T) -> Result<(T, Diagnostics), Diagnostics> {
        if self.has_errors() { Err(self) } else { Ok((value, self)) }
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Self {
        Self(vec![diagnostic])
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<T: IntoIterator<Item = Diagnostic>>(iter: T) -> Self {
        Self(iter.into_iter().collect())
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.0.iter().take(SHOWN_LIMIT).enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{diagnostic}")?;
        }
        match self.0.len().saturating_sub(SHOWN_LIMIT) {
            0 => Ok(()),
            more => write!(f, "\n… and {more} more"),
        }
    }
}

impl std::error::Error for Diagnostics {}
