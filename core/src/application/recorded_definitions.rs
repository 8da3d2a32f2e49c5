//! The definitions that a revision recorded → a snapshot that has them, under the names they were asked for by.

use std::sync::Arc;

use vela_engine::{Definition, Document, Snapshot, parse};

/// Adds definitions to the snapshot that were recorded under these names. A record names one version only by the definition's
/// name.
pub(crate) fn insert(
    definitions: &[(String, Arc<Definition>)],
    application: &Document,
    snapshot: &mut Snapshot,
) {
    for (asked, definition) in definitions {
        match asked.contains('@') {
            true => snapshot.insert_definition_version(asked, definition.clone()),
            false => snapshot.insert_definition(definition.clone()),
        }
    }
    for (kind, asked) in parse::references(application).definitions {
        let Some((name, _)) = asked.split_once('@') else { continue };
        if definitions.iter().any(|(known, definition)| *known == asked && definition.kind() == kind) {
            continue;
        }
        let of_it =
            |(known, definition): &&(String, Arc<Definition>)| known == name && definition.kind() == kind;
        if let Some((_, definition)) = definitions.iter().find(of_it) {
            snapshot.insert_definition_version(&asked, definition.clone());
        }
    }
}
