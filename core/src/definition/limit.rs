//! The revisions of a definition → no more than the limit; the latest and those that applications name are kept.

use kube::Api;
use kube::api::{DeleteParams, DynamicObject, Preconditions};
use vela_engine::parse;
use vela_engine::{Definition, Document};
use vela_runtime::Key;

use super::Definitions;
use crate::application::fetch::json;

/// Delete the oldest revisions beyond the limit. A failure costs only space.
pub(super) async fn limit(definitions: &Definitions, key: &Key, definition: &Definition) {
    let mut found = definitions.of(key);
    // The latest one stands beside the limit.
    found.pop();
    let excess = found.len().saturating_sub(definitions.context.options.definition_revision_limit);
    if excess == 0 {
        return;
    }
    let used = used(definitions, definition);
    let resource = &definitions.revisions.watch().resource;
    let api: Api<DynamicObject> =
        Api::namespaced_with(definitions.context.client.clone(), &key.namespace, resource);
    for object in found.into_iter().take(excess) {
        let name = object.metadata.name.clone().unwrap_or_default();
        let number = object.data["spec"]["revision"].to_string();
        if used.contains(&number) {
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

/// Numbers of the revisions that some application names: `name@vN`.
fn used(definitions: &Definitions, definition: &Definition) -> Vec<String> {
    let prefix = format!("{}@v", definition.name());
    let mut numbers = Vec::new();
    for application in definitions.applications.list() {
        let references = parse::references(&Document::from_object(json(&application)));
        let named = references.definitions.iter().filter(|(kind, _)| *kind == definition.kind());
        numbers.extend(named.filter_map(|(_, name)| Some(name.strip_prefix(&prefix)?.to_owned())));
    }
    numbers
}
