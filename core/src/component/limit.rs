//! Too many revisions of a Component → the oldest deleted, those that a configuration pins kept.

use std::collections::BTreeSet;

use kube::Api;
use kube::api::{DeleteParams, DynamicObject};
use vela_crds::labels;
use vela_engine::application_configuration::revision::superfluous;
use vela_runtime::Key;
use vela_runtime::cache::Informer;

use crate::application::fetch::json;
use crate::context::Context;

/// Revisions kept beside the pinned ones.
const KEPT: usize = 50;

/// Delete the oldest revisions beyond the limit. A failure costs only space.
pub(super) async fn limit(
    context: &Context,
    component: &Key,
    revisions: &Informer,
    configurations: &Informer,
) {
    let belongs = |object: &DynamicObject| {
        object.metadata.namespace.as_deref() == Some(&component.namespace)
            && object
                .metadata
                .labels
                .as_ref()
                .and_then(|labels| labels.get(labels::CONTROLLER_REVISION_COMPONENT))
                == Some(&component.name)
    };
    let found = revisions.list_where(belongs);
    if found.len() <= KEPT {
        return;
    }
    let all: Vec<_> = found.iter().map(|object| json(object)).collect();
    let api: Api<DynamicObject> =
        Api::namespaced_with(context.client.clone(), &component.namespace, &revisions.watch().resource);
    for name in superfluous(&all, &pinned(configurations), KEPT) {
        match api.delete(&name, &DeleteParams::default()).await {
            Ok(_) => revisions.forget(&Key::new(component.namespace.clone(), name)),
            Err(error) => tracing::warn!(%error, name, "cannot delete an old revision"),
        }
    }
}

fn pinned(configurations: &Informer) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for configuration in configurations.list() {
        for component in configuration.data["spec"]["components"].as_array().into_iter().flatten() {
            names.extend(component["revisionName"].as_str().map(str::to_owned));
        }
    }
    names
}
