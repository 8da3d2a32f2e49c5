//! What sidecars were given by Dapr's own operator, from the same objects.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use kube::api::DynamicObject;
use serde_json::{Value, json};
use vela_dapr::{Identity, Secrets, ServedKind, Viewer, payload, resolve};

/// Without what Go writes where there is nothing.
pub(crate) fn plain(value: &Value) -> Value {
    let nothing = [
        json!(null),
        json!({}),
        json!([]),
        // Their key is left out before.
        json!({"name": ""}),
        json!({"secretStore": ""}),
        json!({"enabled": false}),
    ];
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (name.clone(), plain(value)));
            let kept = fields.filter(|(name, value)| match name.as_str() {
                "uid" | "resourceVersion" | "generation" | "creationTimestamp" | "managedFields" => false,
                "annotations" => value.get("kubectl.kubernetes.io/last-applied-configuration").is_none(),
                "ignoreErrors" => *value != json!(false),
                "initTimeout" | "key" | "type" | "version" => *value != json!(""),
                _ => !nothing.contains(value),
            });
            kept.collect()
        }
        Value::Array(items) => items.iter().map(plain).collect(),
        other => other.clone(),
    }
}

pub(crate) struct Stored {
    pub(crate) objects: Vec<Value>,
    pub(crate) secrets: BTreeMap<String, Secrets>,
}

pub(crate) fn stored() -> Stored {
    let file = vela_testkit::cases::folder("conformance/dapr").join("grpc/objects.yaml");
    let documents: Vec<Value> = serde_saphyr::from_multiple(&fs::read_to_string(file).unwrap()).unwrap();
    let (of_secrets, mut objects): (Vec<_>, Vec<_>) =
        documents.into_iter().filter(|one| !one.is_null()).partition(|one| one["kind"] == "Secret");
    let mut secrets: BTreeMap<String, Secrets> = BTreeMap::new();
    for secret in of_secrets {
        use base64::Engine as _;
        let encode = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
        let mut data: BTreeMap<String, String> =
            serde_json::from_value(secret["data"].clone()).unwrap_or_default();
        let texts: BTreeMap<String, String> =
            serde_json::from_value(secret["stringData"].clone()).unwrap_or_default();
        data.extend(texts.into_iter().map(|(key, text)| (key, encode(&text))));
        let text = |name: &str| secret["metadata"][name].as_str().unwrap().to_owned();
        secrets.entry(text("namespace")).or_default().insert(text("name"), data);
    }
    for object in &mut objects {
        // What an API server fills in and converts before an operator sees it.
        if object["kind"] == "Configuration" && object["spec"].is_object() {
            for name in ["metric", "metrics"] {
                if object["spec"][name].is_null() {
                    object["spec"][name] = json!({"enabled": true});
                }
            }
        }
        if object["apiVersion"] == "dapr.io/v1alpha1" && object["kind"] == "Subscription" {
            let route = object["spec"].as_object_mut().unwrap().remove("route");
            object["spec"]["routes"] = json!({"default": route});
            object["apiVersion"] = json!("dapr.io/v2alpha1");
        }
        if object["spec"]["clientTLS"].is_object() && object["spec"]["clientTLS"]["renegotiation"].is_null() {
            object["spec"]["clientTLS"]["renegotiation"] = json!("Never");
        }
    }
    Stored { objects, secrets }
}

impl Stored {
    fn of_kind(&self, kind: ServedKind) -> Vec<Arc<DynamicObject>> {
        let objects = self.objects.iter().filter(|object| object["kind"] == kind.name());
        objects.map(|object| Arc::new(serde_json::from_value(object.clone()).unwrap())).collect()
    }

    /// The payloads of a list; those whose Secrets are missing are left out.
    fn list(&self, kind: ServedKind, viewer: &Viewer) -> Vec<Value> {
        let objects = viewer.list(kind, self.of_kind(kind));
        objects.iter().filter_map(|object| self.payload(kind, object).ok()).collect()
    }

