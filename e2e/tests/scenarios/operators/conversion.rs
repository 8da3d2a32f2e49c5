//! Subscriptions of Dapr in both versions beside a real API server, which asks `vela-dapr` for conversions.

use serde_json::{Value, json};
use vela_e2e::Result;
use vela_e2e::objects::until;
use vela_e2e::target::Target;

use super::sidecars::HOME;
use super::until_it_is;
use crate::CONVERGE_DEADLINE;

const OLD: &str = "dapr.io/v1alpha1";
const NEW: &str = "dapr.io/v2alpha1";
const KIND: &str = "Subscription";
const SERVICE: &str = "dapr-webhook";
const CRD: (&str, &str, &str) =
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "subscriptions.dapr.io");
const CLIENT: &str = "/spec/conversion/webhook/clientConfig";

/// The Service of the operator leads to this machine: there is no network of pods here.
async fn reachable(target: &Target, port: u16) -> Result<()> {
    let (cluster, (api_version, kind, name)) = (target.cluster(), CRD);
    until_it_is(cluster, CRD, |crd| {
        crd.pointer(CLIENT).is_some_and(|client| client["caBundle"].is_string())
            && crd["metadata"]["labels"]["dapr.io/webhooks-by"] == "vela-dapr"
    })
    .await?;
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": SERVICE},
        "spec": {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port}]},
    });
    cluster.within(HOME).apply(&service).await?;
    let patch = json!({"spec": {"conversion": {"webhook": {"clientConfig": {"service": {"port": port}}}}}});
    cluster.patch(api_version, kind, name, &patch).await.map(drop)
}

async fn spec(target: &Target, api_version: &str, name: &str) -> std::result::Result<Value, String> {
    let found = target.cluster().get(api_version, KIND, name).await.map_err(|error| error.to_string())?;
    Ok(found.ok_or("it is not there")?["spec"].clone())
}

fn subscription(api_version: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": api_version, "kind": KIND, "metadata": {"name": name}, "spec": spec})
}

/// What is written in one version is read in the other, and a rule of the new one survives a change through the old one.
pub(super) async fn of_subscriptions(target: &Target, port: u16) -> Result<()> {
    reachable(target, port).await?;
    let cluster = target.cluster();
    let old = json!({"pubsubname": "broker", "topic": "orders", "route": "/orders"});
    until("the API server asks for conversions", CONVERGE_DEADLINE, async || {
        let written = cluster.apply(&subscription(OLD, "old", &old)).await;
        written.map_err(|error| error.to_string())?;
        let new = spec(target, NEW, "old").await?;
        if new["routes"]["default"] == "/orders" { Ok(()) } else { Err(new.to_string()) }
    })
    .await?;
    assert_eq!(spec(target, OLD, "old").await?, old);
    let rule = json!({"match": "event.type == 'a'", "path": "/a"});
    let new =
        json!({"pubsubname": "broker", "topic": "orders", "routes": {"default": "/orders", "rules": [rule]}});
    cluster.apply(&subscription(NEW, "new", &new)).await?;
    assert_eq!(spec(target, OLD, "new").await?["route"], "/orders");
    cluster.patch(OLD, KIND, "new", &json!({"spec": {"topic": "returns"}})).await?;
    let changed = spec(target, NEW, "new").await?;
    assert_eq!((&changed["topic"], &changed["routes"]["rules"][0]), (&json!("returns"), &rule));
    for name in ["old", "new"] {
        cluster.delete(NEW, KIND, name).await?;
    }
    Ok(())
}

/// Takes the Service away again.
pub(super) async fn tidy(target: &Target) -> Result<()> {
    let home = target.cluster().within(HOME);
    if home.get("v1", "Service", SERVICE).await?.is_some() {
        home.delete("v1", "Service", SERVICE).await?;
    }
    Ok(())
}
