//! Builds the Service, the flags and the configurations by which the controller's webhooks are reached.

use std::borrow::Cow;

use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};
use vela_crds::labels::{WEBHOOKS, WEBHOOKS_OF_CORE};
use vela_webhooks::registration::{self, Server};

use crate::cluster::Cluster;
use crate::error::{Error, Result};
use crate::ownership::Path;
use crate::pointer::text;

/// The Service that API servers call.
const SERVICE: &str = "vela-core-webhook";
/// The Secret with its certificate, which the controller issues itself.
pub(crate) const SECRET: &str = "vela-core-webhook-tls";
/// Port of the webhook server inside the pod.
const PORT: u16 = 9443;
/// The port that API servers call.
const SERVICE_PORT: u16 = 443;

/// A controller behind [`SERVICE`].
pub(crate) fn in_cluster(home: &str) -> Server {
    Server::Service { namespace: home.to_owned(), name: SERVICE.to_owned() }
}

/// A controller at an address that API servers reach.
pub(crate) fn outside(home: &str, url: &str) -> Result<Server> {
    let authority = url.trim_end_matches('/').strip_prefix("https://");
    if authority.is_none_or(|authority| authority.is_empty() || authority.contains(['/', '?', '#', '@', ' ']))
    {
        return Err(Error::user(format!("--webhook-url {url:?} is no address of a webhook server"))
            .hint("write for example https://10.0.0.1:9443, without a path")
            .into());
    }
    Ok(Server::Url { url: url.to_owned(), home: home.to_owned() })
}

/// What sends every write to the webhooks; the controller adds by whom its certificate is signed.
pub(crate) fn configurations(server: &Server) -> Vec<Value> {
    registration::configurations(server)
}

/// What makes it known who wrote what the controller acts by.
pub(crate) fn authors(server: &Server) -> Vec<Value> {
    registration::authors(server)
}

/// What sends workloads to the trait injector.
pub(crate) fn trait_injector(server: &Server) -> Value {
    registration::trait_injector(server)
}

/// Has API servers ask the controller for other versions of Applications.
pub(crate) fn convert(objects: &mut [Value], server: &Server) {
    let crd = objects.iter_mut().find(|object| is_converted(object));
    if let Some(crd) = crd {
        registration::converted(crd, server);
    }
}

fn is_converted(object: &Value) -> bool {
    text(object, "/kind") == "CustomResourceDefinition"
        && text(object, "/metadata/name") == registration::CONVERTED
}

/// Does the kind have a conversion that an earlier installation asked for and this one does not?
fn converts_no_more(object: &Value, live: &DynamicObject) -> bool {
    let is_webhook = |strategy: Option<&Value>| strategy.is_some_and(|strategy| strategy == "Webhook");
    const STRATEGY: &str = "/spec/conversion/strategy";
    let ours = live.labels().get(WEBHOOKS).is_some_and(|whose| whose == WEBHOOKS_OF_CORE);
    is_converted(object)
        && ours
        && is_webhook(live.data.pointer(STRATEGY))
        && !is_webhook(object.pointer(STRATEGY))
}

/// Takes a conversion away that an earlier installation asked for and this one does not: what the controller wrote
/// beside it would otherwise stay, and be refused without it.
pub(crate) async fn convert_no_more(cluster: &Cluster, object: &Value) -> Result<()> {
    if !is_converted(object) {
        return Ok(());
    }
    let (api_version, kind) = (text(object, "/apiVersion"), text(object, "/kind"));
    match cluster.get(api_version, kind, None, registration::CONVERTED).await? {
        Some(live) if converts_no_more(object, &live) => {
            convert_by_none(cluster, registration::CONVERTED).await
        }
        _ => Ok(()),
    }
}

