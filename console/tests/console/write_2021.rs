//! What the REST API of early 2021 writes: environments, Appfiles, applications and components, and what is refused of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, ready};
use http::Method;
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use vela_console::{Audit, Center, Commands, Environment, Fault, FromAppfile, NewCenter, Offer, Options};

use crate::cluster::{Cluster, FORM};
use crate::deploy::{TOKEN, that_changes};

const JSON: (&str, &str) = ("content-type", "application/json");
const APPS: &str = "/api/envs/testing/apps";
const V1BETA1: &str = "core.oam.dev/v1beta1";

/// Commands that only note what they are asked to do.
#[derive(Debug, Default)]
pub(crate) struct Noted {
    asked: Mutex<Vec<String>>,
    current: Mutex<Option<Environment>>,
    pub(crate) is_shared: AtomicBool,
}

impl Noted {
    fn note<T: Send + 'static>(&self, what: String, answer: T) -> BoxFuture<'static, Result<T, Fault>> {
        let refused = what.contains("broken").then(|| Fault::Refused("it is in use".to_owned()));
        self.asked.lock().unwrap().push(what);
        ready(refused.map_or(Ok(answer), Err)).boxed()
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().unwrap())
    }
}

impl Commands for Noted {
    fn current(&self) -> Result<Option<Environment>, Fault> {
        Ok(self.current.lock().unwrap().clone())
    }

    fn init(&self, _: &Client, wanted: Environment) -> BoxFuture<'static, Result<String, Fault>> {
        self.note(format!("init {} {}", wanted.name, wanted.namespace), "made".to_owned())
    }

    fn relocate(&self, _: &Client, wanted: Environment) -> BoxFuture<'static, Result<(), Fault>> {
        self.note(format!("relocate {} {}", wanted.name, wanted.namespace), ())
    }

    fn choose(&self, _: &Client, name: String) -> BoxFuture<'static, Result<String, Fault>> {
        self.note(format!("choose {name}"), "chosen".to_owned())
    }

    fn delete(&self, _: &Client, name: String) -> BoxFuture<'static, Result<String, Fault>> {
        self.note(format!("delete {name}"), "deleted".to_owned())
    }

    fn application(
        &self,
        _: &Client,
        namespace: String,
        appfile: String,
    ) -> BoxFuture<'static, Result<FromAppfile, Fault>> {
        let appfile: Value = serde_json::from_str(&appfile).unwrap();
        let Some(services) = appfile["services"].as_object() else {
            return ready(Err(Fault::Invalid("appfile:1:2 no services".to_owned()))).boxed();
        };
        let component = |(name, service): (&String, &Value)| json!({"name": name, "type": service["type"], "properties": {"image": service["image"]}});
        let components: Vec<Value> = services.iter().map(component).collect();
        let metadata = json!({"name": appfile["name"], "namespace": namespace});
        let application = json!({"apiVersion": V1BETA1, "kind": "Application", "metadata": metadata,
            "spec": {"components": components}});
        let warnings = vec!["appfile:1:9 warning".to_owned()];
        ready(Ok(FromAppfile { application, warnings })).boxed()
    }

    fn is_shared(&self) -> bool {
        self.is_shared.load(Ordering::SeqCst)
    }

    fn centers(&self) -> BoxFuture<'static, Result<Vec<Center>, Fault>> {
        let team = Center { name: "team".to_owned(), address: "https://team.example".to_owned() };
        ready(Ok(if self.is_shared() { vec![] } else { vec![team] })).boxed()
    }

    fn capabilities(&self) -> BoxFuture<'static, Result<Vec<Offer>, Fault>> {
        let definition = json!({"apiVersion": V1BETA1, "kind": "TraitDefinition",
            "metadata": {"name": "queue", "annotations": {"definition.oam.dev/description": "queues"}}, "spec": {}});
        ready(Ok(vec![Offer { center: "team".to_owned(), definition }])).boxed()
    }

    fn configure_center(&self, wanted: NewCenter) -> BoxFuture<'static, Result<String, Fault>> {
        let NewCenter { name, address, token } = wanted;
        self.note(format!("configure {name} {address} {token:?}"), "2 of 2".to_owned())
    }

    fn sync_center(&self, name: String) -> BoxFuture<'static, Result<String, Fault>> {
        self.note(format!("sync {name}"), "2 of 2".to_owned())
    }

    fn remove_center(&self, name: String) -> BoxFuture<'static, Result<String, Fault>> {
        self.note(format!("remove {name}"), "forgotten".to_owned())
    }

    fn install(&self, _: &Client, center: String, name: String) -> BoxFuture<'static, Result<String, Fault>> {
        self.note(format!("install {center}/{name}"), "installed".to_owned())
    }

    fn uninstall(&self, _: &Client, name: String) -> BoxFuture<'static, Result<(), Fault>> {
        self.note(format!("uninstall {name}"), ())
    }
}

