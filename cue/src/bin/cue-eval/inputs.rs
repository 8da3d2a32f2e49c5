//! Names of files and folders in; sources of one package out.

use std::path::{Path, PathBuf};

use super::failure::Failure;
use super::{imports, read};
use vela_cue::source::{FileId, Sources};
use vela_cue::{Diagnostics, Source, data_file, parser};

/// Reads the inputs, files of a folder in the order of their names.
pub(crate) fn sources(inputs: &[String]) -> Result<Vec<Source>, Failure> {
    let mut files = Vec::new();
    for input in inputs {
        match folder(input) {
            Some((folder, package)) => files.extend(package_files(folder, package)?),
            None => files.push(input.clone()),
        }
    }
    read::all(&files)
}

/// The folder that an input names, and the package in it that it asks for.
pub(crate) fn folder(input: &str) -> Option<(&str, Option<&str>)> {
    if Path::new(input).is_dir() {
        return Some((input, None));
    }
    let (folder, package) = input.rsplit_once(':')?;
    Path::new(folder).is_dir().then_some((folder, Some(package)))
}

/// The files of the package in a folder: that of the given name, or the only one.
fn package_files(folder: &str, package: Option<&str>) -> Result<Vec<String>, Failure> {
    let entries =
        std::fs::read_dir(folder).map_err(|e| Failure::Message(format!("cannot read {folder}: {e}")))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "cue") && path.is_file());
    paths.sort();
    let mut found: Vec<(String, String)> = Vec::new();
    for path in paths {
        let name = path.strip_prefix("./").unwrap_or(&path).to_string_lossy().into_owned();
        let mut read = read::all(std::slice::from_ref(&name))?;
        let Some(source) = read.pop() else { continue };
        let (file, _) = parser::parse(&source, FileId(0));
        // Files without a package clause are read only when they are named.
        if let Some(clause) = file.package {
            found.push((clause.name.name, name));
        }
    }
    let mut names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    names.dedup();
    names.sort_unstable();
    names.dedup();
    let wanted = match (package, &names[..]) {
        (Some(package), _) if names.contains(&package) => package.to_owned(),
        (None, [only]) => (*only).to_owned(),
        (None, []) => return Err(Failure::Message(format!("no CUE files of a package in {folder}"))),
        (Some(package), _) => {
            return Err(Failure::Message(format!(
                "no files of package {package} in {folder}; found {names:?}"
            )));
        }
        (None, _) => {
            let example = names.first().copied().unwrap_or_default();
            return Err(Failure::Message(format!(
                "several packages in {folder}: {}; write {folder}:{example}",
                names.join(", ")
            )));
        }
    };
    Ok(found.into_iter().filter(|(package, _)| *package == wanted).map(|(_, file)| file).collect())
}

/// The syntax trees of sources, or all their mistakes.
pub(crate) fn parsed(sources: &[Source]) -> Result<Vec<vela_cue::ast::File>, Failure> {
    let mut all = Sources::default();
    let (mut files, mut mistakes) = (Vec::new(), Vec::new());
    for source in sources {
        let id = all.add(source.clone());
        let (file, found) = data_file::parse(source, id);
        files.push(file);
        mistakes.extend(found);
    }
    if mistakes.is_empty() { Ok(files) } else { Err(Failure::Diagnostics(Diagnostics::new(mistakes, all))) }
}

/// The package with what it imports from the surrounding module.
pub(crate) fn compiled(
    sources: &[Source],
    budget: vela_cue::Budget,
) -> Result<vela_cue::Template, Diagnostics> {
    let packages = imports::load(sources)?;
    let packages: Vec<&dyn vela_cue::Provider> =
        packages.iter().map(|package| package as &dyn vela_cue::Provider).collect();
    Ok(vela_cue::Template::compile_with(sources, &packages)?.with_budget(budget))
}
