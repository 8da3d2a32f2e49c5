//! Sources with fields marked `@embed(file=…)` or `@embed(glob=…)` in; the same with the content of those files out.
//!
//! Only files below the folder of the source are read, and none of another module.

use std::path::{Path, PathBuf};

use super::embedded_file::{self, Kind};
use super::failure::Failure;
use super::module::Module;
use vela_cue::ast::{Attribute, Decl, DeclKind, Field, visit};
use vela_cue::packages::{self, Data, Run};
use vela_cue::source::{Sources, Span};
use vela_cue::{Code, Diagnostic, Diagnostics, Source, literal, parser};

/// Most files that one pattern may bring.
const MAX_FILES: usize = 1000;

/// Puts the content of files where attributes ask for it.
///
/// # Errors
/// All attributes that are wrong, and all files that cannot be read.
pub(crate) fn fill(sources: &mut [Source]) -> Result<(), Failure> {
    let mut all = Sources::default();
    let mut mistakes = Vec::new();
    for source in sources {
        let id = all.add(source.clone());
        if !source.text.contains("@extern(") {
            continue;
        }
        let (mut file, _) = parser::parse(source, id);
        let before = file.package.as_ref().map_or(0, |package| package.position);
        let declared = file.decls.iter().take(before).find_map(asks_for_files);
        let Some(declared) = declared else { continue };
        if Module::at_hand()?.is_none() {
            mistakes
                .push(mistake("cannot embed files when not in a module: make cue.mod/module.cue", declared));
            continue;
        }
        let folder = Path::new(&source.name).parent().unwrap_or(Path::new("")).to_path_buf();
        let mut finder = Finder { folder, edits: Vec::new(), mistakes: Vec::new() };
        // Blanks keep the places of everything behind them.
        let width = (declared.end - declared.start) as usize;
        finder.edits.push((declared, " ".repeat(width)));
        file.decls.drain(..before);
        visit::walk_file::<Finder>(&mut finder, &mut file);
        mistakes.append(&mut finder.mistakes);
        rewrite(&mut source.text, finder.edits);
    }
    if mistakes.is_empty() { Ok(()) } else { Err(Diagnostics::new(mistakes, all).into()) }
}

/// The place of `@extern(embed)`.
fn asks_for_files(decl: &Decl) -> Option<Span> {
    let DeclKind::Attribute(attribute) = &decl.kind else { return None };
    let body = attribute.text.strip_prefix("@extern(")?.strip_suffix(')')?.trim();
    matches!(body, "embed" | "\"embed\"").then_some(attribute.span)
}

fn rewrite(text: &mut String, mut edits: Vec<(Span, String)>) {
    edits.sort_by_key(|(span, _)| std::cmp::Reverse(span.start));
    for (span, with) in edits {
        text.replace_range(span.start as usize..span.end as usize, &with);
    }
}

fn mistake(message: impl Into<String>, span: Span) -> Diagnostic {
    Diagnostic::new(Code::Import, message, span)
}

struct Finder {
    folder: PathBuf,
    /// The replacements, by place.
    edits: Vec<(Span, String)>,
    mistakes: Vec<Diagnostic>,
}

impl visit::Visitor for Finder {
    fn decl(&mut self, decl: &mut Decl) {
        match &decl.kind {
            DeclKind::Field(field) => self.field(field),
            // In a struct of its own the content is embedded.
            DeclKind::Attribute(attribute) => {
                if let Some(content) = self.content(attribute) {
                    self.edits.push((attribute.span, content));
                }
            }
            _ => {}
        }
        visit::walk_decl(self, decl);
    }
}

impl Finder {
    fn field(&mut self, field: &Field) {
        let contents: Vec<String> = field.attributes.iter().filter_map(|a| self.content(a)).collect();
        if contents.is_empty() {
            return;
        }
        let value = field.value.span;
        let at = |offset: u32| Span { file: value.file, start: offset, end: offset };
        self.edits.push((at(value.start), "(".into()));
        self.edits.push((at(value.end), format!(") & {}", contents.join(" & "))));
    }

    /// The content of an attribute's files; nothing for attributes of others.
    fn content(&mut self, attribute: &Attribute) -> Option<String> {
        let body = attribute.text.strip_prefix("@embed(")?.strip_suffix(')')?;
        let content = Wanted::read(body).and_then(|wanted| wanted.content(&self.folder));
        content.map_err(|message| self.mistakes.push(mistake(message, attribute.span))).ok()
    }
}

/// The request of an attribute.
#[derive(Default)]
struct Wanted {
    file: String,
    glob: String,
    kind: Option<Kind>,
    may_be_empty: bool,
}

