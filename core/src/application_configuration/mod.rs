//! The controller of ApplicationConfigurations (v1alpha2): who wakes it, and each lap from its hooks to its status.

mod apply;
mod asked;
mod collect;
mod data;
mod elsewhere;
mod fetch;
mod finalize;
mod keep;
mod lap;
mod phase;
mod scopes;
mod siblings;
mod tell;

use std::sync::Arc;
use std::time::Duration;

use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use vela_crds::annotations::STAMPS;
use vela_crds::{Application, ApplicationConfiguration, Component, HealthScope, finalizers};
use vela_engine::application_configuration::{is_passive, status};
use vela_engine::{Document, Secrets};
use vela_runtime::Api;
use vela_runtime::cache::{Change, Index, Informer, Watch};
use vela_runtime::owner::controller_of;
use vela_runtime::{Action, Controller, Failure, Key, Reconciler, conditions};

use self::phase::{Phase, Stopped, Wrong};
use crate::application::fetch::{World, json as to_json};
use crate::application::owned::OwnedKinds;
use crate::author::{Acting, Nobody};
use crate::context::{Context, FIELD_MANAGER};

/// After a write that lost against another writer the cache needs a moment to catch up.
const CONFLICT_WAIT: Duration = Duration::from_millis(50);

/// What all phases of this controller share.
pub(crate) struct Hands {
    context: Context,
    configurations: Arc<Informer>,
    /// Whose author is acted for; only where authors are asked for.
    applications: Option<Arc<Informer>>,
    components: Arc<Informer>,
    world: World,
    owned: OwnedKinds,
    quiet: crate::prune::Quiet,
    refusals: crate::fixed::Refusals,
    books: keep::Books,
    data: data::Flows,
}

/// The controller of ApplicationConfigurations.
pub(crate) fn controller(context: &Context, workers: usize) -> Controller {
    let watch = |resource| context.cache.informer(Watch::full(resource));
    let hands = Hands {
        context: context.clone(),
        configurations: watch(ApiResource::erase::<ApplicationConfiguration>(&())),
        applications: context.authors.is_some().then(|| watch(ApiResource::erase::<Application>(&()))),
        components: watch(ApiResource::erase::<Component>(&())),
        world: World::new(context),
        owned: OwnedKinds::new(context, elsewhere::owner_of),
        quiet: crate::prune::Quiet::default(),
        refusals: crate::fixed::Refusals::default(),
        books: keep::Books::new(context),
        data: data::Flows::new(context),
    };
    let (configurations, applications) = (hands.configurations.clone(), hands.applications.clone());
    let (components, owned, world) = (hands.components.clone(), hands.owned.clone(), hands.world.clone());
    let data = hands.data.clone();
    let scopes = watch(ApiResource::erase::<HealthScope>(&()));
    let mut controller =
        Controller::new("applicationconfiguration", hands).for_kind(&configurations).workers(workers);
    owned.wake(controller.queue());
    data.wake(controller.queue());
    if let Some(applications) = &applications {
        let stored = configurations.clone();
        controller = controller.watches(applications, move |change| author_changed(change, &stored));
    }
    // Components, their revisions and scopes wake those that name them, definitions whoever is there: they change
    // rarely.
    let naming = configurations.index(names);
    let among = naming.clone();
    controller = controller.watches(&components, move |change| named(change, &among, COMPONENT));
    let among = naming.clone();
    controller = controller
        .watches(&crate::component::revisions(context), move |change| named(change, &among, REVISION));
    let among = naming;
    controller = controller.watches(&scopes, move |change| {
        let wish = |object: &Arc<DynamicObject>| (object.metadata.uid.clone(), object.metadata.generation);
        // Its health is none of our business.
        if change.old.is_some() && change.old.as_ref().map(wish) == change.new.as_ref().map(wish) {
            return Vec::new();
        }
        named(change, &among, SCOPE)
    });
    for informer in world.definitions().values() {
        let among = configurations.clone();
        controller = controller.watches(informer, move |change| match change.initial {
            true => Vec::new(),
            false => among.list().iter().map(|configuration| Key::of(configuration)).collect(),
        });
    }
    controller
}

