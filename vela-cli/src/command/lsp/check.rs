//! A text of an editor → its findings as the protocol has them; by the functions of `vela dry-run` and `vela def vet`.

use lsp_types::{DiagnosticRelatedInformation, DiagnosticSeverity, Location, NumberOrString, Range};
use vela_engine::definition::cue_file;
use vela_engine::{
    Bounds, ClusterVersion, Code, Definition, Diagnostic, Diagnostics, Document, Place, Severity, manifest,
    preview,
};

use super::text::Lines;
use super::uri;
use crate::error::{Error, Result};
use crate::offline::{self, findings};
use crate::session::block_on;

/// A larger document is not checked.
pub(super) const SIZE_LIMIT: usize = 1024 * 1024;
/// More findings of one document help no reader.
const SHOWN_LIMIT: usize = 100;
/// The group of the kinds that are checked.
const GROUP: &str = "core.oam.dev";

/// How a text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Yaml,
    Cue,
}

/// What applications are judged for.
#[derive(Debug, Clone)]
pub(super) struct Judged {
    pub(super) namespace: String,
    pub(super) version: ClusterVersion,
}

/// Everything that is wrong or doubtful in a text. `library` has the definitions of other files.
pub(super) fn check(
    (name, text): (&str, &str),
    language: Language,
    library: &[&Document],
    judged: &Judged,
) -> Vec<lsp_types::Diagnostic> {
    if text.len() > SIZE_LIMIT {
        let words = format!("the document is larger than {} MiB and is not checked", SIZE_LIMIT >> 20);
        let finding = Diagnostic::warning(Code::Limit, words).hint("split it into several files");
        return shown(finding.into(), name, text);
    }
    match found((name, text), language, library, judged) {
        Ok(found) => shown(found, name, text),
        Err(failure) => shown(Diagnostic::error(Code::Unavailable, failure.sentences()).into(), name, text),
    }
}

fn found(
    (name, text): (&str, &str),
    language: Language,
    library: &[&Document],
    judged: &Judged,
) -> Result<Diagnostics> {
    let documents = match read(name, text, language) {
        Ok(documents) => documents,
        Err(mistakes) => return Ok(mistakes),
    };
    if !documents.iter().any(is_checked) {
        return Ok(Diagnostics::new());
    }
    let of = |choose: fn(&Document) -> bool| documents.iter().filter(move |one| choose(one));
    let own = of(offline::is_definition).filter(|one| Definition::from_document(one).is_ok());
    let definitions: Vec<&Document> = library.iter().copied().chain(own).collect();
    let policies: Vec<Document> = of(preview::is_external).cloned().collect();
    let components: Vec<Document> = of(|one| is_of_kind(one, "Component")).cloned().collect();
    let bounds = Bounds { own_namespace: true, no_rights: true };
    let reader = offline::built_in(judged.version.clone(), &definitions)?.within(bounds);
    block_on(async {
        let mut all = Diagnostics::new();
        for document in documents.iter().filter(|document| is_checked(document)) {
            let placed = document.in_namespace(&judged.namespace);
            let found = match document.kind() {
                "Application" => findings::of_application(&reader, &placed, &policies).await,
                "ApplicationConfiguration" => {
                    let found = findings::of_configuration(&reader, &placed, &components).await;
                    found.map(without_references)
                }
                "Component" => findings::of_component(&reader, &placed).await,
                _ => findings::of_definition(&reader, document).await.map(in_definition),
            };
            all.extend_new(found.map_err(|error| Error::internal(error.to_string()))?);
        }
        Ok(all)
    })
}

/// The documents of a text; none where it is about something else, however broken it is.
fn read(name: &str, text: &str, language: Language) -> std::result::Result<Vec<Document>, Diagnostics> {
    match language {
        Language::Yaml if text.contains(GROUP) => Ok(manifest::read(name, text)?.into_iter().collect()),
        Language::Cue if text.contains(GROUP) || text.lines().any(|line| line.starts_with("template:")) => {
            Ok(vec![cue_file::document(name, text)?])
        }
        Language::Yaml | Language::Cue => Ok(Vec::new()),
    }
}

fn is_of_kind(document: &Document, kind: &str) -> bool {
    document.kind() == kind && document.api_version().split('/').next() == Some(GROUP)
}

fn is_checked(document: &Document) -> bool {
    let kinds = ["Application", "ApplicationConfiguration", "Component"];
    kinds.iter().any(|kind| is_of_kind(document, kind))
        || offline::is_definition(document) && document.kind() != "DefinitionRevision"
}

/// Components may well be on the cluster: one that is not in the text is only warned of.
fn without_references(found: Diagnostics) -> Diagnostics {
    let soften = |finding: Diagnostic| match finding.code {
        Code::UnknownReference => Diagnostic { severity: Severity::Warning, ..finding },
        _ => finding,
    };
    found.into_iter().map(soften).collect()
}

/// A finding of a definition belongs to the place in its template, where that is known.
fn in_definition(found: Diagnostics) -> Diagnostics {
    let place = |mut finding: Diagnostic| {
        if let Some(place) = finding.definition.take_if(|place| place.file.is_some() && place.line > 0)
            && let Some(file) = place.file
        {
            finding.manifest = Some(Place { file, line: place.line, column: place.column });
        }
        finding
    };
    found.into_iter().map(place).collect()
}

/// The findings as the protocol has them.
fn shown(found: Diagnostics, name: &str, text: &str) -> Vec<lsp_types::Diagnostic> {
    let lines = Lines::of(text);
    let count = found.iter().count();
    let mut shown: Vec<_> =
        found.into_iter().take(SHOWN_LIMIT).map(|finding| one(finding, name, &lines)).collect();
    if count > SHOWN_LIMIT {
        let words = format!("{} more findings are not shown: mend the first ones", count - SHOWN_LIMIT);
        shown.push(one(Diagnostic::warning(Code::Limit, words), name, &lines));
    }
    shown
}

fn one(finding: Diagnostic, name: &str, lines: &Lines<'_>) -> lsp_types::Diagnostic {
    let at = finding.manifest.as_ref().filter(|place| &*place.file == name);
    let (line, column) = at.map_or((1, 1), |place| (place.line, place.column));
    let is_unknown = finding.code == Code::UnknownDefinition;
    let mut message = finding.message;
    if is_unknown {
        // The cluster may have it.
        message.push_str(" here: it is neither built in nor defined in the opened folder");
    }
    if let Some(hint) = finding.hint {
        message.push_str("\nhelp: ");
        message.push_str(&hint);
    }
    let related = finding.definition.and_then(|place| {
        let location = Location {
            uri: uri::of_path(place.file.as_deref()?.as_ref())?,
            range: start(place.line, place.column),
        };
        Some(vec![DiagnosticRelatedInformation { location, message: place.definition }])
    });
    let severity = match finding.severity {
        Severity::Error if !is_unknown => DiagnosticSeverity::ERROR,
        _ => DiagnosticSeverity::WARNING,
    };
    lsp_types::Diagnostic {
        range: lines.range(line, column),
        severity: Some(severity),
        code: Some(NumberOrString::String(finding.code.to_string())),
        source: Some("vela".to_owned()),
        message,
        related_information: related,
        ..lsp_types::Diagnostic::default()
    }
}

/// A place in another text, of which only line and column are known.
fn start(line: u32, column: u32) -> Range {
    let at = lsp_types::Position { line: line.saturating_sub(1), character: column.saturating_sub(1) };
    Range { start: at, end: at }
}
