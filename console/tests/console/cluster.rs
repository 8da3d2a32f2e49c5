//! A cluster in this process, a console over it, and a browser with a session.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use kube::Client;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tower::ServiceExt as _;
use vela_apiserver::ApiServer;
use vela_console::{Access, Console, Door, Options, Secrets};
use vela_runtime::Discovery;

/// What no answer may hold.
pub(crate) const SECRET: &str = "correct-horse-battery";
/// The name that the console answers to.
pub(crate) const HOST: &str = "127.0.0.1:8080";
/// What forms carry.
pub(crate) const FORM: &str = "of-forms";
const COOKIE: &str = "vela-console-8080=session";
/// Long enough for a busy machine.
const DEADLINE: Duration = Duration::from_secs(30);

type Body = UnsyncBoxBody<Bytes, Infallible>;
type BoxError = Box<dyn std::error::Error + Send + Sync>;

fn access() -> Access {
    access_of(HOST.parse().unwrap())
}

/// The secrets of a console at this address.
pub(crate) fn access_of(address: std::net::SocketAddr) -> Access {
    let secrets = Secrets { link: "token".into(), session: "session".into(), form: FORM.into() };
    Access::new(secrets, address)
}

pub(crate) struct Cluster {
    server: ApiServer,
    client: Client,
    discovery: Discovery,
    door: Door,
}

/// An Application that no controller reconciles.
pub(crate) fn application(name: &str) -> Value {
    json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"components": [{"name": "cart", "type": "webservice",
            "properties": {"image": "nginx"}, "traits": [{"type": "scaler"}]}]},
    })
}

impl Cluster {
    /// With our kinds and nothing else.
    pub(crate) async fn new() -> Self {
        let server = ApiServer::builder().build().unwrap();
        let client = Client::new(server.service(), "default");
        let discovery = Discovery::new(client.clone());
        let access = access();
        for crd in vela_crds::crds().unwrap() {
            let mut crd = serde_json::to_value(crd).unwrap();
            crd["apiVersion"] = json!("apiextensions.k8s.io/v1");
            crd["kind"] = json!("CustomResourceDefinition");
            create(&client, &discovery, crd).await;
        }
        let door = Console::new(client.clone(), Options::default(), access).into();
        Self { server, client, discovery, door }
    }