/// With an environment, and in it an application of two components.
async fn cluster(options: Options) -> Cluster {
    let mut cluster = crate::plan::cluster().await;
    let labels = json!({"usage.oam.dev/control-plane": "env", "namespace.oam.dev/env": "testing"});
    for (name, labels) in [("test-space", labels), ("vela-system", json!({}))] {
        let metadata = json!({"name": name, "labels": labels});
        cluster.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})).await;
    }
    let mut plain = cluster.get(V1BETA1, "ComponentDefinition", "plain").await;
    plain["metadata"] = json!({"name": "plain", "namespace": "vela-system"});
    let template = "parameter: {image: string}\noutput: {apiVersion: \"v1\", kind: \"ConfigMap\", data: image: parameter.image}\n";
    plain["spec"]["schematic"]["cue"]["template"] = json!(template);
    cluster.create(plain).await;
    let component = |name: &str| json!({"name": name, "type": "plain", "properties": {"image": "a"}});
    cluster
        .create(json!({"apiVersion": V1BETA1, "kind": "Application",
            "metadata": {"name": "pair", "namespace": "test-space"},
            "spec": {"components": [component("one"), component("two")]}}))
        .await;
    cluster.serve(cluster.client(), options).await;
    let is_there = |list: &Value| list["data"].as_array().is_some_and(|all| all.len() == 1);
    cluster.until(APPS, is_there).await;
    cluster
}

pub(crate) async fn writing() -> (Cluster, Arc<Noted>) {
    let noted = Arc::new(Noted::default());
    let commands: Arc<dyn Commands> = noted.clone();
    (cluster(Options { commands: Some(commands), ..that_changes() }).await, noted)
}

/// What is answered to a page of the console, with the token of forms.
pub(crate) async fn sent(cluster: &Cluster, method: Method, path: &str, body: &Value) -> (u16, Value) {
    let text = if body.is_null() { String::new() } else { body.to_string() };
    let (status, said) = cluster.sent(method, path, &[JSON, TOKEN], &text).await;
    (status, serde_json::from_str(&said).unwrap())
}

pub(crate) fn done(said: &str) -> (u16, Value) {
    (200, json!({"code": 200, "data": said}))
}

