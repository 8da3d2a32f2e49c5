//! The revisions of a definition → no more than the limit; the latest and those that applications name are kept.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::api::{DeleteParams, DynamicObject, Preconditions};
use vela_engine::definition::version;
use vela_engine::parse;
use vela_engine::{Definition, Document};
use vela_runtime::Api;
use vela_runtime::Key;

use super::reconciler::DefinitionReconciler;
use crate::application::fetch::json;

/// Delete the oldest revisions beyond the limit. A failure costs only space.
pub(super) async fn limit(
    definitions: &DefinitionReconciler,
    key: &Key,
    definition: &Definition,
    current: &str,
) {
    let found = definitions.of(key);
    // The latest one stands beside the limit.
    let excess = found.len().saturating_sub(definitions.context.options.definition_revision_limit + 1);
    if excess == 0 {
        return;
    }
    let mut used = used(definitions, definition, &found);
    used.insert(current.to_owned());
    let resource = &definitions.revisions.watch().resource;
    let api: Api<DynamicObject> =
        Api::namespaced_with(definitions.context.client.clone(), &key.namespace, resource);
    for object in found.into_iter().take(excess) {
        let name = object.metadata.name.clone().unwrap_or_default();
        if used.contains(&name) {
            continue;
        }
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: object.metadata.uid.clone(),
                resource_version: object.metadata.resource_version.clone(),
            }),
            ..DeleteParams::default()
        };
        match api.delete(&name, &params).await {
            Ok(_) => definitions.revisions.forget(&Key::of(&object)),
            Err(error) => tracing::warn!(%error, name, "cannot delete an old revision of a definition"),
        }
    }
}

/// Names of the revisions that some application means: `name@vX` is one of them, or the newest of a series.
fn used(
    definitions: &DefinitionReconciler,
    definition: &Definition,
    revisions: &[Arc<DynamicObject>],
) -> BTreeSet<String> {
    let prefix = format!("{}-v", definition.name());
    let names = revisions.iter().filter_map(|object| object.metadata.name.as_deref());
    let known: Vec<&str> = names.filter_map(|name| name.strip_prefix(&prefix)).collect();
    let mut used = BTreeSet::new();
    for application in definitions.applications.list() {
        let references = parse::references(&Document::from_object(json(&application)));
        let named = references.definitions.iter().filter(|(kind, _)| *kind == definition.kind());
        let asked = named.filter_map(|(_, type_)| version::parse_reference(type_));
        let meant = asked
            .filter(|asked| asked.name == definition.name())
            .filter_map(|asked| version::choose(asked.version, known.iter().copied()));
        used.extend(meant.map(|version| format!("{prefix}{version}")));
    }
    used
}
