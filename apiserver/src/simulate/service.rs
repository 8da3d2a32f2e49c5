//! Service → Endpoints and an EndpointSlice of the pods it selects.
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::object::{self, set, text};
use super::{Action, IndexKey, Outcome, View, template};

const SLICES: &str = "endpointslices.discovery.k8s.io";

/// Whether a service sends traffic to a pod.
pub(super) fn selects(service: &Value, pod: &Value) -> bool {
    let Some(selector) =
        service.pointer("/spec/selector").filter(|s| s.as_object().is_some_and(|m| !m.is_empty()))
    else {
        return false;
    };
    template::selects(&json!({ "matchLabels": selector }), pod.pointer("/metadata/labels"))
}

/// The services that may select this pod: every service that does, and few others.
pub(super) fn candidates(view: &dyn View, pod: &Value) -> Vec<Arc<Value>> {
    let labels = pod.pointer("/metadata/labels").and_then(Value::as_object);
    let index_key = |(name, value): (&String, &Value)| {
        let value = value.as_str().unwrap_or_default().to_owned();
        IndexKey::Selector(object::namespace(pod).to_owned(), name.clone(), value)
    };
    labels.into_iter().flatten().flat_map(|label| view.indexed("services", &index_key(label))).collect()
}

/// The pods with the rarest label that the selector asks for: every pod it selects is among them.
fn pods_with(view: &dyn View, namespace: &str, selector: &Map<String, Value>) -> Vec<Arc<Value>> {
    let index_key = |(name, value): (&String, &Value)| {
        let value = value.as_str().unwrap_or_default().to_owned();
        IndexKey::Label(namespace.to_owned(), name.clone(), value)
    };
    let each = selector.iter().map(|label| view.indexed("pods", &index_key(label)));
    each.min_by_key(Vec::len).unwrap_or_default()
}

pub(super) fn reconcile(view: &dyn View, service: &Value, _now: Timestamp, out: &mut Outcome) {
    let Some(selector) = service.pointer("/spec/selector").and_then(Value::as_object) else { return };
    if selector.is_empty() || text(service, "/spec/type") == "ExternalName" {
        return;
    }
    let mut pods = pods_with(view, object::namespace(service), selector);
    pods.retain(|p| selects(service, p) && object::is_active(p) && !text(p, "/status/podIP").is_empty());
    pods.sort_by_key(|p| text(p, "/status/podIP").to_owned());
    endpoints(view, service, &pods, out);
    slice(view, service, &pods, out);
}

/// The objects of a deleted service.
pub(super) fn gone(view: &dyn View, namespace: &str, name: &str, out: &mut Outcome) {
    if let Some(endpoints) = view.get("endpoints", namespace, name) {
        // Hand-made endpoints are not ours to delete.
        if endpoints.pointer("/metadata/labels/endpoints.kubernetes.io~1managed-by").is_some() {
            out.actions.push(object::delete("endpoints", &endpoints));
        }
    }
}

/// The ports with the numbers of one pod.
fn ports(service: &Value, pod: Option<&Value>) -> Vec<Value> {
    let list = service.pointer("/spec/ports").and_then(Value::as_array);
    let mut out = Vec::new();
    for port in list.into_iter().flatten() {
        let target = port.get("targetPort").or_else(|| port.get("port")).cloned().unwrap_or(Value::Null);
        let number = match &target {
            Value::String(name) => pod.and_then(|p| named_port(p, name)),
            number => number.as_i64(),
        };
        let Some(number) = number else { continue };
        let mut entry = json!({"port": number, "protocol": text(port, "/protocol")});
        if let Some(name) = port.get("name") {
            set(&mut entry, &["name"], name.clone());
        }
        if let Some(protocol) = port.get("appProtocol") {
            set(&mut entry, &["appProtocol"], protocol.clone());
        }
        out.push(entry);
    }
    out
}

fn named_port(pod: &Value, name: &str) -> Option<i64> {
    let containers = pod.pointer("/spec/containers")?.as_array()?;
    containers
        .iter()
        .filter_map(|c| c.get("ports")?.as_array())
        .flatten()
        .find(|p| text(p, "/name") == name)?
        .get("containerPort")?
        .as_i64()
}

