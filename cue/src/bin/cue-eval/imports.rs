//! Source files in, the packages of the surrounding module that they import out.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use vela_cue::ast::{DeclKind, ExprKind, LabelKind};
use vela_cue::provider::ImportedPackage;
use vela_cue::source::FileId;
use vela_cue::{Format, Source, literal, packages, parser};

/// Most packages that one program imports.
const MAX_PACKAGES: usize = 200;

/// All packages that the sources import, directly or through each other; builtin and unknown ones left out.
pub(crate) fn load(sources: &[Source]) -> Vec<ImportedPackage> {
    let Some(root) = module_root() else { return Vec::new() };
    let module = module_path(&root);
    let mut wanted: Vec<String> =
        sources.iter().filter(|s| s.format == Format::Cue).flat_map(imported).collect();
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    while let Some(path) = wanted.pop() {
        if seen.len() >= MAX_PACKAGES || packages::lookup(&path).is_some() || !seen.insert(path.clone()) {
            continue;
        }
        let files = package_files(&root, module.as_deref(), &path);
        wanted.extend(files.iter().flat_map(imported));
        if !files.is_empty() {
            found.push(ImportedPackage { path, sources: files });
        }
    }
    found
}

fn module_root() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().find(|dir| dir.join("cue.mod").is_dir()).map(Path::to_path_buf)
}

/// The path of the module without its major version.
fn module_path(root: &Path) -> Option<String> {
    let text = std::fs::read_to_string(root.join("cue.mod/module.cue")).ok()?;
    let (file, _) = parser::parse(&Source::new("module.cue", text), FileId(0));
    file.decls.iter().find_map(|decl| {
        let DeclKind::Field(field) = &decl.kind else { return None };
        let ExprKind::Literal(_, text) = &field.value.kind else { return None };
        if !matches!(&field.label.kind, LabelKind::Ident(name) if name == "module") {
            return None;
        }
        let (_, bytes) = literal::unquote(text).ok()?;
        let path = String::from_utf8(bytes).ok()?;
        Some(path.split('@').next().unwrap_or_default().to_string())
    })
}

fn imported(source: &Source) -> Vec<String> {
    let (file, _) = parser::parse(source, FileId(0));
    let imports = file.decls.into_iter().filter_map(|decl| match decl.kind {
        DeclKind::Import(import) => Some(import.specs),
        _ => None,
    });
    imports.flatten().map(|spec| spec.path).collect()
}

fn package_files(root: &Path, module: Option<&str>, import: &str) -> Vec<Source> {
    let (versioned, qualifier) = match import.split_once(':') {
        Some((path, name)) => (path, Some(name)),
        None => (import, None),
    };
    let path: Vec<&str> = versioned.split('/').map(|part| part.split('@').next().unwrap_or(part)).collect();
    let name = qualifier.unwrap_or_else(|| path.last().copied().unwrap_or_default());
    let path = path.join("/");
    let inside = module
        .and_then(|module| path.strip_prefix(module))
        .filter(|rest| rest.is_empty() || rest.starts_with('/'));
    let mut folders: Vec<PathBuf> =
        inside.map(|rest| root.join(rest.trim_start_matches('/'))).into_iter().collect();
    folders.extend(["pkg", "gen", "usr"].map(|kind| root.join("cue.mod").join(kind).join(&path)));
    for folder in folders {
        let files = files_of(&folder, name);
        if !files.is_empty() {
            return files;
        }
    }
    Vec::new()
}

fn files_of(folder: &Path, package: &str) -> Vec<Source> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|e| e.path())).collect();
    paths.sort();
    paths
        .into_iter()
        .filter(|path| {
            path.extension().is_some_and(|e| e == "cue")
                && !super::inputs::is_side_file(&path.to_string_lossy())
        })
        .filter_map(|path| {
            let source = Source::new(path.to_string_lossy(), std::fs::read_to_string(&path).ok()?);
            let (file, _) = parser::parse(&source, FileId(0));
            file.package.is_some_and(|clause| clause.name.name == package).then_some(source)
        })
        .collect()
}
