//! A changed Component → a ControllerRevision that keeps its content, and the name of it in the Component's status.

mod limit;

use std::sync::Arc;

use k8s_openapi::api::apps::v1::ControllerRevision;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, PostParams};
use serde_json::{Value, json};
use vela_crds::{ApplicationConfiguration, Component, labels};
use vela_engine::application_configuration::revision::{self, NewRevision};
use vela_runtime::cache::{Informer, Watch};
use vela_runtime::{Action, Controller, Failure, Key, Reconciler};

use crate::application::fetch::json;
use crate::context::{Context, FIELD_MANAGER};

/// Numbers tried in one lap when revisions of that number exist with other content.
const TRIES: usize = 100;

struct Revisions {
    context: Context,
    components: Arc<Informer>,
    revisions: Arc<Informer>,
    configurations: Arc<Informer>,
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
    let reconciler = Revisions {
        context: context.clone(),
        components: components.clone(),
        revisions: revisions(context),
        configurations,
    };
    Controller::new("component", reconciler).for_kind(&components).workers(workers)
}

impl Reconciler for Revisions {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let Some(component) = self.components.get(&key) else { return Ok(Action::Done) };
        let generation = component.metadata.generation;
        let seen = component.data["status"]["observedGeneration"].as_i64();
        if component.metadata.deletion_timestamp.is_some() || (generation.is_some() && generation == seen) {
            return Ok(Action::Done);
        }
        let document = json(&component);
        let stored = revision::latest(&document)
            .and_then(|(name, _)| self.revisions.get(&Key::new(key.namespace.clone(), name)))
            .map(|stored| json(&stored));
        let status = match revision::revision(&document, stored.as_ref()) {
            Some(new) => self.record(&key, document, new).await?,
            // The content came back to what the latest revision holds: only say that it was looked at.
            None => {
                let mut status = document["status"].clone();
                status["observedGeneration"] = json!(generation);
                status
            }
        };
        let resource = &self.components.watch().resource;
        let api = Api::namespaced_with(self.context.client.clone(), &key.namespace, resource);
        crate::status::write(&api, &self.components, &component, &status).await?;
        limit::limit(&self.context, &key, &self.revisions, &self.configurations).await;
        Ok(Action::Done)
    }
}

impl Revisions {
    /// Create the next revision and tell the status that names it. One that a cut-off lap left behind with the same
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
