//! Folders of examples and recorded runs in; every object in their YAML and JSON files out.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// Folders are nested no deeper than this.
const MAX_DEPTH: usize = 12;

/// The objects with the name of their file, in the order of the file names.
pub(super) fn objects(directory: &Path) -> Vec<(String, Value)> {
    let mut files = Vec::new();
    if let Some(parent) = directory.parent() {
        collect(&parent.join("examples"), 0, &mut files);
    }
    let runs = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|e| e.path());
    let mut runs: Vec<PathBuf> =
        runs.filter(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("runs-"))).collect();
    runs.sort();
    runs.iter().for_each(|run| collect(run, 0, &mut files));
    let mut found = Vec::new();
    for file in files {
        // Some files are templates or deliberately broken: they hold no objects.
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        let Ok(documents) = serde_saphyr::from_multiple::<Value>(&text) else { continue };
        let name = file.strip_prefix(directory.parent().unwrap_or(directory)).unwrap_or(&file);
        let name = name.to_string_lossy().into_owned();
        for document in documents {
            let list = document["items"].as_array().cloned().unwrap_or_default();
            found.extend(std::iter::once(document).chain(list).map(|object| (name.clone(), object)));
        }
    }
    found
}

fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() && depth < MAX_DEPTH {
            collect(&path, depth + 1, files);
        } else if path.extension().is_some_and(|e| ["yaml", "yml", "json"].iter().any(|known| e == *known)) {
            files.push(path);
        }
    }
}
