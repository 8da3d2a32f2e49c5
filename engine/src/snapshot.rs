//! The outside world as plain data: definitions, objects, and which resource each kind is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::bounds::Bounds;
use crate::definition::{Definition, DefinitionKind, version};
use crate::diagnostic::Diagnostic;
use crate::manifest::Document;
use crate::observed::ObjectKey;
use crate::reference::{Reference, Referenced};
use crate::successor::VersionKind;
use crate::transformed::Transformed;

/// Version of the cluster objects are rendered for (`context.clusterVersion`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterVersion {
    /// `1`.
    pub major: String,
    /// `37`.
    pub minor: u32,
    /// `v1.37.1`.
    pub git_version: String,
    /// `linux/amd64`.
    pub platform: String,
}

impl Default for ClusterVersion {
    /// The oldest version the built-in definitions know.
    fn default() -> Self {
        Self {
            major: "1".to_owned(),
            minor: 18,
            git_version: "v1.18.0".to_owned(),
            platform: "linux/amd64".to_owned(),
        }
    }
}

/// The newest minor version of Kubernetes 1 whose kinds `vela_kinds` knows.
const NEWEST_MINOR: u32 = 36;

impl ClusterVersion {
    /// The newest version whose kinds are known: what is assumed where no cluster is asked.
    pub fn newest() -> Self {
        Self { minor: NEWEST_MINOR, git_version: format!("v1.{NEWEST_MINOR}.0"), ..Self::default() }
    }

    /// From what people write: `1.30`, `v1.30` or `v1.30.2`.
    ///
    /// # Errors
    /// The expected form.
    pub fn from_text(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a Kubernetes version: write it like 1.30 or v1.30.2");
        let numbers: Vec<&str> = text.strip_prefix('v').unwrap_or(text).split('.').collect();
        let number = |text: &str| text.parse::<u32>().ok().filter(|_| text.len() <= 3);
        let (minor, patch) = match numbers.as_slice() {
            ["1", minor] => (number(minor), Some(0)),
            ["1", minor, patch] => (number(minor), number(patch)),
            _ => (None, None),
        };
        let (minor, patch) = minor.zip(patch).ok_or_else(wrong)?;
        Ok(Self { minor, git_version: format!("v1.{minor}.{patch}"), ..Self::default() })
    }

    /// From the `major`, `minor` (`37`, `37+`), `gitVersion` and `platform` of the `/version` document.
    pub fn from_version(version: &Json) -> Self {
        let text = |key: &str| version.get(key).and_then(Json::as_str).unwrap_or("").to_owned();
        let minor = text("minor");
        let digits = minor.trim_end_matches(|c: char| !c.is_ascii_digit());
        Self {
            major: text("major"),
            minor: digits.parse().unwrap_or(0),
            git_version: text("gitVersion"),
            platform: text("platform"),
        }
    }

    /// As templates see it.
    pub fn to_json(&self) -> Json {
        json!({"major": self.major, "minor": self.minor, "gitVersion": self.git_version, "platform": self.platform})
    }
}

/// A kind as API discovery tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Plural name, `deployments`.
    pub plural: String,
    /// Do its objects live in namespaces?
    pub namespaced: bool,
}

/// Versions of one definition, with their content where that is known.
type Versions = BTreeMap<String, Option<Arc<Definition>>>;

/// Everything the pure phases may know of the cluster.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    definitions: BTreeMap<(DefinitionKind, String), Arc<Definition>>,
    /// Names of definitions that were not asked for: for advice about those that are not there.
    known: BTreeSet<(DefinitionKind, String)>,
    versions: BTreeMap<(DefinitionKind, String), Versions>,
    objects: BTreeMap<ObjectKey, Json>,
    referenced: BTreeMap<Reference, Referenced>,
    /// By the URLs that were asked.
    manifests: BTreeMap<String, Result<Vec<Json>, String>>,
    resources: BTreeMap<(String, String), Resource>,
    registered: BTreeMap<(String, String), (String, String)>,
    not_served: BTreeSet<VersionKind>,
    cluster_version: ClusterVersion,
    bounds: Bounds,
    applies_once: bool,
    transformed: Option<Arc<Transformed>>,
    warnings: Vec<Diagnostic>,
}

impl Snapshot {
    /// An empty cluster of a given version.
    pub fn new(cluster_version: ClusterVersion) -> Self {
        Self { cluster_version, ..Self::default() }
    }

