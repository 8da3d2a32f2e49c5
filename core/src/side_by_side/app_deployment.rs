//! An AppDeployment in; its revisions side by side, the share of requests of each, and its status, out.

use std::collections::BTreeSet;

use kube::api::DynamicObject;
use serde_json::Value;
use vela_crds::app_deployment::{AppDeploymentStatus, ClusterPlacementStatus, PlacementStatus};
use vela_crds::{AppDeployment, labels};
use vela_engine::side_by_side::revision_objects::{Owner, objects};
use vela_engine::side_by_side::traffic::{self, Split};
use vela_engine::{LOCAL, ObjectKey, side_by_side};
use vela_runtime::dynamic_watch::TrackedReads;
use vela_runtime::{Action, Failure, Key, Reconciler};

use super::deployer::{Deployer, Rendered, owner_of};
use crate::standard::error::ReconcileError;
use crate::standard::reconciler_base::{Note, ReconcilerBase, typed};

const READ: &str = "cannot carry out the placement";
const TRAFFIC: &str = "cannot split the requests";

/// The phases.
const ROLLING: &str = "Rolling";
const COMPLETED: &str = "Completed";
const FAILED: &str = "Failed";

pub(super) struct AppDeploymentReconciler {
    pub(super) deployer: Deployer,
}

impl Reconciler for AppDeploymentReconciler {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let base = &self.deployer.base;
        let Some(live) = base.live(&key) else { return Ok(Action::Done) };
        let deployment: AppDeployment = typed(&live)?;
        let mut status = deployment.status.clone().unwrap_or_default();
        let look = base.interests.track(&key);
        let outcome = match base.for_author(&live).await {
            Ok(acting) => self.deploy(&acting, &look, &live, &deployment, &mut status).await,
            Err(error) => Err(error),
        };
        if outcome.as_ref().is_err_and(ReconcileError::is_lasting) {
            status.phase = Some(FAILED.to_owned());
        }
        base.report(&live, status, outcome).await
    }
}

impl AppDeploymentReconciler {
    /// First everything wanted, then the shares of the requests, and last, when all is ready, the unwanted objects go: no
    /// request is sent to absent pods.
    async fn deploy(
        &self,
        base: &ReconcilerBase,
        look: &TrackedReads,
        live: &DynamicObject,
        deployment: &AppDeployment,
        status: &mut AppDeploymentStatus,
    ) -> Result<Vec<Note>, ReconcileError> {
        let name = deployment.metadata.name.clone().unwrap_or_default();
        let mut owner = owner_of(live, ("core.oam.dev/v1beta1", "AppDeployment"));
        owner.label = Some((labels::APP_DEPLOYMENT.to_owned(), name.clone()));
        let placed = side_by_side::placements(&deployment.spec);
        let placed = placed.map_err(|error| ReconcileError::wrong(READ, error))?;
        let revisions = self.deployer.render(placed, &owner).await?;
        let split = split(deployment, &name, &revisions, &owner)?;
        let services = split.iter().flat_map(|split| &split.services);
        let numbered = revisions.iter().map(|revision| (revision.number, revision.components.as_slice()));
        let all: Vec<&Value> = objects(numbered).into_iter().chain(services).collect();
        let mut outcome = self.deployer.apply(base, look, live, &all, &revisions).await?;
        let former: Vec<String> =
            status.placement.iter().filter_map(|one| one.revision_name.clone()).collect();
        record(status, &revisions, ROLLING);
        // Requests go to pods that are there; away from others they go at once.
        if let Some(split) = split.as_ref().filter(|split| split.targets.is_disjoint(&outcome.unready)) {
            // Without Istio no router splits requests, which the status says; the Services are there all the same.
            let applied = base.apply(look, live, split.route.clone(), TRAFFIC).await?;
            outcome.notes.extend(Note::of(&applied, "Traffic"));
        }
        if !outcome.unready.is_empty() {
            return Ok(outcome.notes);
        }
        let route = split.iter().map(|split| &split.route);
        let wanted: BTreeSet<ObjectKey> = all.into_iter().chain(route).map(ObjectKey::of).collect();
        if split.is_none() {
            outcome.notes.extend(remove_route(base, look, live).await?);
        }
        let removed = self.deployer.remove_others((base, look, live), &wanted, &former, &owner).await?;
        outcome.notes.extend(removed);
        record(status, &revisions, COMPLETED);
        Ok(outcome.notes)
    }
}

/// Removes the VirtualService of an earlier wish, where Istio is installed.
async fn remove_route(
    base: &ReconcilerBase,
    look: &TrackedReads,
    live: &DynamicObject,
) -> Result<Option<Note>, ReconcileError> {
    let Ok(Some(found)) = look.known(traffic::API_VERSION, traffic::KIND, &Key::of(live)).await else {
        return Ok(None);
    };
    let is_gone = base.remove(look, live, &found, TRAFFIC).await?;
    let text = format!("{} {} removed", traffic::KIND, Key::of(live).name);
    Ok(is_gone.then_some(Note { reason: "Traffic", text }))
}

fn split(
    deployment: &AppDeployment,
    name: &str,
    revisions: &[Rendered],
    owner: &Owner,
) -> Result<Option<Split>, ReconcileError> {
    let Some(wanted) = &deployment.spec.traffic else { return Ok(None) };
    let all: Vec<traffic::Revision<'_>> =
        revisions.iter().map(|revision| (&revision.placed, revision.components.as_slice())).collect();
    let split = traffic::split(wanted, name, &all, owner);
    split.map(Some).map_err(|error| ReconcileError::wrong(TRAFFIC, error))
}

/// The revisions that run; those of an earlier wish stay named until they are gone.
fn record(status: &mut AppDeploymentStatus, revisions: &[Rendered], phase: &str) {
    let wanted = revisions.iter().map(|revision| PlacementStatus {
        revision_name: Some(revision.placed.revision.clone()),
        clusters: vec![ClusterPlacementStatus {
            cluster_name: Some(LOCAL.to_owned()),
            replicas: revision.placed.replicas,
        }],
    });
    let mut placement: Vec<PlacementStatus> = wanted.collect();
    if phase != COMPLETED {
        let former = std::mem::take(&mut status.placement);
        let is_wanted = |one: &PlacementStatus| {
            revisions.iter().any(|revision| Some(&revision.placed.revision) == one.revision_name.as_ref())
        };
        placement.extend(former.into_iter().filter(|one| !is_wanted(one)));
    }
    status.placement = placement;
    status.phase = Some(phase.to_owned());
}
