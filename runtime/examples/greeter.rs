//! ConfigMaps labelled `greet` in → a ConfigMap `NAME-greeting` for each, which goes when its owner goes, out.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ApiResource, DynamicObject, Resource as _};
use serde_json::json;
use vela_runtime::{Action, Applier, Cache, Controller, Discovery, Failure, Key, Manager, Predicate};
use vela_runtime::{Reconciler, apply::Conflicts, cache::Watch, owner};

struct Greeter {
    asking: std::sync::Arc<vela_runtime::Informer>,
    greetings: std::sync::Arc<vela_runtime::Informer>,
    applier: Applier,
}

impl Reconciler for Greeter {
    async fn reconcile(&self, key: Key) -> Result<Action, Failure> {
        let Some(asking) = self.asking.get(&key) else { return Ok(Action::Done) };
        let name = asking.data["data"]["name"].as_str().unwrap_or("world");
        let greeting: DynamicObject = serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": format!("{}-greeting", key.name), "namespace": key.namespace, "labels": {"greeting": ""},
                "ownerReferences": [asking.controller_owner_ref(&self.asking.watch().resource)],
            },
            "data": {"text": format!("Hello, {name}!")},
        }))
        .map_err(Failure::terminal)?;
        let live = self.greetings.get(&Key::of(&greeting));
        let ours = |live: &DynamicObject| {
            owner::controlled_by(live, asking.metadata.uid.as_deref().unwrap_or_default())
        };
        self.applier.apply(&greeting, live, false, Conflicts::Force, &ours).await.map_err(Failure::retry)?;
        Ok(Action::Done)
    }
}

pub(crate) fn controller(client: &kube::Client, cache: &Cache) -> Controller {
    let labelled = |label| cache.informer(Watch::full(ApiResource::erase::<ConfigMap>(&())).labelled(label));
    let (asking, greetings) = (labelled("greet"), labelled("greeting"));
    let applier = Applier::new(client.clone(), Discovery::new(client.clone()), "greeter");
    // What people change in a greeting, or delete, is mended; one that appears is our own.
    let changed = greetings.only(!Predicate::created());
    let greeter = Greeter { asking: asking.clone(), greetings, applier };
    Controller::new("greeter", greeter).for_kind(&asking).owns(changed, "", "ConfigMap")
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = kube::Client::try_default().await?; // of KUBECONFIG
    let cache = Cache::new(client.clone());
    let stop = tokio_util::sync::CancellationToken::new();
    let manager = Manager::new(client.clone(), cache.clone()).with(controller(&client, &cache));
    let running = tokio::spawn(manager.run(stop.clone()));
    tokio::signal::ctrl_c().await?;
    stop.cancel();
    Ok(running.await??)
}