/// The configurations that were stored for an application whose author is another one now.
fn author_changed(change: &Change, configurations: &Informer) -> Vec<Key> {
    let (Some(old), Some(new)) = (&change.old, &change.new) else { return Vec::new() };
    let stamp = |object: &DynamicObject| {
        STAMPS.map(|key| object.metadata.annotations.as_ref().and_then(|all| all.get(key)).cloned())
    };
    if stamp(old) == stamp(new) {
        return Vec::new();
    }
    let stored = configurations.list_where(|configuration| {
        controller_of(configuration).is_some_and(|owner| new.metadata.uid.as_deref() == Some(&owner.uid))
    });
    stored.iter().map(|configuration| Key::of(configuration)).collect()
}

/// What came of a lap, without what is confidential in what people are told.
fn hidden(lap: Result<lap::Lap, Stopped>, secrets: &Secrets) -> Result<lap::Lap, Stopped> {
    match lap {
        Ok(mut lap) => {
            let waits = lap.status.pointer_mut("/dependency/unsatisfied").and_then(Value::as_array_mut);
            for wait in waits.into_iter().flatten() {
                wait.get_mut("reason").into_iter().for_each(|reason| secrets.hide_in(reason));
            }
            lap.wrong = lap.wrong.map(|wrong| wrong.hide(secrets));
            Ok(lap)
        }
        Err(Stopped::Wrong(wrong)) => Err(wrong.hide(secrets).into()),
        Err(Stopped::Trouble(failure)) => {
            Err(Stopped::Trouble(failure.reworded(|said| secrets.hide(said).into_owned())))
        }
        Err(Stopped::NotYet) => Err(Stopped::NotYet),
    }
}

/// What a configuration names: the words that the terms of the index begin with.
const COMPONENT: &str = "component";
const REVISION: &str = "revision";
const SCOPE: &str = "scope";

fn term(what: &str, namespace: Option<&str>, name: &str) -> String {
    format!("{what} {} {name}", namespace.unwrap_or_default())
}

/// The terms of everything a configuration names: the pinned revision of a component, or else the component.
fn names(configuration: &DynamicObject) -> Vec<String> {
    let namespace = configuration.metadata.namespace.as_deref();
    let entries = configuration.data["spec"]["components"].as_array();
    let mut terms = Vec::new();
    for entry in entries.into_iter().flatten() {
        terms.push(match entry["revisionName"].as_str().unwrap_or_default() {
            "" => term(COMPONENT, namespace, entry["componentName"].as_str().unwrap_or_default()),
            pinned => term(REVISION, namespace, pinned),
        });
        let scopes = entry["scopes"].as_array().into_iter().flatten();
        let scopes = scopes.filter_map(|scope| scope["scopeRef"]["name"].as_str());
        terms.extend(scopes.map(|scope| term(SCOPE, namespace, scope)));
    }
    terms
}

/// The configurations of the changed object's namespace with an entry that names it.
fn named(change: &Change, among: &Index, what: &str) -> Vec<Key> {
    let Some(object) = change.object().filter(|_| !change.initial) else { return Vec::new() };
    let name = object.metadata.name.as_deref().unwrap_or_default();
    let found = among.find(&term(what, object.metadata.namespace.as_deref(), name));
    found.iter().map(|configuration| Key::of(configuration)).collect()
}

