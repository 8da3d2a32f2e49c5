//! Which workloads ask for a Service, and which of them has it where several do.

use std::sync::{Arc, PoisonError, RwLock};

use kube::api::DynamicObject;
use vela_runtime::cache::{Index, Watch};
use vela_runtime::{Cache, Change, Informer, Key, owner};

use crate::workload::{KINDS, Workload, WorkloadKind};

/// The workloads of all kinds, found by the Service that they ask for.
#[derive(Clone)]
pub(crate) struct Claims {
    kinds: Arc<[Claimants]>,
    namespace: Option<String>,
}

struct Claimants {
    kind: WorkloadKind,
    /// Nothing while the kind is not watched: the cluster may not have it.
    watched: RwLock<Option<Watched>>,
}

#[derive(Clone)]
struct Watched {
    workloads: Arc<Informer>,
    by_service: Index,
}

impl Claims {
    /// Those of all namespaces, or of one; no kind is watched yet.
    pub(crate) fn new(namespace: Option<&str>) -> Self {
        let claimants = |kind: WorkloadKind| Claimants { kind, watched: RwLock::default() };
        Self { kinds: KINDS.into_iter().map(claimants).collect(), namespace: namespace.map(str::to_owned) }
    }

    /// Watches the workloads of a kind from now on.
    pub(crate) fn watch(&self, kind: WorkloadKind, cache: &Cache) -> Arc<Informer> {
        let workloads =
            cache.informer(Watch { namespace: self.namespace.clone(), ..Watch::full(kind.resource()) });
        let by_service = workloads.index_of_spec(move |object| terms(kind, object));
        self.set(kind, Some(Watched { workloads: workloads.clone(), by_service }));
        workloads
    }

    /// The cluster does not have the kind any more, nor workloads of it.
    pub(crate) fn leave(&self, kind: WorkloadKind) {
        self.set(kind, None);
    }

    fn set(&self, kind: WorkloadKind, watched: Option<Watched>) {
        for claimants in self.kinds.iter().filter(|claimants| claimants.kind == kind) {
            *claimants.watched.write().unwrap_or_else(PoisonError::into_inner) = watched.clone();
        }
    }

    /// The workload as the cache has it.
    pub(crate) fn workload(&self, kind: WorkloadKind, key: &Key) -> Option<Arc<DynamicObject>> {
        let claimants = self.kinds.iter().find(|claimants| claimants.kind == kind)?;
        claimants.watched()?.workloads.get(key)
    }

    /// Every workload that asks for this Service, the oldest first.
    pub(crate) fn of_service(&self, service: &Key) -> Vec<Workload> {
        let term = service.to_string();
        let mut found: Vec<Workload> = self
            .kinds
            .iter()
            .flat_map(|claimants| {
                let found = claimants.watched().map(|watched| watched.by_service.find(&term));
                found.into_iter().flatten().map(move |object| Workload::of(claimants.kind, &object))
            })
            .filter(|workload| !workload.is_going)
            .collect();
        found.sort_by(|a, b| (&a.created, a.kind, &a.key).cmp(&(&b.created, b.kind, &b.key)));
        found
    }

    /// The workloads of one kind that ask for this Service.
    pub(crate) fn keys_of_service(&self, kind: WorkloadKind, service: &Key) -> Vec<Key> {
        self.keys(kind, &service.to_string())
    }

    /// The workloads of one kind that ask for the Service that a changed workload asks for, or asked for before.
    pub(crate) fn keys_beside(&self, kind: WorkloadKind, of: WorkloadKind, change: &Change) -> Vec<Key> {
        let objects = [&change.old, &change.new].into_iter().flatten();
        objects.flat_map(|object| terms(of, object)).flat_map(|term| self.keys(kind, &term)).collect()
    }

    fn keys(&self, kind: WorkloadKind, term: &str) -> Vec<Key> {
        let claimants = self.kinds.iter().filter(|claimants| claimants.kind == kind);
        let watched = claimants.filter_map(Claimants::watched);
        watched.flat_map(|watched| watched.by_service.find(term)).map(|object| Key::of(&object)).collect()
    }

    /// Whether a Service is about to be deleted: the workload that controls it is gone, which is for the garbage collector, or
    /// asks for another one now, and deletes it itself.
    pub(crate) fn is_going(&self, service: &DynamicObject) -> bool {
        let Some(reference) = owner::controller_of(service) else { return false };
        let name = Key::of(service);
        let key = Key::new(name.namespace.clone(), reference.name.clone());
        let of_kind = self
            .kinds
            .iter()
            .find(|c| c.kind.kind == reference.kind && c.kind.api_version() == reference.api_version);
        let Some(claimants) = of_kind else { return false };
        // Of a kind that is not listed it is not known.
        let Some(watched) = claimants.watched().filter(|watched| watched.workloads.is_synced()) else {
            return false;
        };
        let found = watched.workloads.get(&key).map(|object| Workload::of(claimants.kind, &object));
        match found.filter(|workload| workload.uid == reference.uid) {
            None => true,
            // A mistake leaves the Service as it was.
            Some(workload) => workload
                .sidecar()
                .is_ok_and(|sidecar| sidecar.is_none_or(|sidecar| sidecar.service_name() != name.name)),
        }
    }
}

impl Claimants {
    fn watched(&self) -> Option<Watched> {
        self.watched.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The Service that an object asks for, as a term of an index.
fn terms(kind: WorkloadKind, object: &DynamicObject) -> Vec<String> {
    let workload = Workload::of(kind, object);
    let sidecar = workload.sidecar().ok().flatten();
    let service = |name: String| Key::new(workload.key.namespace.clone(), name).to_string();
    sidecar.map(|sidecar| service(sidecar.service_name())).into_iter().collect()
}

/// The workload that has the Service: the one that controls it already, else the oldest. So the owner changes only when it
/// goes or asks for another Service.
pub(crate) fn owner_of<'a>(claims: &'a [Workload], service: Option<&DynamicObject>) -> Option<&'a Workload> {
    let controller = service.and_then(owner::controller_of);
    let holder = controller.and_then(|owner| claims.iter().find(|workload| workload.uid == owner.uid));
    holder.or(claims.first())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::workload::DEPLOYMENT;

    fn workload(name: &str) -> Workload {
        let object = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "n", "uid": name},
        });
        Workload::of(DEPLOYMENT, &serde_json::from_value(object).unwrap())
    }

    #[test]
    fn who_has_the_service_stays_its_owner() {
        let claims = [workload("old"), workload("new")];
        let owned = |uid: &str| -> DynamicObject {
            let owner = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": uid, "uid": uid, "controller": true});
            let metadata = json!({"name": "s", "ownerReferences": [owner]});
            serde_json::from_value(json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata}))
                .unwrap()
        };
        let owner = |service: Option<&DynamicObject>| owner_of(&claims, service).unwrap().uid.clone();
        assert_eq!(owner(None), "old");
        assert_eq!(owner(Some(&owned("new"))), "new");
        assert_eq!(owner(Some(&owned("gone"))), "old");
        assert!(owner_of(&[], None).is_none());
    }
}
