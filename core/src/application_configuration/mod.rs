//! The lap of an ApplicationConfiguration (v1alpha2): fetch → parse → render → graph → apply → scopes → garbage → report.

mod apply;
mod fetch;
mod finalize;
mod scopes;

use std::sync::Arc;
use std::time::Duration;

use kube::Api;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use vela_crds::{ApplicationConfiguration, Component, HealthScope, finalizers};
use vela_engine::application_configuration::{graph, parse, render, status};
use vela_engine::{Diagnostics, Document};
use vela_runtime::cache::{Change, Informer, Watch};
use vela_runtime::controller::controller_owner;
use vela_runtime::{Action, Controller, Failure, Key, Reconciler, conditions};

use crate::application::fetch::{World, json as to_json};
use crate::application::owned::OwnedKinds;
use crate::context::{Context, FIELD_MANAGER};

/// After a write that lost against another writer the cache needs a moment to catch up.
const CONFLICT_WAIT: Duration = Duration::from_millis(50);

/// What all phases of this controller share.
pub(crate) struct Hands {
    context: Context,
    configurations: Arc<Informer>,
    components: Arc<Informer>,
    world: World,
    owned: OwnedKinds,
}

/// A lap that ended early.
enum Stopped {
    /// The configuration or what it names must change; `error` says how.
    Wrong(Diagnostics),
    /// Another try may help.
    Trouble(Failure),
    /// A component's revision is not cut yet; it wakes us.
    NotYet,
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for Stopped {
    fn from(error: E) -> Self {
        Self::Trouble(Failure::retry(error))
    }
}

/// The controller of ApplicationConfigurations.
pub(crate) fn controller(context: &Context, workers: usize) -> Controller {
    let watch = |resource| context.cache.informer(Watch::full(resource));
    let hands = Hands {
        context: context.clone(),
        configurations: watch(ApiResource::erase::<ApplicationConfiguration>(&())),
        components: watch(ApiResource::erase::<Component>(&())),
        world: World::new(context),
        owned: OwnedKinds::new(context, |object| {
            controller_owner(object, vela_crds::GROUP, "ApplicationConfiguration")
        }),
    };
    let configurations = hands.configurations.clone();
    let (components, owned, world) = (hands.components.clone(), hands.owned.clone(), hands.world.clone());
    let scopes = watch(ApiResource::erase::<HealthScope>(&()));
    let mut controller =
        Controller::new("applicationconfiguration", hands).for_kind(&configurations).workers(workers);
    owned.wake(controller.queue());
    // Components and scopes wake those that name them, definitions whoever is there: they change rarely.
    let among = configurations.clone();
    controller = controller.watches(&components, move |change| users_of(change, &among));
    let among = configurations.clone();
    controller = controller.watches(&scopes, move |change| users_of(change, &among));
    for informer in world.definitions().values() {
        let among = configurations.clone();
        controller = controller.watches(informer, move |change| match change.initial {
            true => Vec::new(),
            false => among.list().iter().map(|configuration| Key::of(configuration)).collect(),
        });
    }
    controller
}

/// The configurations that name a changed Component, one of its revisions, or a scope.
fn users_of(change: &Change, configurations: &Informer) -> Vec<Key> {
    let Some(object) = change.object().filter(|_| !change.initial) else { return Vec::new() };
    let name = object.metadata.name.clone().unwrap_or_default();
    let names = |entry: &Value| {
        let scopes = entry["scopes"].as_array();
        entry["componentName"] == name.as_str()
            || entry["revisionName"]
                .as_str()
                .is_some_and(|revision| revision.starts_with(&format!("{name}-")))
            || scopes
                .is_some_and(|scopes| scopes.iter().any(|scope| scope["scopeRef"]["name"] == name.as_str()))
    };
    let uses = |configuration: &DynamicObject| {
        configuration.metadata.namespace == object.metadata.namespace
            && configuration.data["spec"]["components"].as_array().is_some_and(|all| all.iter().any(names))
    };
    configurations.list_where(uses).iter().map(|configuration| Key::of(configuration)).collect()
}

impl Reconciler for Hands {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let Some(configuration) = self.configurations.get(&key) else { return Ok(Action::Done) };
        if configuration.metadata.deletion_timestamp.is_some() {
            return finalize::finalize(self, &key, &configuration).await;
        }
        let has_scopes = configuration.data["spec"]["components"]
            .as_array()
            .is_some_and(|all| all.iter().any(|c| c["scopes"].as_array().is_some_and(|s| !s.is_empty())));
        let held = configuration.metadata.finalizers.clone().unwrap_or_default();
        if has_scopes && !held.iter().any(|held| held == finalizers::SCOPE) {
            let mut held = held;
            held.push(finalizers::SCOPE.to_owned());
            // The write wakes us again.
            return self.set_finalizers(&key, &configuration, &held).await;
        }
        let document = Document::from_object(to_json(&configuration));
        let old = document.value().get("status").cloned();
        let now = conditions::now();
        let (status, failure) = match self.lap(&key, &document, old.as_ref(), &now).await {
            Ok(done) => done,
            Err(Stopped::NotYet) => return Ok(Action::Done),
            Err(Stopped::Trouble(failure)) => return Err(failure),
            Err(Stopped::Wrong(error)) => {
                (status::failed(document.value(), &error, old.as_ref(), &now), None)
            }
        };
        if crate::status::write(&self.api(&key), &self.configurations, &configuration, &status).await? {
            self.tell(&configuration, old.as_ref(), &status).await;
        }
        failure.map_or(Ok(Action::Done), Err)
    }
}

