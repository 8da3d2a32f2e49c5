//! The images of pods as projects of Harbors have them: pods are made as a kube-apiserver does it, which finds the registration among its
//! objects, asks over TLS, and stores the pod with the patch. The embedded API server itself asks no webhook.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::api::{DynamicObject, PostParams};
use serde_json::{Value, json};
use vela_runtime::Discovery;

use super::operator::GOHARBOR;
use super::served::{NAME, Served};

const LABEL: &str = "harbor-day2-webhook-configuration";

/// An API server that asks the webhook about pods.
struct Registered {
    served: Served,
    webhook: Value,
}

impl Registered {
    async fn begin() -> Self {
        let served = Served::begin().await;
        let (of, kind) = ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration");
        let found = served.trusted(of, kind, NAME, "/webhooks/1/clientConfig").await;
        let mut webhooks = found["webhooks"].as_array().unwrap().iter();
        let webhook = webhooks.find(|webhook| webhook["rules"][0]["resources"] == json!(["pods"])).unwrap();
        Self { webhook: webhook.clone(), served }
    }

    async fn create(&self, object: Value) -> Value {
        let text = |place: &str| object.pointer(place).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (version, kind, namespace) = (text("/apiVersion"), text("/kind"), text("/metadata/namespace"));
        let kind = Discovery::new(self.served.client.clone()).resolve(&version, &kind).await.unwrap();
        let api = kind.api(self.served.client.clone(), &namespace);
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        serde_json::to_value(api.create(&PostParams::default(), &object).await.unwrap()).unwrap()
    }

    async fn namespace(&self, name: &str, label: &str, annotations: Value) {
        let metadata = json!({"name": name, "labels": {LABEL: label}, "annotations": annotations});
        self.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})).await;
    }

    async fn server(&self, name: &str, is_default: bool, rules: Value) {
        let spec = json!({
            "serverURL": format!("https://{name}.example"), "version": "2.5.3", "default": is_default,
            "accessCredential": {"namespace": "default", "accessSecretRef": "access"}, "rules": rules,
        });
        let kind = "HarborServerConfiguration";
        let metadata = json!({"name": name});
        self.create(json!({"apiVersion": GOHARBOR, "kind": kind, "metadata": metadata, "spec": spec})).await;
    }

    /// Makes a pod of these images; the images of the stored one, and the warnings.
    async fn pod(&self, namespace: &Value, images: &[&str]) -> (Vec<String>, Value) {
        let containers: Vec<Value> = images
            .iter()
            .enumerate()
            .map(|(at, image)| json!({"name": format!("c{at}"), "image": image}))
            .collect();
        let (name, labels) =
            (namespace["metadata"]["name"].as_str().unwrap(), &namespace["metadata"]["labels"]);
        let metadata = json!({"generateName": "app-", "namespace": name});
        let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers}});
        let wanted = self.webhook["namespaceSelector"]["matchLabels"].as_object().unwrap();
        let mut warnings = Value::Null;
        if wanted.iter().all(|(label, value)| labels[label] == *value) {
            let request = json!({
                "uid": "u", "kind": {"group": "", "version": "v1", "kind": "Pod"}, "namespace": name,
                "operation": "CREATE", "object": pod,
            });
            let review =
                json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
            let answer = self.served.ask(&self.webhook["clientConfig"], &review).await;
            assert_eq!(answer["response"]["allowed"], true, "{answer}");
            warnings = answer["response"]["warnings"].clone();
            if let Some(patch) = answer["response"]["patch"].as_str() {
                let patch: json_patch::Patch =
                    serde_json::from_slice(&STANDARD.decode(patch).unwrap()).unwrap();
                json_patch::patch(&mut pod, &patch).unwrap();
            }
        }
        let stored = self.create(pod).await;
        let containers = stored["spec"]["containers"].as_array().unwrap();
        (containers.iter().map(|one| one["image"].as_str().unwrap().to_owned()).collect(), warnings)
    }

    async fn of(&self, name: &str) -> Value {
        let kind = Discovery::new(self.served.client.clone()).resolve("v1", "Namespace").await.unwrap();
        let found: DynamicObject = kind.api(self.served.client.clone(), "").get(name).await.unwrap();
        serde_json::to_value(found).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_created_pod_pulls_its_images_from_a_project() {
    let api = Registered::begin().await;
    assert_eq!(api.webhook["failurePolicy"], "Ignore");
    api.server("main", true, json!(["docker.io,docker", "*,others"])).await;
    api.server("own", false, json!(["quay.io=>quay"])).await;
    api.namespace("shop", "enabled", json!({})).await;
    api.namespace("lab", "enabled", json!({"goharbor.io/rewriting-rules": "images"})).await;
    api.namespace("aside", "disabled", json!({})).await;
    let map = json!({"hsc": "own", "rules": "ghcr.io,github\n"});
    let metadata = json!({"name": "images", "namespace": "lab"});
    api.create(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": map})).await;

    let images = ["nginx:1.27", "quay.io/a/b", "ghcr.io/a/b:2", "own.example/team/app:1"];
    for (namespace, expected) in [
        (
            "shop",
            [
                "main.example/docker/library/nginx:1.27",
                "main.example/others/a/b:latest",
                "main.example/others/a/b:2",
                "main.example/others/team/app:1",
            ],
        ),
        (
            "lab",
            [
                "main.example/docker/library/nginx:1.27",
                "own.example/quay/a/b:latest",
                "own.example/github/a/b:2",
                "own.example/team/app:1",
            ],
        ),
        ("aside", images),
    ] {
        let (stored, warnings) = api.pod(&api.of(namespace).await, &images).await;
        assert_eq!((stored, warnings), (expected.map(str::to_owned).into(), Value::Null), "{namespace}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_is_made_whatever_is_wrong_with_the_rules() {
    let api = Registered::begin().await;
    api.namespace("none", "enabled", json!({})).await;
    assert_eq!(api.pod(&api.of("none").await, &["nginx"]).await, (vec!["nginx".to_owned()], Value::Null));
    api.server("main", true, json!(["(,docker"])).await;
    api.namespace("lost", "enabled", json!({"goharbor.io/rewriting-rules": "none"})).await;
    api.namespace("odd", "enabled", json!({"goharbor.io/rewriting-rules": "../secrets"})).await;
    for (namespace, said) in [
        ("none", "HarborServerConfiguration main: spec.rules[0] has \"(\" before the project"),
        ("lost", "goharbor.io/rewriting-rules names ConfigMap none, which this namespace does not have"),
        ("odd", "what decides about its images cannot be read"),
    ] {
        let (stored, warnings) = api.pod(&api.of(namespace).await, &["nginx"]).await;
        assert_eq!(stored, ["nginx"], "{namespace}");
        assert!(
            warnings[0].as_str().is_some_and(|warning| warning.contains(said)),
            "{namespace}: {warnings}"
        );
    }
    // A namespace that is gone meanwhile.
    let gone = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "u", "namespace": "gone", "object": {"spec": {"containers": [{"image": "nginx"}]}},
    }});
    let answer = api.served.ask(&api.webhook["clientConfig"], &gone).await;
    assert_eq!(answer["response"], json!({"uid": "u", "allowed": true}));
}