    fn payload(&self, kind: ServedKind, object: &DynamicObject) -> Result<Value, String> {
        let namespace = object.metadata.namespace.clone().unwrap();
        let none = Secrets::new();
        let secrets = self.secrets.get(&namespace).unwrap_or(&none);
        let resolved = resolve(kind, object, secrets).map_err(|error| error.to_string())?;
        Ok(plain(&serde_json::from_slice(&payload(kind, &resolved).unwrap()).unwrap()))
    }
}

fn kind_of(method: &str) -> Option<ServedKind> {
    ServedKind::ALL.into_iter().find(|kind| {
        let name = kind.name();
        let names =
            [format!("List{name}"), format!("List{name}s"), format!("List{name}sV2"), format!("Get{name}")];
        names.iter().any(|known| known == method)
    })
}

#[test]
fn sidecars_are_given_what_daprs_operator_gives() {
    let stored = stored();
    let mut compared = BTreeMap::new();
    for (file, identity) in [
        ("lists-own-namespace-cart", "spiffe://t/ns/h1/cart"),
        ("lists-own-namespace-other-app", "spiffe://t/ns/h1/other"),
        ("lists-other-namespace", "spiffe://t/ns/h2/cart"),
    ] {
        let path = vela_testkit::cases::folder("conformance/dapr").join(format!("grpc/{file}.json"));
        let case: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let mut identity: Identity = identity.parse().unwrap();
        identity.app_id = case["identity"]["ID"].as_str().unwrap_or_default().to_owned();
        identity.namespace = case["identity"]["NS"].as_str().unwrap_or_default().to_owned();
        for call in case["calls"].as_array().unwrap() {
            let (method, request) = (call["method"].as_str().unwrap(), &call["request"]);
            let Some(kind) = kind_of(method) else { continue };
            // The oldest list has an empty request.
            let namespace = request["namespace"].as_str().filter(|_| method != "ListSubscriptions");
            let namespace = namespace.unwrap_or_default();
            let viewer = match Viewer::authorized(&identity, namespace) {
                Ok(viewer) => viewer,
                Err(denied) => {
                    assert_eq!(call["code"], "PermissionDenied", "{file}: {call}");
                    assert_eq!(call["message"], denied.to_string(), "{file}: {call}");
                    *compared.entry("denied").or_insert(0) += 1;
                    continue;
                }
            };
            if method.starts_with("Get") {
                let name = request["name"].as_str();
                let objects = stored.of_kind(kind);
                let found = objects.iter().find(|o| o.metadata.name.as_deref() == name && viewer.is_near(o));
                let given = found.map(|object| stored.payload(kind, object));
                match call["code"].as_str() {
                    Some("OK") => {
                        assert_eq!(given.unwrap().unwrap(), plain(&call["payloads"][0]), "{file}: {request}")
                    }
                    _ => assert!(given.is_none_or(|given| given.is_err()), "{file}: {call}"),
                }
                *compared.entry("get").or_insert(0) += 1;
                continue;
            }
            let mut expected: Vec<Value> =
                call["payloads"].as_array().into_iter().flatten().map(plain).collect();
            expected.sort_by_key(|object| object["metadata"]["name"].to_string());
            assert_eq!(stored.list(kind, &viewer), expected, "{file}: {method}");
            *compared.entry("list").or_insert(0) += 1;
        }
    }
    assert!(compared["denied"] > 5 && compared["get"] > 5 && compared["list"] > 10, "{compared:?}");
}

#[test]
fn a_missing_secret_holds_up_its_own_object_only() {
    let stored = stored();
    let viewer = Viewer::authorized(&"spiffe://t/ns/h3/any".parse().unwrap(), "h3").unwrap();
    let given = stored.list(ServedKind::Component, &viewer);
    let names: Vec<&str> = given.iter().map(|object| object["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["fine"]);
    let objects = stored.of_kind(ServedKind::Component);
    let broken = objects.iter().find(|object| object.metadata.name.as_deref() == Some("broken")).unwrap();
    let error = stored.payload(ServedKind::Component, broken).unwrap_err();
    assert!(error.contains("Component h3/broken: a is in Secret \"missing\""), "{error}");
}
