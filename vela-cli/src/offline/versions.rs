//! Versions of definitions: those that were recorded, and those that given definitions would be recorded as.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use vela_engine::definition::{record, version};
use vela_engine::revision::Previous;
use vela_engine::{Definition, DefinitionKind, Diagnostic, Document, Snapshot, parse};

/// What keeps a version.
pub(super) const KIND: &str = "DefinitionRevision";

/// The newest number that each definition was recorded under.
#[derive(Default)]
pub(super) struct Recorded(BTreeMap<(DefinitionKind, String), Previous>);

impl Recorded {
    /// Adds what a DefinitionRevision keeps; one that keeps nothing readable is the matter of those who ask for it.
    pub(super) fn keep(&mut self, snapshot: &mut Snapshot, revision: &Value) -> Result<(), Diagnostic> {
        let name = revision["metadata"]["name"].as_str().unwrap_or_default();
        let spec = &revision["spec"];
        let Some(kept) = version::kept(name, spec) else { return Ok(()) };
        let mut object = kept.definition.clone();
        object["kind"] = kept.kind.kind().into();
        let definition = Definition::from_object(object)?;
        let number = spec["revision"].as_u64().unwrap_or_default();
        let hash = record::revision(&definition, None).hash;
        let newest = self.0.entry((kept.kind, kept.name.to_owned()));
        let newest = newest.or_insert_with(|| Previous { number: 0, hash: String::new() });
        if number >= newest.number {
            *newest = Previous { number, hash };
        }
        snapshot.insert_revision(kept.version, Arc::new(definition));
        Ok(())
    }

    /// Adds the version that a definition will be once it is recorded.
    pub(super) fn expect(&self, snapshot: &mut Snapshot, definition: &Arc<Definition>) {
        let key = (definition.kind(), definition.name().to_owned());
        let next = record::revision(definition, self.0.get(&key));
        if let Some(version) = next.name.strip_prefix(&format!("{}-v", definition.name()))
            && record::name_label(definition.kind()).is_some()
        {
            snapshot.insert_revision(version, definition.clone());
        }
    }
}

/// Does any of the applications ask for a version of a definition?
pub(super) fn are_asked(applications: &[Document]) -> bool {
    let asks = |application: &Document| {
        parse::references(application).definitions.iter().any(|(_, name)| version::asked(name).is_some())
    };
    applications.iter().any(asks)
}
