//! The lap of an Application: fetch → parse → revision → plan → render → graph → apply → observe → status → report.

mod apply;
mod ask;
mod composed;
pub(crate) mod fetch;
mod finalize;
mod handover;
mod inline;
mod judge;
mod keep;
pub(crate) mod kept;
mod mean;
mod observe;
pub(crate) mod owned;
pub(crate) mod reader;
pub(crate) mod record;
mod replace;
pub(crate) mod report;
pub(crate) mod revisions;
mod route;
mod stopped;
mod turns;
mod write;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use serde_json::json;
use vela_crds::{AppRollout, Application, ApplicationConfiguration, finalizers, labels};
use vela_engine::definition::version;
use vela_engine::status::{ConditionType, Status};
use vela_engine::{
    Code, Definition, Diagnostic, Diagnostics, Document, Graph, Observed, Secrets, Templates, parse, render,
};
use vela_runtime::Api;
use vela_runtime::cache::{Change, Index, Informer, Watch};
use vela_runtime::controller::controller_owner;
use vela_runtime::interest::Interests;
use vela_runtime::{Action, Controller, Discovery, Failure, Key, Reconciler, conditions};

use crate::author::Acting;
use crate::context::Context;
use crate::fixed::Refusals;
use crate::prune::Quiet;
use crate::reach;
use apply::{Applied, Desired, Node, Piece};
use fetch::{World, json as to_json};
use kept::Keeper;
use observe::observe;
use owned::OwnedKinds;
use record::Records;
use revisions::Revisions;
use route::Route;
use stopped::{Failed, Later, Stopped};
use turns::Turns;

/// After a write that lost against another writer the cache needs a moment to catch up.
const CONFLICT_WAIT: Duration = Duration::from_millis(50);

/// What all phases of this controller share.
pub(crate) struct Hands {
    context: Context,
    applications: Arc<Informer>,
    world: World,
    records: Records,
    revisions: Revisions,
    owned: OwnedKinds,
    configurations: Arc<Informer>,
    rollouts: Arc<Informer>,
    templates: Arc<Templates>,
    quiet: Quiet,
    refusals: Refusals,
    answers: ask::Known,
    keeper: Keeper,
    tried: mean::Tried,
    turns: Arc<Turns>,
    /// Who waits for which user configuration.
    interests: Interests,
}

/// What a lap comes upon, for what people are told.
#[derive(Default)]
struct Heard {
    warnings: Diagnostics,
    /// What is confidential in the application, in what it reads and in what it makes.
    secrets: Secrets,
    /// It waits for its turn to take up changed definitions.
    waits: bool,
}

/// What a reconcile came to.
struct Outcome {
    status: Status,
    /// Everything that is wanted was applied, and nothing else is left.
    complete: bool,
    /// Something failed that another try may mend.
    retry: bool,
    /// When to come again although nothing changes.
    again: Option<Duration>,
}

impl Outcome {
    /// Of objects that were applied.
    fn applied(status: Status, applied: &Applied) -> Self {
        let retry = applied.errors.len() > applied.refused;
        Self { status, complete: applied.complete, retry, again: applied.again }
    }

    /// Where somebody else applies them.
    fn left_to_others(status: Status, complete: bool) -> Self {
        Self { status, complete, retry: false, again: None }
    }
}

/// The controller of Applications.
pub(crate) fn controller(context: &Context, workers: usize) -> Controller {
    let resource = ApiResource::erase::<Application>(&());
    let world = World::new(context);
    let hands = Hands {
        context: context.clone(),
        applications: context.cache.informer(Watch::full(resource)),
        keeper: Keeper::new(context, &world),
        tried: mean::Tried::default(),
        turns: Arc::new(Turns::new(context.options.definition_updates_at_once)),
        world,
        records: Records::new(context),
        revisions: Revisions::new(context),
        owned: OwnedKinds::new(context, owned::application_of),
        configurations: context
            .cache
            .informer(Watch::full(ApiResource::erase::<ApplicationConfiguration>(&()))),
        rollouts: context.cache.informer(Watch::full(ApiResource::erase::<AppRollout>(&()))),
        templates: Arc::new(Templates::default()),
        quiet: Quiet::default(),
        refusals: Refusals::default(),
        answers: ask::Known::default(),
        interests: Interests::new(context.client.clone(), &context.cache, &context.discovery, &[])
            .metadata_only(),
    };
    let (applications, owned, world) = (hands.applications.clone(), hands.owned.clone(), hands.world.clone());
    let (interests, stored) =
        (hands.interests.clone(), [&hands.configurations, &hands.rollouts].map(Arc::clone));
    let (records, turns) = (hands.records.clone(), hands.turns.clone());
    let mut controller = Controller::new("application", hands).for_kind(&applications).workers(workers);
    owned.wake(controller.queue());
    turns.wake(controller.queue());
    interests.wake(controller.queue());
    // What a configuration and a rollout say is read from these copies, so these copies wake.
    for informer in &stored {
        controller = controller.watches(informer, |change| match change.initial {
            true => Vec::new(),
            false => {
                let owner = |object| controller_owner(object, vela_crds::GROUP, "Application");
                change.object().and_then(|object| owner(object)).into_iter().collect()
            }
        });
    }
    let trackers = records.stored().clone();
    controller =
        controller.watches(&trackers, move |change| records.overwritten(change).into_iter().collect());
    let users = applications.index_of_spec(|application| {
        let references = parse::references(&Document::from_object(to_json(application)));
        references.definitions.into_iter().map(|(_, name)| name).collect()
    });
    for informer in world.definitions().values().chain([world.revisions()]) {
        let users = users.clone();
        controller = controller.watches(informer, move |change| users_of(change, &users));
    }
    controller
}

