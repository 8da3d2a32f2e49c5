//! Reconciles a Component: keeps its content in a ControllerRevision and writes the revision's name into the status.

mod hook;
mod limit;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::ControllerRevision;
use kube::api::{ApiResource, DynamicObject, PostParams};
use serde_json::{Value, json};
use vela_crds::{ApplicationConfiguration, Component, labels};
use vela_engine::application_configuration::hook as asking;
use vela_engine::application_configuration::revision::{self, NewRevision};
use vela_runtime::Api;
use vela_runtime::cache::{Informer, Watch};
use vela_runtime::conditions::{self, Condition};
use vela_runtime::{Action, Controller, Failure, Key, Reconciler, events};

use self::hook::{Answer, RevisionHook};
use crate::application::fetch::json;
use crate::context::{Context, FIELD_MANAGER};

/// Numbers tried in one reconcile when revisions of that number exist with other content.
const TRIES: usize = 100;

struct ComponentReconciler {
    context: Context,
    components: Arc<Informer>,
    revisions: Arc<Informer>,
    configurations: Arc<Informer>,
    hook: Option<Result<RevisionHook, String>>,
}

/// The watch of all ControllerRevisions that belong to Components.
pub(crate) fn revisions(context: &Context) -> Arc<Informer> {
    let resource = ApiResource::erase::<ControllerRevision>(&());
    context.cache.informer(Watch::full(resource).labelled(labels::CONTROLLER_REVISION_COMPONENT))
}

/// The controller of Components.
pub(crate) fn controller(context: &Context, workers: usize) -> Controller {
    let components = context.cache.informer(Watch::full(ApiResource::erase::<Component>(&())));
    let configurations =
        context.cache.informer(Watch::full(ApiResource::erase::<ApplicationConfiguration>(&())));
    let hook = context.options.custom_revision_hook.as_ref();
    let reconciler = Arc::new(ComponentReconciler {
        context: context.clone(),
        components: components.clone(),
        revisions: revisions(context),
        configurations,
        hook: hook.map(|hook| RevisionHook::new(hook).map_err(|error| error.to_string())),
    });
    let controller = Controller::new("component", SharedReconciler(reconciler.clone()))
        .for_kind(&components)
        .workers(workers);
    if let Some(Ok(hook)) = &reconciler.hook {
        hook.wake(controller.queue());
    }
    controller
}

/// The reconciler, which its controller shares with the hook's queue.
struct SharedReconciler(Arc<ComponentReconciler>);

/// The next action for a component with new content.
enum Content {
    /// This is to be kept.
    Known(Value),
    /// The hook has not answered yet.
    Pending,
    /// The hook gave no content, for this reason; ask again after this time.
    Refused(String, Duration),
}

impl Reconciler for SharedReconciler {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        self.0.reconcile(key).await
    }
}

