//! One reconciler for the kinds that set up a Harbor which runs: tells the server, and says in the status whether the server took it.

use std::sync::Arc;

use kube::api::ApiResource;
use vela_runtime::apply::Applier;
use vela_runtime::controller::{Action, Failure, Reconciler};
use vela_runtime::{DynamicWatches, Informer, Key};

use super::binding::{self, Tools};
use super::configuration;
use super::egress::Egress;
use super::outcome::{AGAIN, Outcome};
use super::server;
use crate::owner::Owner;
use crate::passwords::Chance;
use crate::status_write;

/// Reconciles HarborConfiguration, HarborServerConfiguration and PullSecretBinding.
pub(crate) struct SettingsReconciler {
    pub(crate) client: kube::Client,
    pub(crate) applier: Applier,
    pub(crate) chance: Chance,
    pub(crate) egress: Egress,
    pub(crate) resource: ApiResource,
    pub(crate) informer: Arc<Informer>,
    pub(crate) watches: DynamicWatches,
}

impl Reconciler for SettingsReconciler {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let live = self.informer.get(&key).filter(|live| live.metadata.deletion_timestamp.is_none());
        let Some(live) = live else {
            // The secret of a binding names it as its owner; what a server was told stays there.
            self.watches.forget(&key);
            return Ok(Action::Done);
        };
        let owner = Owner::of_cache(&live, &self.resource)?;
        let tracked = self.watches.track(&key);
        let Outcome { status, done, waits } = match owner.kind() {
            "HarborConfiguration" => configuration::apply(&owner, &tracked, &self.egress).await,
            "HarborServerConfiguration" => {
                server::apply(&owner, &tracked, &self.egress, &self.informer.list()).await
            }
            _ => {
                let Self { client, applier, chance, egress, .. } = self;
                binding::apply(&owner, &tracked, &Tools { client, applier, chance, egress }).await
            }
        };
        let message = status["message"].as_str().unwrap_or_default().to_owned();
        status_write::write(&self.client, &self.informer, &live, status).await?;
        match (done, waits) {
            (true, _) => Ok(Action::RequeueAfter(AGAIN)),
            // What was read wakes it.
            (false, true) => Ok(Action::Done),
            (false, false) => Err(Failure::retry(message)),
        }
    }
}
