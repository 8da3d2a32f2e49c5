//! The reconcile of an Application: fetch → parse → revision → plan → render → graph → apply → observe → status → report.

pub(crate) mod application_revision;
mod apply;
mod attention;
mod debug;
mod desired;
mod direct_route;
mod error;
mod external_policies;
mod external_workflow;
pub(crate) mod fetch;
mod finalize;
mod handover;
mod http_requests;
mod inline_rollout;
pub(crate) mod inventory;
mod judge;
mod observe;
mod outcome;
mod outputs;
pub(crate) mod owned_kinds;
mod reconciler;
mod recorded_definitions;
mod referenced_objects;
mod render;
mod render_attempts;
mod report;
mod resource_tracker;
mod restart;
mod restore;
mod revision_outcome;
pub(crate) mod revision_reader;
pub(crate) mod revisions;
mod route;
mod stages;
mod status_pace;
pub(crate) mod step_reach;
mod stored_configuration;
mod stored_outcomes;
mod stored_route;
pub(crate) mod tracker_store;
mod update_slots;
mod watches;
mod workflow_run;

use std::sync::Arc;

use kube::api::DynamicObject;
use serde_json::Value;
use vela_crds::annotations;
use vela_engine::status::Status;
use vela_engine::{Code, Diagnostic, Document, Graph, parse, policy};
use vela_runtime::{Action, Failure, Key, Reconciler, clock};

use self::error::{Cause, Later, PhaseError, Stopped};
use self::outcome::Outcome;
use self::reconciler::ApplicationReconciler;
use self::render::RenderedApplication;
use self::report::Report;
use self::route::Route;
pub(crate) use self::watches::controller;
use crate::author::Actor;
use crate::bounds;
use crate::metrics::Stage;

impl Reconciler for ApplicationReconciler {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let Some(application) = self.applications.get(&key) else {
            self.forget(&key);
            return Ok(Action::Done);
        };
        if attention::is_left_alone(&application) {
            return Ok(Action::Done);
        }
        if application.metadata.deletion_timestamp.is_some() {
            return finalize::finalize(self, &key, &application).await;
        }
        if let Some(action) = self.restart(&key, &application).await? {
            return Ok(action);
        }
        let began = tokio::time::Instant::now();
        let document = Document::from_object(fetch::json(&application));
        let mut report = Report::default();
        report.secrets.add(document.value());
        let outcome = match self.reconcile_content(&key, &application, &document, &mut report).await {
            Ok(outcome) => outcome,
            Err(Stopped::Failed(error)) => Outcome::failed(&document, &error),
            Err(Stopped::Later(later)) => return Ok(later.action()),
        };
        self.update_slots.reconcile_ended(&key, report.waits, outcome.is_settled());
        let Outcome { mut status, complete, retry, again, under_way, steered } = outcome;
        status.hide(&report.secrets);
        // The steps of a workflow stored how far they are meanwhile, which a reconcile that failed later must not take back.
        let is_steered = steered.is_some();
        let newest =
            || self.applications.get(&key).filter(|live| live.metadata.uid == application.metadata.uid);
        let live = steered.or_else(newest).unwrap_or_else(|| application.clone());
        let former = live.data.get("status");
        // A reconcile that failed before the run, too, leaves what a person ordered meanwhile.
        let is_steered =
            is_steered || former.is_some_and(|former| former["workflow"]["contextBackend"].is_object());
        let status = status.to_json(former, clock::now());
        let again = [again, restart::wait(&live, &status)].into_iter().flatten().min();
        self.context.metrics.reconciled(former, &status, began.elapsed());
        if !under_way {
            self.pace.forget(&key);
        } else if let Some(left) = self.pace.left(&key, former, &status) {
            return Ok(Action::RequeueAfter(again.map_or(left, |again| again.min(left))));
        }
        if is_steered || revision_outcome::is_published(&application) {
            self.store_outcome(&key, &status).await?;
        }
        let written = self.write_status(&key, &live, &status, is_steered).await?;
        let Some(is_news) = written else { return Ok(Later::Soon.action()) };
        if is_news {
            report::publish_events(&self.context.events, &application, &status, &report).await;
        }
        if complete {
            let limit = policy::revision_limit(document.value());
            self.limit_revisions(&key, &status, limit).await;
        }
        if retry {
            let why = report::reason(&status);
            return Err(Failure::retry(format!("application {key} is not applied: {why}")));
        }
        let again = [again, parse::reconcile_interval(&document)].into_iter().flatten().min();
        Ok(again.map_or(Action::Done, Action::RequeueAfter))
    }
}

