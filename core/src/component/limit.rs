//! Deletes the oldest revisions of a Component beyond the limit; never the latest, and never one that a configuration
//! pins.

use std::collections::BTreeSet;

use kube::api::{DeleteParams, DynamicObject, ListParams, Preconditions};
use vela_crds::labels;
use vela_engine::application_configuration::revision::superfluous;
use vela_runtime::Api;
use vela_runtime::Key;
use vela_runtime::cache::Informer;

use crate::application::fetch::json;
use crate::context::Context;

/// Delete the oldest revisions beyond the limit. A failure costs only space.
pub(super) async fn limit(
    context: &Context,
    component: &Key,
    latest: &str,
    revisions: &Informer,
    configurations: &Informer,
) {
    let limit = context.options.component_revision_limit;
    let belongs = |object: &DynamicObject| {
        let labels = object.metadata.labels.as_ref();
        labels.and_then(|labels| labels.get(labels::CONTROLLER_REVISION_COMPONENT)) == Some(&component.name)
    };
    // Their names begin like the component's.
    let prefix = format!("{}-v", component.name);
    let mut found = revisions.list_prefixed(&component.namespace, &prefix);
    found.retain(|object| belongs(object));
    if found.len() <= limit {
        return;
    }
    let all: Vec<_> = found.iter().map(|object| json(object)).collect();
    let mut pinned = BTreeSet::new();
    configurations.list().iter().for_each(|configuration| pin(configuration, &mut pinned));
    let names = superfluous(&all, &pinned, latest, limit);
    if names.is_empty() {
        return;
    }
    // The cache may lack a configuration that pins one of them since a moment.
    let resource = &configurations.watch().resource;
    let api: Api<DynamicObject> =
        Api::namespaced_with(context.client.clone(), &component.namespace, resource);
    let mut now = BTreeSet::new();
    match api.list(&ListParams::default()).await {
        Ok(list) => list.items.iter().for_each(|configuration| pin(configuration, &mut now)),
        Err(error) => return tracing::warn!(%error, %component, "cannot see which revisions are pinned"),
    }
    let api: Api<DynamicObject> =
        Api::namespaced_with(context.client.clone(), &component.namespace, &revisions.watch().resource);
    for name in names.into_iter().filter(|name| !now.contains(name)) {
        let seen = found.iter().find(|object| object.metadata.name.as_deref() == Some(&name));
        let uid = seen.and_then(|object| object.metadata.uid.clone());
        let preconditions = Some(Preconditions { uid, resource_version: None });
        match api.delete(&name, &DeleteParams { preconditions, ..DeleteParams::default() }).await {
            Ok(_) => revisions.forget(&Key::new(component.namespace.clone(), name)),
            Err(error) => tracing::warn!(%error, name, "cannot delete an old revision"),
        }
    }
}

/// The revisions that a configuration pins.
fn pin(configuration: &DynamicObject, names: &mut BTreeSet<String>) {
    for component in configuration.data["spec"]["components"].as_array().into_iter().flatten() {
        names.extend(component["revisionName"].as_str().filter(|name| !name.is_empty()).map(str::to_owned));
    }
}