impl Wanted {
    fn read(body: &str) -> Result<Self, String> {
        let mut wanted = Self::default();
        for argument in arguments(body) {
            match argument.split_once('=').map(|(name, value)| (name.trim(), text(value.trim()))) {
                Some(("file", value)) => wanted.file = value,
                Some(("glob", value)) => wanted.glob = value,
                Some(("type", value)) => wanted.kind = Some(Kind::of_word(&value)?),
                None if argument == "allowEmptyGlob" => wanted.may_be_empty = true,
                _ => {
                    return Err(format!(
                        "@embed takes file, glob, type and allowEmptyGlob, not {argument:?}"
                    ));
                }
            }
        }
        match (wanted.file.is_empty(), wanted.glob.is_empty(), wanted.may_be_empty) {
            (true, true, _) => Err("@embed needs file or glob, as in @embed(file=\"a.json\")".into()),
            (false, false, _) => Err("@embed takes file or glob, not both".into()),
            (false, _, true) => Err("allowEmptyGlob belongs to glob".into()),
            _ => {
                normalized(if wanted.file.is_empty() { &wanted.glob } else { &wanted.file }).map(|()| wanted)
            }
        }
    }

    fn content(&self, folder: &Path) -> Result<String, String> {
        if !self.file.is_empty() {
            return embedded_file::content(folder, &self.file, self.kind);
        }
        let kind = match self.kind {
            Some(kind) => kind,
            None => Kind::of_name(&self.glob).map_err(|e| format!("{e}; a pattern may need type=…"))?,
        };
        let names = matching(folder, &self.glob)?;
        if names.is_empty() && !self.may_be_empty {
            return Err(format!(
                "no file matches {:?}; allowEmptyGlob takes that for an empty struct",
                self.glob
            ));
        }
        let fields = names.iter().map(|name| {
            let content = embedded_file::content(folder, name, Some(kind))?;
            Ok(format!("{}: {content}", literal::quote_string(name)))
        });
        Ok(format!("{{{}}}", fields.collect::<Result<Vec<String>, String>>()?.join(", ")))
    }
}

/// The arguments between commas outside quotes.
fn arguments(body: &str) -> Vec<&str> {
    let mut quoted = false;
    let separates = |c: char| {
        quoted ^= c == '"';
        c == ',' && !quoted
    };
    body.split(separates).map(str::trim).filter(|argument| !argument.is_empty()).collect()
}

fn text(value: &str) -> String {
    match literal::unquote(value) {
        Ok((_, bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => value.to_owned(),
    }
}

/// A path below the folder, without detours.
fn normalized(path: &str) -> Result<(), String> {
    if path.starts_with('/') {
        return Err(format!("only files below the folder of the source may be embedded, not {path:?}"));
    }
    match path.split('/').find(|part| matches!(*part, "" | "." | "..")) {
        None => Ok(()),
        Some("..") => Err(format!("{path:?} leads out of the folder of the source")),
        Some(part) => Err(format!("{path:?} is not in its shortest form: leave {part:?} out")),
    }
}

/// The files that match a pattern, in order. Hidden ones match only where the pattern has their point.
fn matching(folder: &Path, glob: &str) -> Result<Vec<String>, String> {
    let parts: Vec<&str> = glob.split('/').collect();
    let mut found = vec![String::new()];
    for (at, part) in parts.iter().enumerate() {
        let last = at + 1 == parts.len();
        let mut next = Vec::new();
        for parent in &found {
            let within = folder.join(parent);
            for name in names_in(&within) {
                let hidden = name.starts_with('.') && !part.starts_with('.');
                if hidden || within.join(&name).is_dir() == last || !fits(part, &name)? {
                    continue;
                }
                next.push(if parent.is_empty() { name } else { format!("{parent}/{name}") });
            }
            if next.len() > MAX_FILES {
                return Err(format!("{glob:?} matches more than {MAX_FILES} files"));
            }
        }
        found = next;
    }
    Ok(found)
}

/// The names in a folder in order; none in one that is not there.
fn names_in(folder: &Path) -> Vec<String> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    names
}

/// Whether a name matches, by the rules of `path.Match`.
fn fits(pattern: &str, name: &str) -> Result<bool, String> {
    let function = packages::lookup("path").and_then(|path| path.function("Match"));
    let Some(Run::Data(run)) = function.map(|function| function.run) else {
        return Err("there is no path.Match".into());
    };
    match run(&[pattern, name, "unix"].map(Data::text)) {
        Ok(answer) => Ok(answer == Data::Bool(true)),
        Err(failure) => Err(format!("{pattern:?} is no pattern: {failure:?}")),
    }
}