impl Reconciler for Hands {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let Some(configuration) = self.configurations.get(&key) else {
            self.quiet.forget(&key);
            self.data.forget(&key);
            return Ok(Action::Done);
        };
        if configuration.metadata.deletion_timestamp.is_some() {
            self.data.forget(&key);
            return finalize::finalize(self, &key, &configuration).await;
        }
        let document = Document::from_object(to_json(&configuration));
        if is_passive(document.value()) {
            return self.pass_over(&key, &configuration, &document).await;
        }
        let entries = configuration.data["spec"]["components"].as_array();
        let has_scopes = entries
            .is_some_and(|all| all.iter().any(|c| c["scopes"].as_array().is_some_and(|s| !s.is_empty())));
        let mut held = configuration.metadata.finalizers.clone().unwrap_or_default();
        if has_scopes && !held.iter().any(|held| held == finalizers::SCOPE) {
            held.push(finalizers::SCOPE.to_owned());
            // The write wakes us again.
            return self.set_finalizers(&key, &configuration, &held).await;
        }
        let now = conditions::now();
        let mut secrets = Secrets::default();
        secrets.add(document.value());
        let look = lap::Look { key: &key, configuration: &configuration, document: &document };
        let lap = lap::run(self, &look, &now, &mut secrets).await;
        let lap = match crate::hooks::run(&self.context.hooks.after, document.value()).await {
            Ok(()) => lap,
            Err(error) => Err(Wrong::new(Phase::After, error.message).again(error.again).into()),
        };
        self.report(&key, &configuration, &document, hidden(lap, &secrets), &now).await
    }
}

impl Hands {
    /// On whose behalf the configuration is executed.
    async fn acting(&self, configuration: &DynamicObject) -> Result<Result<Acting, Nobody>, kube::Error> {
        let application = || {
            let owner = controller_of(configuration).filter(|owner| owner.kind == "Application")?;
            let namespace = configuration.metadata.namespace.clone().unwrap_or_default();
            let found = self.applications.as_ref()?.get(&Key::new(namespace, owner.name.clone()))?;
            (found.metadata.uid.as_deref() == Some(&owner.uid)).then_some(found)
        };
        Acting::for_object(&self.context, configuration, application).await
    }

    /// Write the status and tell what happened.
    async fn report(
        &self,
        key: &Key,
        seen: &DynamicObject,
        document: &Document,
        lap: Result<lap::Lap, Stopped>,
        now: &str,
    ) -> Result<Action, Failure> {
        // The lap may have written what it was about to make.
        let live = self.configurations.get(key).filter(|live| live.metadata.uid == seen.metadata.uid);
        let Some(live) = live else { return Ok(Action::Done) };
        let before = document.value().get("status");
        let recorded = live.data.get("status");
        match lap {
            Ok(lap) => {
                crate::status::write(&self.api(key), &self.configurations, &live, &lap.status).await?;
                match &lap.wrong {
                    Some(wrong) => tell::wrong(self, &live, before, wrong).await,
                    None => tell::applied(self, &live, before, &lap.status, lap.changed).await,
                }
                lap.wrong.map_or(lap.then, |wrong| wrong.verdict())
            }
            Err(Stopped::NotYet) => Ok(Action::Done),
            Err(Stopped::Trouble(failure)) => Err(failure),
            Err(Stopped::Wrong(wrong)) => {
                let message = wrong.message();
                let why = status::Failed { message: &message, refused: wrong.refused };
                let status = status::failed(document.value(), why, recorded, wrong.templating, now);
                crate::status::write(&self.api(key), &self.configurations, &live, &status).await?;
                tell::wrong(self, &live, before, &wrong).await;
                wrong.verdict()
            }
        }
    }

    /// The record of an old revision: nothing is rendered and nothing deleted.
    async fn pass_over(
        &self,
        key: &Key,
        configuration: &DynamicObject,
        document: &Document,
    ) -> Result<Action, Failure> {
        let old = document.value().get("status");
        let status = status::passive(document.value(), old, &conditions::now());
        if crate::status::write(&self.api(key), &self.configurations, configuration, &status).await? {
            let regarding = vela_runtime::events::reference(configuration);
            self.context.events.normal(&regarding, "ACRevision", "the record of an old revision").await;
        }
        Ok(Action::Done)
    }

    async fn set_finalizers(
        &self,
        key: &Key,
        configuration: &DynamicObject,
        finalizers: &[String],
    ) -> Result<Action, Failure> {
        let patch = json!({"metadata": {
            "finalizers": finalizers,
            "resourceVersion": configuration.metadata.resource_version,
            "uid": configuration.metadata.uid,
        }});
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        match self.api(key).patch(&key.name, &params, &Patch::Merge(&patch)).await {
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
