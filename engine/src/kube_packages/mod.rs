//! CUE packages for the kinds of the cluster, made from the OpenAPI v3 document of a group version.
//!
//! A template may say `import apps "kube/apps/v1"` and use `apps.#Deployment`. Two spellings name a group version:
//! `kube/<apiVersion>` (`kube/v1`, `kube/networking.k8s.io/v1`) and `<domain>/<group>/<version>` (`k8s.io/apps/v1`,
//! `k8s.io/networking/v1`, `oam.dev/core/v1beta1`) or `<group>/<version>` for a group with a dot. The schemas come from the
//! maker of the snapshot, so a preview and the controller see the same kinds. Group versions that Kubernetes has withdrawn
//! keep the names of their kinds, so that templates outlive them as objects do (see [`crate::successor`]).

mod error;
mod schema;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::Value as Json;
use sha2::{Digest, Sha256};
use vela_cue::ast::DeclKind;
use vela_cue::source::FileId;
use vela_cue::{Provider, Source};

pub use self::error::Error;
use crate::successor;

/// The core group under its other name.
const CORE: &str = "core";
/// The domain of the groups that Kubernetes itself brings, whose short ones (`apps`) carry it in no spelling but this.
const KUBERNETES: &str = "k8s.io";

/// The kinds of one group version, importable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubePackage {
    path: String,
    api_version: String,
    /// No cluster serves it any more.
    withdrawn: bool,
    text: Arc<str>,
    hash: String,
}

impl KubePackage {
    /// The package a path names, from the OpenAPI v3 document of that group version.
    ///
    /// # Errors
    /// The document has no kind of that version, or a schema that is none.
    pub fn new(path: &str, api_version: &str, document: &Json) -> Result<Self, Error> {
        Ok(Self::of_text(path, api_version, &schema::text(package_name(path), api_version, document)?, false))
    }

    /// The package a path names where Kubernetes has withdrawn that group version: its kinds without their fields.
    /// Objects that a template makes of them go on to the version that followed, as every object of a withdrawn version
    /// does.
    pub fn withdrawn(path: &str) -> Option<Self> {
        api_versions(path).into_iter().find_map(|api_version| {
            let kinds: Vec<&str> = successor::kinds(&api_version).map(|(kind, _)| kind).collect();
            let text = schema::open_kinds(package_name(path), &api_version, &kinds);
            (!kinds.is_empty()).then(|| Self::of_text(path, &api_version, &text, true))
        })
    }

    fn of_text(path: &str, api_version: &str, text: &str, withdrawn: bool) -> Self {
        let hash = hex::encode(Sha256::digest(text.as_bytes()));
        let (path, api_version) = (path.to_owned(), api_version.to_owned());
        Self { path, api_version, withdrawn, text: Arc::from(text), hash }
    }

    /// The group version: `apps/v1`.
    pub fn api_version(&self) -> &str {
        &self.api_version
    }

    /// Whether its group version is one that Kubernetes has withdrawn.
    pub fn is_withdrawn(&self) -> bool {
        self.withdrawn
    }

    /// Hash of the text: equal hashes, equal kinds.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The CUE text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Provider for KubePackage {
    fn path(&self) -> &str {
        &self.path
    }

    fn sources(&self) -> Vec<Source> {
        vec![Source::new(format!("{}.cue", self.path), self.text.to_string())]
    }
}

fn package_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// The kube packages that a CUE text imports, in the order written; other packages are left out.
pub fn imported(text: &str) -> Vec<String> {
    if !text.contains("import") {
        return Vec::new();
    }
    // The compilation reports errors of the text.
    let (file, _) = vela_cue::parser::parse(&Source::new("template", text), FileId::default());
    let mut paths = Vec::new();
    for decl in &file.decls {
        let DeclKind::Import(import) = &decl.kind else { continue };
        for spec in &import.specs {
            // `path:name` says which package of the path is meant; there is only one.
            let path = spec.path.split(':').next().unwrap_or_default();
            if !api_versions(path).is_empty() && !paths.iter().any(|known| known == path) {
                paths.push(path.to_owned());
            }
        }
    }
    paths
}

/// The group versions that a path may mean, the likeliest first; none when it is no path of a kube package.
pub fn api_versions(path: &str) -> Vec<String> {
    let parts: Vec<&str> = path.split('/').collect();
    if !parts.last().is_some_and(|last| is_version(last)) {
        return Vec::new();
    }
    match parts.as_slice() {
        ["kube", version] | [KUBERNETES, CORE, version] => vec![(*version).to_owned()],
        ["kube", group, version] => vec![format!("{group}/{version}")],
        [KUBERNETES, group, version] => {
            vec![format!("{group}/{version}"), format!("{group}.{KUBERNETES}/{version}")]
        }
        [domain, group, version] if domain.contains('.') => vec![format!("{group}.{domain}/{version}")],
        [group, version] if group.contains('.') => vec![format!("{group}/{version}")],
        _ => Vec::new(),
    }
}

/// `v1`, `v1beta1`, `v2alpha3`.
fn is_version(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('v') else { return false };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    ["alpha", "beta"]
        .iter()
        .find_map(|stage| rest.split_once(stage))
        .map_or_else(|| digits(rest), |(major, minor)| digits(major) && digits(minor))
}
