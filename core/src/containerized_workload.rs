//! Reconciles a ContainerizedWorkload: writes its Deployment, Service, ConfigMaps and claims of disks, and its status.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ApiResource, DynamicObject};
use vela_crds::containerized_workload::ContainerizedWorkloadStatus;
use vela_crds::{ContainerizedWorkload, TypedReference, labels};
use vela_engine::containerized_workload as rendering;
use vela_runtime::cache::{Index, Watch};
use vela_runtime::dynamic_watch::TrackedReads;
use vela_runtime::owner::controlled_by;
use vela_runtime::{Controller, Key, Predicate};

use crate::context::Context;
use crate::standard::deployment_workload::{Deployed, DeployedWorkload, DeployedWorkloadReconciler};
use crate::standard::error::ReconcileError;
use crate::standard::reconciler_base::{Note, ReconcilerBase, json_of};

const FIELD_MANAGER: &str = "vela-containerized-workload";
const CONFIG_MAP: &str = "cannot apply the configmap";
const CLAIM: &str = "cannot apply the persistentvolumeclaim";

/// The controller of ContainerizedWorkloads; wakes for the Deployment, the Service and the ConfigMaps it made, too.
pub(crate) fn controller(context: &Context, workers: usize) -> Controller {
    let base = ReconcilerBase::new::<ContainerizedWorkload>(context, FIELD_MANAGER, &[]);
    let resource = ApiResource::erase::<ConfigMap>(&());
    // A cluster has many foreign ConfigMaps; those of applications carry this label.
    let maps = context.cache.informer(Watch::metadata(resource).labelled(labels::APP_COMPONENT));
    let owned =
        maps.index(|map| map.metadata.owner_references.iter().flatten().map(|o| o.uid.clone()).collect());
    let kind = Containerized { maps: owned };
    let reconciler = DeployedWorkloadReconciler { base: base.clone(), kind };
    let controller = base.controller("containerizedworkload", reconciler, workers);
    // A ConfigMap that vanished wakes the workload of its Deployment, which has its name.
    controller.owns(maps.only(Predicate::deleted()), "apps", "Deployment")
}

struct Containerized {
    /// ConfigMaps by the uids of their owners.
    maps: Index,
}

impl DeployedWorkload for Containerized {
    type Workload = ContainerizedWorkload;
    type Status = ContainerizedWorkloadStatus;

    fn status(workload: &ContainerizedWorkload) -> ContainerizedWorkloadStatus {
        workload.status.clone().unwrap_or_default()
    }

    fn resources(status: &mut ContainerizedWorkloadStatus) -> &mut Vec<TypedReference> {
        &mut status.resources
    }

    /// Applies the Deployment, what its uid owns, and the Service; removes what is no longer wanted.
    async fn reconcile_children(
        &self,
        base: &ReconcilerBase,
        look: &TrackedReads,
        live: &DynamicObject,
        workload: &ContainerizedWorkload,
    ) -> Result<Deployed, ReconcileError> {
        let render = |error| ReconcileError::wrong("cannot render workload", error);
        let deployment = rendering::deployment(workload).map_err(render)?;
        let service = rendering::service(workload)
            .map_err(|error| ReconcileError::wrong("cannot render service", error))?;
        let claimed = claim_disks(base, look, workload).await?;
        let mut deployed = Deployed::deployment(base, look, live, deployment).await?;
        claimed.into_iter().for_each(|note| deployed.note(Some(note)));
        let uid = deployed.uid();
        let maps = rendering::config_maps(workload, &uid).map_err(render)?;
        let wanted: Vec<String> =
            maps.iter().filter_map(|map| map["metadata"]["name"].as_str()).map(str::to_owned).collect();
        for map in maps {
            let guard = |live: &DynamicObject| controlled_by(live, &uid);
            let applied = base.apply_unwatched(map, CONFIG_MAP, &guard).await?;
            deployed.note(Note::of(&applied, "ConfigMap created"));
        }
        let deployed = deployed.service(base, look, live, service).await?;
        self.remove_files(base, look, live, &uid, &wanted).await?;
        Ok(deployed)
    }
}

/// Makes the missing claims, and lets those grow that are too small. None is deleted, here or anywhere: only the user may
/// throw their data away.
async fn claim_disks(
    base: &ReconcilerBase,
    look: &TrackedReads,
    workload: &ContainerizedWorkload,
) -> Result<Vec<Note>, ReconcileError> {
    let claims = rendering::claims(workload);
    let mut notes = Vec::new();
    for claim in claims.map_err(|error| ReconcileError::wrong("cannot render workload", error))? {
        let text = |field: &str| claim["metadata"][field].as_str().unwrap_or_default().to_owned();
        let key = Key::new(text("namespace"), text("name"));
        let live = look.get("v1", "PersistentVolumeClaim", &key).await;
        let live = live.map_err(|error| ReconcileError::look(CLAIM, &error))?;
        let fits = |live: &DynamicObject| rendering::is_large_enough(&json_of(live), &claim);
        if let Some(live) = live {
            let wrong =
                |error: String| ReconcileError::wrong(CLAIM, format!("PersistentVolumeClaim {key}: {error}"));
            if fits(&live).map_err(wrong)? {
                continue;
            }
        }
        let guard = |live: &DynamicObject| fits(live).map(|_| ());
        let applied = base.apply_guarded(look, claim.clone(), CLAIM, &guard).await?;
        notes.extend(Note::of(&applied, "PersistentVolumeClaim created"));
    }
    Ok(notes)
}

impl Containerized {
    /// Removes the ConfigMaps of files that are gone; the Deployment that mounts the others controls them.
    async fn remove_files(
        &self,
        base: &ReconcilerBase,
        look: &TrackedReads,
        live: &DynamicObject,
        deployment: &str,
        wanted: &[String],
    ) -> Result<(), ReconcileError> {
        let guard = |map: &DynamicObject| controlled_by(map, deployment);
        for map in self.maps.find(deployment) {
            if !wanted.iter().any(|name| map.metadata.name.as_ref() == Some(name)) {
                base.remove_guarded(look, live, &map, CONFIG_MAP, &guard).await?;
            }
        }
        Ok(())
    }
}
