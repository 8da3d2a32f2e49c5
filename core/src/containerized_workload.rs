//! A ContainerizedWorkload in; its Deployment, Service and ConfigMaps in the cluster, and its status, out.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ApiResource, DynamicObject};
use vela_crds::{ContainerizedWorkload, labels};
use vela_engine::containerized_workload as rendering;
use vela_runtime::cache::{Change, Index, Watch};
use vela_runtime::controller::controller_owner;
use vela_runtime::interest::Look;
use vela_runtime::owner::controlled_by;
use vela_runtime::{Action, Controller, Failure, Key, Reconciler};

use crate::context::Context;
use crate::standard::error::ReconcileError;
use crate::standard::reconciler_base::{Note, ReconcilerBase, json_of, typed};

const FIELD_MANAGER: &str = "vela-containerized-workload";
const DEPLOYMENT: &str = "cannot apply the deployment";
const CONFIG_MAP: &str = "cannot apply the configmap";
const SERVICE: &str = "cannot apply the service";

/// The controller of ContainerizedWorkloads; wakes for the Deployment, the Service and the ConfigMaps it made, too.
pub(crate) fn controller(context: &Context, workers: usize) -> Controller {
    let base = ReconcilerBase::new::<ContainerizedWorkload>(context, FIELD_MANAGER, &[]);
    let resource = ApiResource::erase::<ConfigMap>(&());
    // A cluster has many ConfigMaps that are nobody's here; those of applications carry this label.
    let maps = context.cache.informer(Watch::metadata(resource).labelled(labels::APP_COMPONENT));
    let owned =
        maps.index(|map| map.metadata.owner_references.iter().flatten().map(|o| o.uid.clone()).collect());
    let reconciler = ContainerizedWorkloadReconciler { base: base.clone(), maps: owned };
    let controller = base.controller("containerizedworkload", reconciler, workers);
    controller.watches(&maps, owner_of_lost)
}

/// A ConfigMap that vanished wakes the workload of its Deployment, which has its name.
fn owner_of_lost(change: &Change) -> Vec<Key> {
    let lost = change.old.as_ref().filter(|_| change.new.is_none());
    lost.and_then(|map| controller_owner(map, "apps", "Deployment")).into_iter().collect()
}

struct ContainerizedWorkloadReconciler {
    base: ReconcilerBase,
    /// ConfigMaps by the uids of their owners.
    maps: Index,
}

impl Reconciler for ContainerizedWorkloadReconciler {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let Some(live) = self.base.live(&key) else { return Ok(Action::Done) };
        let workload: ContainerizedWorkload = typed(&live)?;
        let mut status = workload.status.clone().unwrap_or_default();
        let look = self.base.interests.look(&key);
        let outcome = match self.base.for_author(&live).await {
            Ok(base) => Self { base, maps: self.maps.clone() }.bring_about(&look, &live, &workload).await,
            Err(error) => Err(error),
        };
        let outcome = outcome.map(|(objects, notes)| {
            status.resources = rendering::resources(&objects.iter().map(json_of).collect::<Vec<_>>());
            notes
        });
        self.base.report(&live, status, outcome).await
    }
}

impl ContainerizedWorkloadReconciler {
    /// Applies the Deployment, what its uid owns, and the Service; removes what is no longer wanted.
    async fn bring_about(
        &self,
        look: &Look,
        live: &DynamicObject,
        workload: &ContainerizedWorkload,
    ) -> Result<(Vec<DynamicObject>, Vec<Note>), ReconcileError> {
        let base = &self.base;
        let render = |error| ReconcileError::wrong("cannot render workload", error);
        let deployment = rendering::deployment(workload).map_err(render)?;
        let service = rendering::service(workload)
            .map_err(|error| ReconcileError::wrong("cannot render service", error))?;
        let applied = base.apply(look, live, deployment, DEPLOYMENT).await?;
        let mut notes: Vec<Note> = Note::of(&applied, "Deployment created").into_iter().collect();
        let uid = applied.object.metadata.uid.clone().unwrap_or_default();
        let maps = rendering::config_maps(workload, &uid).map_err(render)?;
        let wanted: Vec<String> =
            maps.iter().filter_map(|map| map["metadata"]["name"].as_str()).map(str::to_owned).collect();
        for map in maps {
            let guard = |live: &DynamicObject| controlled_by(live, &uid);
            let applied = base.apply_unwatched(map, CONFIG_MAP, &guard).await?;
            notes.extend(Note::of(&applied, "ConfigMap created"));
        }
        let mut objects = vec![(*applied.object).clone()];
        if let Some(service) = service {
            let applied = base.apply(look, live, service, SERVICE).await?;
            notes.extend(Note::of(&applied, "Service created"));
            objects.push((*applied.object).clone());
        }
        self.remove_stale(look, live, &objects).await?;
        self.remove_files(look, live, &uid, &wanted).await?;
        Ok((objects, notes))
    }

    /// Removes the ConfigMaps of files that are gone; the Deployment that mounts the others controls them.
    async fn remove_files(
        &self,
        look: &Look,
        live: &DynamicObject,
        deployment: &str,
        wanted: &[String],
    ) -> Result<(), ReconcileError> {
        let guard = |map: &DynamicObject| controlled_by(map, deployment);
        for map in self.maps.find(deployment) {
            if !wanted.iter().any(|name| map.metadata.name.as_ref() == Some(name)) {
                self.base.remove_guarded(look, live, &map, CONFIG_MAP, &guard).await?;
            }
        }
        Ok(())
    }

    /// Removes Deployments and Services that this workload controls and no longer wants.
    async fn remove_stale(
        &self,
        look: &Look,
        live: &DynamicObject,
        wanted: &[DynamicObject],
    ) -> Result<(), ReconcileError> {
        let uid = live.metadata.uid.clone().unwrap_or_default();
        let namespace = Key::of(live).namespace;
        for (api_version, kind, reason) in [("apps/v1", "Deployment", DEPLOYMENT), ("v1", "Service", SERVICE)]
        {
            let owned = look.owned_by(api_version, kind, &namespace, &uid).await;
            for object in owned.map_err(|error| ReconcileError::look(reason, &error))? {
                if !wanted.iter().any(|wanted| wanted.metadata.uid == object.metadata.uid) {
                    self.base.remove(look, live, &object, reason).await?;
                }
            }
        }
        Ok(())
    }
}
