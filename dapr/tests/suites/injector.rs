//! The recorded reviews of pods: the same pods come out, but where Dapr's injector is weak.

use std::collections::BTreeMap;
use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use serde_json::{Value, json};
use vela_apiserver::ApiServer;
use vela_dapr::{
    AllowedAccounts, Confinement, INJECT_PATH, InjectionMetrics, Injector, PeerService, SidecarSettings,
};
use vela_embedded::objects::namespace;
use vela_embedded::send;
use vela_runtime::webhook::{Handler as _, Reply};

use super::services::documents;

/// As the recordings have it in place of the certificates.
const ANCHORS: &str = "<TRUST_ANCHORS_PEM>\n";

/// Settings of the recorded injectors, as the README of the recordings tells them.
pub(crate) fn settings(injector: &str) -> SidecarSettings {
    let (_, anchors) = tokio::sync::watch::channel(ANCHORS.to_owned());
    let mut settings = SidecarSettings::new("dapr-system", "example.org/dapr/daprd:1.18.3", anchors);
    settings.ignore_entrypoint_tolerations =
        ["alibabacloud.com/eci", "azure.com/aci", "aws", "huawei.com/cci"]
            .map(|key| json!({"effect": "NoSchedule", "key": key}))
            .to_vec();
    let peer = |name: &str, address: &str| PeerService { name: name.to_owned(), address: address.to_owned() };
    match injector {
        "default" => settings,
        "noactors" => SidecarSettings { actors: None, ..settings },
        "variant" => SidecarSettings {
            scheduler: false,
            native: true,
            pod_ip: true,
            confinement: Confinement {
                non_root: true,
                user: Some(1005),
                group: Some(2005),
                read_only_root: false,
                drop_capabilities: true,
            },
            image_pull_policy: "Never".to_owned(),
            cluster_domain: "corp.internal".to_owned(),
            actors: Some(peer("myactors", "my-actors:7000")),
            reminders: Some(peer("myrem", "my-rem:7001")),
            accounts: AllowedAccounts::read("ops-*:deployer,ci:*").unwrap(),
            ..settings
        },
        other => panic!("what are the settings of {other:?}?"),
    }
}

/// A server that has the kinds, and the objects, which lie in namespaces of their own.
fn cluster(objects: &[Value]) -> ApiServer {
    let server = ApiServer::builder().build().unwrap();
    let create = |path: &str, object: &Value| {
        let (code, answer) = send(&server, Method::POST, path, Some(object));
        assert_eq!(code, 201, "{answer}");
    };
    for crd in vela_crds::dapr_crds().unwrap() {
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        create(path, &serde_json::to_value(crd).unwrap());
    }
    for name in ["shop", "dapr-system"] {
        create("/api/v1/namespaces", &namespace(name));
    }
    for object in objects {
        let (kind, within) = (&object["kind"], object["metadata"]["namespace"].as_str().unwrap());
        let resource = format!("{}s", kind.as_str().unwrap().to_lowercase());
        create(&format!("/apis/dapr.io/v1alpha1/namespaces/{within}/{resource}"), object);
    }
    server
}

async fn ask(server: &ApiServer, settings: SidecarSettings, body: &[u8]) -> Reply {
    let client = kube::Client::new(server.service(), "default");
    Injector::new(client, settings, InjectionMetrics::default()).answer(INJECT_PATH, body).await
}

fn review(request: &Value) -> Vec<u8> {
    let kind = json!({"group": "", "version": "v1", "kind": request["kind"]});
    let request = json!({
        "uid": "u", "kind": kind, "namespace": request["namespace"], "operation": "CREATE",
        "userInfo": request["user"], "object": request["pod"],
    });
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    review.to_string().into_bytes()
}

/// The pod after the patch of an answer.
pub(crate) fn patched(pod: &Value, response: &Value) -> Value {
    let mut pod = pod.clone();
    if let Some(patch) = response["patch"].as_str() {
        assert_eq!(response["patchType"], "JSONPatch");
        let patch: json_patch::Patch = serde_json::from_slice(&STANDARD.decode(patch).unwrap()).unwrap();
        json_patch::patch(&mut pod, &patch).unwrap();
    }
    pod
}

fn cases() -> BTreeMap<String, Value> {
    let folder = vela_testkit::cases::folder("conformance/dapr/injector");
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let named = files.filter_map(|path| {
        let name = path.file_name()?.to_str()?.strip_suffix(".json")?.to_owned();
        let case = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        (!name.starts_with('_')).then_some((name, case))
    });
    named.collect()
}

fn differences() -> BTreeMap<String, Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/injector-differences.yaml");
    let listed: Vec<Value> = serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let by_case = listed.into_iter().map(|one| {
        assert!(one["reason"].as_str().is_some_and(|reason| reason.len() > 20), "{one} has no reason");
        (one["case"].as_str().unwrap().to_owned(), one)
    });
    by_case.collect()
}

/// Annotations of which a warning is expected, by case; all other cases have none.
fn warned() -> BTreeMap<String, Vec<String>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/injector-warnings.yaml");
    serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[tokio::test]
