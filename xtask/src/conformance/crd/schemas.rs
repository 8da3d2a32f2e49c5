//! Compiles the schemas of every release and ours, by kind and version.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use vela_apiserver::schema::Structural;

/// Releases, oldest first: where they disagree on a default, the first that says one is taken.
const ERAS: [&str; 3] = ["v0.3", "v1.0", "today"];
/// The groups that are ours; CUE packages as objects of their own belong to another project.
const GROUPS: [&str; 2] = ["core.oam.dev", "standard.oam.dev"];

/// One version of a kind, as every release has it.
pub(super) struct Kind {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
    pub(super) references: Vec<Reference>,
    /// Absent where the kind is missing.
    pub(super) ours: Option<Structural>,
}

/// The schema of one release.
pub(super) struct Reference {
    pub(super) era: String,
    pub(super) structural: Structural,
}

type Key = (String, String, String);

/// Every kind.
pub(super) struct Schemas {
    kinds: BTreeMap<Key, Arc<Kind>>,
}

impl Schemas {
    pub(super) fn read(folder: &Path) -> Result<Self, String> {
        let mut ours = BTreeMap::new();
        for crd in vela_crds::crds().map_err(|e| e.to_string())? {
            let crd = serde_json::to_value(crd).map_err(|e| e.to_string())?;
            ours.extend(versions(&crd, "ours")?);
        }
        let mut kinds = BTreeMap::<Key, Kind>::new();
        for era in ERAS {
            for crd in crds(&folder.join(era))? {
                for (key, structural) in versions(&crd, era)? {
                    let (group, version, name) = key.clone();
                    let ours = ours.remove(&key);
                    let new = Kind { group, version, kind: name, references: Vec::new(), ours };
                    let kind = kinds.entry(key).or_insert(new);
                    kind.references.push(Reference { era: era.to_owned(), structural });
                }
            }
        }
        kinds.retain(|(group, ..), _| GROUPS.contains(&group.as_str()));
        Ok(Self { kinds: kinds.into_iter().map(|(key, kind)| (key, Arc::new(kind))).collect() })
    }

    pub(super) fn kinds(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.kinds.values()
    }

    pub(super) fn find(&self, api_version: &str, kind: &str) -> Option<Arc<Kind>> {
        let (group, version) = api_version.split_once('/')?;
        self.kinds.get(&(group.to_owned(), version.to_owned(), kind.to_owned())).cloned()
    }
}

/// The CRDs of a folder, in the order of the file names.
fn crds(folder: &Path) -> Result<Vec<Value>, String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut paths: Vec<_> = entries.flatten().map(|e| e.path()).collect();
    paths.sort();
    let mut crds = Vec::new();
    for path in paths.iter().filter(|p| p.extension().is_some_and(|e| e == "yaml")) {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let documents: Vec<Value> =
            serde_saphyr::from_multiple(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        crds.extend(documents.into_iter().filter(|d| !d.is_null()));
    }
    Ok(crds)
}

/// The compiled schemas of a CRD by group, version and kind.
fn versions(crd: &Value, whose: &str) -> Result<Vec<(Key, Structural)>, String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (group, kind) = (text(&crd["spec"]["group"]), text(&crd["spec"]["names"]["kind"]));
    let mut found = Vec::new();
    for version in crd["spec"]["versions"].as_array().into_iter().flatten() {
        let name = text(&version["name"]);
        let structural = Structural::compile(&version["schema"]["openAPIV3Schema"]).map_err(|causes| {
            let first = causes.first().map(|c| format!("{}: {}", c.field, c.message));
            format!("{whose} {kind} {name} is not structural: {}", first.unwrap_or_default())
        })?;
        found.push(((group.clone(), name, kind.clone()), structural));
    }
    Ok(found)
}
