//! A workload that runs as a Deployment, maybe behind a Service, in; both in the cluster, and its status, out.

use kube::api::DynamicObject;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use vela_crds::{Conditioned, TypedReference};
use vela_engine::standard::reference;
use vela_runtime::dynamic_watch::TrackedReads;
use vela_runtime::{Action, Failure, Key, Reconciler};

use super::error::ReconcileError;
use super::reconciler_base::{Note, ReconcilerBase, json_of, typed};

const DEPLOYMENT: &str = "cannot apply the deployment";
const SERVICE: &str = "cannot apply the service";

/// The particulars of one kind of such workloads.
pub(crate) trait DeployedWorkload: Send + Sync + 'static {
    /// The kind.
    type Workload: DeserializeOwned + Send + Sync;
    /// Its status.
    type Status: Conditioned + Serialize + Send + Sync;

    /// The status as it was written before.
    fn status(workload: &Self::Workload) -> Self::Status;

    /// Where the status names what was made.
    fn resources(status: &mut Self::Status) -> &mut Vec<TypedReference>;

    /// Brings everything about that the workload asks for.
    fn reconcile_children(
        &self,
        base: &ReconcilerBase,
        look: &TrackedReads,
        live: &DynamicObject,
        workload: &Self::Workload,
    ) -> impl Future<Output = Result<Deployed, ReconcileError>> + Send;
}

/// The reconciler of such a kind.
pub(crate) struct DeployedWorkloadReconciler<W> {
    pub(crate) base: ReconcilerBase,
    pub(crate) kind: W,
}

impl<W: DeployedWorkload> Reconciler for DeployedWorkloadReconciler<W> {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let Some(live) = self.base.live(&key) else { return Ok(Action::Done) };
        let workload: W::Workload = typed(&live)?;
        let mut status = W::status(&workload);
        let look = self.base.interests.track(&key);
        let deployed = match self.base.for_author(&live).await {
            Ok(base) => self.kind.reconcile_children(&base, &look, &live, &workload).await,
            Err(error) => Err(error),
        };
        let outcome = deployed.map(|deployed| {
            *W::resources(&mut status) =
                deployed.objects.iter().map(|object| reference(&json_of(object))).collect();
            deployed.notes
        });
        self.base.report(&live, status, outcome).await
    }
}

/// The results so far.
pub(crate) struct Deployed {
    objects: Vec<DynamicObject>,
    notes: Vec<Note>,
}

impl Deployed {
    /// Applies the Deployment.
    pub(crate) async fn deployment(
        base: &ReconcilerBase,
        look: &TrackedReads,
        live: &DynamicObject,
        deployment: Value,
    ) -> Result<Self, ReconcileError> {
        let applied = base.apply(look, live, deployment, DEPLOYMENT).await?;
        let notes = Note::of(&applied, "Deployment created").into_iter().collect();
        Ok(Self { objects: vec![(*applied.object).clone()], notes })
    }

    /// The Deployment as it is, for what is made from it.
    pub(crate) async fn live_deployment(
        look: &TrackedReads,
        key: &Key,
    ) -> Result<Option<Value>, ReconcileError> {
        let found = look.get("apps/v1", "Deployment", key).await;
        let found = found.map_err(|error| ReconcileError::look(DEPLOYMENT, &error))?;
        Ok(found.map(|found| json_of(&found)))
    }

    /// The uid of the Deployment.
    pub(crate) fn uid(&self) -> String {
        self.objects.first().and_then(|deployment| deployment.metadata.uid.clone()).unwrap_or_default()
    }

    /// Something else that was made, and is not named in the status.
    pub(crate) fn note(&mut self, note: Option<Note>) {
        self.notes.extend(note);
    }

    /// Applies the Service, and removes Deployments and Services that the workload controls and no longer wants.
    pub(crate) async fn service(
        mut self,
        base: &ReconcilerBase,
        look: &TrackedReads,
        live: &DynamicObject,
        service: Option<Value>,
    ) -> Result<Self, ReconcileError> {
        if let Some(service) = service {
            let applied = base.apply(look, live, service, SERVICE).await?;
            self.notes.extend(Note::of(&applied, "Service created"));
            self.objects.push((*applied.object).clone());
        }
        let uid = live.metadata.uid.clone().unwrap_or_default();
        let namespace = Key::of(live).namespace;
        for (api_version, kind, reason) in [("apps/v1", "Deployment", DEPLOYMENT), ("v1", "Service", SERVICE)]
        {
            let owned = look.owned_by(api_version, kind, &namespace, &uid).await;
            for object in owned.map_err(|error| ReconcileError::look(reason, &error))? {
                if !self.objects.iter().any(|wanted| wanted.metadata.uid == object.metadata.uid) {
                    base.remove(look, live, &object, reason).await?;
                }
            }
        }
        Ok(self)
    }
}
