//! The parts that all phases of the controller of ApplicationConfigurations share, and the writes that concern the
//! configuration itself.

use std::sync::Arc;

use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use vela_engine::Document;
use vela_runtime::cache::Informer;
use vela_runtime::owner::controller_of;
use vela_runtime::{Action, Api, CONFLICT_WAIT, Failure, Key};

use super::data_watches::Flows;
use super::revision_store::RevisionStore;
use crate::application::fetch::ClusterReader;
use crate::application::owned_kinds::OwnedKinds;
use crate::author::{Actor, UnknownAuthor};
use crate::context::{Context, FIELD_MANAGER};
use crate::immutable::Refusals;
use crate::prune::QuietTimes;

/// The parts that all phases of this controller share.
pub(crate) struct ApplicationConfigurationReconciler {
    pub(super) context: Context,
    pub(super) configurations: Arc<Informer>,
    /// The authors; only where controllers act for authors.
    pub(super) applications: Option<Arc<Informer>>,
    pub(super) components: Arc<Informer>,
    pub(super) cluster: ClusterReader,
    pub(super) owned: OwnedKinds,
    pub(super) quiet: QuietTimes,
    pub(super) refusals: Refusals,
    pub(super) revisions: RevisionStore,
    pub(super) flows: Flows,
}

/// The inputs of a reconcile.
#[derive(Clone, Copy)]
pub(super) struct Work<'a> {
    pub(super) key: &'a Key,
    pub(super) configuration: &'a DynamicObject,
    pub(super) document: &'a Document,
}

impl<'a> Work<'a> {
    /// The uid of the configuration.
    pub(super) fn uid(&self) -> &'a str {
        self.configuration.metadata.uid.as_deref().unwrap_or_default()
    }
}

impl ApplicationConfigurationReconciler {
    /// On whose behalf the configuration is executed.
    pub(super) async fn acting(
        &self,
        configuration: &DynamicObject,
    ) -> Result<Result<Actor, UnknownAuthor>, kube::Error> {
        let application = || {
            let owner = controller_of(configuration).filter(|owner| owner.kind == "Application")?;
            let namespace = configuration.metadata.namespace.clone().unwrap_or_default();
            let found = self.applications.as_ref()?.get(&Key::new(namespace, owner.name.clone()))?;
            (found.metadata.uid.as_deref() == Some(&owner.uid)).then_some(found)
        };
        Actor::for_object(&self.context, configuration, application).await
    }

    /// Write the status where it differs; tells whether it did.
    pub(super) async fn write_status(
        &self,
        configuration: &DynamicObject,
        status: &Value,
    ) -> Result<bool, kube::Error> {
        let api = self.api(&Key::of(configuration));
        crate::status::write(&api, &self.configurations, configuration, status).await
    }

    /// Write the list of finalizers, bound to the version of the configuration that it was made from.
    pub(super) async fn set_finalizers(
        &self,
        configuration: &DynamicObject,
        finalizers: &[String],
    ) -> Result<Action, Failure> {
        let key = Key::of(configuration);
        let patch = json!({"metadata": {
            "finalizers": finalizers,
            "resourceVersion": configuration.metadata.resource_version,
            "uid": configuration.metadata.uid,
        }});
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        match self.api(&key).patch(&key.name, &params, &Patch::Merge(&patch)).await {
            Ok(_) => Ok(Action::Done),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Action::Done),
            // The cache was behind, and what it lacks may be a status, which does not wake us.
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(Action::RequeueAfter(CONFLICT_WAIT)),
            Err(error) => Err(error.into()),
        }
    }

    fn api(&self, key: &Key) -> Api<DynamicObject> {
        let resource = &self.configurations.watch().resource;
        Api::namespaced_with(self.context.client.clone(), &key.namespace, resource)
    }
}
