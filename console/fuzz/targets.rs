//! The fuzz target of the room: any bytes, taken as a request (method, path, headers, body), are answered by a console over a
//! small cluster in this process, which changes what it is ordered to.
//!
//! A panic in any thread, an endless answer, a status of 500, a missing header of protection, and an element `script` in a page that is
//! not its own are the mistakes to be found. Shared by the runner (`cargo xtask fuzz`), `cargo fuzz`, and the test that replays
//! what was found.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri, header};
use http_body_util::{BodyExt as _, Full};
use kube::Client;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::discovery::Scope;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tower::ServiceExt as _;
use vela_apiserver::ApiServer;
use vela_console::{Access, Console, Door, Options, Secrets};

/// The parts that take input from outside.
pub(crate) const TARGETS: [&str; 1] = ["router"];

/// The name that the console answers to.
const HOST: &str = "127.0.0.1:8080";
/// Headers without which little is answered; a request may bring its own.
const USUAL: [(&str, &str); 3] =
    [("host", HOST), ("cookie", "vela-console-8080=session"), ("x-csrf-token", "of-forms")];
/// Headers of one request.
const HEADERS_AT_MOST: usize = 64;
/// The longest path.
const PATH_AT_MOST: usize = 16 * 1024;
/// Requests to one cluster, which then is made anew: what they wrote does not add up.
const REQUESTS_OF_ONE: usize = 2_000;
/// An answer comes within this time; the console gives up before.
const ANSWER: Duration = Duration::from_secs(15);
/// The console has seen what its cluster has within this time.
const SEEN: Duration = Duration::from_secs(10);
/// The script that every page has.
const OWN_SCRIPT: &str = "<script src=\"/assets/console.js\" defer></script>";
/// What an object says, and no page may run.
const HOSTILE: &str = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>";

/// Did any thread panic?
static PANICKED: AtomicBool = AtomicBool::new(false);

/// What is asked; made once, and anew after so many requests or a find.
static ASKED: Mutex<Option<Asked>> = Mutex::new(None);

/// A panic in a task of the console is told to its client as a failure, and must be seen all the same.
static WATCH: LazyLock<()> = LazyLock::new(|| {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PANICKED.store(true, Ordering::SeqCst);
        before(panic);
    }));
});

/// Hands the bytes to a target; an unknown one takes nothing.
pub(crate) fn run(target: &str, input: &[u8]) {
    if target != "router" {
        return;
    }
    let Some(request) = request(input) else { return };
    LazyLock::force(&WATCH);
    let mut slot = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    // Taken out, so that a find leaves none behind.
    let mut asked = match slot.take().filter(|asked| asked.requests < REQUESTS_OF_ONE) {
        Some(asked) => asked,
        None => Asked::new(),
    };
    asked.ask(request);
    assert!(!PANICKED.swap(false, Ordering::SeqCst), "a task of the console panicked");
    *slot = Some(asked);
}