    /// With pods that write logs, which the embedded API server has not: each container answers the query it was asked by,
    /// what `text` makes of it.
    pub(crate) async fn with_logs(text: fn(&str) -> Option<String>) -> Self {
        let mut cluster = Self::with_shop().await;
        let service = cluster.server.service();
        let service = tower::service_fn(move |request: Request<kube::client::Body>| {
            let asked = request.uri().path_and_query().map(|uri| uri.as_str().to_owned()).unwrap_or_default();
            let service = service.clone();
            async move {
                let log = asked.contains("/log?").then(|| text(&asked));
                let (status, text) = match log {
                    None => {
                        let answer = service.oneshot(request).await?;
                        return Ok::<_, Infallible>(
                            answer.map(|body| body.map_err(Into::into).boxed_unsync()),
                        );
                    }
                    Some(Some(text)) => (200, text),
                    Some(None) => (
                        403,
                        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                        "message": "pods \"cart-abc\" is forbidden", "reason": "Forbidden", "code": 403})
                        .to_string(),
                    ),
                };
                let body: UnsyncBoxBody<Bytes, BoxError> =
                    Full::from(text).map_err(Into::into).boxed_unsync();
                Ok(Response::builder().status(status).body(body).unwrap())
            }
        });
        cluster.serve(Client::new(service, "default"), Options::default()).await;
        cluster
    }

    /// Another console in place of the one there is.
    pub(crate) async fn serve(&mut self, client: Client, options: Options) {
        self.serve_door(Console::new(client, options, access())).await;
    }

    /// Another door in place of the one there is.
    pub(crate) async fn serve_door(&mut self, door: impl Into<Door>) {
        self.door.close().await;
        self.door = door.into();
    }

    /// The API server itself, for a client that stands between.
    pub(crate) fn service(&self) -> vela_apiserver::ApiService {
        self.server.service()
    }

    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    /// With an application that waits in its workflow, its record and objects, two revisions and a type.
    pub(crate) async fn with_shop() -> Self {
        let cluster = Self::new().await;
        let (app, labels) =
            ("core.oam.dev/v1beta1", json!({"app.oam.dev/name": "shop", "app.oam.dev/namespace": "default"}));
        let of = |api: &str, kind: &str, name: &str| json!({"apiVersion": api, "kind": kind, "metadata": {"name": name, "namespace": "default", "labels": labels.clone()}});
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "inner"}, "stringData": {"password": SECRET}});
        let mut shop = application("shop");
        shop["spec"]["components"][0]["properties"]["objects"] = json!([secret]);
        shop["spec"]["workflow"] = json!({"steps": [{"name": "hold", "type": "suspend"}]});
        cluster.create(shop.clone()).await;
        let time = "2026-01-01T00:00:00Z";
        let status = json!({
            "status": "running",
            "services": [{"name": "cart", "healthy": true, "message": "Ready:1/1"}],
            "workflow": {"appRevision": "shop-v2", "mode": "StepByStep-DAG", "status": "suspending", "suspend": true,
                "terminated": false, "finished": false, "startTime": time,
                "steps": [{"id": "a", "name": "hold", "type": "suspend", "phase": "suspending", "reason": "Suspend",
                    "message": "<script>alert(1)</script>", "firstExecuteTime": time, "lastExecuteTime": time}]},
        });
        cluster.status(app, "Application", "shop", status).await;
        cluster.create(of("v1", "ConfigMap", "cart-config")).await;
        let mut confidential = of("v1", "Secret", "cart-secret");
        confidential["stringData"] = json!({"password": SECRET});
        cluster.create(confidential).await;
        let mut owner = of("apps/v1", "ReplicaSet", "cart");
        let template = json!({"metadata": {"labels": {"app": "cart"}}, "spec": {"containers": [{"name": "cart", "image": "a"}]}});
        owner["spec"] =
            json!({"selector": {"matchLabels": {"app": "cart"}}, "template": template, "replicas": 1});
        let owner = cluster.create(owner).await;
        let mut pod = of("v1", "Pod", "cart-abc");
        pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "cart",
            "uid": owner["metadata"]["uid"], "controller": true}]);
        pod["spec"] = json!({"containers": [{"name": "cart", "image": "a"}]});
        cluster.create(pod).await;
        let waiting = json!({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}});
        let container = json!({"name": "cart", "ready": false, "restartCount": 3, "image": "a", "imageID": "", "state": waiting});
        let status = json!({"phase": "Running", "containerStatuses": [container],
            "conditions": [{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}]});
        cluster.status("v1", "Pod", "cart-abc", status).await;
        let record = |api: &str, kind: &str, name: &str| json!({"apiVersion": api, "kind": kind, "namespace": "default", "name": name, "component": "cart"});
        cluster
            .create(json!({
                "apiVersion": app, "kind": "ResourceTracker", "metadata": {"name": "shop-default", "labels": labels},
                "spec": {"applicationGeneration": 1, "identity": "abc", "complete": true, "managedResources": [
                    record("v1", "ConfigMap", "cart-config"), record("v1", "ConfigMap", "lost"),
                    record("v1", "Secret", "cart-secret"), record("apps/v1", "ReplicaSet", "cart"),
                ]},
            }))
            .await;
        for (number, image) in [(1, "nginx:1"), (2, "nginx:2")] {
            let mut content = shop.clone();
            content["spec"]["components"][0]["properties"]["image"] = json!(image);
            let mut revision = of(app, "ApplicationRevision", &format!("shop-v{number}"));
            let definition = json!({"spec": {"version": format!("1.0.{number}")}});
            revision["spec"] =
                json!({"application": content, "componentDefinitions": {"webservice": definition}});
            cluster.create(revision).await;
        }
        for (name, kind, about, at) in
            [("a", "Application", "shop", 1), ("b", "Pod", "cart-abc", 2), ("c", "Pod", "other", 3)]
        {
            let api = if kind == "Pod" { "v1" } else { app };
            cluster
                .create(json!({
                    "apiVersion": "v1", "kind": "Event", "metadata": {"name": name, "namespace": "default"},
                    "involvedObject": {"apiVersion": api, "kind": kind, "name": about, "namespace": "default"},
                    "reason": if kind == "Pod" { "BackOff" } else { "Applied" }, "type": "Normal", "message": "m",
                    "firstTimestamp": time, "lastTimestamp": format!("2026-01-01T00:00:0{at}Z"), "count": 1,
                    "source": {"component": "test"},
                }))
                .await;
        }
        let template = "parameter: {image: string, port: *80 | int}\noutput: {apiVersion: \"v1\", kind: \"ConfigMap\"}\n";
        cluster
            .create(json!({
                "apiVersion": app, "kind": "ComponentDefinition",
                "metadata": {"name": "page", "namespace": "default"},
                "spec": {"workload": {"definition": {"apiVersion": "v1", "kind": "ConfigMap"}},
                    "schematic": {"cue": {"template": template}}},
            }))
            .await;
        cluster.until("/api/v1/applications", |list| list["items"][0]["phase"] == "running").await;
        cluster
    }

    pub(crate) async fn create(&self, object: Value) -> Value {
        create(&self.client, &self.discovery, object).await
    }

    pub(crate) async fn status(&self, api_version: &str, kind: &str, name: &str, status: Value) {
        let kind = self.discovery.resolve(api_version, kind).await.unwrap();
        let patch = Patch::Merge(json!({ "status": status }));
        let api = kind.api(self.client.clone(), "default");
        api.patch_status(name, &PatchParams::default(), &patch).await.unwrap();
    }

    pub(crate) async fn get(&self, api_version: &str, kind: &str, name: &str) -> Value {
        let kind = self.discovery.resolve(api_version, kind).await.unwrap();
        serde_json::to_value(kind.api(self.client.clone(), "default").get(name).await.unwrap()).unwrap()
    }

    /// Changes an object beside its status.
    pub(crate) async fn merge(&self, api_version: &str, kind: &str, name: &str, change: Value) {
        let kind = self.discovery.resolve(api_version, kind).await.unwrap();
        let api = kind.api(self.client.clone(), "default");
        api.patch(name, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    }

    /// The headers of a browser with a session.
    pub(crate) fn session(&self) -> [(&'static str, &'static str); 2] {
        [("host", HOST), ("cookie", COOKIE)]
    }

    pub(crate) async fn ask(&self, method: Method, path: &str, headers: &[(&str, &str)]) -> Response<Body> {
        let request = Request::builder().method(method).uri(path);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        self.send(request.body(String::new()).unwrap()).await
    }

    pub(crate) async fn send(&self, request: Request<String>) -> Response<Body> {
        self.door.clone().oneshot(request.map(Full::<Bytes>::from)).await.unwrap()
    }

    /// Sends a text as a browser with a session does.
    pub(crate) async fn post(&self, path: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
        self.sent(Method::POST, path, headers, body).await
    }

    /// The same by another method.
    pub(crate) async fn sent(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> (u16, String) {
        let request = Request::builder().method(method).uri(path);
        let session = self.session();
        let all = session.iter().chain(headers);
        let request = all.fold(request, |request, (name, value)| request.header(*name, *value));
        let answer = self.send(request.body(body.to_owned()).unwrap()).await;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    pub(crate) async fn text(&self, path: &str) -> (u16, String) {
        let answer = self.ask(Method::GET, path, &self.session()).await;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    pub(crate) async fn json(&self, path: &str) -> (u16, Value) {
        let (status, text) = self.text(path).await;
        (status, serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}: {text}")))
    }

    /// Asks until the answer is as wanted: the console follows the cluster by a watch.
    pub(crate) async fn until(&self, path: &str, wanted: impl Fn(&Value) -> bool) {
        let looks = async {
            while !wanted(&self.json(path).await.1) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(DEADLINE, looks).await.unwrap_or_else(|_| panic!("{path} is not as wanted"));
    }

    pub(crate) async fn events(&self, path: &str) -> Events {
        let answer = self.ask(Method::GET, path, &self.session()).await;
        assert_eq!(
            (answer.status().as_u16(), &answer.headers()["content-type"]),
            (200, &"text/event-stream".parse().unwrap())
        );
        Events { body: answer.into_body(), text: String::new() }
    }
}

/// A stream of events that is read.
pub(crate) struct Events {
    body: Body,
    text: String,
}

impl Events {
    /// Everything up to these words.
    pub(crate) async fn until(&mut self, words: &str) -> String {
        let read = async {
            while !self.text.contains(words) {
                let frame = self.body.frame().await.expect("the stream goes on").unwrap();
                self.text.push_str(std::str::from_utf8(&frame.into_data().unwrap()).unwrap());
            }
        };
        tokio::time::timeout(DEADLINE, read).await.unwrap_or_else(|_| panic!("no {words:?}"));
        std::mem::take(&mut self.text)
    }
}

async fn create(client: &Client, discovery: &Discovery, object: Value) -> Value {
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    let kind = discovery.resolve_object(&object).await.unwrap();
    let namespace = object.metadata.namespace.clone().unwrap_or_default();
    let api = kind.api(client.clone(), &namespace);
    serde_json::to_value(api.create(&PostParams::default(), &object).await.unwrap()).unwrap()
}

/// A body of any kind as one kind.
pub(crate) fn boxed<B>(body: B) -> UnsyncBoxBody<Bytes, BoxError>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    body.map_err(Into::into).boxed_unsync()
}
