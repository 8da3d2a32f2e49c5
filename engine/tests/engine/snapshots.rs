//! Snapshots that tests render with: definitions of a text, or the built-in ones.

use vela_engine::{Snapshot, manifest};

/// One with the definitions of a text.
pub(crate) fn of(definitions: &str) -> Snapshot {
    let mut snapshot = Snapshot::default();
    for definition in manifest::read("definitions.yaml", definitions).unwrap() {
        snapshot.insert_definition_object(definition.into_value()).unwrap();
    }
    snapshot
}

/// One with the built-in definitions, as an installation brings them.
pub(crate) fn built_in() -> Snapshot {
    let mut snapshot = Snapshot::default();
    for definition in vela_definitions::builtin() {
        snapshot.insert_definition_object(definition.manifest("vela-system")).unwrap();
    }
    snapshot
}
