//! Reads files into documents with the position of every field; reports all errors of all files together.

use std::io::Read;
use std::path::{Path, PathBuf};

use vela_engine::{Document, definition, manifest};

use crate::args::{Kustomize, Recursive};
use crate::error::{Error, Failure, Result};
use crate::screen::Screen;
use crate::{appfile, download, kustomize, offline};

/// A manifest larger than this is no manifest: the API server itself refuses objects beyond a few megabytes.
const LARGEST_FILE: usize = 16 * 1024 * 1024;
/// More files than this in one folder is a folder chosen by mistake.
const MOST_FILES: usize = 10_000;
/// Folders in folders: deeper ones are a tree chosen by mistake, and are not read.
const DEEPEST: usize = 16;

/// What messages call it.
const STANDARD_INPUT: &str = "standard input";

/// What folders are read for.
#[derive(Clone, Copy, PartialEq)]
enum FileKinds {
    /// Manifests.
    Manifests,
    /// Manifests and definitions written in CUE, but no tests of definitions.
    Definitions,
    /// Tests of definitions.
    Tests,
}

/// What names of tests of definitions have before their end.
const TEST: &str = ".test";

/// Reads files, the manifests directly inside folders, URLs, and standard input (`-`).
pub(crate) fn read(paths: &[PathBuf]) -> Result<Vec<Document>> {
    read_all(paths, FileKinds::Manifests, Recursive { all: false })
}

/// Reads the same, where it is asked for the folders inside folders, and what kustomize builds.
pub(crate) fn read_deep(paths: &[PathBuf], recursive: Recursive, built: &Kustomize) -> Result<Vec<Document>> {
    without_appfiles(read_with_appfiles(paths, recursive, built)?)
}

/// Reads the same and Appfiles, which are no objects until [`appfile::resolve`] made them ones.
pub(crate) fn read_with_appfiles(
    paths: &[PathBuf],
    recursive: Recursive,
    built: &Kustomize,
) -> Result<Vec<Document>> {
    // Errors of all files and folders come together.
    let (mut documents, mut failures) = match paths {
        [] => (Vec::new(), Vec::new()),
        _ => gather(paths, FileKinds::Manifests, recursive),
    };
    for folder in &built.folders {
        match kustomized(folder) {
            Ok(more) => documents.extend(more),
            Err(failure) => failures.push(failure),
        }
    }
    Failure::all(failures).map_or(Ok(documents), Err)
}

fn kustomized(folder: &Path) -> Result<Vec<Document>> {
    let bytes = kustomize::build(folder, LARGEST_FILE)?;
    let name = format!("{} (as kustomize builds it)", folder.display());
    let documents: Vec<Document> = manifest::read(&name, &text(&name, bytes)?)?.into_iter().collect();
    match documents.is_empty() {
        true => Err(Error::user(format!("there is no object in {name}")).into()),
        false => Ok(documents),
    }
}

/// Does a bare word say by its shape that it is a file, and no name?
pub(crate) fn is_shaped_like_a_path(word: &str) -> bool {
    let ends = [".yaml", ".yml", ".json"];
    word == "-"
        || word.contains(['/', std::path::MAIN_SEPARATOR])
        || ends.iter().any(|end| word.ends_with(end))
}

/// Reads the same, and the definitions in CUE (`.cue`) that folders hold.
pub(crate) fn read_definitions(paths: &[PathBuf]) -> Result<Vec<Document>> {
    read_all(paths, FileKinds::Definitions, Recursive { all: false })
}

/// The files of tests of definitions: those that are named, and those of folders.
pub(crate) fn test_files(paths: &[PathBuf], recursive: Recursive) -> Result<Vec<PathBuf>> {
    let (mut files, mut failures) = (Vec::new(), Vec::new());
    for path in paths {
        match expand(path, FileKinds::Tests, recursive) {
            Ok(more) => files.extend(more),
            Err(failure) => failures.push(failure),
        }
    }
    Failure::all(failures).map_or(Ok(files), Err)
}