/// The object as an API server can judge it while a conversion stands that it no longer asks for: with that conversion, but
/// for the authority in it, which is the controller's.
pub(crate) fn beside_conversion<'a>(object: &'a Value, live: &DynamicObject) -> Cow<'a, Value> {
    if !converts_no_more(object, live) {
        return Cow::Borrowed(object);
    }
    let mut judged = object.clone();
    judged["spec"]["conversion"] = live.data["spec"]["conversion"].clone();
    if let Some(client) =
        judged.pointer_mut("/spec/conversion/webhook/clientConfig").and_then(Value::as_object_mut)
    {
        client.remove("caBundle");
    }
    Cow::Owned(judged)
}

/// Has API servers give every version of a kind with the fields it has, and ask no webhook.
pub(crate) async fn convert_by_none(cluster: &Cluster, crd: &str) -> Result<()> {
    let none = [
        (&["spec", "conversion", "strategy"] as Path, Some(json!("None"))),
        (&["spec", "conversion", "webhook"], None),
    ];
    cluster.change(("apiextensions.k8s.io/v1", "CustomResourceDefinition"), crd, &none).await
}

/// The objects in the order they are applied. A first installation registers webhooks last: until then nothing asks for a
/// controller that is not there. Configurations that stand already come first: how an earlier release registered its
/// webhooks must not stop what this one installs.
pub(crate) async fn standing_first<'a>(cluster: &Cluster, objects: &'a [Value]) -> Result<Vec<&'a Value>> {
    let mut standing = Vec::new();
    let mut others = Vec::new();
    for object in objects {
        let (api_version, kind) = (text(object, "/apiVersion"), text(object, "/kind"));
        let stands = kind.ends_with("WebhookConfiguration")
            && cluster.get(api_version, kind, None, text(object, "/metadata/name")).await?.is_some();
        if stands { standing.push(object) } else { others.push(object) }
    }
    standing.append(&mut others);
    Ok(standing)
}

/// The controller's flags.
pub(crate) fn args() -> [String; 4] {
    [
        "--use-webhook".to_owned(),
        format!("--webhook-port={PORT}"),
        format!("--webhook-cert-secret={SECRET}"),
        format!("--webhook-service={SERVICE}"),
    ]
}

/// The controller's port and its name.
pub(crate) fn port() -> (&'static str, u16) {
    ("webhooks", PORT)
}

/// The Service of pods with these labels.
pub(crate) fn service(home: &str, labels: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": SERVICE, "namespace": home},
        "spec": {"selector": labels, "ports": [{"name": "webhooks", "port": SERVICE_PORT, "targetPort": "webhooks"}]},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_outside_has_a_scheme_and_no_path() {
        assert_eq!(
            outside("platform", "https://127.0.0.1:9443/").ok(),
            Some(Server::Url { url: "https://127.0.0.1:9443/".to_owned(), home: "platform".to_owned() })
        );
        for wrong in ["http://a:1", "a:1", "https://", "https://a/b", "https://a?b", "https://u@a"] {
            assert!(outside("platform", wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_controller_serves_where_its_service_leads() {
        let objects = super::super::controller("platform", "image", true, &[]);
        let find = |kind: &str| objects.iter().find(|object| object["kind"] == kind).unwrap();
        let deployment = find("Deployment");
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        let flags: Vec<_> = container["args"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert!(flags.contains(&"--use-webhook") && flags.contains(&"--webhook-port=9443"), "{flags:?}");
        let service = find("Service");
        assert_eq!(service["spec"]["selector"], deployment["spec"]["template"]["metadata"]["labels"]);
        let port = &service["spec"]["ports"][0];
        assert!(container["ports"].as_array().unwrap().iter().any(|one| one["name"] == port["targetPort"]));
        assert!(flags.contains(&"--enable-leader-election"), "{flags:?}");
        assert_eq!(deployment["spec"]["strategy"]["type"], "Recreate");
        let plain = super::super::controller("platform", "image", false, &[]);
        assert!(plain.iter().all(|object| object["kind"] != "Service"));
        assert!(!plain.iter().any(|object| object.to_string().contains("--use-webhook")));
    }
}
