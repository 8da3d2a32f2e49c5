//! Reconciles Deployments: writes the Service of each sidecar, and removes it where Dapr is switched off.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use serde_json::Value;
use vela_runtime::apply::{self, Conflicts};
use vela_runtime::cache::Watch;
use vela_runtime::events::{self, EventRecorder};
use vela_runtime::owner;
use vela_runtime::{
    Action, Applier, Cache, Controller, Discovery, Failure, Informer, Key, Reconciler, Retry,
};

use crate::{annotations, service};

/// Field manager of the Services.
const FIELD_MANAGER: &str = "vela-dapr";

/// The controller: wakes for Deployments and for the Services it made.
#[must_use]
pub fn controller(client: &kube::Client, cache: &Cache, workers: usize) -> Controller {
    let of = |group: &str, kind: &str| ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
    let deployments = cache.informer(Watch::full(of("apps", "Deployment")));
    let services = cache.informer(Watch::full(of("", "Service")).labelled(annotations::ENABLED));
    let discovery = Discovery::new(client.clone());
    let reconciler = SidecarReconciler {
        deployments: deployments.clone(),
        services: services.clone(),
        applier: Applier::new(client.clone(), discovery, FIELD_MANAGER),
        events: EventRecorder::new(client.clone(), FIELD_MANAGER),
    };
    Controller::new("dapr-service", reconciler)
        .for_kind(&deployments)
        .owns(&services, "apps", "Deployment")
        .workers(workers)
}

struct SidecarReconciler {
    deployments: Arc<Informer>,
    services: Arc<Informer>,
    applier: Applier,
    events: EventRecorder,
}

impl Reconciler for SidecarReconciler {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let Some(live) = self.deployments.get(&key) else { return Ok(Action::Done) };
        if live.metadata.deletion_timestamp.is_some() {
            return Ok(Action::Done);
        }
        let deployment = serde_json::to_value(&*live).map_err(Failure::terminal)?;
        let asked = match annotations::read(&template_annotations(&deployment)) {
            Ok(asked) => asked,
            Err(mistakes) => {
                let text: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
                return self.refuse(&live, text.join("; ")).await;
            }
        };
        let wanted = asked.as_ref().map(|sidecar| service::name(&sidecar.app_id));
        self.remove_others(&live, wanted.as_deref()).await?;
        let Some(sidecar) = asked else { return Ok(Action::Done) };
        let desired = match service::service(&deployment, &sidecar) {
            Ok(desired) => desired,
            Err(message) => return self.refuse(&live, message).await,
        };
        let desired: DynamicObject = serde_json::from_value(desired).map_err(Failure::terminal)?;
        let known = self.services.get(&Key::of(&desired));
        let guard = |service: &DynamicObject| controlled_by(service, &live);
        match self.applier.apply(&desired, known, false, Conflicts::Force, &guard).await {
            Ok(_) => Ok(Action::Done),
            Err(error) => match error.retry() {
                Retry::Conflict | Retry::BackOff(_) => Err(Failure::retry(error)),
                Retry::Forbidden => {
                    self.warn(&live, &error.to_string()).await;
                    Err(Failure::retry(error))
                }
                Retry::Never => self.refuse(&live, error.to_string()).await,
            },
        }
    }
}

impl SidecarReconciler {
    /// What only a change of the Deployment can mend is said on the Deployment and not tried again.
    async fn refuse(&self, live: &DynamicObject, message: String) -> Result<Action, Failure> {
        self.warn(live, &message).await;
        Err(Failure::terminal(message))
    }

    async fn warn(&self, live: &DynamicObject, message: &str) {
        self.events.warning(&events::reference(live), "CannotServeDapr", message).await;
    }

    /// Removes Services this Deployment controls under another id, or at all when Dapr was switched off.
    async fn remove_others(&self, live: &DynamicObject, wanted: Option<&str>) -> Result<(), Failure> {
        let namespace = live.metadata.namespace.clone();
        let mine = self.services.list_where(|service| {
            service.metadata.namespace == namespace && controlled_by(service, live).is_ok()
        });
        for service in mine {
            let key = Key::of(&service);
            if wanted == Some(key.name.as_str()) {
                continue;
            }
            let guard = |service: &DynamicObject| controlled_by(service, live);
            match self.applier.delete("v1", "Service", &key, Some(service.clone()), &guard).await {
                Ok(_) | Err(apply::Error::Foreign { .. }) => {}
                Err(error) => return Err(Failure::retry(error)),
            }
        }
        Ok(())
    }
}

/// Only a Service that the Deployment controls may be changed or removed.
fn controlled_by(service: &DynamicObject, deployment: &DynamicObject) -> Result<(), String> {
    owner::controlled_by(service, deployment.metadata.uid.as_deref().unwrap_or_default())
        .map_err(|reason| format!("{reason}, or choose another app-id"))
}

fn template_annotations(deployment: &Value) -> BTreeMap<String, String> {
    let annotations = &deployment["spec"]["template"]["metadata"]["annotations"];
    serde_json::from_value(annotations.clone()).unwrap_or_default()
}
