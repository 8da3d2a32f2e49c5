//! A module's files in `cue.mod` in; the folders in which an import of that module may be found out.

use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use vela_cue::{Diagnostics, Source, Template};

/// The module around the folder at hand.
pub(crate) struct Module {
    root: PathBuf,
    /// Its path without the major version.
    path: Option<String>,
    /// Longest path first, those of `local-module.cue` before others.
    replaced: Vec<Replaced>,
}

/// A module of the dependencies that stands elsewhere.
struct Replaced {
    path: String,
    /// `v0`, where it is said.
    major: Option<String>,
    with: String,
}

impl Module {
    /// The module whose folder is the folder at hand or around it.
    ///
    /// # Errors
    /// A file of it cannot be read as CUE.
    pub(crate) fn at_hand() -> Result<Option<Self>, Diagnostics> {
        let Ok(here) = std::env::current_dir() else { return Ok(None) };
        let Some(root) = here.ancestors().find(|folder| folder.join("cue.mod").is_dir()) else {
            return Ok(None);
        };
        let [shared, local] = ["module.cue", "local-module.cue"].map(|name| declared(root, name));
        let (shared, local) = (shared?, local?);
        let path = shared.get("module").and_then(Json::as_str).map(|path| without_major(path).0.to_owned());
        let mut replaced: Vec<Replaced> = [&local, &shared].into_iter().flat_map(replacements).collect();
        // The sort is stable: what the local file says of a path stays first.
        replaced.sort_by_key(|one| std::cmp::Reverse(one.path.len()));
        Ok(Some(Self { root: root.to_path_buf(), path, replaced }))
    }

    /// Where the package of an import may stand, first that which counts.
    pub(crate) fn folders(&self, import: &str) -> Vec<PathBuf> {
        let (path, major) = without_versions(import);
        if let Some(rest) = self.path.as_deref().and_then(|own| below(&path, own)) {
            return [self.root.join(rest)].into_iter().chain(self.vendored(&path)).collect();
        }
        let stands_for = |one: &&Replaced| {
            below(&path, &one.path).is_some()
                && (major.is_none() || one.major.is_none() || major == one.major)
        };
        match self.replaced.iter().find(stands_for) {
            Some(one) => self.replacement(one, below(&path, &one.path).unwrap_or_default()),
            None => self.vendored(&path),
        }
    }

    /// A folder, or another module among the vendored ones.
    fn replacement(&self, one: &Replaced, rest: &str) -> Vec<PathBuf> {
        let with = Path::new(&one.with);
        if with.is_absolute() || one.with.starts_with("./") || one.with.starts_with("../") {
            return vec![self.root.join(with).join(rest)];
        }
        let (other, _) = without_major(&one.with);
        self.vendored(&if rest.is_empty() { other.to_owned() } else { format!("{other}/{rest}") })
    }

    fn vendored(&self, path: &str) -> Vec<PathBuf> {
        ["pkg", "gen", "usr"].map(|kind| self.root.join("cue.mod").join(kind).join(path)).to_vec()
    }
}

/// The content of a file of the module; nothing if there is none.
fn declared(root: &Path, name: &str) -> Result<Json, Diagnostics> {
    let Ok(text) = std::fs::read_to_string(root.join("cue.mod").join(name)) else { return Ok(Json::Null) };
    let source = Source::new(format!("cue.mod/{name}"), text);
    Template::compile(&[source])?.instantiate(&[]).root().to_json()
}

fn replacements(declared: &Json) -> Vec<Replaced> {
    let deps = declared.get("deps").and_then(Json::as_object);
    let replaced = deps.into_iter().flatten().filter_map(|(module, dep)| {
        let (path, major) = without_major(module);
        let with = dep.get("replaceWith")?.as_str()?.to_owned();
        Some(Replaced { path: path.to_owned(), major: major.map(str::to_owned), with })
    });
    replaced.collect()
}

/// `example.com/dep@v0` as path and major version.
fn without_major(module: &str) -> (&str, Option<&str>) {
    match module.split_once('@') {
        // Of a full version, the part before the first point.
        Some((path, version)) => (path, version.split('.').next()),
        None => (module, None),
    }
}

/// The path of an import without its version and package name, and the major version it names.
fn without_versions(import: &str) -> (String, Option<String>) {
    let path = import.split(':').next().unwrap_or(import);
    let parts: Vec<_> = path.split('/').map(without_major).collect();
    let major = parts.iter().find_map(|(_, major)| major.map(str::to_owned));
    let names: Vec<&str> = parts.into_iter().map(|(name, _)| name).collect();
    (names.join("/"), major)
}

/// The part behind `outer` of a path that lies in it.
fn below<'p>(path: &'p str, outer: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(outer)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}
