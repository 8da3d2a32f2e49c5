//! Lists the files below a folder by extension, in order.

use std::path::{Path, PathBuf};

/// Folders are nested no deeper than this.
const MAX_DEPTH: usize = 12;

/// The files; none where the folder is not there.
pub(super) fn below(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    collect(folder, 0, extensions, &mut files);
    files
}

fn collect(folder: &Path, depth: usize, extensions: &[&str], files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() && depth < MAX_DEPTH {
            collect(&path, depth + 1, extensions, files);
        } else if path.extension().is_some_and(|end| extensions.iter().any(|known| end == *known)) {
            files.push(path);
        }
    }
}