/// The request that the bytes are: a line with method and path, lines of headers, an empty line, and the body.
fn request(input: &[u8]) -> Option<Request<Full<Bytes>>> {
    let mut rest = input;
    let mut line = || {
        let end = rest.iter().position(|byte| *byte == b'\n');
        let (line, after) = end.map_or((rest, &rest[rest.len()..]), |end| (&rest[..end], &rest[end + 1..]));
        rest = after;
        line.strip_suffix(b"\r").unwrap_or(line)
    };
    let first = line();
    let space = first.iter().position(|byte| *byte == b' ')?;
    let (method, path) = (&first[..space], &first[space + 1..]);
    let path = path.strip_suffix(b" HTTP/1.1").unwrap_or(path);
    if path.len() > PATH_AT_MOST {
        return None;
    }
    let mut headers = HeaderMap::new();
    for _ in 0..HEADERS_AT_MOST {
        let line = line();
        if line.is_empty() {
            break;
        }
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let (name, value) = (line[..colon].trim_ascii(), line[colon + 1..].trim_ascii());
        // What HTTP cannot carry never reaches the console.
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name), HeaderValue::from_bytes(value)) {
            headers.append(name, value);
        }
    }
    for (name, value) in USUAL {
        if !headers.contains_key(name) {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
    let mut request = Request::new(Full::from(Bytes::copy_from_slice(rest)));
    *request.method_mut() = Method::from_bytes(method).ok()?;
    *request.uri_mut() = Uri::try_from(path).ok()?;
    *request.headers_mut() = headers;
    Some(request)
}

/// A console over a cluster.
struct Asked {
    runtime: Runtime,
    door: Door,
    requests: usize,
    /// It lasts as long as this.
    _server: ApiServer,
}

impl Asked {
    fn new() -> Self {
        match Self::made() {
            Ok(asked) => asked,
            Err(why) => unreachable!("the cluster of the target cannot be made: {why}"),
        }
    }

    fn made() -> Result<Self, Box<dyn std::error::Error>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let server = ApiServer::builder().build()?;
        let door = runtime.block_on(async {
            let client = Client::new(server.service(), "default");
            fill(&client).await?;
            let secrets =
                Secrets { link: "token".into(), session: "session".into(), form: "of-forms".into() };
            let options = Options {
                changes_as: Some("vela-cli".to_owned()),
                simulated_pods: true,
                ..Options::default()
            };
            let access = Access::new(secrets, HOST.parse()?);
            let door = Door::from(Console::new(client.clone(), options, access));
            tokio::time::timeout(SEEN, until_seen(&door)).await?;
            Ok::<_, Box<dyn std::error::Error>>(door)
        })?;
        Ok(Self { runtime, door, requests: 0, _server: server })
    }

    fn ask(&mut self, request: Request<Full<Bytes>>) {
        self.requests += 1;
        let answered =
            self.runtime.block_on(async { tokio::time::timeout(ANSWER, answer(&self.door, request)).await });
        let Ok((status, headers, body)) = answered else {
            unreachable!("no answer within {} s", ANSWER.as_secs())
        };
        let said = String::from_utf8_lossy(&body);
        assert!(status != 500, "a fault of the console itself: {said}");
        let has = |name: &str| headers.contains_key(name);
        assert!(has("content-security-policy") && has("x-content-type-options"), "{status}: {headers:?}");
        let cookies: Vec<&HeaderValue> = headers.get_all(header::SET_COOKIE).iter().collect();
        let is_own = |cookie: &&HeaderValue| cookie.as_bytes().starts_with(b"vela-console-8080=session;");
        assert!(cookies.len() <= 1 && cookies.iter().all(is_own), "{headers:?}");
        if headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/html")) {
            has_only_its_script(&said);
        }
    }
}

async fn answer(door: &Door, request: Request<Full<Bytes>>) -> (u16, HeaderMap, Bytes) {
    let Ok(answer) = door.clone().oneshot(request).await;
    let (parts, body) = answer.into_parts();
    // A stream goes on, and is not waited for.
    let streams = parts.headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream");
    let body = match streams {
        true => Bytes::new(),
        false => body.collect().await.map(|body| body.to_bytes()).unwrap_or_default(),
    };
    (parts.status.as_u16(), parts.headers, body)
}

/// What a request or an object says is only ever text.
fn has_only_its_script(page: &str) {
    let lower = page.to_ascii_lowercase();
    for (place, _) in lower.match_indices("<script") {
        assert!(lower[place..].starts_with(OWN_SCRIPT), "a script at byte {place}: {page}");
    }
    assert!(lower.matches(OWN_SCRIPT).count() <= 1, "more than its script: {page}");
    assert!(!lower.contains("<img"), "an element that is not its own: {page}");
}