impl Hands {
    /// The lap up to the status, and what asks for another try.
    async fn lap(
        &self,
        key: &Key,
        document: &Document,
        old: Option<&Value>,
        now: &str,
    ) -> Result<(Value, Option<Failure>), Stopped> {
        if self.awaits_revision(document) {
            return Err(Stopped::NotYet);
        }
        let snapshot = fetch::fetch(&self.world, key, document).await?;
        let parsed = parse::parse(document, &snapshot).map_err(Stopped::Wrong)?;
        let rendered = render::render(&parsed, &snapshot).map_err(Stopped::Wrong)?;
        let graph = graph::graph(rendered).map_err(Stopped::Wrong)?;
        let observed = apply::apply(self, document, &graph).await;
        let status = status::status(&graph, &observed.observed, old, now);
        if observed.failures.is_empty() {
            scopes::join(self, &graph).await.map_err(Stopped::Trouble)?;
            scopes::leave(self, &key.namespace, &graph.dropped_memberships())
                .await
                .map_err(Stopped::Trouble)?;
            apply::collect(self, document, &graph).await.map_err(Stopped::Trouble)?;
            return Ok((status, None));
        }
        Ok((status, Some(Failure::retry(observed.failures.join("; ")))))
    }

    /// Does a named component have content whose revision is not cut yet?
    fn awaits_revision(&self, document: &Document) -> bool {
        let entries = document.value()["spec"]["components"].as_array();
        entries.into_iter().flatten().filter_map(|entry| entry["componentName"].as_str()).any(|name| {
            let component = self.components.get(&Key::new(document.namespace(), name));
            component.is_some_and(|component| {
                component.metadata.generation != component.data["status"]["observedGeneration"].as_i64()
            })
        })
    }

    async fn tell(&self, configuration: &DynamicObject, old: Option<&Value>, status: &Value) {
        let regarding = vela_runtime::events::reference(configuration);
        let condition = &status["conditions"][0];
        let before = old.map(|old| &old["conditions"][0]);
        let same = before.is_some_and(|before| {
            before["status"] == condition["status"] && before["message"] == condition["message"]
        });
        match condition["status"].as_str() {
            Some("True") if !same || old.map(|old| &old["workloads"]) != Some(&status["workloads"]) => {
                let workloads = status["workloads"].as_array().map_or(0, Vec::len);
                self.context.events.normal(&regarding, "RenderedComponents", "").await;
                let note = format!("workloads={workloads}");
                self.context.events.normal(&regarding, "AppliedComponents", &note).await;
            }
            Some("False") if !same => {
                let message = condition["message"].as_str().unwrap_or_default();
                let reason = match message.starts_with("cannot render") {
                    true => "CannotRenderComponents",
                    false => "CannotApplyComponents",
                };
                self.context.events.warning(&regarding, reason, message).await;
            }
            _ => {}
        }
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