    /// The same where applications reach so far and no further.
    #[must_use]
    pub fn within(self, bounds: Bounds) -> Self {
        Self { bounds, ..self }
    }

    /// The same where applications leave alone what they applied, unless their policies say more.
    #[must_use]
    pub fn applying_once(self, applies_once: bool) -> Self {
        Self { applies_once, ..self }
    }

    /// Whether applications leave alone what they applied.
    pub fn applies_once(&self) -> bool {
        self.applies_once
    }

    /// How far applications may reach.
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Adds a definition; a later one replaces an earlier one of the same kind and name, so add the system
    /// namespace's first and the application's own last.
    pub fn insert_definition(&mut self, definition: Arc<Definition>) {
        self.definitions.insert((definition.kind(), definition.name().to_owned()), definition);
    }

    /// Adds a definition under the name it was asked for, `name@vX`: that version of it.
    pub fn insert_definition_version(&mut self, asked: &str, definition: Arc<Definition>) {
        self.definitions.insert((definition.kind(), asked.to_owned()), definition);
    }

    /// Adds a version of a definition for callers that ask for it.
    pub fn insert_revision(&mut self, version: &str, definition: Arc<Definition>) {
        let key = (definition.kind(), definition.name().to_owned());
        self.versions.entry(key).or_default().insert(version.to_owned(), Some(definition));
    }

    /// Says that there is such a version, for those who ask for one that is not there.
    pub fn insert_known_version(&mut self, kind: DefinitionKind, name: &str, version: &str) {
        let known = self.versions.entry((kind, name.to_owned())).or_default();
        known.entry(version.to_owned()).or_default();
    }

    /// Adds a definition given as object.
    ///
    /// # Errors
    /// It is no definition, or one that cannot be read.
    pub fn insert_definition_object(&mut self, object: Json) -> Result<(), Diagnostic> {
        self.insert_definition(Arc::new(Definition::from_object(object)?));
        Ok(())
    }

    /// The definition of a kind and name. `name@vX` is that version or the newest of its series, and nothing else.
    pub fn definition(&self, kind: DefinitionKind, name: &str) -> Option<&Arc<Definition>> {
        self.definitions.get(&(kind, name.to_owned())).or_else(|| {
            let asked = version::parse_reference(name)?;
            let known = self.versions.get(&(kind, asked.name.to_owned()))?;
            let here = known.iter().filter(|(_, content)| content.is_some());
            let chosen = version::choose(asked.version, here.map(|(version, _)| version.as_str()))?;
            known.get(chosen)?.as_ref()
        })
    }

    /// The versions of a definition that are there.
    pub fn versions(&self, kind: DefinitionKind, name: &str) -> impl Iterator<Item = &str> {
        self.versions.get(&(kind, name.to_owned())).into_iter().flat_map(BTreeMap::keys).map(String::as_str)
    }

    /// All versions whose content is known.
    pub fn revisions(&self) -> impl Iterator<Item = (&str, &Arc<Definition>)> {
        let all = self.versions.values().flatten();
        all.filter_map(|(version, content)| Some((version.as_str(), content.as_ref()?)))
    }

    /// Says that there is a definition of this name, without its content.
    pub fn insert_name(&mut self, kind: DefinitionKind, name: impl Into<String>) {
        self.known.insert((kind, name.into()));
    }

    /// Names of all definitions of a kind that are known of.
    pub fn names(&self, kind: DefinitionKind) -> Vec<&str> {
        let all = self.definitions.keys().chain(&self.known);
        let names: BTreeSet<&str> = all.filter(|(k, _)| *k == kind).map(|(_, name)| name.as_str()).collect();
        names.into_iter().filter(|name| version::parse_reference(name).is_none()).collect()
    }

