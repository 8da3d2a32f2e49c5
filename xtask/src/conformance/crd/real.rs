//! Reads every object of the YAML and JSON files in the folders of examples and recorded runs.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::files;

const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// The objects with the name of their file, in the order of the file names.
pub(super) fn objects(directory: &Path) -> Vec<(String, Value)> {
    let examples = directory.parent().map(|parent| parent.join("examples"));
    let mut files = examples.map_or_else(Vec::new, |examples| files::below(&examples, &EXTENSIONS));
    let runs = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|e| e.path());
    let mut runs: Vec<PathBuf> =
        runs.filter(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("runs-"))).collect();
    runs.sort();
    runs.iter().for_each(|run| files.extend(files::below(run, &EXTENSIONS)));
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
