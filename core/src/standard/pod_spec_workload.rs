//! A PodSpecWorkload in; its Deployment and Service in the cluster, and its status, out.

use kube::api::DynamicObject;
use vela_crds::standard::PodSpecWorkload;
use vela_engine::standard::{self, pod_spec_workload as rendering};
use vela_runtime::interest::Look;
use vela_runtime::{Action, Controller, Failure, Key, Reconciler};

use super::hands::{Hands, Note, json_of, typed};
use super::trouble::Trouble;
use crate::context::Context;

const FIELD_MANAGER: &str = "vela-pod-spec-workload";

/// The controller of PodSpecWorkloads.
pub(crate) fn controller(context: &Context, workers: usize) -> Controller {
    let hands = Hands::new::<PodSpecWorkload>(context, FIELD_MANAGER, &[]);
    hands.controller("podspecworkload", Workloads { hands: hands.clone() }, workers)
}

struct Workloads {
    hands: Hands,
}

impl Reconciler for Workloads {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let Some(live) = self.hands.live(&key) else { return Ok(Action::Done) };
        let workload: PodSpecWorkload = typed(&live)?;
        let mut status = workload.status.clone().unwrap_or_default();
        let look = self.hands.interests.look(&key);
        let outcome = match self.hands.for_author(&live).await {
            Ok(hands) => Self { hands }.bring_about(&look, &live, &workload).await,
            Err(trouble) => Err(trouble),
        };
        let outcome = outcome.map(|(objects, notes)| {
            status.resources = objects.iter().map(|object| standard::reference(&json_of(object))).collect();
            notes
        });
        self.hands.report(&live, status, outcome).await
    }
}

impl Workloads {
    /// Applies the Deployment and the Service, and removes a Service that is no longer wanted.
    async fn bring_about(
        &self,
        look: &Look,
        live: &DynamicObject,
        workload: &PodSpecWorkload,
    ) -> Result<(Vec<DynamicObject>, Vec<Note>), Trouble> {
        let (hands, key) = (&self.hands, Key::of(live));
        let reason = "cannot apply the deployment";
        let existing = look.get("apps/v1", "Deployment", &key).await;
        let existing = existing.map_err(|error| Trouble::look(reason, &error))?.map(|found| json_of(&found));
        let deployment = rendering::deployment(workload, existing.as_ref())
            .map_err(|error| Trouble::wrong("cannot render deployment", error))?;
        let service =
            rendering::service(workload).map_err(|error| Trouble::wrong("cannot render service", error))?;
        let applied = hands.apply(look, live, deployment, reason).await?;
        let mut notes: Vec<Note> = Note::of(&applied, "Deployment created").into_iter().collect();
        let mut objects = vec![(*applied.object).clone()];
        let reason = "cannot apply the service";
        match service {
            Some(service) => {
                let applied = hands.apply(look, live, service, reason).await?;
                notes.extend(Note::of(&applied, "Service created"));
                objects.push((*applied.object).clone());
            }
            None => {
                let uid = live.metadata.uid.clone().unwrap_or_default();
                let stale = look.owned_by("v1", "Service", &key.namespace, &uid).await;
                for service in stale.map_err(|error| Trouble::look(reason, &error))? {
                    hands.remove(look, live, &service, reason).await?;
                }
            }
        }
        Ok((objects, notes))
    }
}