/// The applications that name a changed definition.
fn users_of(change: &Change, applications: &Index) -> Vec<Key> {
    // At the start every application is reconciled anyway.
    let Some(object) = change.object().filter(|_| !change.initial) else { return Vec::new() };
    if let (Some(old), Some(new)) = (&change.old, &change.new)
        && old.data.get("spec") == new.data.get("spec")
        && old.metadata.annotations == new.metadata.annotations
    {
        // A status or a label says nothing to those who use the definition.
        return Vec::new();
    }
    let name = object.metadata.name.clone().unwrap_or_default();
    let is_revision = object.types.as_ref().is_some_and(|types| types.kind == "DefinitionRevision");
    // A revision `name-v1.2.0` may be what `name@v1` means, too.
    let asked = match version::kept(&name, &object.data["spec"]) {
        Some(kept) if is_revision => version::ways_to_ask(kept.name, kept.version),
        _ => vec![name],
    };
    let users: BTreeSet<Key> = asked
        .iter()
        .flat_map(|name| applications.find(name))
        .map(|application| Key::of(&application))
        .collect();
    users.into_iter().collect()
}

fn unapplied(error: &apply::Error) -> Stopped {
    match error {
        apply::Error::NotJudged(error) => Stopped::not_computed(ConditionType::Workflow, error),
        error => Stopped::write(ConditionType::Workflow, error, error.source()),
    }
}

impl Reconciler for Hands {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let Some(application) = self.applications.get(&key) else {
            self.quiet.forget(&key);
            self.answers.forget(&key);
            self.tried.forget(&key);
            self.interests.forget(&key);
            self.turns.lap_ended(&key, false, true);
            return Ok(Action::Done);
        };
        let paused = application.metadata.labels.as_ref().and_then(|labels| labels.get(labels::PAUSE));
        if paused.is_some_and(|paused| paused == "true") {
            return Ok(Action::Done);
        }
        if application.metadata.deletion_timestamp.is_some() {
            return self.delete(&key, &application).await;
        }
        let document = Document::from_object(to_json(&application));
        let old = document.value().get("status").cloned();
        let mut heard = Heard::default();
        heard.secrets.add(document.value());
        let outcome = match self.lap(&key, &application, &document, &mut heard).await {
            Ok(outcome) => outcome,
            Err(Stopped::Later(Later::Soon)) => return Ok(Action::RequeueAfter(CONFLICT_WAIT)),
            Err(Stopped::Later(Later::Woken | Later::NextProcess)) => return Ok(Action::Done),
            Err(Stopped::Failed(Failed { phase, error, lasts })) => {
                let status = Status::failed(&document, phase, &error);
                Outcome { status, complete: false, retry: !lasts, again: None }
            }
        };
        let Outcome { mut status, complete, retry, again } = outcome;
        status.hide(&heard.secrets);
        self.turns.lap_ended(&key, heard.waits, complete && status.is_running());
        let status = status.to_json(old.as_ref(), &conditions::now());
        if crate::status::write(&self.api(&key), &self.applications, &application, &status).await? {
            let warnings = heard.secrets.hide(&heard.warnings.to_string()).into_owned();
            report::tell(&self.context.events, &application, &status, &warnings).await;
        }
        if complete && let Some(current) = status["latestRevision"]["name"].as_str() {
            let rollout = &status["rollout"];
            let rolled =
                ["lastTargetAppRevision", "LastSourceAppRevision"].map(|field| rollout[field].as_str());
            let needed: Vec<&str> = [Some(current)].into_iter().chain(rolled).flatten().collect();
            self.revisions.limit(&key, &needed).await;
        }
        if retry {
            return Err(Failure::retry(format!(
                "application {key} is not applied: {}",
                report::reason(&status)
            )));
        }
        Ok(again.map_or(Action::Done, Action::RequeueAfter))
    }
}