    /// Those definitions asked for of whose name there is none, of whatever kind: people may have misspelt them.
    pub fn missing<'a>(
        &self,
        asked: impl IntoIterator<Item = &'a (DefinitionKind, String)>,
    ) -> BTreeSet<DefinitionKind> {
        let found: BTreeSet<&str> = self.definitions.keys().map(|(_, name)| name.as_str()).collect();
        let missing = asked.into_iter().filter(|(_, name)| !found.contains(name.as_str()));
        missing.map(|(kind, _)| *kind).collect()
    }

    /// All definitions.
    pub fn definitions(&self) -> impl Iterator<Item = &Arc<Definition>> {
        self.definitions.values()
    }

    /// Adds an object as it exists (Component, ControllerRevision, scope, …).
    pub fn insert_object(&mut self, object: Json) {
        self.objects.insert(ObjectKey::of(&object), object);
    }

    /// An object as it exists.
    pub fn object(&self, key: &ObjectKey) -> Option<&Json> {
        self.objects.get(key)
    }

    /// Says what the cluster has of a reference.
    pub fn insert_referenced(&mut self, reference: Reference, found: Referenced) {
        self.referenced.insert(reference, found);
    }

    /// What the cluster has of a reference; nothing where no cluster was asked.
    pub fn referenced(&self, reference: &Reference) -> Option<&Referenced> {
        self.referenced.get(reference)
    }

    /// Says which objects a URL has, or why they are not known.
    pub fn insert_manifests(&mut self, url: &str, found: Result<Vec<Json>, String>) {
        self.manifests.insert(url.to_owned(), found);
    }

    /// Which objects a URL has; nothing where its server was not asked.
    pub fn manifests(&self, url: &str) -> Option<&Result<Vec<Json>, String>> {
        self.manifests.get(url)
    }

    /// Says which resource a kind is, as API discovery tells it.
    pub fn insert_resource(&mut self, api_version: &str, kind: &str, resource: Resource) {
        self.resources.insert((api_version.to_owned(), kind.to_owned()), resource);
    }

    /// Which resource a kind is.
    pub fn resource(&self, api_version: &str, kind: &str) -> Option<&Resource> {
        self.resources.get(&(api_version.to_owned(), kind.to_owned()))
    }

    /// Says of a withdrawn version that the cluster does not serve the kind in it, but does in its successor.
    pub fn insert_not_served(&mut self, api_version: &str, kind: &str) {
        self.not_served.insert((api_version.to_owned(), kind.to_owned()));
    }

    /// The kinds whose objects have to be written in the version that followed.
    pub fn not_served(&self) -> &BTreeSet<VersionKind> {
        &self.not_served
    }

    /// Says which kind (`apiVersion`, `kind`) a resource (`<plural>.<group>`) is, in a version or ("") in any.
    pub fn insert_registered(&mut self, name: &str, version: &str, kind: (String, String)) {
        self.registered.insert((name.to_owned(), version.to_owned()), kind);
    }

    /// Which kind (`apiVersion`, `kind`) a resource is.
    pub fn registered(&self, name: &str, version: &str) -> Option<&(String, String)> {
        self.registered.get(&(name.to_owned(), version.to_owned()))
    }

    /// Adds a warning about what could not be read, for the application that is parsed against it.
    pub fn insert_warning(&mut self, warning: Diagnostic) {
        self.warnings.push(warning);
    }

    /// What could not be read.
    pub(crate) fn warnings(&self) -> impl Iterator<Item = &Diagnostic> {
        self.warnings.iter()
    }

    /// Tells how policies leave an application.
    pub fn insert_transformed(&mut self, transformed: Transformed) {
        self.transformed = Some(Arc::new(transformed));
    }

    /// How policies leave this very application, where that was found out.
    pub fn transformed(&self, application: &Document) -> Option<&Arc<Transformed>> {
        self.transformed.as_ref().filter(|known| known.written.value() == application.value())
    }

    /// How policies leave the application that the snapshot is for, its Policies and Workflow in their places.
    pub fn transformed_application(&self) -> Option<&Arc<Transformed>> {
        self.transformed.as_ref()
    }

    /// The application as policies leave it, as far as that was found out.
    pub fn as_transformed<'a>(&'a self, application: &'a Document) -> &'a Document {
        self.transformed(application).map_or(application, |transformed| transformed.document())
    }

    /// The version objects are rendered for.
    pub fn cluster_version(&self) -> &ClusterVersion {
        &self.cluster_version
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_people_write_them() {
        for (text, minor, git) in [("1.30", 30, "v1.30.0"), ("v1.9", 9, "v1.9.0"), ("v1.30.2", 30, "v1.30.2")]
        {
            let version = ClusterVersion::from_text(text).unwrap();
            assert_eq!((version.minor, version.git_version.as_str()), (minor, git));
        }
        for text in ["", "1", "2.3", "1.x", "1.30.2.1", "1.99999", "v", "1.-3"] {
            let why = ClusterVersion::from_text(text).unwrap_err();
            assert!(why.contains("write it like 1.30"), "{why}");
        }
    }
}
