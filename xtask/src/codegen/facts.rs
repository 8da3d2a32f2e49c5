//! The facts of a release of Kubernetes about its kinds, recorded in an archive of the repository.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use vela_testkit::tar_gz;

use crate::command;

/// The release that was recorded.
pub(super) const RELEASE: &str = "1.36.3";
const ARCHIVE: &str = "xtask/kubernetes/facts.tar.gz";

/// A column of the table of a resource.
#[derive(serde::Deserialize, serde::Serialize)]
pub(super) struct Column {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) type_: String,
    pub(super) format: String,
    pub(super) priority: i64,
}

/// A resource that can be listed, as discovery and an empty list as a table show it.
#[derive(serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Resource {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) plural: String,
    pub(super) singular: String,
    pub(super) namespaced: bool,
    pub(super) short_names: Vec<String>,
    pub(super) categories: Vec<String>,
    pub(super) verbs: Vec<String>,
    pub(super) subresources: Vec<String>,
    pub(super) columns: Vec<Column>,
}

/// The facts of a release of Kubernetes about its kinds.
pub(super) struct Facts {
    /// The schemas of all OpenAPI v3 documents, without descriptions, by their full names.
    pub(super) schemas: Map<String, Value>,
    pub(super) resources: Vec<Resource>,
    /// The fields of each type in the protobuf form, as `golang` writes them, by the short name of the type.
    pub(super) structs: BTreeMap<String, Vec<String>>,
}

impl Facts {
    /// Reads the archive.
    pub(super) fn read() -> Result<Self, String> {
        let bytes =
            std::fs::read(command::root().join(ARCHIVE)).map_err(|error| format!("{ARCHIVE}: {error}"))?;
        let files = tar_gz::unpack(&bytes)?;
        Ok(Self {
            schemas: json(&files, "schemas.json")?,
            resources: json(&files, "resources.json")?,
            structs: json(&files, "structs.json")?,
        })
    }

    /// Writes the archive.
    pub(super) fn write(&self) -> Result<(), String> {
        let mut files = tar_gz::Files::new();
        files.insert("schemas.json".into(), pretty(&self.schemas)?);
        files.insert("resources.json".into(), pretty(&self.resources)?);
        files.insert("structs.json".into(), pretty(&self.structs)?);
        std::fs::write(command::root().join(ARCHIVE), tar_gz::pack(&files)?)
            .map_err(|error| format!("{ARCHIVE}: {error}"))
    }
}

fn json<T: serde::de::DeserializeOwned>(files: &tar_gz::Files, name: &str) -> Result<T, String> {
    let bytes = files.get(name).ok_or_else(|| format!("{ARCHIVE}: {name} is not in it"))?;
    serde_json::from_slice(bytes).map_err(|error| format!("{ARCHIVE}: {name}: {error}"))
}

fn pretty(value: &impl serde::Serialize) -> Result<Vec<u8>, String> {
    let mut bytes = serde_json::to_vec_pretty(value).map_err(|error| error.to_string())?;
    bytes.push(b'\n');
    Ok(bytes)
}
