//! Places and what becomes of them in; the new text and the list of changes out.

use super::{
    change::{Change, ChangeKind},
    find::{Place, Rewrite},
};
use crate::{
    ast::{DeclKind, File, LabelKind},
    source::{Source, Sources, Span},
};

/// The package that lists moved to.
const LIST: &str = "list";

/// Name of the import where a field is called `list`.
const LIST_ALIAS: &str = "listpkg";

/// Applies the places to the text. They are sorted by start; one within another is rewritten within it.
pub(super) fn apply(
    file: &File,
    source: &Source,
    sources: &Sources,
    places: &[Place],
) -> (String, Vec<Change>) {
    let needs_list =
        places.iter().any(|p| matches!(p.rewrite, Rewrite::Concat { .. } | Rewrite::Repeat { .. }));
    let import = needs_list.then(|| import(file, source));
    let list = import.as_ref().map_or(LIST, |import| &import.name).to_owned();
    let writer = Writer { text: &source.text, places, list };
    let mut changes: Vec<Change> = places
        .iter()
        .map(|place| {
            let (line, column) = line_column(sources, place.span);
            Change {
                kind: kind(&place.rewrite),
                line,
                column,
                before: writer.slice(place.span).to_owned(),
                after: writer.rewritten(place),
            }
        })
        .collect();
    let whole = Span::new(file.id, 0, source.text.len());
    let mut text = writer.outside(whole, places);
    if let Some(Import { line: Some((at, line)), .. }) = import {
        // The import stands before every place, so its offset is the same in the new text.
        text.insert_str(at, &line);
        let (row, column) = line_column(sources, Span::new(file.id, at, at));
        let after = line.trim().to_owned();
        changes
            .insert(0, Change { kind: ChangeKind::Import, line: row, column, before: String::new(), after });
    }
    (text, changes)
}

fn kind(rewrite: &Rewrite) -> ChangeKind {
    match rewrite {
        Rewrite::Concat { .. } => ChangeKind::Concat,
        Rewrite::Repeat { .. } => ChangeKind::Repeat,
        Rewrite::Division { .. } => ChangeKind::Division,
        Rewrite::SingleNumber(_) => ChangeKind::SingleNumber,
        Rewrite::Guard(_) => ChangeKind::Guard,
    }
}

/// Line and column of a place in the text given.
pub(super) fn line_column(sources: &Sources, span: Span) -> (usize, usize) {
    sources.position(span).map_or((1, 1), |(_, line, column)| (line, column))
}

struct Writer<'a> {
    text: &'a str,
    places: &'a [Place],
    list: String,
}

impl Writer<'_> {
    fn slice(&self, span: Span) -> &str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// The text of a span, rewritten where places lie in it.
    fn part(&self, span: Span) -> String {
        let within: Vec<Place> = self
            .places
            .iter()
            .filter(|p| p.span.start >= span.start && p.span.end <= span.end)
            .cloned()
            .collect();
        self.outside(span, &within)
    }

    /// The text of a span with the outermost of these places rewritten.
    fn outside(&self, span: Span, places: &[Place]) -> String {
        let mut out = String::new();
        let mut at = span.start as usize;
        for place in places {
            let start = place.span.start as usize;
            if start < at {
                continue;
            }
            out.push_str(self.text.get(at..start).unwrap_or(""));
            out.push_str(&self.rewritten(place));
            at = place.span.end as usize;
        }
        out.push_str(self.text.get(at..span.end as usize).unwrap_or(""));
        out
    }

    fn rewritten(&self, place: &Place) -> String {
        match &place.rewrite {
            Rewrite::Concat { operands, operators } => {
                let mut out = format!("{}.Concat([", self.list);
                for (at, operand) in operands.iter().enumerate() {
                    out.push_str(&self.part(*operand));
                    if let (Some(operator), Some(next)) = (operators.get(at), operands.get(at + 1)) {
                        out.push(',');
                        out.push_str(&self.between(*operand, *operator, *next));
                    }
                }
                out + "])"
            }
            Rewrite::Repeat { list, times } => {
                format!("{}.Repeat({}, {})", self.list, self.part(*list), self.part(*times))
            }
            Rewrite::Division { name, left, right } => {
                format!("{name}({}, {})", self.part(*left), self.part(*right))
            }
            Rewrite::SingleNumber(text) | Rewrite::Guard(text) => text.clone(),
        }
    }

    /// The space around an operator, without it: a blank, or line breaks and comments that are kept.
    fn between(&self, left: Span, operator: Span, right: Span) -> String {
        let before = self.text.get(left.end as usize..operator.start as usize).unwrap_or("");
        let after = self.text.get(operator.end as usize..right.start as usize).unwrap_or("");
        let kept = format!("{}{}", before.trim_end_matches(' '), after);
        if kept.trim().is_empty() && !kept.contains('\n') { " ".into() } else { kept }
    }
}

struct Import {
    /// The name by which the package is known.
    name: String,
    /// Offset and text of a new import line.
    line: Option<(usize, String)>,
}

fn import(file: &File, source: &Source) -> Import {
    let mut last = None;
    for decl in &file.decls {
        let DeclKind::Import(import) = &decl.kind else { continue };
        if let Some(spec) = import.specs.iter().find(|spec| spec.path == LIST) {
            let name = spec.name.as_ref().map_or(LIST, |n| &n.name).to_owned();
            return Import { name, line: None };
        }
        last = Some((decl.span, import));
    }
    let taken = file.decls.iter().any(|decl| {
        matches!(&decl.kind, DeclKind::Field(f) if matches!(&f.label.kind, LabelKind::Ident(n) if n == LIST))
    }) || source.text.contains("list:")
        || source.text.contains("list?:");
    let (name, spec) =
        if taken { (LIST_ALIAS, format!("{LIST_ALIAS} \"{LIST}\"")) } else { (LIST, format!("\"{LIST}\"")) };
    let line = match last {
        Some((_, import)) if import.parenthesized => (import.close.start as usize, format!("\t{spec}\n")),
        Some((span, _)) => (line_end(&source.text, span.end as usize), format!("import {spec}\n")),
        None => match &file.package {
            Some(package) => {
                (line_end(&source.text, package.span.end as usize), format!("\nimport {spec}\n"))
            }
            None => (0, format!("import {spec}\n\n")),
        },
    };
    Import { name: name.into(), line: Some(line) }
}

/// The offset behind the line that holds an offset.
fn line_end(text: &str, at: usize) -> usize {
    text.get(at..).and_then(|rest| rest.find('\n')).map_or(text.len(), |i| at + i + 1)
}
