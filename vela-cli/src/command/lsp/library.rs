//! Definitions in the folders that an editor has opened; files that changed are read anew.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use vela_engine::{Definition, Document};

use crate::{input, offline};

/// Files and folders that are looked at.
const ENTRIES_LIMIT: usize = 20_000;
/// Files that are read.
const FILES_LIMIT: usize = 2_000;
/// All of them together, in bytes.
const BYTES_LIMIT: u64 = 32 * 1024 * 1024;
/// A larger file is no definition.
const FILE_LIMIT: u64 = 1024 * 1024;
/// Folders in folders.
const DEPTH_LIMIT: usize = 16;
/// What tools fill with files of others.
const PASSED_OVER: [&str; 3] = ["node_modules", "target", "vendor"];

/// A file as it was when it was read.
struct Known {
    changed: Option<SystemTime>,
    size: u64,
    documents: Vec<Document>,
}

/// Definitions of folders.
#[derive(Default)]
pub(super) struct Library {
    folders: Vec<PathBuf>,
    files: BTreeMap<PathBuf, Known>,
    /// Why not all is looked at.
    pub(super) cut_off: Option<String>,
}

impl Library {
    pub(super) fn of(folders: Vec<PathBuf>) -> Self {
        Self { folders, ..Self::default() }
    }

    /// Looks again. Has anything changed?
    pub(super) fn refresh(&mut self) -> bool {
        let mut walk = Walk { entries: 0, bytes: 0, found: BTreeMap::new(), cut_off: None };
        for folder in &self.folders {
            walk.folder(folder, 0);
        }
        self.cut_off = walk.cut_off;
        let before = self.files.len();
        self.files.retain(|path, _| walk.found.contains_key(path));
        let mut has_changed = self.files.len() != before;
        for (path, (changed, size)) in walk.found {
            let is_known = |known: &Known| known.changed == changed && known.size == size;
            if self.files.get(&path).is_some_and(is_known) {
                continue;
            }
            let documents = definitions(&path);
            has_changed = true;
            self.files.insert(path, Known { changed, size, documents });
        }
        has_changed
    }

    /// The definitions of files that are not among these.
    pub(super) fn without<'l>(&'l self, open: &'l [PathBuf]) -> impl Iterator<Item = &'l Document> {
        let files = self.files.iter().filter(|(path, _)| !open.contains(path));
        files.flat_map(|(_, known)| &known.documents)
    }
}

struct Walk {
    entries: usize,
    bytes: u64,
    found: BTreeMap<PathBuf, (Option<SystemTime>, u64)>,
    cut_off: Option<String>,
}

impl Walk {
    /// What cannot be read holds no definitions for us.
    fn folder(&mut self, folder: &Path, depth: usize) {
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            self.entries += 1;
            if self.entries > ENTRIES_LIMIT || self.found.len() >= FILES_LIMIT || self.bytes > BYTES_LIMIT {
                let words = format!(
                    "not all definitions of {} are known: at most {ENTRIES_LIMIT} entries, {FILES_LIMIT} files and {} MiB are looked at; open a smaller folder",
                    folder.display(),
                    BYTES_LIMIT >> 20
                );
                self.cut_off.get_or_insert(words);
                return;
            }
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
            // A link to a folder is not followed, since it may lead back.
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if kind.is_dir() {
                if depth < DEPTH_LIMIT && !PASSED_OVER.contains(&name) {
                    self.folder(&path, depth + 1);
                }
                continue;
            }
            if !input::may_hold_definitions(name) {
                continue;
            }
            let Ok(about) = std::fs::metadata(&path) else { continue };
            if about.is_file() && about.len() <= FILE_LIMIT {
                self.bytes += about.len();
                self.found.insert(path, (about.modified().ok(), about.len()));
            }
        }
    }
}

/// The definitions of a file; none where it cannot be read, which its own findings tell when it is opened.
fn definitions(path: &Path) -> Vec<Document> {
    let Ok(bytes) = std::fs::read(path) else { return Vec::new() };
    let Ok(text) = String::from_utf8(bytes) else { return Vec::new() };
    of_text(&path.display().to_string(), text)
}

/// The definitions of a text that can be read.
pub(super) fn of_text(name: &str, text: String) -> Vec<Document> {
    // Most files of a folder are something else, and need no parser.
    if !(text.contains("Definition") || text.contains("template:")) {
        return Vec::new();
    }
    let documents = input::of_bytes(name, text.into_bytes()).unwrap_or_default();
    let is_usable = |one: &Document| {
        offline::is_definition(one)
            && (one.kind() == "DefinitionRevision" || Definition::from_document(one).is_ok())
    };
    documents.into_iter().filter(is_usable).collect()
}
