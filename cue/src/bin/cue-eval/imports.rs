//! Source files in, the packages of the surrounding module that they import out.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use vela_cue::ast::DeclKind;
use vela_cue::provider::ImportedPackage;
use vela_cue::source::FileId;
use vela_cue::{Diagnostics, Format, Source, packages, parser};

use super::module::Module;
use super::read::is_side_file;

/// Most packages that one program imports.
const MAX_PACKAGES: usize = 200;

/// All packages that the sources import, directly or through each other; builtin and unknown ones left out.
///
/// # Errors
/// The files of the surrounding module cannot be read.
pub(crate) fn load(sources: &[Source]) -> Result<Vec<ImportedPackage>, Diagnostics> {
    let mut wanted: Vec<String> =
        sources.iter().filter(|s| s.format == Format::Cue).flat_map(imported).collect();
    wanted.retain(|path| packages::lookup(path).is_none());
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let Some(module) = Module::at_hand()? else { return Ok(Vec::new()) };
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    while let Some(path) = wanted.pop() {
        if seen.len() >= MAX_PACKAGES || packages::lookup(&path).is_some() || !seen.insert(path.clone()) {
            continue;
        }
        let files = package_files(&module, &path);
        wanted.extend(files.iter().flat_map(imported));
        if !files.is_empty() {
            found.push(ImportedPackage { path, sources: files });
        }
    }
    Ok(found)
}

fn imported(source: &Source) -> Vec<String> {
    let (file, _) = parser::parse(source, FileId(0));
    let imports = file.decls.into_iter().filter_map(|decl| match decl.kind {
        DeclKind::Import(import) => Some(import.specs),
        _ => None,
    });
    imports.flatten().map(|spec| spec.path).collect()
}

fn package_files(module: &Module, import: &str) -> Vec<Source> {
    let name = match import.split_once(':') {
        Some((_, name)) => name,
        None => {
            let last = import.rsplit('/').next().unwrap_or(import);
            last.split('@').next().unwrap_or(last)
        }
    };
    let folders = module.folders(import);
    folders.iter().map(|folder| files_of(folder, name)).find(|files| !files.is_empty()).unwrap_or_default()
}

fn files_of(folder: &Path, package: &str) -> Vec<Source> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|e| e.path())).collect();
    paths.sort();
    paths
        .into_iter()
        .filter(|path| path.extension().is_some_and(|e| e == "cue") && !is_side_file(&path.to_string_lossy()))
        .filter_map(|path| {
            let source = Source::new(path.to_string_lossy(), std::fs::read_to_string(&path).ok()?);
            let (file, _) = parser::parse(&source, FileId(0));
            file.package.is_some_and(|clause| clause.name.name == package).then_some(source)
        })
        .collect()
}
