//! An ApplicationContext in; the objects of its revision, and its status, out.

use std::collections::BTreeSet;

use kube::api::DynamicObject;
use serde_json::Value;
use vela_crds::application_configuration::{
    ApplicationConfigurationStatus, WorkloadStatus, WorkloadTraitStatus,
};
use vela_crds::{ApplicationContext, TypedReference, annotations};
use vela_engine::ObjectKey;
use vela_engine::side_by_side::Placed;
use vela_engine::side_by_side::revision_objects::{PlacedComponent, objects};
use vela_runtime::dynamic_watch::TrackedReads;
use vela_runtime::owner::controller_of;
use vela_runtime::{Action, Failure, Key, Reconciler};

use super::deployer::{Deployer, owner_of};
use crate::standard::error::ReconcileError;
use crate::standard::reconciler_base::{Note, ReconcilerBase, typed};

const READ: &str = "cannot deploy the revision";

pub(super) struct ApplicationContextReconciler {
    pub(super) deployer: Deployer,
}

impl Reconciler for ApplicationContextReconciler {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let base = &self.deployer.base;
        let Some(live) = base.live(&key) else { return Ok(Action::Done) };
        let context: ApplicationContext = typed(&live)?;
        let mut status = context.status.clone().unwrap_or_default();
        status.observed_generation = live.metadata.generation.unwrap_or_default();
        let look = base.interests.track(&key);
        let outcome = match base.for_author(&live).await {
            Ok(acting) => self.deploy(&acting, &look, &live, &context, &mut status).await,
            Err(error) => Err(error),
        };
        base.report(&live, status, outcome).await
    }
}

impl ApplicationContextReconciler {
    async fn deploy(
        &self,
        base: &ReconcilerBase,
        look: &TrackedReads,
        live: &DynamicObject,
        context: &ApplicationContext,
        status: &mut ApplicationConfigurationStatus,
    ) -> Result<Vec<Note>, ReconcileError> {
        if let Some(application) = controller_of(live).filter(|owner| owner.kind == "Application") {
            // The release that wrote it left the work to it.
            let message =
                format!("Application {} controls it and applies its workloads itself", application.name);
            return Err(ReconcileError::wrong(READ, message));
        }
        let mut owner = owner_of(live, ("core.oam.dev/v1alpha2", "ApplicationContext"));
        let marks = live.metadata.annotations.as_ref();
        let in_place = marks.and_then(|marks| marks.get(annotations::INPLACE_UPGRADE));
        owner.in_place = in_place.is_some_and(|value| value == "true");
        let placed = Placed {
            revision: context.spec.application_revision_name.clone(),
            replicas: None,
            path: "spec.applicationRevisionName".to_owned(),
        };
        let revisions = self.deployer.render(vec![placed], &owner).await?;
        let numbered = revisions.iter().map(|revision| (revision.number, revision.components.as_slice()));
        let all: Vec<&Value> = objects(numbered);
        let outcome = self.deployer.apply(base, look, live, &all, &revisions).await?;
        let components = revisions.iter().flat_map(|revision| &revision.components);
        status.workloads = components.map(recorded).collect();
        let mut notes = outcome.notes;
        // The pods of another revision go when these are there.
        if outcome.unready.is_empty() {
            let wanted: BTreeSet<ObjectKey> = all.into_iter().map(ObjectKey::of).collect();
            notes.extend(self.deployer.remove_others((base, look, live), &wanted, &[], &owner).await?);
        }
        Ok(notes)
    }
}

/// A component with its objects, as the status names them.
fn recorded(component: &PlacedComponent) -> WorkloadStatus {
    let traits = component.others.iter();
    let traits =
        traits.map(|object| WorkloadTraitStatus { trait_ref: reference(object), ..Default::default() });
    WorkloadStatus {
        component_name: Some(component.name.clone()),
        workload_ref: Some(reference(&component.workload)),
        traits: traits.collect(),
        ..WorkloadStatus::default()
    }
}

fn reference(object: &Value) -> TypedReference {
    let ObjectKey { api_version, kind, name, .. } = ObjectKey::of(object);
    TypedReference { api_version, kind, name, uid: None }
}