/// Every write, with a body that is right.
fn writes() -> Vec<(Method, String, Value)> {
    let environment = json!({"envName": "staging", "namespace": "staging-space"});
    let appfile = json!({"name": "pair", "services": {"web": {"type": "plain", "image": "nginx"}}});
    let workload =
        json!({"envName": "testing", "appName": "pair", "workloadName": "two", "workloadType": "plain"});
    let at = |path: &str| format!("/api/envs{path}");
    vec![
        (Method::POST, at("/"), environment),
        (Method::PUT, at("/testing"), json!({"namespace": "other-space"})),
        (Method::PATCH, at("/testing"), Value::Null),
        (Method::POST, at("/testing/apps/"), appfile.clone()),
        (Method::PUT, at("/testing/apps/pair"), appfile),
        (Method::POST, at("/testing/apps/pair/components/two/traits/"), json!({"name": "note"})),
        (Method::DELETE, at("/testing/apps/pair/components/two/traits/note"), Value::Null),
        (Method::PUT, at("/testing/apps/pair/components/two"), workload.clone()),
        (Method::POST, "/api/workloads/".to_owned(), workload),
        (Method::DELETE, at("/testing/apps/pair/components/two"), Value::Null),
        (Method::DELETE, at("/testing/apps/pair"), Value::Null),
        (Method::DELETE, at("/testing"), Value::Null),
        (Method::PUT, "/api/capability-centers/".to_owned(), json!({"name": "team", "address": "/a"})),
        (Method::PUT, "/api/capability-centers/team/capabilities/".to_owned(), Value::Null),
        (Method::PUT, "/api/capability-centers/team/capabilities/queue".to_owned(), Value::Null),
        (Method::DELETE, "/api/capabilities/queue".to_owned(), Value::Null),
        (Method::DELETE, "/api/capability-centers/team".to_owned(), Value::Null),
    ]
}

#[tokio::test]
async fn environments_are_kept_by_the_commands() {
    let (cluster, noted) = writing().await;
    let new = json!({"envName": "staging", "namespace": "staging-space", "email": "a@b.c", "domain": "b.c"});
    assert_eq!(sent(&cluster, Method::POST, "/api/envs/", &new).await, done("made"));
    let moved = json!({"namespace": "other-space"});
    let updated = done("Update env succeed");
    assert_eq!(sent(&cluster, Method::PUT, "/api/envs/testing", &moved).await, updated);
    assert_eq!(sent(&cluster, Method::PATCH, "/api/envs/testing", &Value::Null).await, done("chosen"));
    assert_eq!(sent(&cluster, Method::DELETE, "/api/envs/testing", &Value::Null).await, done("deleted"));
    let expected =
        ["init staging staging-space", "relocate testing other-space", "choose testing", "delete testing"];
    assert_eq!(noted.asked(), expected);
    let there = json!({"envName": "testing", "namespace": "x"});
    let (status, said) = sent(&cluster, Method::POST, "/api/envs", &there).await;
    assert_eq!((status, &said), (409, &json!({"code": 409, "data": "Env testing already exist"})));
    let broken = json!({"envName": "broken", "namespace": "x"});
    let (status, said) = sent(&cluster, Method::POST, "/api/envs", &broken).await;
    assert_eq!((status, &said), (409, &json!({"code": 409, "data": "it is in use"})));
    for (method, body) in [
        (Method::PUT, json!({"namespace": "x"})),
        (Method::PATCH, Value::Null),
        (Method::DELETE, Value::Null),
    ] {
        let (status, said) = sent(&cluster, method, "/api/envs/absent", &body).await;
        assert_eq!((status, &said), (404, &json!({"code": 404, "data": "env absent not exist"})));
    }
    assert_eq!(noted.asked(), ["init broken x"]);
}

