//! Diagnostics in; text with the lines of the sources and carets below them out.

use std::ops::Range;

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use super::{Diagnostic, Diagnostics, Label};
use crate::source::{FileId, Sources};

/// Further values of one cause that are written out.
const SHOWN_ALSO: usize = 5;

impl Diagnostics {
    /// All of them with the source lines and carets; with colours for a terminal.
    pub fn render(&self, color: bool) -> String {
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        let mut out = String::new();
        for diagnostic in &self.items {
            let texts = Texts::of(diagnostic);
            out.push_str(&renderer.render(&[group(diagnostic, &texts, &self.sources)]));
            out.push_str("\n\n");
        }
        if let Some(text) = self.more_text() {
            out.push_str(&text);
            out.push('\n');
        }
        out
    }
}

/// The texts of a message, owned while it is laid out.
struct Texts {
    title: String,
    /// Notes below the source, in order.
    notes: Vec<String>,
}

impl Texts {
    fn of(diagnostic: &Diagnostic) -> Self {
        let mut notes = Vec::new();
        match (&diagnostic.expected, &diagnostic.found) {
            (Some(expected), Some(found)) => notes.push(format!("expected {expected}, found {found}")),
            (Some(expected), None) => notes.push(format!("expected {expected}")),
            _ => {}
        }
        if !diagnostic.also.is_empty() {
            let shown = diagnostic.also.iter().take(SHOWN_ALSO).cloned().collect::<Vec<_>>().join(", ");
            let more = diagnostic.also.len().saturating_sub(SHOWN_ALSO);
            notes.push(match more {
                0 => format!("the same at {shown}"),
                more => format!("the same at {shown} and {more} more"),
            });
        }
        Self { title: diagnostic.title(), notes }
    }
}

fn group<'a>(diagnostic: &'a Diagnostic, texts: &'a Texts, sources: &'a Sources) -> Group<'a> {
    let title = Level::ERROR.primary_title(texts.title.as_str()).id(diagnostic.code.as_str());
    let mut group = title.elements(Vec::<Snippet<'_, Annotation<'_>>>::new());
    let mut files: Vec<FileId> = Vec::new();
    for label in &diagnostic.labels {
        if !files.contains(&label.span.file) {
            files.push(label.span.file);
        }
    }
    for file in files {
        let labels = || diagnostic.labels.iter().filter(move |label| label.span.file == file);
        let Some(source) = sources.get(file) else { continue };
        if source.text.is_empty() {
            for label in labels() {
                if let Some((name, line, column)) = sources.position(label.span) {
                    group = group.element(Origin::path(name).line(line).char_column(column));
                }
            }
            continue;
        }
        let mut snippet = Snippet::source(source.text.as_str()).path(source.name.as_str());
        for label in labels() {
            snippet = snippet.annotation(annotation(label, sources.bytes(label.span), &source.text));
        }
        group = group.element(snippet);
    }
    for note in &texts.notes {
        group = group.element(Level::NOTE.message(note.as_str()));
    }
    if let Some(hint) = &diagnostic.hint {
        group = group.element(Level::HELP.message(hint.as_str()));
    }
    group
}

fn annotation<'a>(label: &'a Label, bytes: Range<usize>, text: &str) -> Annotation<'a> {
    let kind = if label.main { AnnotationKind::Primary } else { AnnotationKind::Context };
    // Carets below a whole struct hide what is meant: its first line is enough.
    let line_end = text[bytes.start..].find('\n').map_or(text.len(), |length| bytes.start + length);
    let annotation = kind.span(bytes.start..bytes.end.min(line_end).max(bytes.start));
    if label.text.is_empty() { annotation } else { annotation.label(label.text.as_str()) }
}
