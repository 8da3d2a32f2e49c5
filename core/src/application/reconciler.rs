//! The parts that all phases of the controller of Applications share.

use std::sync::Arc;

use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use serde_json::json;
use vela_crds::{AppRollout, Application, ApplicationConfiguration};
use vela_engine::Templates;
use vela_runtime::cache::{Informer, Watch};
use vela_runtime::dynamic_watch::DynamicWatches;
use vela_runtime::{Api, Key};

use super::application_revision::RecordedApplications;
use super::fetch::ClusterReader;
use super::http_requests::AnswerCache;
use super::owned_kinds::{self, OwnedKinds};
use super::render_attempts::RenderAttempts;
use super::revisions::Revisions;
use super::status_pace::StatusPace;
use super::stored_outcomes::Outcomes;
use super::tracker_store::Records;
use super::update_slots::UpdateSlots;
use crate::context::Context;
use crate::immutable::Refusals;
use crate::prune::QuietTimes;

/// The parts that all phases of this controller share.
pub(crate) struct ApplicationReconciler {
    pub(super) context: Context,
    pub(super) applications: Arc<Informer>,
    pub(super) cluster: ClusterReader,
    pub(super) records: Records,
    pub(super) revisions: Revisions,
    pub(super) outcomes: Outcomes,
    pub(super) owned: OwnedKinds,
    pub(super) configurations: Arc<Informer>,
    pub(super) rollouts: Arc<Informer>,
    pub(super) templates: Arc<Templates>,
    pub(super) quiet: QuietTimes,
    pub(super) refusals: Refusals,
    pub(super) answers: AnswerCache,
    /// The objects of the URLs that components name.
    pub(super) manifests: AnswerCache,
    pub(super) recorded: RecordedApplications,
    pub(super) attempts: RenderAttempts,
    pub(super) update_slots: Arc<UpdateSlots>,
    pub(super) pace: StatusPace,
    /// The applications that wait for each user configuration.
    pub(super) interests: DynamicWatches,
    /// The applications that wait for each Workflow.
    pub(super) workflows: DynamicWatches,
    /// The applications that name each Policy.
    pub(super) policies: DynamicWatches,
}

impl ApplicationReconciler {
    /// Starts the watches.
    pub(super) fn new(context: &Context) -> Self {
        let watch = |resource| context.cache.informer(Watch::full(resource));
        let interests = || {
            DynamicWatches::new(context.client.clone(), &context.cache, &context.discovery, &[])
                .metadata_only()
        };
        let cluster = ClusterReader::new(context);
        Self {
            context: context.clone(),
            applications: watch(ApiResource::erase::<Application>(&())),
            recorded: RecordedApplications::new(context, &cluster),
            attempts: RenderAttempts::default(),
            update_slots: Arc::new(UpdateSlots::new(context.options.definition_updates_at_once)),
            pace: StatusPace::default(),
            cluster,
            records: Records::new(context),
            revisions: Revisions::new(context),
            outcomes: Outcomes::default(),
            owned: OwnedKinds::new(context, owned_kinds::application_of),
            configurations: watch(ApiResource::erase::<ApplicationConfiguration>(&())),
            rollouts: watch(ApiResource::erase::<AppRollout>(&())),
            templates: Arc::new(Templates::default()),
            quiet: QuietTimes::default(),
            refusals: Refusals::default(),
            answers: AnswerCache::default(),
            manifests: AnswerCache::default(),
            interests: interests(),
            workflows: interests(),
            policies: interests(),
        }
    }

    /// The application is gone.
    pub(super) fn forget(&self, key: &Key) {
        self.quiet.forget(key);
        self.answers.forget(key);
        self.manifests.forget(key);
        self.attempts.forget(key);
        self.outcomes.forget(key);
        self.interests.forget(key);
        self.workflows.forget(key);
        self.policies.forget(key);
        self.pace.forget(key);
        self.update_slots.reconcile_ended(key, false, true);
    }

    /// Where the application is read and written, past the cache.
    pub(super) fn api(&self, key: &Key) -> Api<DynamicObject> {
        let resource = &self.applications.watch().resource;
        Api::namespaced_with(self.context.client.clone(), &key.namespace, resource)
    }

    /// Writes these finalizers, unless another client changed the application meanwhile.
    pub(super) async fn set_finalizers(
        &self,
        key: &Key,
        application: &DynamicObject,
        finalizers: &[String],
    ) -> Result<(), kube::Error> {
        // The version guards the list against another writer's finalizer.
        let patch = json!({"metadata": {
            "finalizers": finalizers,
            "resourceVersion": application.metadata.resource_version,
            "uid": application.metadata.uid,
        }});
        let params = PatchParams {
            field_manager: Some(crate::context::FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let written = self.api(key).patch(&key.name, &params, &Patch::Merge(&patch)).await?;
        if !finalizers.is_empty() || written.metadata.deletion_timestamp.is_none() {
            self.applications.observe(written);
        }
        Ok(())
    }
}