impl ComponentReconciler {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let component = self.components.get(&key);
        let Some(component) = component.filter(|component| component.metadata.deletion_timestamp.is_none())
        else {
            self.settled(&key);
            return Ok(Action::Done);
        };
        let generation = component.metadata.generation;
        let seen = component.data["status"]["observedGeneration"].as_i64();
        if generation.is_some() && generation == seen {
            self.settled(&key);
            return Ok(Action::Done);
        }
        let document = json(&component);
        let stored = revision::latest(&document)
            .and_then(|(name, _)| self.revisions.get(&Key::new(key.namespace.clone(), name)))
            .map(|stored| json(&stored));
        let new = match revision::revision(&document, stored.as_ref()) {
            // The content came back to what the latest revision holds.
            None => None,
            Some(new) if self.hook.is_none() => Some((document.clone(), new)),
            Some(_) => match self.content(&key, &document) {
                Content::Known(content) => {
                    revision::revision(&content, stored.as_ref()).map(|new| (content, new))
                }
                Content::Pending => return Ok(Action::Done),
                Content::Refused(why, again) => {
                    self.refuse(&key, &component, &why).await?;
                    return Ok(Action::RequeueAfter(again));
                }
            },
        };
        let mut status = match new {
            Some((content, new)) => self.record(&key, content, new).await?,
            None => document["status"].clone(),
        };
        status["observedGeneration"] = json!(generation);
        accept(&mut status);
        crate::status::write(&self.api(&key), &self.components, &component, &status).await?;
        self.settled(&key);
        let latest = status["latestRevision"]["name"].as_str().unwrap_or_default().to_owned();
        limit::limit(&self.context, &key, &latest, &self.revisions, &self.configurations).await;
        Ok(Action::Done)
    }

    fn api(&self, key: &Key) -> Api<DynamicObject> {
        let resource = &self.components.watch().resource;
        Api::namespaced_with(self.context.client.clone(), &key.namespace, resource)
    }

    fn settled(&self, key: &Key) {
        if let Some(Ok(hook)) = &self.hook {
            hook.forget(key);
        }
    }

    /// The content to keep: the component with the hook's answer over it.
    fn content(&self, key: &Key, component: &Value) -> Content {
        let hook = match &self.hook {
            None => return Content::Known(component.clone()),
            Some(Ok(hook)) => hook,
            Some(Err(error)) => return Content::Refused(error.clone(), vela_runtime::queue::BACKOFF_LAST),
        };
        let metadata = &component["metadata"];
        let uid = metadata["uid"].as_str().unwrap_or_default().to_owned();
        let content = (uid, metadata["generation"].as_i64().unwrap_or(0));
        let request = asking::request(component, &self.users(key));
        match hook.ask(key, &content, &request) {
            Answer::Pending => Content::Pending,
            Answer::Failed(error, again) => Content::Refused(error, again),
            Answer::Bytes(bytes) => match asking::merge(component, &bytes) {
                Ok(content) => Content::Known(content),
                Err(error) => Content::Refused(error.to_string(), hook.refused(key)),
            },
        }
    }

    /// The configurations that use the component, in the order of their names.
    fn users(&self, key: &Key) -> Vec<(String, String)> {
        let uses = |configuration: &DynamicObject| {
            configuration.metadata.namespace.as_deref() == Some(&key.namespace)
                && asking::uses(&json(configuration), &key.name)
        };
        let mut users: Vec<(String, String)> = self
            .configurations
            .list_where(uses)
            .iter()
            .map(|configuration| Key::of(configuration))
            .map(|key| (key.namespace, key.name))
            .collect();
        users.sort();
        users
    }

    /// Say on the component why it has no revision; the configurations that use it read it there.
    async fn refuse(&self, key: &Key, component: &DynamicObject, why: &str) -> Result<(), Failure> {
        let message = format!("the custom revision hook gave no revision: {why}");
        let mut status = component.data["status"].clone();
        if !status.is_object() {
            status = json!({});
        }
        let mut all = status["conditions"].as_array().cloned().unwrap_or_default();
        conditions::set(&mut all, &[Condition::no("Synced", "ReconcileError", &message)], &conditions::now());
        status["conditions"] = json!(all);
        if status["observedGeneration"].is_null() {
            status["observedGeneration"] = json!(0);
        }
        if crate::status::write(&self.api(key), &self.components, component, &status).await? {
            let regarding = events::reference(component);
            self.context.events.warning(&regarding, "CannotCutRevision", &message).await;
        }
        Ok(())
    }

    /// Create the next revision and tell the status that names it. One that a cut-off reconcile left behind with the same
    /// content is used as it is; a name that something else took is passed over.
    async fn record(&self, key: &Key, mut component: Value, mut new: NewRevision) -> Result<Value, Failure> {
        let resource = &self.revisions.watch().resource;
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.context.client.clone(), &key.namespace, resource);
        let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        for _ in 0..TRIES {
            let object: DynamicObject =
                serde_json::from_value(new.object.clone()).map_err(Failure::terminal)?;
            match api.create(&params, &object).await {
                Ok(created) => {
                    self.revisions.observe(created);
                    return Ok(new.status);
                }
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                Err(error) => return Err(error.into()),
            }
            let taken = json(&api.get(&new.name).await?);
            let owners = taken["metadata"]["ownerReferences"].as_array();
            let ours = owners.is_some_and(|all| all.iter().any(|o| o["uid"] == component["metadata"]["uid"]));
            if ours && taken["data"]["spec"] == component["spec"] {
                return Ok(new.status);
            }
            component["status"]["latestRevision"] = json!({"name": new.name, "revision": new.number});
            match revision::revision(&component, None) {
                Some(next) => new = next,
                None => break,
            }
        }
        Err(Failure::terminal(format!("component {key}: the next {TRIES} revision names are all taken")))
    }
}

/// An earlier refusal is over.
fn accept(status: &mut Value) {
    if let Some(all) = status.get_mut("conditions").and_then(Value::as_array_mut)
        && all.iter().any(|condition| condition["type"] == "Synced")
    {
        conditions::set(all, &[Condition::yes("Synced", "ReconcileSuccess")], &conditions::now());
    }
}