async fn recorded_pods_get_the_recorded_sidecars() {
    let folder = vela_testkit::cases::folder("conformance/dapr/injector");
    let components = documents(&fs::read_to_string(folder.join("_components.yaml")).unwrap());
    let server = cluster(&components);
    let (mut differences, mut expected_warnings, cases) = (differences(), warned(), cases());
    assert!(cases.len() >= 100, "only {} cases", cases.len());
    let mut wrong = Vec::new();
    for (name, case) in cases.iter().filter(|(name, _)| !name.starts_with("raw-")) {
        let request = &case["request"];
        let reply = ask(&server, settings(case["injector"].as_str().unwrap()), &review(request)).await;
        let response = &reply.body["response"];
        let mut compare = |what: &str, found: &Value, expected: &Value| {
            if found != expected {
                wrong.push(format!("{name}: {what}\n found    {found}\n expected {expected}"));
            }
        };
        compare("status", &json!(reply.status), &case["http"]);
        compare("allowed", &response["allowed"], &case["allowed"]);
        let recorded = if case["patch"].is_null() { &request["pod"] } else { &case["result"] };
        let mut expected = recorded.clone();
        if let Some(difference) = differences.remove(name) {
            for (pointer, value) in difference["instead"].as_object().unwrap() {
                *expected.pointer_mut(pointer).unwrap() = value.clone();
            }
            assert_ne!(&expected, recorded, "{name} is no difference");
        }
        let found = patched(&request["pod"], response);
        compare("pod", &found, &expected);
        // A second request, about a pod that has its sidecar, changes nothing.
        let mut again = request.clone();
        again["pod"] = found;
        let second = ask(&server, settings("default"), &review(&again)).await;
        if response["patch"].is_string() {
            compare("a second patch", &second.body["response"]["patch"], &Value::Null);
        }
        let warnings: Vec<&str> =
            response["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let annotations = expected_warnings.remove(name).unwrap_or_default();
        let named = warnings.len() == annotations.len()
            && warnings.iter().zip(&annotations).all(|(warning, annotation)| {
                warning.starts_with(&format!("annotation dapr.io/{annotation}: "))
            });
        if !named {
            wrong.push(format!("{name}: warnings\n found    {warnings:#?}\n expected {annotations:?}"));
        }
        if response["allowed"] == false {
            let message = response["status"]["message"].as_str().unwrap();
            assert!(message.starts_with("annotation dapr.io/app-id: "), "{name}: {message}");
        }
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    assert!(differences.is_empty() && expected_warnings.is_empty(), "{differences:?} {expected_warnings:?}");
}

#[tokio::test]
async fn a_review_is_answered_in_its_version_or_refused() {
    let server = cluster(&[]);
    let old = &cases()["raw-v1beta1"]["request"]["body"];
    let reply = ask(&server, settings("default"), old.as_str().unwrap().as_bytes()).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.body["apiVersion"], "admission.k8s.io/v1beta1");
    assert_eq!(reply.body["response"], json!({"uid": "u-1", "allowed": true}));
    // Dapr's injector answers what is no review with a review that has no uid, which API servers cannot use.
    for bad in ["", "hello", "{}", r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}"#] {
        let reply = ask(&server, settings("default"), bad.as_bytes()).await;
        assert_eq!((reply.status, reply.body["kind"].as_str()), (400, Some("Status")), "{bad}: {reply:?}");
    }
}

#[tokio::test]
async fn the_control_plane_may_switch_mtls_off() {
    let system = |spec: Value| {
        json!({"apiVersion": "dapr.io/v1alpha1", "kind": "Configuration",
        "metadata": {"name": "daprsystem", "namespace": "dapr-system"}, "spec": spec})
    };
    let mtls = |enabled: bool| {
        json!({"mtls": {
            "enabled": enabled, "controlPlaneTrustDomain": "cluster.local", "sentryAddress": "dapr-sentry:443",
        }})
    };
    let request = &cases()["app-port-protocol"]["request"];
    for (spec, expected) in [(mtls(false), false), (mtls(true), true), (json!({}), true)] {
        let server = cluster(&[system(spec)]);
        let reply = ask(&server, settings("default"), &review(request)).await;
        let pod = patched(&request["pod"], &reply.body["response"]);
        let args = pod["spec"]["containers"][1]["args"].as_array().unwrap();
        assert_eq!(args.iter().any(|arg| arg == "--enable-mtls"), expected);
    }
}

#[tokio::test]
async fn a_node_that_ignores_entrypoints_gets_a_command() {
    let server = cluster(&[]);
    let mut request = cases()["app-port-protocol"]["request"].clone();
    request["pod"]["spec"]["tolerations"] = json!([{"key": "aws", "effect": "NoSchedule"}]);
    let reply = ask(&server, settings("default"), &review(&request)).await;
    let sidecar = &patched(&request["pod"], &reply.body["response"])["spec"]["containers"][1];
    assert_eq!(sidecar["command"], json!(["/daprd"]));
    assert_eq!(sidecar["args"][0], "--dapr-http-port");
}

#[tokio::test]
async fn components_that_cannot_be_listed_refuse_the_pod() {
    // Without the kinds.
    let server = ApiServer::builder().build().unwrap();
    let mut request = cases()["app-port-protocol"]["request"].clone();
    request["pod"]["metadata"]["annotations"]["dapr.io/inject-pluggable-components"] = json!("true");
    let reply = ask(&server, settings("default"), &review(&request)).await;
    let response = &reply.body["response"];
    assert_eq!(response["allowed"], false);
    let message = response["status"]["message"].as_str().unwrap();
    assert!(message.starts_with("annotation dapr.io/inject-pluggable-components: "), "{message}");
}