impl Hands {
    /// The lap up to the status; nothing is written to the cluster before the whole set is rendered.
    async fn lap(
        &self,
        key: &Key,
        application: &DynamicObject,
        document: &Document,
        heard: &mut Heard,
    ) -> Result<Outcome, Stopped> {
        use ConditionType::{Revision, Workflow};
        let acting = Acting::for_author(&self.context, application);
        let acting = acting.map_err(|nobody| {
            let error = Diagnostic::error(Code::Refused, nobody.to_string());
            Stopped::wrong(ConditionType::Parsed, error.into())
        })?;
        let meant = match self.meant((key, &acting), document, &mut heard.secrets).await {
            Err(Stopped::Failed(failed)) if failed.lasts => {
                return keep::keep(self, application, document, &acting, failed, heard).await;
            }
            meant => meant?,
        };
        heard.waits = meant.waits.is_some();
        let graph = Arc::new(meant.graph);
        if graph.revision().is_new() {
            // What is taken up now is kept until the application asks for something else, and a cache may be behind.
            let fresh = self.world.confirm(&key.namespace, &definitions(&graph)).await;
            if !fresh.map_err(|error| Stopped::write(Revision, &error, Some(&error)))? {
                return Err(Later::Soon.into());
            }
        }
        reach::check(&self.context, &graph)
            .await
            .map_err(|refused| Stopped::wrong(ConditionType::Render, refused))?;
        heard.warnings.extend(graph.warnings().clone());
        graph.objects().for_each(|rendered| heard.secrets.add(&rendered.object));
        let held = self.hold(key, application).await;
        held.map_err(|error| Stopped::write(Workflow, &error, Some(&error)))?;
        let recorded = self.revisions.record(application, graph.revision()).await;
        recorded.map_err(|error| Stopped::write(Revision, &error, error.source()))?;
        let outcome = match Route::choose(self, application, &graph).await? {
            // Whoever deploys names the revisions that are still needed.
            Route::Recorded => Outcome::left_to_others(Status::recorded(&graph), true),
            Route::Rollout(status) => {
                // Former revisions go as they do after an application was applied.
                let complete = status.is_running();
                Outcome::left_to_others(*status, complete)
            }
            Route::Stored => self.store(key, application, acting, &graph).await?,
            Route::Direct => self.apply(application, acting, &graph).await?,
        };
        Ok(Outcome {
            status: outcome.status.with_definitions(meant.definitions),
            again: outcome.again.or(meant.waits),
            ..outcome
        })
    }

    /// Store the configuration and the components whose reconcilers apply the objects, and see what became of them.
    async fn store(
        &self,
        key: &Key,
        application: &DynamicObject,
        acting: Acting,
        graph: &Arc<Graph>,
    ) -> Result<Outcome, Stopped> {
        let generation = application.metadata.generation;
        let owner = owned::Application::of(application, acting);
        let composed::Stored { desired, due } = composed::stored(self, graph, generation).await?;
        let all = |_: &Applied| -> apply::Due<'_> { Box::pin(std::future::ready(Ok((0..due).collect()))) };
        let applied = apply::apply(self, &owner, &desired, &all).await;
        let applied = applied.map_err(|error| unapplied(&error))?;
        let observed = composed::observe(self, key, graph, &applied).await;
        let observed = observed.map_err(|error| Stopped::trouble(ConditionType::Workflow, &error))?;
        self.judged(graph, observed, &applied).await
    }

    /// Apply the objects, those that wait for others when these are healthy, and see what became of them.
    async fn apply(
        &self,
        application: &DynamicObject,
        acting: Acting,
        graph: &Arc<Graph>,
    ) -> Result<Outcome, Stopped> {
        let mut owner = owned::Application::of(application, acting);
        owner.successor_of = handover::take_over(self, &owner).await?;
        let desired = desired(&self.context.discovery, graph, application.metadata.generation).await;
        let desired = desired.map_err(|error| Stopped::trouble(ConditionType::Render, &error))?;
        let due =
            |applied: &Applied| -> apply::Due<'_> { Box::pin(judge::due(self, graph, observe(applied))) };
        let applied = apply::apply(self, &owner, &desired, &due).await;
        let applied = applied.map_err(|error| unapplied(&error))?;
        self.judged(graph, observe(&applied), &applied).await
    }

