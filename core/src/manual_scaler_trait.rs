//! A ManualScalerTrait in; the replicas of the objects that run its workload set out.

use std::sync::Arc;

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{ApiResource, DynamicObject, ListParams, Patch, PatchParams};
use serde_json::Value;
use vela_crds::{
    ChildResourceKind, Condition, Conditioned as _, ManualScalerTrait, WorkloadDefinition, labels,
};
use vela_engine::manual_scaler as scaling;
use vela_runtime::cache::{Change, Watch};
use vela_runtime::{Action, Controller, Failure, Informer, Key, Reconciler, events};

use crate::context::Context;
use crate::status;

/// Where definitions lie that every namespace may use.
const SYSTEM_NAMESPACE: &str = "vela-system";
/// Children of one kind looked at; a workload with more is not scaled by hand.
const CHILDREN_AT_MOST: u32 = 500;
const FIELD_MANAGER: &str = "vela-manual-scaler";

/// The controller of ManualScalerTraits; a Deployment that appears or changes its spec wakes the scalers beside it.
pub(crate) fn controller(context: &Context, workers: usize) -> Controller {
    let scalers = context.cache.informer(Watch::full(ApiResource::erase::<ManualScalerTrait>(&())));
    let deployments = context.cache.informer(Watch::full(ApiResource::erase::<Deployment>(&())));
    let definitions = context.cache.informer(Watch::full(ApiResource::erase::<WorkloadDefinition>(&())));
    let reconciler =
        Scalers { context: context.clone(), scalers: scalers.clone(), definitions: definitions.clone() };
    let beside = scalers.clone();
    Controller::new("manualscalertrait", reconciler)
        .for_kind(&scalers)
        .watches(&deployments, move |change| {
            if !spec_changed(change) {
                return Vec::new();
            }
            let namespace = change.object().and_then(|object| object.metadata.namespace.clone());
            beside
                .list_where(|scaler| scaler.metadata.namespace == namespace)
                .iter()
                .map(|s| Key::of(s))
                .collect()
        })
        .workers(workers)
}

fn spec_changed(change: &Change) -> bool {
    match (&change.old, &change.new) {
        (Some(old), Some(new)) => old.metadata.generation != new.metadata.generation,
        (_, new) => new.is_some(),
    }
}

struct Scalers {
    context: Context,
    scalers: Arc<Informer>,
    definitions: Arc<Informer>,
}

/// Why a scaler did not scale; each becomes its `Synced` condition.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("cannot find the workload that the trait is referencing to: {0}")]
    Workload(String),
    #[error("cannot scale the resource: neither the workload nor its children have spec.replicas")]
    NothingToScale,
    #[error(transparent)]
    Client(#[from] kube::Error),
}

impl Reconciler for Scalers {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let Some(live) = self.scalers.get(&key) else { return Ok(Action::Done) };
        if live.metadata.deletion_timestamp.is_some() {
            return Ok(Action::Done);
        }
        let scaler: ManualScalerTrait = (*live).clone().try_parse().map_err(Failure::terminal)?;
        let outcome = self.scale(&scaler, &key.namespace).await;
        let mut new = scaler.status.clone().unwrap_or_default();
        new.set_condition(match &outcome {
            Ok(()) => Condition::reconcile_success(status::now()),
            Err(error) => Condition::reconcile_error(error.to_string(), status::now()),
        });
        let changed = status::write_typed(&self.context, &self.scalers, &live, &new).await?;
        let reference = events::reference(&live);
        match outcome {
            Ok(()) => {
                if changed {
                    self.context.events.normal(&reference, "ManualScalerApplied", "replicas set").await;
                }
                Ok(Action::Done)
            }
            Err(error) => {
                if changed {
                    self.context.events.warning(&reference, "CannotScale", &error.to_string()).await;
                }
                Err(Failure::retry(error))
            }
        }
    }
}

impl Scalers {
    async fn scale(&self, scaler: &ManualScalerTrait, namespace: &str) -> Result<(), Error> {
        let reference = &scaler.spec.workload_ref;
        let described = format!("{} {}/{}", reference.kind, namespace, reference.name);
        let kind = self.context.discovery.resolve(&reference.api_version, &reference.kind).await;
        let kind = kind.map_err(|error| Error::Workload(error.to_string()))?;
        let api = kind.api(self.context.client.clone(), namespace);
        let workload = api.get_opt(&reference.name).await?;
        let workload = workload.ok_or_else(|| Error::Workload(format!("{described} does not exist")))?;
        let children = self.children(&workload, &kind.resource, namespace).await?;
        let workload = json_of(&workload);
        let targets = scaling::targets(&workload, &children);
        if targets.is_empty() {
            return Err(Error::NothingToScale);
        }
        for target in targets {
            let Some(patch) = scaling::patch(scaler, target) else { continue };
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let target_kind =
                self.context.discovery.resolve(&text(&target["apiVersion"]), &text(&target["kind"])).await;
            let target_kind = target_kind.map_err(|error| Error::Workload(error.to_string()))?;
            let api = target_kind.api(self.context.client.clone(), namespace);
            let name = text(&target["metadata"]["name"]);
            api.patch(
                &name,
                &PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() },
                &Patch::Merge(&patch),
            )
            .await?;
        }
        Ok(())
    }

    /// The live objects the workload runs as, by the child kinds of its definition; none where it has no definition.
    async fn children(
        &self,
        workload: &DynamicObject,
        resource: &ApiResource,
        namespace: &str,
    ) -> Result<Vec<Value>, Error> {
        let uid = workload.metadata.uid.clone().unwrap_or_default();
        let mut children = Vec::new();
        for child in self.child_kinds(workload, resource, namespace) {
            let Ok(kind) = self.context.discovery.resolve(&child.api_version, &child.kind).await else {
                continue;
            };
            let selector: Vec<String> = child.selector.iter().map(|(k, v)| format!("{k}={v}")).collect();
            let params = ListParams::default().labels(&selector.join(",")).limit(CHILDREN_AT_MOST);
            for mut object in kind.api(self.context.client.clone(), namespace).list(&params).await? {
                let owners = object.metadata.owner_references.clone().unwrap_or_default();
                if owners.iter().any(|owner| owner.uid == uid) {
                    // Items of a list come without their type.
                    object.types = Some(kube::core::TypeMeta {
                        api_version: child.api_version.clone(),
                        kind: child.kind.clone(),
                    });
                    children.push(json_of(&object));
                }
            }
        }
        Ok(children)
    }

    fn child_kinds(
        &self,
        workload: &DynamicObject,
        resource: &ApiResource,
        namespace: &str,
    ) -> Vec<ChildResourceKind> {
        let by_label = workload.metadata.labels.as_ref().and_then(|labels| labels.get(labels::WORKLOAD_TYPE));
        let name = by_label.cloned().unwrap_or_else(|| format!("{}.{}", resource.plural, resource.group));
        let found = [namespace, SYSTEM_NAMESPACE]
            .into_iter()
            .find_map(|namespace| self.definitions.get(&Key::new(namespace, name.clone())));
        let definition: Option<WorkloadDefinition> =
            found.and_then(|found| (*found).clone().try_parse().ok());
        definition.map(|definition| definition.spec.child_resource_kinds).unwrap_or_default()
    }
}

fn json_of(object: &DynamicObject) -> Value {
    // An object that came as JSON can be written as JSON.
    serde_json::to_value(object).unwrap_or_default()
}