#[tokio::test]
async fn the_current_environment_is_that_of_the_machine() {
    let (cluster, noted) = writing().await;
    let current = async || {
        let (_, listed) = cluster.json("/api/envs").await;
        let all = listed["data"].as_array().unwrap().clone();
        all.iter().filter(|one| one["current"] == "*").map(|one| one["envName"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(current().await, ["default"]);
    let chosen = Environment { name: "testing".to_owned(), namespace: "test-space".to_owned() };
    *noted.current.lock().unwrap() = Some(chosen);
    assert_eq!(current().await, ["testing"]);
}

#[tokio::test]
async fn each_write_needs_the_flag() {
    let noted: Arc<dyn Commands> = Arc::new(Noted::default());
    let cluster = cluster(Options { commands: Some(noted), ..Options::default() }).await;
    for (method, path, body) in writes() {
        let (status, said) = sent(&cluster, method.clone(), &path, &body).await;
        let words = said["data"].as_str().unwrap();
        assert_eq!((status, &said["code"]), (403, &json!(403)), "{method} {path}: {said}");
        assert!(words.contains("--allow-changes"), "{method} {path}: {said}");
    }
}

#[tokio::test]
async fn each_write_needs_the_token_of_forms() {
    let (cluster, noted) = writing().await;
    let site = ("origin", "http://evil.example:8080");
    for (method, path, body) in writes() {
        for headers in [vec![JSON], vec![JSON, ("x-csrf-token", "guess")], vec![JSON, TOKEN, site]] {
            let (status, said) = cluster.sent(method.clone(), &path, &headers, &body.to_string()).await;
            assert!(status == 403 && said.contains("\"code\":403"), "{method} {path} {headers:?}: {said}");
        }
        let anew = [("host", crate::cluster::HOST), TOKEN];
        assert_eq!(cluster.ask(method, &path, &anew).await.status(), 401, "without a session");
    }
    assert_eq!(noted.asked(), [""; 0]);
    assert_eq!(cluster.json(APPS).await.1["data"][0]["name"], "pair");
}

#[tokio::test]
async fn a_body_that_is_wrong_is_refused_with_its_place() {
    let (cluster, noted) = writing().await;
    let long = "a".repeat(33);
    for (path, body, status, words) in [
        ("/api/envs", "", 400, "line 1 column 0"),
        ("/api/envs", "{\"envName\": \"a\",\n \"namespace\": 1}", 400, "expected a string at line 2"),
        ("/api/envs", "{\"envName\": \"a\"}", 400, "missing field `namespace` at line 1"),
        ("/api/envs", "{\"envName\": \"a\", \"namespace\": \"b\", \"x\": 1}", 400, "unknown field `x`"),
        ("/api/envs", "{\"envName\": \"../a\", \"namespace\": \"b\"}", 422, "envName: \"../a\""),
        ("/api/envs", "{\"envName\": \"a.b\", \"namespace\": \"b\"}", 422, "envName: \"a.b\""),
        ("/api/envs", "{\"envName\": \"a\", \"namespace\": \"\"}", 422, "namespace: \"\""),
        ("/api/envs", &format!("{{\"envName\": \"{long}\", \"namespace\": \"b\"}}"), 422, "at most 32"),
        ("/api/envs/testing/apps", "{\"name\": \"a\",\n}", 400, "line 2 column 1"),
        ("/api/envs/testing/apps", "name: a", 400, "line 1 column 2"),
        ("/api/envs/testing/apps", "{\"name\": \"a\"}", 422, "appfile:1:2 no services"),
    ] {
        let (found, said) = cluster.post(path, &[JSON, TOKEN], body).await;
        assert!(found == status && said.contains(&words.replace('"', "\\\"")), "{body}: {found} {said}");
    }
    let put = async |path: &str, body: &str| cluster.sent(Method::PUT, path, &[TOKEN], body).await;
    let (status, said) = put("/api/envs/testing", "{\"namespace\": \"a\", \"envName\": \"b\"}").await;
    assert!(status == 422 && said.contains("the path \\\"testing\\\""), "{status} {said}");
    let (status, said) = put("/api/envs/testing/apps/pair", "{\"name\": \"b\", \"services\": {}}").await;
    assert!(status == 422 && said.contains("name: the Appfile says \\\"b\\\""), "{status} {said}");
    let (status, said) = cluster.post("/api/envs", &[("content-type", "text/plain"), TOKEN], "{}").await;
    let said: Value = serde_json::from_str(&said).unwrap();
    assert!(status == 415 && said["error"].as_str().unwrap().starts_with("content type should be"), "{said}");
    let long = "#".repeat(1024 * 1024 + 1);
    assert_eq!(cluster.post("/api/envs", &[JSON, TOKEN], &long).await.0, 413);
    assert_eq!(noted.asked(), [""; 0]);
}

#[tokio::test]
async fn an_appfile_is_deployed_and_changed() {
    let (cluster, _) = writing().await;
    let appfile =
        |image: &str| json!({"name": "site", "services": {"web": {"type": "plain", "image": image}}});
    let site = format!("{APPS}/site");
    let (status, said) = sent(&cluster, Method::PUT, &site, &appfile("nginx:1")).await;
    assert_eq!((status, &said["code"]), (404, &json!(404)), "it is not there yet: {said}");
    let made = done("application site is successfully created\nappfile:1:9 warning");
    assert_eq!(sent(&cluster, Method::POST, APPS, &appfile("nginx:1")).await, made);
    let (_, listed) = cluster.json(&site).await;
    assert_eq!(listed["data"]["components"][0]["name"], "web", "it is listed at once: {listed}");
    let changed = done("application site is successfully updated\nappfile:1:9 warning");
    assert_eq!(sent(&cluster, Method::PUT, &site, &appfile("nginx:2")).await, changed);
    assert_eq!(sent(&cluster, Method::POST, APPS, &appfile("nginx:3")).await, changed);
    let path = "/api/v1/namespaces/test-space/applications/site";
    cluster.until(path, |view| view.to_string().contains("nginx:3")).await;
    let wrong = json!({"name": "site", "services": {"web": {"type": "plian", "image": "a"}}});
    let (status, said) = sent(&cluster, Method::POST, APPS, &wrong).await;
    assert!(status == 422 && said["data"].as_str().unwrap().contains("plian"), "{status} {said}");
}

#[tokio::test]
async fn a_component_is_taken_out_of_its_application() {
    let (cluster, _) = writing().await;
    let path = |component: &str| format!("{APPS}/pair/components/{component}");
    let (status, said) = sent(&cluster, Method::DELETE, &path("three"), &Value::Null).await;
    assert_eq!((status, &said["code"]), (404, &json!(404)), "{said}");
    let (status, said) = sent(&cluster, Method::DELETE, &path("one"), &Value::Null).await;
    assert!(status == 200 && said["data"].as_str().unwrap().contains("one is out of"), "{said}");
    let only_two = |found: &Value| {
        let all = found["data"]["components"].as_array().unwrap();
        all.len() == 1 && all[0]["name"] == "two"
    };
    cluster.until(&format!("{APPS}/pair"), only_two).await;
    let (status, said) = sent(&cluster, Method::DELETE, &path("two"), &Value::Null).await;
    assert!(status == 409 && said["data"].as_str().unwrap().contains("only component of pair"), "{said}");
    assert!(only_two(&cluster.json(&format!("{APPS}/pair")).await.1));
}

/// The same, with a trait that has a number.
pub(crate) async fn with_a_trait() -> Cluster {
    let (cluster, _) = writing().await;
    let template = "parameter: {text: string, times: *1 | int}\npatch: data: note: parameter.text\n";
    let metadata = json!({"name": "note", "namespace": "vela-system"});
    let spec = json!({"schematic": {"cue": {"template": template}}});
    cluster
        .create(json!({"apiVersion": V1BETA1, "kind": "TraitDefinition", "metadata": metadata, "spec": spec}))
        .await;
    cluster
}

#[tokio::test]
async fn a_trait_is_attached_and_detached() {
    let cluster = with_a_trait().await;
    let traits = format!("{APPS}/pair/components/one/traits");
    let note = |flags: Value| json!({"name": "note", "flags": flags});
    let flags = json!([{"name": "text", "value": "3"}, {"name": "times", "value": "3"}]);
    let (status, said) = sent(&cluster, Method::POST, &format!("{traits}/"), &note(flags)).await;
    assert!(status == 200 && said["data"].as_str().unwrap().contains("has the trait note now"), "{said}");
    let path = "/api/v1/namespaces/test-space/applications/pair";
    let properties = json!({"text": "3", "times": 3});
    let has = |found: &Value| {
        found["object"]["spec"]["components"][0]["traits"]
            == json!([{"type": "note", "properties": properties}])
    };
    cluster.until(path, has).await;
    for (body, status, words) in [
        (note(json!([{"name": "txet", "value": "a"}])), 422, "flags[0]: the trait note has no parameter"),
        (note(json!([])), 422, "text"),
        (json!({"name": "absent"}), 404, "TraitDefinition"),
    ] {
        let (found, said) = sent(&cluster, Method::POST, &traits, &body).await;
        assert!(found == status && said["data"].as_str().unwrap().contains(words), "{body}: {found} {said}");
    }
    let (status, said) = sent(&cluster, Method::DELETE, &format!("{traits}/note"), &Value::Null).await;
    assert!(status == 200 && said["data"].as_str().unwrap().contains("no trait note"), "{said}");
    cluster.until(path, |found| found["object"]["spec"]["components"][0].get("traits").is_none()).await;
    let (status, said) = sent(&cluster, Method::DELETE, &format!("{traits}/note"), &Value::Null).await;
    assert_eq!((status, &said["code"]), (404, &json!(404)), "{said}");
    assert_eq!(cluster.json(&traits).await.0, 405);
}

#[tokio::test]
async fn an_application_that_would_not_run_stays() {
    let (cluster, _) = writing().await;
    let workflow = json!({"steps": [{"name": "first", "type": "apply-component",
        "properties": {"component": "one"}}]});
    let mut pair = json!({"apiVersion": V1BETA1, "kind": "Application",
        "metadata": {"name": "steps", "namespace": "test-space"}, "spec": {"workflow": workflow}});
    let component = |name: &str| json!({"name": name, "type": "plain", "properties": {"image": "a"}});
    pair["spec"]["components"] = json!([component("one"), component("two")]);
    cluster.create(pair).await;
    let path = format!("{APPS}/steps");
    cluster.until(&path, |found| found["data"]["name"] == "steps").await;
    let (status, said) =
        sent(&cluster, Method::DELETE, &format!("{path}/components/one"), &Value::Null).await;
    assert!(status == 422 && said["data"].as_str().unwrap().contains("would not run"), "{status} {said}");
    let (_, found) = cluster.json(&path).await;
    assert_eq!(found["data"]["components"].as_array().unwrap().len(), 2, "{found}");
}

#[tokio::test]
async fn an_application_is_deleted_in_its_environment() {
    let (cluster, _) = writing().await;
    for path in ["/api/envs/default/apps/pair", "/api/envs/testing/apps/absent", "/api/envs/absent/apps/pair"]
    {
        let (status, said) = sent(&cluster, Method::DELETE, path, &Value::Null).await;
        assert_eq!((status, &said["code"]), (404, &json!(404)), "{path}: {said}");
    }
    let (status, said) = sent(&cluster, Method::DELETE, &format!("{APPS}/pair"), &Value::Null).await;
    assert!(status == 200 && said["data"].as_str().unwrap().contains("is being deleted"), "{said}");
    cluster.until(APPS, |list| list["data"] == json!([])).await;
}

#[tokio::test]
async fn a_console_of_one_namespace_keeps_its_environment() {
    let noted = Arc::new(Noted::default());
    let commands: Arc<dyn Commands> = noted.clone();
    let mut cluster = cluster(that_changes()).await;
    let namespace = Some("default".to_owned());
    cluster.serve(cluster.client(), Options { commands: Some(commands), namespace, ..that_changes() }).await;
    let patched = sent(&cluster, Method::PATCH, "/api/envs/default", &Value::Null).await;
    assert_eq!(patched, done("chosen"));
    for (method, path, body) in writes().into_iter().filter(|(_, path, _)| path.contains("/envs")) {
        let (status, said) = sent(&cluster, method.clone(), &path, &body).await;
        let words = said["data"].as_str().unwrap();
        assert!(status == 403 && words.contains("namespace \"default\" alone"), "{method} {path}: {said}");
    }
    assert_eq!(noted.asked(), ["choose default"]);
}

#[tokio::test]
async fn a_program_without_commands_says_so() {
    let cluster = cluster(that_changes()).await;
    let new = json!({"envName": "a", "namespace": "b"});
    let (status, said) = sent(&cluster, Method::POST, "/api/envs", &new).await;
    assert!(status == 501 && said["data"].as_str().unwrap().contains("keeps no environments"), "{said}");
}

#[tokio::test]
async fn each_write_of_2021_has_an_audit() {
    let (audit, mut audits) = mpsc::channel::<Audit>(8);
    let commands: Arc<dyn Commands> = Arc::new(Noted::default());
    let cluster = cluster(Options { audit: Some(audit), commands: Some(commands), ..that_changes() }).await;
    for ((method, path, body), (order, object)) in writes().into_iter().zip([
        ("env init", "Environment staging"),
        ("env change", "Environment testing"),
        ("env set", "Environment testing"),
        ("deploy", "Application test-space/pair"),
        ("deploy", "Application test-space/pair"),
        ("attach trait note to component two", "Application test-space/pair"),
        ("detach trait note from component two", "Application test-space/pair"),
        ("deploy component two", "Application test-space/pair"),
        ("deploy component two", "Application test-space/pair"),
        ("delete component two", "Application test-space/pair"),
        ("delete", "Application test-space/pair"),
        ("env delete", "Environment testing"),
        ("cap center config", "CapabilityCenter team"),
        ("cap center sync", "CapabilityCenter team"),
        ("cap install", "Capability team/queue"),
        ("cap uninstall", "Capability queue"),
        ("cap center remove", "CapabilityCenter team"),
    ]) {
        sent(&cluster, method, &path, &body).await;
        let found = tokio::time::timeout(Duration::from_secs(30), audits.recv()).await.unwrap().unwrap();
        assert_eq!((&*found.order, &*found.object), (order, object), "{found}");
    }
}

#[tokio::test]
async fn the_description_has_the_writes_of_2021() {
    let cluster = Cluster::new().await;
    let (_, document) = cluster.json("/api/openapi.json").await;
    for (path, methods) in [
        ("/api/envs", &["get", "post"][..]),
        ("/api/envs/{env}", &["delete", "get", "patch", "put"]),
        ("/api/envs/{env}/apps", &["get", "post"]),
        ("/api/envs/{env}/apps/{app}", &["delete", "get", "put"]),
        ("/api/envs/{env}/apps/{app}/components", &["get"]),
        ("/api/envs/{env}/apps/{app}/components/{component}", &["delete", "get", "put"]),
        ("/api/workloads", &["get", "post"]),
        ("/api/capability-centers", &["get", "put"]),
        ("/api/capability-centers/{center}", &["delete"]),
        ("/api/capability-centers/{center}/capabilities", &["put"]),
        ("/api/capability-centers/{center}/capabilities/{capability}", &["put"]),
        ("/api/capabilities/{capability}", &["delete"]),
        ("/api/envs/{env}/apps/{app}/components/{component}/traits", &["post"]),
        ("/api/envs/{env}/apps/{app}/components/{component}/traits/{trait}", &["delete"]),
    ] {
        let operations = document["paths"][path].as_object().unwrap();
        assert_eq!(operations.keys().collect::<Vec<_>>(), methods, "{path}");
        for (method, operation) in operations.iter().filter(|(method, _)| *method != "get") {
            let text = operation.to_string();
            assert!(text.contains("X-Csrf-Token"), "{method} {path}: {text}");
            let has_body = ["post", "put"].contains(&method.as_str()) && !path.contains("{center}");
            assert_eq!(operation["requestBody"].is_object(), has_body, "{method} {path}");
        }
    }
    let new = document["components"]["schemas"]["NewEnvironment"].to_string();
    assert!(new.contains("\"maxLength\":32") && new.contains("envName"), "{new}");
    assert!(!FORM.is_empty() && !document.to_string().contains(FORM), "no secret is described");
}