    /// The status of what was seen after applying.
    async fn judged(
        &self,
        graph: &Arc<Graph>,
        seen: Observed,
        applied: &Applied,
    ) -> Result<Outcome, Stopped> {
        let judged = judge::told(self, graph, seen).await;
        let status = judged.map_err(|error| Stopped::not_computed(ConditionType::Workflow, &error))?;
        Ok(Outcome::applied(status, applied))
    }

    /// Put our finalizer on, before there is anything to clean up.
    async fn hold(&self, key: &Key, application: &DynamicObject) -> Result<(), kube::Error> {
        let held = application.metadata.finalizers.clone().unwrap_or_default();
        if held.iter().any(|held| held == finalizers::RESOURCE_TRACKER) {
            return Ok(());
        }
        let mut held = held;
        held.push(finalizers::RESOURCE_TRACKER.to_owned());
        self.set_finalizers(key, application, &held).await
    }

    async fn delete(&self, key: &Key, application: &DynamicObject) -> Result<Action, Failure> {
        let held = application.metadata.finalizers.clone().unwrap_or_default();
        let ours = [finalizers::RESOURCE_TRACKER, finalizers::RESOURCE_TRACKER_V1_0];
        let others: Vec<String> =
            held.iter().filter(|held| !ours.contains(&held.as_str())).cloned().collect();
        if others.len() == held.len() {
            return Ok(Action::Done);
        }
        let acting = Acting::for_author(&self.context, application)
            .unwrap_or_else(|nobody| Acting::for_nobody(&self.context, &nobody));
        let finalized = finalize::finalize(self, &owned::Application::of(application, acting)).await;
        let mut secrets = Secrets::default();
        secrets.add(&to_json(application));
        let finalized = finalized.map_err(|error| secrets.hide(&error.to_string()).into_owned());
        if matches!(finalized, Ok(true)) {
            return match self.set_finalizers(key, application, &others).await {
                Err(kube::Error::Api(status)) if status.code == 404 => Ok(Action::Done),
                Err(kube::Error::Api(status)) if status.code == 409 => {
                    Ok(Action::RequeueAfter(CONFLICT_WAIT))
                }
                result => result.map(|()| Action::Done).map_err(Failure::from),
            };
        }
        let document = Document::from_object(to_json(application));
        let old = document.value().get("status").cloned();
        let status = match &finalized {
            Ok(_) => Status::deleting(&document),
            Err(error) => Status::not_deleted(&document, error.clone()),
        };
        let status = status.to_json(old.as_ref(), &conditions::now());
        let told = crate::status::write(&self.api(key), &self.applications, application, &status).await?;
        if let (true, Err(error)) = (told, &finalized) {
            let regarding = vela_runtime::events::reference(application);
            self.context.events.warning(&regarding, "FailedDelete", error).await;
        }
        finalized.map(|_| Action::Done).map_err(Failure::retry)
    }

    async fn set_finalizers(
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

    fn api(&self, key: &Key) -> Api<DynamicObject> {
        let resource = &self.applications.watch().resource;
        Api::namespaced_with(self.context.client.clone(), &key.namespace, resource)
    }
}

/// Every definition that the application was rendered from.
fn definitions(graph: &Graph) -> Vec<Arc<Definition>> {
    graph.app_file().definitions().into_iter().cloned().collect()
}

/// The graph as the hands need it: objects of kinds without namespaces lose theirs.
async fn desired(
    discovery: &Discovery,
    graph: &Graph,
    generation: Option<i64>,
) -> Result<Desired, serde_json::Error> {
    let mut nodes = Vec::with_capacity(graph.len());
    for index in 0..graph.len() {
        let wave = graph.waves().iter().position(|wave| wave.contains(&index)).unwrap_or(0);
        let mut pieces = Vec::new();
        for rendered in graph.objects_of(index) {
            let trait_type = match &rendered.role {
                render::Role::Trait { type_, .. } => Some(type_.clone()),
                _ => None,
            };
            let mut object: DynamicObject = serde_json::from_value(rendered.object.clone())?;
            // An unknown kind is told of when its object is applied.
            if discovery.resolve_object(&object).await.is_ok_and(|kind| !kind.namespaced) {
                object.metadata.namespace = None;
            }
            pieces.push(Piece { name: rendered.key(), object, trait_type });
        }
        let component = graph.component(index).map(|component| component.name.clone()).unwrap_or_default();
        nodes.push(Node { component, wave: i32::try_from(wave).unwrap_or(i32::MAX), pieces });
    }
    Ok(Desired {
        identity: graph.identity().hash().to_owned(),
        generation,
        definitions: definitions(graph),
        nodes,
        form: composed::Form::Applied,
    })
}