impl ApplicationReconciler {
    /// The reconcile up to the status; nothing is written to the cluster before the whole set is rendered.
    async fn reconcile_content(
        &self,
        key: &Key,
        application: &DynamicObject,
        document: &Document,
        report: &mut Report,
    ) -> Result<Outcome, Stopped> {
        let acting = Actor::for_author(&self.context, application).map_err(PhaseError::from)?;
        let whole = self.with_workflow((key, &acting), document).await?;
        let document = whole.as_ref().unwrap_or(document);
        let with_policies = self.with_policies((key, &acting), document).await?;
        let document = with_policies.as_ref().unwrap_or(document);
        let published = self.published(key, document).await?;
        if published.is_some() {
            report.warnings.push(not_published(document));
        }
        let document = published.as_ref().unwrap_or(document);
        let began = tokio::time::Instant::now();
        let rendered = self.render((key, &acting), document, &mut report.secrets).await;
        let metrics = &self.context.metrics;
        metrics.stage(Stage::Render, began.elapsed());
        let rendered = match rendered {
            Err(Stopped::Failed(failed)) if failed.is_lasting() => {
                return restore::restore(self, application, document, &acting, failed, report).await;
            }
            rendered => rendered?,
        };
        let RenderedApplication { graph, definitions, waits } = rendered;
        let graph = Arc::new(graph);
        report.waits = waits.is_some();
        self.confirm_definitions(key, &graph).await?;
        bounds::check(&self.context, &graph)
            .await
            .map_err(|refused| PhaseError::Render(Cause::Lasting(refused)))?;
        report.warnings.extend(graph.warnings().clone());
        graph.objects().for_each(|rendered| report.secrets.add(&rendered.object));
        let held = finalize::add_finalizer(self, key, application).await;
        held.map_err(|error| Stopped::write(PhaseError::Apply, &error, Some(&error)))?;
        let began = tokio::time::Instant::now();
        self.revisions.record(application, graph.revision()).await?;
        metrics.stage(Stage::Revision, began.elapsed());
        let began = tokio::time::Instant::now();
        let outcome = match Route::choose(self, application, &graph).await? {
            // The user or tool that deploys names the revisions that are still needed.
            Route::Recorded => Outcome::left_to_others(Status::recorded(&graph), true),
            // Former revisions go as they do after an application was applied.
            Route::Rollout(status) => Outcome::rolled(*status),
            Route::Stored => {
                let outcome = stored_route::apply(self, application, acting, &graph).await?;
                inline_rollout::between_configurations(self, application, &graph, outcome).await?
            }
            Route::Direct => direct_route::apply(self, application, acting, &graph).await?,
        };
        metrics.stage(Stage::Apply, began.elapsed());
        Ok(outcome.with_definitions(definitions, waits).with_policies(&graph))
    }

    /// The application keeps a revision until it asks for something else, and a cache may be behind: a new revision is made
    /// by the definitions that the server has.
    async fn confirm_definitions(&self, key: &Key, graph: &Graph) -> Result<(), Stopped> {
        if !graph.revision().is_new() {
            return Ok(());
        }
        let fresh = self.cluster.confirm(&key.namespace, &desired::definitions(graph)).await;
        match fresh.map_err(|error| Stopped::write(PhaseError::Revision, &error, Some(&error)))? {
            true => Ok(()),
            false => Err(Later::Soon.into()),
        }
    }

    /// Writes the status, and says whether it was another one. Where a person may steer a workflow by it, it is written
    /// over this version only: nothing where another writer was faster.
    async fn write_status(
        &self,
        key: &Key,
        live: &DynamicObject,
        status: &Value,
        is_steered: bool,
    ) -> Result<Option<bool>, kube::Error> {
        let api = self.api(key);
        if !is_steered {
            return crate::status::write(&api, &self.applications, live, status).await.map(Some);
        }
        match crate::status::write_unless_changed(&api, &self.applications, live, status).await {
            Ok(written) => Ok(Some(written.is_some())),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Former revisions go when a newer one is applied completely, but for those that its rollout went between.
    async fn limit_revisions(&self, key: &Key, status: &Value, limit: Option<usize>) {
        let Some(current) = status["latestRevision"]["name"].as_str() else { return };
        let rollout = &status["rollout"];
        let rolled = ["lastTargetAppRevision", "LastSourceAppRevision"].map(|field| rollout[field].as_str());
        let needed: Vec<&str> = [Some(current)].into_iter().chain(rolled).flatten().collect();
        self.revisions.limit(key, &needed, limit).await;
    }
}

/// A change under the same version waits for the next one.
fn not_published(document: &Document) -> Diagnostic {
    let path = format!("metadata.annotations[{}]", annotations::PUBLISH_VERSION);
    let message = "the application was changed, and is still published under the same version: what was published runs on";
    let hint =
        format!("give the annotation {} another value to publish the change", annotations::PUBLISH_VERSION);
    Diagnostic::warning(Code::Refused, message).at(document, path).hint(hint)
}