/// Waits until the console has listed what is there.
async fn until_seen(door: &Door) {
    loop {
        let request = request(b"GET /api/v1/namespaces/default/applications/shop");
        if let Some(request) = request
            && answer(door, request).await.0 == 200
        {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Our kinds, and an application with two revisions, types, and words that a page must not obey.
async fn fill(client: &Client) -> Result<(), Box<dyn std::error::Error>> {
    for crd in vela_crds::crds()? {
        let mut crd = serde_json::to_value(crd)?;
        crd["apiVersion"] = json!("apiextensions.k8s.io/v1");
        crd["kind"] = json!("CustomResourceDefinition");
        create(client, "customresourcedefinitions", Scope::Cluster, crd).await?;
    }
    let app = |kind: &str, name: &str, spec: Value| {
        json!({"apiVersion": "core.oam.dev/v1beta1", "kind": kind, "spec": spec,
            "metadata": {"name": name, "labels": {"app.oam.dev/name": "shop"},
                "annotations": {"definition.oam.dev/description": HOSTILE}}})
    };
    let workload = json!({"definition": {"apiVersion": "v1", "kind": "ConfigMap"}});
    let template = "parameter: {\n\t// +usage=<script>alert(3)</script>\n\ttext: *\"a\" | string\n\tcount?: int\n\ton?: bool\n\tmore?: [string]: string\n}\n\
                    output: {apiVersion: \"v1\", kind: \"ConfigMap\", data: text: parameter.text}\n";
    let page = json!({"workload": workload, "schematic": {"cue": {"template": template}}});
    create(client, "componentdefinitions", Scope::Namespaced, app("ComponentDefinition", "page", page))
        .await?;
    let template = "parameter: note: string\npatch: data: note: parameter.note\n";
    let note = json!({"schematic": {"cue": {"template": template}}});
    create(client, "traitdefinitions", Scope::Namespaced, app("TraitDefinition", "note", note)).await?;
    let component = |text: &str| json!({"name": "cart", "type": "page", "properties": {"text": text}});
    let spec = |text: &str| {
        json!({"components": [component(text), {"name": "till", "type": "page"}],
            "workflow": {"steps": [{"name": "hold", "type": "suspend"}]}})
    };
    create(client, "applications", Scope::Namespaced, app("Application", "shop", spec(HOSTILE))).await?;
    for (number, text) in [(1, "a"), (2, HOSTILE)] {
        let name = format!("shop-v{number}");
        let revision = json!({"application": app("Application", "shop", spec(text))});
        let revision = app("ApplicationRevision", &name, revision);
        create(client, "applicationrevisions", Scope::Namespaced, revision).await?;
    }
    let time = "2026-01-01T00:00:00Z";
    let step = json!({"id": "a", "name": "hold", "type": "suspend", "phase": "suspending", "message": HOSTILE,
        "firstExecuteTime": time, "lastExecuteTime": time});
    let status = json!({"status": {"status": "runningWorkflow",
        "services": [{"name": "cart", "healthy": false, "message": HOSTILE}],
        "workflow": {"appRevision": "shop-v2", "mode": "StepByStep-DAG", "status": "suspending", "suspend": true,
            "terminated": false, "finished": false, "startTime": time, "steps": [step]}}});
    let api: kube::Api<DynamicObject> = kube::Api::namespaced_with(
        client.clone(),
        "default",
        &resource("core.oam.dev/v1beta1", "Application", "applications"),
    );
    api.patch_status("shop", &PatchParams::default(), &Patch::Merge(status)).await?;
    Ok(())
}

fn resource(api_version: &str, kind: &str, plural: &str) -> ApiResource {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
    }
}

async fn create(
    client: &Client,
    plural: &str,
    scope: Scope,
    object: Value,
) -> Result<(), Box<dyn std::error::Error>> {
    let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
    let resource = resource(&text("apiVersion"), &text("kind"), plural);
    let api: kube::Api<DynamicObject> = match scope {
        Scope::Cluster => kube::Api::all_with(client.clone(), &resource),
        Scope::Namespaced => kube::Api::namespaced_with(client.clone(), "default", &resource),
    };
    api.create(&PostParams::default(), &serde_json::from_value(object)?).await?;
    Ok(())
}
