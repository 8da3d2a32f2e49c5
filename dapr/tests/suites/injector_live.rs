//! The injector as pods meet it: they are created as a kube-apiserver does it, which finds the registration among its objects, asks over
//! TLS, and stores the pod with the patch. The embedded API server itself asks no webhook.

use std::fs;

use http::{Method, Uri};
use serde_json::{Value, json};
use vela_apiserver::ApiServer;
use vela_dapr::{Process, SidecarInjector, Stop};
use vela_embedded::objects::namespace;
use vela_embedded::send;

use super::api_bench::within;
use super::injector::{patched, settings};
use super::process::free_port;
use super::webhooks::ask;

const REGISTRATIONS: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
const CONTROLLER: &str = "system:serviceaccount:kube-system:replicaset-controller";

/// A server with a running injector.
struct Live {
    server: ApiServer,
    stop: Stop,
    operator: tokio::task::JoinHandle<Result<(), vela_dapr::Error>>,
}

impl Live {
    async fn start() -> Self {
        let server = ApiServer::builder().build().unwrap();
        for crd in vela_crds::dapr_crds().unwrap() {
            let mut crd = serde_json::to_value(crd).unwrap();
            crd["spec"]["conversion"] = json!({"strategy": "None"});
            let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
            assert_eq!(send(&server, Method::POST, path, Some(&crd)).0, 201);
        }
        for name in ["shop", "dapr-system"] {
            assert_eq!(send(&server, Method::POST, "/api/v1/namespaces", Some(&namespace(name))).0, 201);
        }
        let port = free_port();
        let url: Uri = format!("https://127.0.0.1:{port}").parse().unwrap();
        let address = ([127, 0, 0, 1], port).into();
        let injector = SidecarInjector { address, url: Some(url), settings: settings("default") };
        let stop = Stop::new();
        let process = Process { injector: Some(injector), stop: stop.clone(), ..Process::default() };
        let operator = tokio::spawn(vela_dapr::run(kube::Client::new(server.service(), "default"), process));
        let live = Self { server, stop, operator };
        within("the injector is registered", async {
            while !live.webhooks().iter().any(|webhook| webhook["clientConfig"]["caBundle"].is_string()) {
                assert!(!live.operator.is_finished(), "the operator runs");
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        })
        .await;
        live
    }

    fn webhooks(&self) -> Vec<Value> {
        let (_, found) = send(&self.server, Method::GET, REGISTRATIONS, None);
        let registrations = found["items"].as_array().unwrap();
        registrations.iter().flat_map(|one| one["webhooks"].as_array().unwrap().clone()).collect()
    }

    /// Creates a pod through the webhooks that ask for it; out comes the stored pod, or the refusal, and the warnings.
    async fn create(&self, within: &str, pod: &Value) -> Result<(Value, Value), String> {
        let (mut pod, mut warnings) = (pod.clone(), Value::Null);
        for webhook in self.webhooks().iter().filter(|webhook| is_about_pods_of(webhook, within)) {
            let user = json!({"username": CONTROLLER, "groups": ["system:serviceaccounts:kube-system"]});
            let request = json!({
                "uid": "u", "kind": {"group": "", "version": "v1", "kind": "Pod"}, "namespace": within,
                "operation": "CREATE", "userInfo": user, "object": pod,
            });
            let review =
                json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
            let url: Uri = webhook["clientConfig"]["url"].as_str().unwrap().parse().unwrap();
            let port = url.port_u16().unwrap();
            let answer =
                ask(port, &webhook["clientConfig"], "127.0.0.1", url.path(), &review.to_string()).await;
            let response = &answer["response"];
            if response["allowed"] != true {
                return Err(response["status"]["message"].as_str().unwrap().to_owned());
            }
            pod = patched(&pod, response);
            warnings = response["warnings"].clone();
        }
        let path = format!("/api/v1/namespaces/{within}/pods");
        let (code, stored) = send(&self.server, Method::POST, &path, Some(&pod));
        assert_eq!(code, 201, "{stored}");
        Ok((stored, warnings))
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// As an API server decides it, of the parts that the registration uses.
fn is_about_pods_of(webhook: &Value, namespace: &str) -> bool {
    let has = |list: &Value, word: &str| list.as_array().unwrap().iter().any(|one| one == word);
    let rules = webhook["rules"].as_array().unwrap();
    let about = rules.iter().any(|rule| {
        has(&rule["apiGroups"], "") && has(&rule["resources"], "pods") && has(&rule["operations"], "CREATE")
    });
    let expressions = webhook["namespaceSelector"]["matchExpressions"].as_array().unwrap();
    about
        && expressions.iter().all(|one| {
            assert_eq!(
                (&one["key"], &one["operator"]),
                (&json!("kubernetes.io/metadata.name"), &json!("NotIn"))
            );
            !has(&one["values"], namespace)
        })
}

/// The pod that a real API server stored of a Deployment, through Dapr's own injector.
fn recording() -> Value {
    let path = vela_testkit::cases::folder("conformance/dapr/injector").join("_live-through-api-server.json");
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// What the injector added to the recorded pod taken away: the pod as its controller asks for it.
fn asked_for(recorded: &Value) -> Value {
    let mut pod = recorded.clone();
    for label in ["dapr.io/app-id", "dapr.io/metrics-enabled", "dapr.io/sidecar-injected"] {
        pod["metadata"]["labels"].as_object_mut().unwrap().remove(label);
    }
    for (list, added) in [("containers", "daprd"), ("volumes", "dapr-identity-token")] {
        pod["spec"][list].as_array_mut().unwrap().retain(|one| one["name"] != added);
    }
    let app = pod["spec"]["containers"][0].as_object_mut().unwrap();
    app.remove("env");
    pod["spec"].as_object_mut().unwrap().remove("nodeName");
    pod
}

#[tokio::test(flavor = "multi_thread")]
async fn a_created_pod_is_stored_with_the_recorded_sidecar() {
    let live = Live::start().await;
    let recorded = &recording()["pod"];
    let (stored, warnings) = live.create("shop", &asked_for(recorded)).await.unwrap();
    assert_eq!(warnings, Value::Null);
    for place in ["/metadata/labels", "/metadata/annotations", "/spec/volumes", "/spec/containers/0"] {
        assert_eq!(stored.pointer(place), recorded.pointer(place), "{place}");
    }
    let (sidecar, mut expected) =
        (&stored["spec"]["containers"][1], recorded["spec"]["containers"][1].clone());
    // The token of the account is mounted into each container by the API server.
    expected["volumeMounts"].as_array_mut().unwrap().retain(|mount| mount["name"] == "dapr-identity-token");
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(&sidecar[field], value, "{field}");
    }
    assert_eq!(sidecar.as_object().unwrap().len(), expected.as_object().unwrap().len());
    assert_eq!(stored["spec"]["containers"].as_array().unwrap().len(), 2);
    // Where the control plane is, and without annotations, pods are stored as they come.
    let plain = json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "plain"},
        "spec": {"containers": [{"name": "web", "image": "example.org/web:1"}]}});
    let mut of_control_plane = plain.clone();
    of_control_plane["metadata"]["annotations"] = json!({"dapr.io/enabled": "true"});
    for (space, pod) in [("shop", &plain), ("dapr-system", &of_control_plane)] {
        let (stored, _) = live.create(space, pod).await.unwrap();
        assert_eq!(stored["spec"]["containers"].as_array().unwrap().len(), 1, "{space}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_without_an_id_is_refused_and_a_bad_port_warned_of() {
    let live = Live::start().await;
    let case = recording();
    let mut nameless = asked_for(&case["pod"]);
    nameless["metadata"]["annotations"] = json!({"dapr.io/enabled": "true"});
    let refused = live.create("shop", &nameless).await.unwrap_err();
    assert!(refused.starts_with("annotation dapr.io/app-id: "), "{refused}");
    assert_eq!(case["refused"][0]["reason"], "FailedCreate", "as with Dapr's own injector");
    let mut odd = asked_for(&case["pod"]);
    odd["metadata"]["annotations"]["dapr.io/app-port"] = json!("eighty");
    let (stored, warnings) = live.create("shop", &odd).await.unwrap();
    assert_eq!(warnings, json!(["annotation dapr.io/app-port: \"eighty\" is no number; it is passed over"]));
    assert_eq!(stored["spec"]["containers"][1]["name"], "daprd");
}
