//! What people do with objects, and what they see of them.

use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::TestCluster;
use super::wait::{until, until_or};

impl TestCluster {
    pub(crate) async fn api(&self, api_version: &str, kind: &str) -> Api<DynamicObject> {
        let kind = self.discovery.resolve(api_version, kind).await.unwrap();
        kind.api(self.client.clone(), &self.namespace).inner().unwrap()
    }

    pub(crate) async fn create(&self, object: Value) -> DynamicObject {
        let (api, object) = self.placed(object).await;
        api.create(&PostParams::default(), &object).await.unwrap()
    }

    /// Makes it so, whether it is there or not: some definitions come by themselves.
    pub(crate) async fn apply(&self, object: Value) {
        let (api, object) = self.placed(object).await;
        let name = object.metadata.name.clone().unwrap();
        api.patch(&name, &PatchParams::apply("scenario").force(), &Patch::Apply(&object)).await.unwrap();
    }

    async fn placed(&self, mut object: Value) -> (Api<DynamicObject>, DynamicObject) {
        if object["metadata"]["namespace"].is_null() {
            object["metadata"]["namespace"] = json!(self.namespace);
        }
        let (version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
        let resource = self.discovery.resolve(version, kind).await.unwrap();
        if !resource.namespaced {
            object["metadata"].as_object_mut().unwrap().remove("namespace");
        }
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
        let api = resource.api(self.client.clone(), namespace).inner().unwrap();
        (api, serde_json::from_value(object).unwrap())
    }

    pub(crate) async fn get(&self, api_version: &str, kind: &str, name: &str) -> Option<Value> {
        let found = self.api(api_version, kind).await.get_opt(name).await.unwrap();
        found.map(|object| serde_json::to_value(object).unwrap())
    }

    pub(crate) async fn list(&self, api_version: &str, kind: &str) -> Vec<Value> {
        let found = self.api(api_version, kind).await.list(&ListParams::default()).await.unwrap();
        found.items.into_iter().map(|object| serde_json::to_value(object).unwrap()).collect()
    }

    pub(crate) async fn patch(&self, api_version: &str, kind: &str, name: &str, patch: Value) {
        let api = self.api(api_version, kind).await;
        api.patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    }

    pub(crate) async fn delete(&self, api_version: &str, kind: &str, name: &str) {
        self.api(api_version, kind).await.delete(name, &DeleteParams::default()).await.unwrap();
    }

    pub(crate) async fn application(&self, name: &str) -> Value {
        self.get("core.oam.dev/v1beta1", "Application", name).await.unwrap_or(Value::Null)
    }

    pub(crate) async fn deployment(&self, name: &str) -> Option<Value> {
        self.get("apps/v1", "Deployment", name).await
    }

    /// The record of an application, wherever it lives: the tracker that says which content was applied, with what the others
    /// name as well.
    pub(crate) async fn tracker(&self, application: &str) -> Option<Value> {
        let mut all = self.trackers(application).await;
        let at = all.iter().position(|one| one["spec"]["type"] != "root").unwrap_or_default();
        let mut main = (!all.is_empty()).then(|| all.remove(at))?;
        for more in &all {
            let entries = more["spec"]["managedResources"].as_array().cloned().unwrap_or_default();
            match main["spec"]["managedResources"].as_array_mut() {
                Some(named) => named.extend(entries),
                None => main["spec"]["managedResources"] = Value::Array(entries),
            }
        }
        Some(main)
    }

    /// Everything that records what an application owns, by name.
    pub(crate) async fn trackers(&self, application: &str) -> Vec<Value> {
        let mut all = self.list("core.oam.dev/v1beta1", "ResourceTracker").await;
        all.retain(|one| {
            let labels = &one["metadata"]["labels"];
            labels["app.oam.dev/name"] == application
                && labels["app.oam.dev/namespace"] == self.namespace.as_str()
        });
        all.sort_by_key(|one| one["metadata"]["name"].as_str().map(str::to_owned));
        all
    }

    pub(crate) async fn phase(&self, name: &str, phase: &str) {
        let what = format!("application {name} is {phase}");
        until_or(
            &what,
            || async { self.application(name).await },
            |application| {
                application["status"]["status"] == phase
                    && application["status"]["observedGeneration"] == application["metadata"]["generation"]
            },
        )
        .await;
    }

    pub(crate) async fn gone(&self, api_version: &str, kind: &str, name: &str) {
        until(&format!("{kind} {name} is gone"), || async {
            self.get(api_version, kind, name).await.is_none()
        })
        .await;
    }
}
