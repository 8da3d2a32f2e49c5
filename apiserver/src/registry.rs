//! What is served: built-in kinds and the versions of CustomResourceDefinitions, looked up by path or by kind.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::Value;

use crate::builtin;
use crate::crd::Definition;
use crate::status::Named;

/// One served resource in one version.
#[derive(Debug)]
pub(crate) struct Resource {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) namespaced: bool,
    pub(crate) verbs: Vec<String>,
    pub(crate) status: bool,
    pub(crate) scale: Option<ScalePaths>,
    /// Whether `metadata.generation` counts changes outside `metadata` and `status`.
    pub(crate) generation: bool,
    /// `apiVersion` of the objects.
    pub(crate) api_version: String,
    /// `apiVersion` under which the objects lie in the store.
    pub(crate) storage_api_version: String,
    /// Where the objects lie in the store, `deployments.apps`.
    pub(crate) store: Arc<str>,
    /// The definition, for custom resources.
    pub(crate) custom: Option<Arc<Definition>>,
}

/// Where a resource keeps what its `scale` subresource shows.
#[derive(Clone, Debug)]
pub(crate) struct ScalePaths {
    pub(crate) spec_replicas: String,
    pub(crate) status_replicas: String,
    pub(crate) selector: Option<String>,
}

impl Resource {
    pub(crate) fn named(&self) -> Named<'_> {
        Named { group: &self.group, plural: &self.plural, kind: &self.kind }
    }

    pub(crate) fn allows(&self, verb: &str) -> bool {
        self.verbs.iter().any(|v| v == verb)
    }

    pub(crate) fn is_custom(&self) -> bool {
        self.custom.is_some()
    }

    /// The schema and columns of this version of a custom resource.
    pub(crate) fn custom_version(&self) -> Option<&crate::crd::Version> {
        self.custom.as_ref()?.versions.iter().find(|v| v.name == self.version)
    }

    fn built_in(kind: &builtin::Kind) -> Self {
        let scale = kind.scale.then(|| ScalePaths {
            spec_replicas: "spec.replicas".into(),
            status_replicas: "status.replicas".into(),
            selector: Some("spec.selector".into()),
        });
        // Both groups of events show the same objects.
        let (store, storage_api_version) = if kind.kind == "Event" {
            ("events".to_owned(), "v1".to_owned())
        } else {
            (kind.resource(), kind.api_version())
        };
        Self {
            group: kind.group.into(),
            version: kind.version.into(),
            kind: kind.kind.into(),
            list_kind: format!("{}List", kind.kind),
            plural: kind.plural.into(),
            singular: kind.singular.into(),
            short_names: kind.short_names.iter().map(|s| (*s).to_owned()).collect(),
            categories: kind.categories.iter().map(|s| (*s).to_owned()).collect(),
            namespaced: kind.namespaced,
            verbs: kind.verbs.iter().map(|s| (*s).to_owned()).collect(),
            status: kind.status,
            scale,
            generation: kind.generation,
            api_version: kind.api_version(),
            storage_api_version,
            store: Arc::from(store),
            custom: None,
        }
    }
}

/// One version of a group and its resources.
pub(crate) type Served = (String, Vec<Arc<Resource>>);

/// All resources at one moment.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    /// Group → version → resources, in the order in which discovery shows them.
    pub(crate) groups: BTreeMap<String, Vec<Served>>,
    by_path: HashMap<(String, String, String), Arc<Resource>>,
    /// One resource for each place in the store.
    stored: Vec<Arc<Resource>>,
    /// The resource of each place in the store, in the version in which objects lie there if that is served.
    by_store: HashMap<Arc<str>, Arc<Resource>>,
    /// Changes with every change of the catalog; makes discovery's entity tags.
    pub(crate) generation: u64,
}