fn target(pod: &Value) -> Value {
    json!({"kind": "Pod", "name": object::name(pod), "namespace": object::namespace(pod), "uid": object::uid(pod)})
}

fn endpoints(view: &dyn View, service: &Value, pods: &[Arc<Value>], out: &mut Outcome) {
    let address = |pod: &Arc<Value>| json!({"ip": text(pod, "/status/podIP"), "nodeName": text(pod, "/spec/nodeName"), "targetRef": target(pod)});
    let (ready, waiting): (Vec<_>, Vec<_>) = pods.iter().partition(|p| object::is_ready(p));
    let mut subset = json!({"ports": ports(service, pods.first().map(AsRef::as_ref))});
    for (name, list) in [("addresses", ready), ("notReadyAddresses", waiting)] {
        if !list.is_empty() {
            set(&mut subset, &[name], list.into_iter().map(address).collect());
        }
    }
    let subsets = if pods.is_empty() { Value::Null } else { json!([subset]) };
    let old = view.get("endpoints", object::namespace(service), object::name(service));
    let mut next = old.as_deref().cloned().unwrap_or_else(|| {
        json!({
            "apiVersion": "v1", "kind": "Endpoints",
            "metadata": {"name": object::name(service), "namespace": object::namespace(service)},
        })
    });
    let mut labels =
        service.pointer("/metadata/labels").and_then(Value::as_object).cloned().unwrap_or_default();
    labels.insert("endpoints.kubernetes.io/managed-by".to_owned(), "endpoint-controller".into());
    set(&mut next, &["metadata", "labels"], labels.into());
    if let Some(map) = next.as_object_mut() {
        map.remove("subsets");
        if !subsets.is_null() {
            map.insert("subsets".to_owned(), subsets);
        }
    }
    put("endpoints", old.as_deref(), next, out);
}

fn slice(view: &dyn View, service: &Value, pods: &[Arc<Value>], out: &mut Outcome) {
    let name = object::name(service);
    let owned = IndexKey::Owner(object::uid(service).to_owned());
    let old = view.indexed(SLICES, &owned).into_iter().find(|s| {
        object::is_controlled_by(s, object::uid(service))
            && text(s, "/metadata/labels/endpointslice.kubernetes.io~1managed-by")
                == "endpointslice-controller.k8s.io"
    });
    let list: Vec<Value> = pods
        .iter()
        .map(|pod| {
            let ready = object::is_ready(pod);
            json!({
                "addresses": [text(pod, "/status/podIP")],
                "conditions": {"ready": ready, "serving": ready, "terminating": false},
                "nodeName": text(pod, "/spec/nodeName"), "targetRef": target(pod),
            })
        })
        .collect();
    let mut labels =
        service.pointer("/metadata/labels").and_then(Value::as_object).cloned().unwrap_or_default();
    labels.insert("kubernetes.io/service-name".to_owned(), name.into());
    labels.insert(
        "endpointslice.kubernetes.io/managed-by".to_owned(),
        "endpointslice-controller.k8s.io".into(),
    );
    let mut next = old.as_deref().cloned().unwrap_or_else(|| {
        json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "metadata": {
                "generateName": format!("{name}-"), "namespace": object::namespace(service),
                "ownerReferences": object::owner_reference("v1", "Service", service),
            },
        })
    });
    let mut numbers = ports(service, pods.first().map(AsRef::as_ref));
    for port in &mut numbers {
        if port.get("name").is_none() {
            set(port, &["name"], "".into());
        }
    }
    set(&mut next, &["metadata", "labels"], labels.into());
    set(&mut next, &["addressType"], "IPv4".into());
    set(&mut next, &["endpoints"], list.into());
    set(&mut next, &["ports"], numbers.into());
    put(SLICES, old.as_deref(), next, out);
}

fn put(resource: &str, old: Option<&Value>, next: Value, out: &mut Outcome) {
    let resource = resource.to_owned();
    match old {
        None => out.actions.push(Action::Create { resource, object: next }),
        Some(old) if *old != next => out.actions.push(Action::Update { resource, object: next }),
        Some(_) => {}
    }
}