/// Says what is doubtful about the texts of objects. Applications tell it themselves, with all that is doubtful about them.
pub(crate) fn print_warnings(documents: &[Document], screen: &mut Screen) {
    let others = documents.iter().filter(|document| !offline::is_application(document));
    others.flat_map(Document::warnings).for_each(|warning| screen.say(&warning.to_string()));
}

/// Reads definitions as [`read_definitions`] does, and gives what can be read beside what is wrong with the rest.
pub(crate) fn gather_definitions(paths: &[PathBuf], recursive: Recursive) -> (Vec<Document>, Vec<Failure>) {
    gather(paths, FileKinds::Definitions, recursive)
}

fn read_all(paths: &[PathBuf], want: FileKinds, recursive: Recursive) -> Result<Vec<Document>> {
    let (documents, failures) = gather(paths, want, recursive);
    match Failure::all(failures) {
        Some(failure) => Err(failure),
        None => without_appfiles(documents),
    }
}

fn gather(paths: &[PathBuf], want: FileKinds, recursive: Recursive) -> (Vec<Document>, Vec<Failure>) {
    let mut documents = Vec::new();
    let mut failures = Vec::new();
    for path in paths {
        match expand(path, want, recursive) {
            Ok(files) => {
                for file in files {
                    match read_file(&file, want) {
                        Ok(more) => documents.extend(more),
                        Err(failure) => failures.push(failure),
                    }
                }
            }
            Err(failure) => failures.push(failure),
        }
    }
    if failures.is_empty() && documents.is_empty() && !paths.is_empty() {
        let names = paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
        failures.push(Error::user(format!("there is no object in {names}")).into());
    }
    (documents, failures)
}

/// The files that a path stands for, in the order of their names.
fn expand(path: &Path, want: FileKinds, recursive: Recursive) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    search(path, want, if recursive.all { DEEPEST } else { 0 }, &mut files)?;
    if files.is_empty() {
        let kinds = match want {
            FileKinds::Manifests => ".yaml, .yml or .json",
            FileKinds::Definitions => ".yaml, .yml, .json or .cue",
            FileKinds::Tests => ".test.yaml, .test.yml or .test.json",
        };
        let error = Error::user(format!("there is no {kinds} file in {}", path.display()));
        return Err(match (want, recursive.all) {
            (_, true) => error.into(),
            (FileKinds::Manifests | FileKinds::Tests, _) => {
                error.hint("--recursive (-R) reads the folders inside it, where the command has it").into()
            }
            (FileKinds::Definitions, _) => {
                error.hint("folders inside it are not searched: name them one by one").into()
            }
        });
    }
    files.sort();
    Ok(files)
}

/// Adds the files of a folder, and of the folders in it down to a depth. A link to a folder is not followed, since it may
/// lead back.
fn search(folder: &Path, want: FileKinds, deeper: usize, files: &mut Vec<PathBuf>) -> Result<()> {
    let unreadable =
        |error: std::io::Error| Error::user(format!("{} cannot be read: {error}", folder.display()));
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let file = entry.path();
        if entry.file_type().map_err(unreadable)?.is_dir() {
            if deeper > 0 {
                search(&file, want, deeper - 1, files)?;
            }
            continue;
        }
        if is_wanted(&file, want) && file.is_file() {
            files.push(file);
        }
        if files.len() > MOST_FILES {
            let message = format!("{} holds more than {MOST_FILES} manifests", folder.display());
            return Err(Error::user(message).hint("name the files or a smaller folder").into());
        }
    }
    Ok(())
}

/// The text of a file, of standard input or of a URL, behind what messages call it.
pub(crate) fn read_text(path: &Path) -> Result<(String, String)> {
    let (name, bytes) = match path.to_str().filter(|text| download::is_url(text)) {
        Some(url) => (download::without_query(url).to_owned(), download::read(url, LARGEST_FILE)?),
        None => local(path)?,
    };
    let text = text(&name, bytes)?;
    Ok((name, text))
}

