//! Changes of what configurations name, and of whose authors they act for → the configurations to reconcile.

use std::sync::Arc;

use kube::api::{ApiResource, DynamicObject};
use vela_crds::HealthScope;
use vela_crds::annotations::STAMPS;
use vela_runtime::cache::{Change, Index, Watch};
use vela_runtime::owner::controller_of;
use vela_runtime::{Controller, Key};

use super::reconciler::ApplicationConfigurationReconciler;

/// The controller, woken by its configurations and by everything they name.
pub(super) fn controller(reconciler: ApplicationConfigurationReconciler, workers: usize) -> Controller {
    let context = reconciler.context.clone();
    let configurations = reconciler.configurations.clone();
    let applications = reconciler.applications.clone();
    let (components, owned, cluster) =
        (reconciler.components.clone(), reconciler.owned.clone(), reconciler.cluster.clone());
    let flows = reconciler.flows.clone();
    let scopes = context.cache.informer(Watch::full(ApiResource::erase::<HealthScope>(&())));
    let mut controller =
        Controller::new("applicationconfiguration", reconciler).for_kind(&configurations).workers(workers);
    owned.wake(controller.queue());
    flows.wake(controller.queue());
    if let Some(applications) = &applications {
        let stored = configurations.index(|configuration| {
            controller_of(configuration).map(|owner| owner.uid.clone()).into_iter().collect()
        });
        controller = controller.watches(applications, move |change| author_changed(change, &stored));
    }
    // Components, their revisions and scopes wake those that name them, definitions wake every configuration: they
    // change rarely.
    let naming = configurations.index(names);
    let among = naming.clone();
    controller = controller.watches(&components, move |change| named(change, &among, COMPONENT));
    let among = naming.clone();
    controller = controller
        .watches(&crate::component::revisions(&context), move |change| named(change, &among, REVISION));
    let among = naming;
    controller = controller.watches(&scopes, move |change| {
        let wanted = |object: &Arc<DynamicObject>| (object.metadata.uid.clone(), object.metadata.generation);
        // Its health is none of our business.
        if change.old.is_some() && change.old.as_ref().map(wanted) == change.new.as_ref().map(wanted) {
            return Vec::new();
        }
        named(change, &among, SCOPE)
    });
    for informer in cluster.definitions().values() {
        let among = configurations.clone();
        controller = controller.watches(informer, move |change| match change.initial {
            true => Vec::new(),
            false => among.list().iter().map(|configuration| Key::of(configuration)).collect(),
        });
    }
    controller
}

/// The configurations, by who controls them, that were stored for an application whose author is another one now.
fn author_changed(change: &Change, configurations: &Index) -> Vec<Key> {
    let (Some(old), Some(new)) = (&change.old, &change.new) else { return Vec::new() };
    let stamp = |object: &DynamicObject| {
        STAMPS.map(|key| object.metadata.annotations.as_ref().and_then(|all| all.get(key)).cloned())
    };
    if stamp(old) == stamp(new) {
        return Vec::new();
    }
    let stored = configurations.find(new.metadata.uid.as_deref().unwrap_or_default());
    stored.iter().map(|configuration| Key::of(configuration)).collect()
}

/// The references of a configuration: the words that the terms of the index begin with.
const COMPONENT: &str = "component";
const REVISION: &str = "revision";
const SCOPE: &str = "scope";

fn term(what: &str, namespace: Option<&str>, name: &str) -> String {
    format!("{what} {} {name}", namespace.unwrap_or_default())
}

/// The terms of everything a configuration names: the pinned revision of a component, or else the component.
fn names(configuration: &DynamicObject) -> Vec<String> {
    let namespace = configuration.metadata.namespace.as_deref();
    let entries = configuration.data["spec"]["components"].as_array();
    let mut terms = Vec::new();
    for entry in entries.into_iter().flatten() {
        terms.push(match entry["revisionName"].as_str().unwrap_or_default() {
            "" => term(COMPONENT, namespace, entry["componentName"].as_str().unwrap_or_default()),
            pinned => term(REVISION, namespace, pinned),
        });
        let scopes = entry["scopes"].as_array().into_iter().flatten();
        let scopes = scopes.filter_map(|scope| scope["scopeRef"]["name"].as_str());
        terms.extend(scopes.map(|scope| term(SCOPE, namespace, scope)));
    }
    terms
}

/// The configurations of the changed object's namespace with an entry that names it.
fn named(change: &Change, among: &Index, what: &str) -> Vec<Key> {
    let Some(object) = change.object().filter(|_| !change.initial) else { return Vec::new() };
    let name = object.metadata.name.as_deref().unwrap_or_default();
    let found = among.find(&term(what, object.metadata.namespace.as_deref(), name));
    found.iter().map(|configuration| Key::of(configuration)).collect()
}
