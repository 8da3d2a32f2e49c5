//! All resources at one moment, looked up by path, by kind or by their place in the store.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::resource::Resource;
use crate::builtin;
use crate::crd::Definition;

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

    /// The plural of the definition, other than `name`, that already uses one of these names in the group.
    pub(crate) fn name_taken(&self, group: &str, plural: &str, kind: &str, name: &str) -> Option<&str> {
        let taken = self.groups.get(group)?.iter().flat_map(|(_, r)| r).find(|r| {
            r.custom.as_ref().is_none_or(|d| d.name != name) && (r.plural == plural || r.kind == kind)
        })?;
        Some(&taken.plural)
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

/// The catalog of the built-in kinds and these definitions.
pub(super) fn build(definitions: &BTreeMap<String, Arc<Definition>>, generation: u64) -> Catalog {
    let mut catalog = Catalog { generation, ..Catalog::default() };
    for kind in builtin::kinds() {
        catalog.add(Resource::built_in(kind));
    }
    for definition in definitions.values() {
        for version in definition.versions.iter().filter(|v| v.served) {
            catalog.add(Resource::custom(definition, version));
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