impl Catalog {
    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.by_path.get(&(group.to_owned(), version.to_owned(), plural.to_owned()))
    }

    pub(crate) fn by_kind(&self, api_version: &str, kind: &str) -> Option<&Arc<Resource>> {
        let (group, version) = split_api_version(api_version);
        let (_, resources) = self.groups.get(group)?.iter().find(|(v, _)| v == version)?;
        resources.iter().find(|r| r.kind == kind)
    }

    /// One resource for each place in the store.
    pub(crate) fn stored(&self) -> &[Arc<Resource>] {
        &self.stored
    }

    /// The resource whose objects lie at this place, in the version in which they lie there if that is served.
    pub(crate) fn by_store(&self, store: &str) -> Option<&Arc<Resource>> {
        self.by_store.get(store)
    }

    /// Notes the places in the store, once all resources are known.
    fn place(&mut self) {
        let mut seen = std::collections::HashSet::new();
        let served = self.groups.values().flatten().flat_map(|(_, resources)| resources);
        self.stored = served.filter(|r| r.allows("list") && seen.insert(r.store.clone())).cloned().collect();
        let placed = self.stored.iter().map(|found| {
            let stored = self.by_kind(&found.storage_api_version, &found.kind).unwrap_or(found);
            (found.store.clone(), stored.clone())
        });
        self.by_store = placed.collect();
    }

    fn add(&mut self, resource: Resource) {
        let resource = Arc::new(resource);
        self.by_path.insert(
            (resource.group.clone(), resource.version.clone(), resource.plural.clone()),
            resource.clone(),
        );
        let versions = self.groups.entry(resource.group.clone()).or_default();
        match versions.iter_mut().find(|(v, _)| *v == resource.version) {
            Some((_, list)) => list.push(resource),
            None => versions.push((resource.version.clone(), vec![resource])),
        }
    }
}

/// `apps/v1` → (`apps`, `v1`); `v1` → (``, `v1`).
pub(crate) fn split_api_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// The catalog of now; readers keep the one they started with.
#[derive(Debug)]
pub(crate) struct Registry {
    state: RwLock<State>,
}

#[derive(Debug)]
struct State {
    definitions: BTreeMap<String, Arc<Definition>>,
    catalog: Arc<Catalog>,
}

impl Registry {
    pub(crate) fn new() -> Self {
        let definitions = BTreeMap::new();
        let catalog = Arc::new(build(&definitions, 1));
        Self { state: RwLock::new(State { definitions, catalog }) }
    }

    /// Another registry that knows the same now and goes its own way.
    pub(crate) fn fork(&self) -> Self {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let copy = State { definitions: state.definitions.clone(), catalog: state.catalog.clone() };
        Self { state: RwLock::new(copy) }
    }

    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).catalog.clone()
    }

    /// Who, other than `name`, already uses one of these names in the group.
    pub(crate) fn name_taken(&self, group: &str, plural: &str, kind: &str, name: &str) -> Option<String> {
        let catalog = self.catalog();
        let taken = catalog.groups.get(group)?.iter().flat_map(|(_, r)| r).find(|r| {
            r.custom.as_ref().is_none_or(|d| d.name != name) && (r.plural == plural || r.kind == kind)
        })?;
        Some(taken.plural.clone())
    }

    pub(crate) fn put(&self, definition: Definition) {
        self.change(|definitions| {
            definitions.insert(definition.name.clone(), Arc::new(definition));
        });
    }

    pub(crate) fn remove(&self, name: &str) {
        self.change(|definitions| {
            definitions.remove(name);
        });
    }

    fn change(&self, edit: impl FnOnce(&mut BTreeMap<String, Arc<Definition>>)) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        edit(&mut state.definitions);
        let generation = state.catalog.generation + 1;
        state.catalog = Arc::new(build(&state.definitions, generation));
    }
}

fn build(definitions: &BTreeMap<String, Arc<Definition>>, generation: u64) -> Catalog {
    let mut catalog = Catalog { generation, ..Catalog::default() };
    for kind in builtin::kinds() {
        catalog.add(Resource::built_in(kind));
    }
    for definition in definitions.values() {
        for version in definition.versions.iter().filter(|v| v.served) {
            catalog.add(definition.resource(version));
        }
    }
    // Discovery prefers v2 to v1 to v1beta1 to v1alpha2.
    for versions in catalog.groups.values_mut() {
        versions.sort_by_key(|(v, _)| std::cmp::Reverse(version_rank(v)));
        for (_, resources) in versions {
            resources.sort_by(|a, b| a.plural.cmp(&b.plural));
        }
    }
    catalog.place();
    catalog
}

/// Orders versions as Kubernetes does: GA before beta before alpha, higher numbers first.
pub(crate) fn version_rank(version: &str) -> (u8, u64, u64) {
    let Some(rest) = version.strip_prefix('v') else { return (0, 0, 0) };
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (major, tail) = rest.split_at(digits);
    let major = major.parse().unwrap_or(0);
    if tail.is_empty() {
        (3, major, 0)
    } else if let Some(minor) = tail.strip_prefix("beta") {
        (2, major, minor.parse().unwrap_or(0))
    } else if let Some(minor) = tail.strip_prefix("alpha") {
        (1, major, minor.parse().unwrap_or(0))
    } else {
        (0, 0, 0)
    }
}

/// A text at a JSON pointer.
pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}
