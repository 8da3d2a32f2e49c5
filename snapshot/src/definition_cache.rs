//! Caches parsed definitions while their objects stay at the same version.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use vela_engine::{Definition, DefinitionKind, Document};
use vela_runtime::Key;

/// Definitions kept as they were read; beyond this the memory begins anew.
const READ_AT_MOST: usize = 4000;

/// A definition, and which of its kept versions; empty for the one of now.
type Identity = (DefinitionKind, Key, String);

/// Each with the version of the object it was read from.
type Entries = BTreeMap<Identity, (String, Arc<Definition>)>;

/// The parsed definitions.
#[derive(Debug, Default)]
pub(crate) struct DefinitionCache(Mutex<Entries>);

impl DefinitionCache {
    /// The parsed document at this version. One without a version, of a file, is always read.
    pub(crate) fn get(&self, kind: DefinitionKind, document: &Document) -> Option<Arc<Definition>> {
        let (key, version) = identity(kind, document)?;
        let read = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        read.get(&key).filter(|(known, _)| *known == version).map(|(_, definition)| definition.clone())
    }

    pub(crate) fn insert(&self, kind: DefinitionKind, document: &Document, definition: &Arc<Definition>) {
        let Some((key, version)) = identity(kind, document) else { return };
        let mut read = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if read.len() >= READ_AT_MOST {
            read.clear();
        }
        read.insert(key, (version, definition.clone()));
    }
}

fn identity(kind: DefinitionKind, document: &Document) -> Option<(Identity, String)> {
    let metadata = document.value().get("metadata")?;
    let version = metadata.get("resourceVersion").and_then(Value::as_str)?;
    // A namesake made anew has another uid.
    let uid = metadata.get("uid").and_then(Value::as_str).unwrap_or_default();
    let kept = version.split_once('/').map_or("", |(kept, _)| kept);
    let key = Key::new(document.namespace(), document.name());
    Some(((kind, key, kept.to_owned()), format!("{uid} {version}")))
}
