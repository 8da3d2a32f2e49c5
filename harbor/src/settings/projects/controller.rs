//! What the operator works with → the controller of namespaces that ask for a project, with all that wakes it.

use std::sync::Arc;

use kube::api::{ApiResource, GroupVersionKind};
use vela_runtime::cache::Watch;
use vela_runtime::events::EventRecorder;
use vela_runtime::{Controller, Informer, Key, Predicate};

use super::bound;
use super::reconciler::{NamespaceReconciler, Stores, Tools};
use super::wish;

/// The controller of namespaces, which reads all HarborServerConfigurations and all PullSecretBindings.
pub(crate) fn projects(tools: Tools, servers: Arc<Informer>, bindings: Arc<Informer>) -> Controller {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Namespace"));
    let namespaces = tools.cache.informer(Watch::full(resource.clone()));
    let watches = tools.watches.clone();
    let events = EventRecorder::new(tools.client.clone(), "vela-harbor");
    let stores =
        Stores { namespaces: namespaces.clone(), servers: servers.clone(), bindings: bindings.clone() };
    let reconciler = NamespaceReconciler { tools, events, resource, stores };
    // Which of the servers is for a namespace depends on all of them. The handler lives as long as the informer.
    let all = Arc::downgrade(&namespaces);
    // What a namespace asks for stands in its annotations, and its labels are selected by.
    let steering = Predicate::annotations_changed().or(Predicate::labels_changed());
    let controller = Controller::new("harbor-namespace", reconciler)
        .watches(namespaces.only(steering), wish::asking)
        .watches(&bindings, bound::place)
        .watches(servers.only(Predicate::status_aside()), move |_| {
            let asking = all.upgrade().map(|all| all.list_where(wish::asks)).unwrap_or_default();
            asking.iter().map(|namespace| Key::of(namespace)).collect()
        });
    watches.wake(controller.queue());
    controller
}
