//! What went wrong, where, and what to do: many diagnostics, as text with carets or as JSON.

use std::fmt;

use crate::source::{Sources, Span};

/// What kind of failure it is. Only this steers control flow; the words are for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// The text is not CUE.
    Syntax,
    /// A name or import cannot be resolved.
    Reference,
    /// Values conflict, or an operation cannot be done with its operands.
    Eval,
    /// An explicit `_|_` or `error()`.
    User,
    /// A struct contains itself without end.
    StructuralCycle,
    /// A value is not known yet: more input may make it known.
    Incomplete,
    /// A value depends on itself: more input may break the cycle.
    Cycle,
    /// The budget of steps, depth or output is used up.
    Budget,
}

impl Code {
    /// Whether more input may still make the value known.
    pub fn is_incomplete(self) -> bool {
        matches!(self, Self::Incomplete | Self::Cycle)
    }

    /// The word used in JSON and in trees.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::Reference => "reference",
            Self::Eval => "eval",
            Self::User => "user",
            Self::StructuralCycle => "structural cycle",
            Self::Incomplete => "incomplete",
            Self::Cycle => "cycle",
            Self::Budget => "budget",
        }
    }
}

/// One failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// What kind of failure.
    pub code: Code,
    /// What is wrong, in one sentence.
    pub message: String,
    /// The path of the value (`output.spec.replicas`), empty for the whole.
    pub path: String,
    /// The places that cause it; the first is the main one.
    pub spans: Vec<Span>,
    /// Further places with a word on each.
    pub notes: Vec<(Span, String)>,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// A diagnostic without a path.
    pub fn new(code: Code, message: impl Into<String>, span: Span) -> Self {
        Self {
            code,
            message: message.into(),
            path: String::new(),
            spans: if span.is_none() { Vec::new() } else { vec![span] },
            notes: Vec::new(),
            hint: None,
        }
    }
}

/// Failures with the sources they point into.
#[derive(Debug, Clone, Default)]
pub struct Diagnostics {
    items: Vec<Diagnostic>,
    sources: Sources,
}

impl Diagnostics {
    /// Diagnostics that point into these sources.
    pub fn new(items: Vec<Diagnostic>, sources: Sources) -> Self {
        Self { items, sources }
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.items.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The sources the spans point into.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Whether more input may still cure all of them.
    pub fn is_incomplete(&self) -> bool {
        self.items.iter().all(|d| d.code.is_incomplete())
    }

    /// Name, line and column of the first span of a diagnostic.
    pub fn position(&self, diagnostic: &Diagnostic) -> Option<(&str, usize, usize)> {
        diagnostic.spans.first().and_then(|s| self.sources.position(*s))
    }

    /// All of them with the source lines and carets; with colours for a terminal.
    pub fn render(&self, color: bool) -> String {
        use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        let mut out = String::new();
        for diagnostic in &self.items {
            let title = title(diagnostic);
            let mut group = Level::ERROR
                .primary_title(title.as_str())
                .elements(Vec::<Snippet<'_, annotate_snippets::Annotation<'_>>>::new());
            let mut placed: Vec<(Span, &str, bool)> =
                diagnostic.spans.iter().map(|s| (*s, "", true)).collect();
            placed.extend(diagnostic.notes.iter().map(|(s, text)| (*s, text.as_str(), false)));
            let mut files: Vec<_> = Vec::new();
            for (span, _, _) in &placed {
                if !files.contains(&span.file) {
                    files.push(span.file);
                }
            }
            for file in files {
                let Some(source) = self.sources.get(file) else { continue };
                let mut snippet = Snippet::source(source.text.as_str()).path(source.name.as_str());
                for (span, text, primary) in placed.iter().filter(|p| p.0.file == file) {
                    let kind = if *primary { AnnotationKind::Primary } else { AnnotationKind::Context };
                    let end = (span.end as usize).min(source.text.len());
                    let start = (span.start as usize).min(end);
                    let annotation = kind.span(start..end);
                    snippet = snippet.annotation(if text.is_empty() {
                        annotation
                    } else {
                        annotation.label(*text)
                    });
                }
                group = group.element(snippet);
            }
            if let Some(hint) = &diagnostic.hint {
                group = group.element(Level::HELP.message(hint.as_str()));
            }
            out.push_str(&renderer.render(&[group]));
            out.push('\n');
        }
        out
    }

    /// All of them as JSON, positions resolved to file, line and column.
    pub fn to_json(&self) -> serde_json::Value {
        let place = |span: &Span| match self.sources.position(*span) {
            Some((file, line, column)) => serde_json::json!({"file": file, "line": line, "column": column}),
            None => serde_json::Value::Null,
        };
        self.items
            .iter()
            .map(|d| {
                serde_json::json!({
                    "code": d.code.as_str(),
                    "message": d.message,
                    "path": d.path,
                    "positions": d.spans.iter().map(place).collect::<Vec<_>>(),
                    "notes": d.notes.iter().map(|(s, t)| serde_json::json!({"position": place(s), "text": t})).collect::<Vec<_>>(),
                    "hint": d.hint,
                })
            })
            .collect()
    }
}

fn title(diagnostic: &Diagnostic) -> String {
    if diagnostic.path.is_empty() {
        diagnostic.message.clone()
    } else {
        format!("{}: {}", diagnostic.path, diagnostic.message)
    }
}

impl fmt::Display for Diagnostics {
    /// One line each: `file:line:column: path: message`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, diagnostic) in self.items.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            if let Some((file, line, column)) = self.position(diagnostic) {
                write!(f, "{file}:{line}:{column}: ")?;
            }
            f.write_str(&title(diagnostic))?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}
