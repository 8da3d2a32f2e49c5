//! A changed Component → a ControllerRevision that keeps its content, and the name of it in the Component's status.

mod limit;
mod snapshot;

use std::sync::Arc;

use k8s_openapi::api::apps::v1::ControllerRevision;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::json;
use vela_crds::{ApplicationConfiguration, Component, labels};
use vela_runtime::cache::{Informer, Watch};
use vela_runtime::{Action, Controller, Failure, Key, Reconciler};

use crate::context::{Context, FIELD_MANAGER};

/// Numbers tried in one lap when revisions of that number exist with other content.
const TRIES: i64 = 100;

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
        let latest = &component.data["status"]["latestRevision"];
        let number = latest["revision"].as_i64().unwrap_or(0);
        if let Some(name) = latest["name"].as_str() {
            let stored = self.revisions.get(&Key::new(key.namespace.clone(), name));
            if stored.is_some_and(|stored| snapshot::spec(&stored) == &component.data["spec"]) {
                return Ok(Action::Done);
            }
        }
        let (name, number) = self.record(&key, &component, number).await?;
        let status = json!({
            "observedGeneration": generation,
            "latestRevision": {"name": name, "revision": number},
        });
        let patch = json!({"metadata": {"uid": component.metadata.uid}, "status": status});
        let params = PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let api: Api<DynamicObject> = Api::namespaced_with(
            self.context.client.clone(),
            &key.namespace,
            &self.components.watch().resource,
        );
        let written = api.patch_status(&key.name, &params, &Patch::Merge(&patch)).await?;
        self.components.observe(written);
        limit::limit(&self.context, &key, &self.revisions, &self.configurations).await;
        Ok(Action::Done)
    }
}

impl Revisions {
    /// Create the next revision. One that a cut-off lap left behind with the same content is used as it is.
    async fn record(
        &self,
        key: &Key,
        component: &DynamicObject,
        current: i64,
    ) -> Result<(String, i64), Failure> {
        let resource = &self.revisions.watch().resource;
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.context.client.clone(), &key.namespace, resource);
        let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        for number in current.saturating_add(1)..current.saturating_add(1 + TRIES) {
            let name = format!("{}-v{number}", key.name);
            let revision = snapshot::revision(component, &name, number);
            let revision: DynamicObject = serde_json::from_value(revision).map_err(Failure::terminal)?;
            match api.create(&params, &revision).await {
                Ok(created) => {
                    self.revisions.observe(created);
                    return Ok((name, number));
                }
                Err(kube::Error::Api(status)) if status.code == 409 => {
                    let stored = api.get(&name).await?;
                    if snapshot::spec(&stored) == &component.data["spec"]
                        && snapshot::belongs(&stored, component)
                    {
                        return Ok((name, number));
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(Failure::terminal(format!("component {key}: the next {TRIES} revision names are all taken")))
    }
}
