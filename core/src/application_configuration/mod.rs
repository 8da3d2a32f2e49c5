//! The controller of ApplicationConfigurations (v1alpha2): which way a configuration goes, and what is told of it.

mod application_generation;
mod apply;
mod collect;
mod data;
mod data_watches;
mod desired;
mod error;
mod events;
mod fetch;
mod finalize;
mod history;
mod inventory;
mod last_good;
mod reconcile;
mod reconcile_inputs;
mod reconciler;
mod revision_store;
mod route;
mod scopes;
mod shared_workload;
mod siblings;
mod stores;
mod unowned_objects;
mod watches;

use std::sync::Arc;

use kube::api::{ApiResource, DynamicObject};
use vela_crds::{Application, ApplicationConfiguration, Component};
use vela_engine::application_configuration::status;
use vela_engine::{Document, Secrets};
use vela_runtime::cache::Watch;
use vela_runtime::{Action, Controller, Failure, Key, Reconciler, conditions};

use self::data_watches::Flows;
use self::error::{Error, Failed, NextTry, PhaseError};
use self::reconcile::Outcome;
use self::reconciler::{ApplicationConfigurationReconciler, Work};
use self::revision_store::RevisionStore;
use self::route::{Author, Route};
use crate::application::fetch::ClusterReader;
use crate::application::owned_kinds::OwnedKinds;
use crate::context::Context;
use crate::immutable::Refusals;
use crate::prune::QuietTimes;

/// The controller of ApplicationConfigurations.
pub(crate) fn controller(context: &Context, workers: usize) -> Controller {
    let watch = |resource| context.cache.informer(Watch::full(resource));
    let reconciler = ApplicationConfigurationReconciler {
        context: context.clone(),
        configurations: watch(ApiResource::erase::<ApplicationConfiguration>(&())),
        applications: context.authors.is_some().then(|| watch(ApiResource::erase::<Application>(&()))),
        components: watch(ApiResource::erase::<Component>(&())),
        cluster: ClusterReader::new(context),
        owned: OwnedKinds::new(context, unowned_objects::owner_of),
        quiet: QuietTimes::default(),
        refusals: Refusals::default(),
        revisions: RevisionStore::new(context),
        flows: Flows::new(context),
    };
    watches::controller(reconciler, workers)
}

impl Reconciler for ApplicationConfigurationReconciler {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let Some(configuration) = self.configurations.get(&key) else {
            self.quiet.forget(&key);
            self.flows.forget(&key);
            return Ok(Action::Done);
        };
        let document = Document::from_object(shared_workload::as_seen(self, &configuration).await);
        let work = Work { key: &key, configuration: &configuration, document: &document };
        match Route::choose(&work) {
            Route::Deleted => {
                self.flows.forget(&key);
                finalize::finalize(self, &configuration).await
            }
            Route::Passive => self.pass_over(&work).await,
            // The write wakes us again.
            Route::Unheld(finalizers) => self.set_finalizers(&configuration, &finalizers).await,
            Route::Active(author) => self.apply(&work, author).await,
        }
    }
}

impl ApplicationConfigurationReconciler {
    /// Apply what the configuration asks for, and write what became of it.
    async fn apply(&self, work: &Work<'_>, author: Author) -> Result<Action, Failure> {
        let now = conditions::now();
        let mut secrets = Secrets::default();
        secrets.add(work.document.value());
        let outcome = match author {
            Author::People => reconcile::written(self, work, &now, &mut secrets).await,
            Author::Application => reconcile::stored(self, work, &now, &mut secrets).await,
        };
        let outcome = match crate::hooks::run(&self.context.hooks.after, work.document.value()).await {
            Ok(()) => outcome,
            Err(error) => {
                Err(PhaseError::PostHooks(Failed::new(error.message, NextTry::after(error.again))).into())
            }
        };
        match outcome {
            Ok(outcome) => self.report(work, outcome.without(&secrets)).await,
            Err(error) => self.report_error(work, error.without(&secrets), &now).await,
        }
    }

    /// Write the status of a reconcile that came to its end, and tell what happened.
    async fn report(&self, work: &Work<'_>, outcome: Outcome) -> Result<Action, Failure> {
        let Some(live) = self.still_there(work) else { return Ok(Action::Done) };
        let Outcome { status, changed, not_collected, then } = outcome;
        let before = work.document.value().get("status");
        self.write_status(&live, &status).await?;
        match not_collected {
            Some(error) => {
                events::failed(self, &live, before, &error).await;
                error.action()
            }
            None => {
                events::applied(self, &live, before, &status, changed).await;
                then
            }
        }
    }

    /// The same of one that ended early.
    async fn report_error(&self, work: &Work<'_>, error: Error, now: &str) -> Result<Action, Failure> {
        let Some(live) = self.still_there(work) else { return Ok(Action::Done) };
        let error = match error {
            Error::Phase(error) => error,
            Error::Pending => return Ok(Action::Done),
            Error::Unavailable(failure) => return Err(failure),
        };
        let before = work.document.value().get("status");
        let failed = status::Failed { message: &error.to_string(), refused: error.is_persistent() };
        let recorded = live.data.get("status");
        let status = status::failed(work.document.value(), failed, recorded, error.is_templating(), now);
        self.write_status(&live, &status).await?;
        events::failed(self, &live, before, &error).await;
        error.action()
    }

    /// The configuration as it is now: the reconcile may have written the inventory into its status.
    fn still_there(&self, work: &Work<'_>) -> Option<Arc<DynamicObject>> {
        let live = self.configurations.get(work.key);
        live.filter(|live| live.metadata.uid == work.configuration.metadata.uid)
    }

    /// The record of an old revision: nothing is rendered and nothing deleted.
    async fn pass_over(&self, work: &Work<'_>) -> Result<Action, Failure> {
        let old = work.document.value().get("status");
        let status = status::passive(work.document.value(), old, &conditions::now());
        if self.write_status(work.configuration, &status).await? {
            let regarding = vela_runtime::events::reference(work.configuration);
            self.context.events.normal(&regarding, "ACRevision", "the record of an old revision").await;
        }
        Ok(Action::Done)
    }
}