fn read_file(path: &Path, want: FileKinds) -> Result<Vec<Document>> {
    let (name, text) = read_text(path)?;
    if is_cue(&name, &text, want) {
        return Ok(vec![definition::cue_file::document(&name, &text)?]);
    }
    Ok(manifest::read(&name, &text)?.into_iter().collect())
}

/// The definitions or other objects in the bytes of a file that messages call by this name.
pub(crate) fn of_bytes(name: &str, bytes: Vec<u8>) -> Result<Vec<Document>> {
    let text = text(name, bytes)?;
    if is_cue(name, &text, FileKinds::Definitions) {
        return Ok(vec![definition::cue_file::document(name, &text)?]);
    }
    Ok(manifest::read(name, &text)?.into_iter().collect())
}

/// Has a file of this name definitions, where a folder is read for them?
pub(crate) fn may_hold_definitions(name: &str) -> bool {
    is_wanted(Path::new(name), FileKinds::Definitions)
}

fn is_wanted(file: &Path, want: FileKinds) -> bool {
    let is_test = file.file_stem().and_then(|stem| stem.to_str()).is_some_and(|stem| stem.ends_with(TEST));
    match file.extension().and_then(|end| end.to_str()) {
        Some("yaml" | "yml" | "json") => match want {
            FileKinds::Manifests => true,
            FileKinds::Definitions => !is_test,
            FileKinds::Tests => is_test,
        },
        Some("cue") => want == FileKinds::Definitions,
        _ => false,
    }
}

/// The bytes as text, or where they are none.
fn text(name: &str, bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        let before = &error.as_bytes()[..place];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
        let error = Error::user(format!("{name}:{line}:{column}: this is not UTF-8 text"));
        error.hint("save the file as UTF-8").into()
    })
}

/// Is it CUE by its name? Standard input has none: there a definition is known by its field `template`, which no manifest has.
fn is_cue(name: &str, text: &str, want: FileKinds) -> bool {
    let is_template =
        |line: &str| line.strip_prefix("template:").is_some_and(|rest| rest.trim_start().starts_with('{'));
    let is_nameless = name == STANDARD_INPUT && want == FileKinds::Definitions;
    Path::new(name).extension().is_some_and(|end| end == "cue")
        || is_nameless && text.lines().any(is_template)
}

/// The bytes of a file or of standard input, and what messages call it.
fn local(path: &Path) -> Result<(String, Vec<u8>)> {
    let (name, bytes) = if path == Path::new("-") {
        (STANDARD_INPUT.to_owned(), limited(std::io::stdin().lock()))
    } else {
        (path.display().to_string(), std::fs::File::open(path).and_then(limited))
    };
    match bytes {
        Ok(bytes) => Ok((name, bytes)),
        Err(error) => Err(Error::user(format!("{name} cannot be read: {error}")).into()),
    }
}

/// The file that commands take where none is named.
pub(crate) fn usual() -> Result<PathBuf> {
    let found = appfile::FILES.iter().map(PathBuf::from).find(|path| path.is_file());
    found.ok_or_else(|| {
        let names = appfile::FILES.join(", ");
        Error::user(format!("no file was given, and this folder has none of {names}"))
            .hint("name a file or folder, or write one with the services of the application")
            .into()
    })
}

/// Refuses Appfiles, for commands that take objects.
fn without_appfiles(documents: Vec<Document>) -> Result<Vec<Document>> {
    match documents.iter().find(|document| appfile::is_appfile(document)) {
        None => Ok(documents),
        Some(found) => {
            let at = found.places().key("services").map_or_else(String::new, |place| format!("{place}: "));
            let message = format!("{at}this is an Appfile (a name and services), not an object");
            let hint = "`vela export FILE` prints the Application that it stands for; `vela up`, `vela dry-run` and `vela export` take \
                        Appfiles";
            Err(Error::user(message).hint(hint).into())
        }
    }
}

fn limited(reader: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(LARGEST_FILE as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > LARGEST_FILE {
        return Err(std::io::Error::other(format!("it is larger than {} MiB", LARGEST_FILE >> 20)));
    }
    Ok(bytes)
}
