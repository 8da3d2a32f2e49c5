//! A small cluster with controllers that can be stopped, started and cut off, and waits on conditions.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::JoinHandle;
use tower::Layer;
use vela_apiserver::{ApiServer, ApiService, Clock};
use vela_core::options::Bounds;
use vela_core::{Controllers, Options, Process, Stop};
use vela_runtime::clock;
use vela_runtime::discovery::Discovery;
use vela_runtime::fault::{Entry, Faults, SwitchableService};
use vela_runtime::metrics::Metrics;

use super::access::Authorizer;
use super::rights::Rights;

/// A wait that ends in failure, far beyond what a busy machine needs.
const DEADLINE: Duration = Duration::from_secs(120);

pub(crate) struct World {
    pub(crate) client: kube::Client,
    pub(crate) faults: Faults,
    pub(crate) namespace: String,
    controlled: kube::Client,
    discovery: Discovery,
    running: Option<Running>,
    authorizer: Authorizer,
    server: Option<Embedded>,
    jumping: Option<Jumping>,
}

struct Embedded {
    server: ApiServer,
    /// Its workload controllers.
    guard: Box<dyn std::any::Any>,
    /// Where everybody finds it.
    door: SwitchableService<ApiService>,
}

struct Running {
    stop: Stop,
    counts: Arc<Metrics>,
    task: JoinHandle<Result<(), vela_core::Error>>,
}

/// Where everything is on the embedded server.
const NAMESPACE: &str = "core";

static WORLDS: AtomicUsize = AtomicUsize::new(0);

/// A server whose kinds and definitions are there and recorded. It is made once: every world goes its own way from there.
fn prepared() -> &'static ApiServer {
    static PREPARED: OnceLock<ApiServer> = OnceLock::new();
    // On a thread of its own, since whoever comes first is inside a runtime.
    PREPARED.get_or_init(|| std::thread::spawn(prepare).join().unwrap())
}

fn prepare() -> ApiServer {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.unwrap().block_on(async {
        let server = ApiServer::builder().build().unwrap();
        let mut world = World::embedded(server.clone());
        world.install().await;
        world.furnish().await;
        world.start();
        world.settled().await;
        world.stop().await;
        server
    })
}

/// While it lives, time in this test jumps to the next moment that anybody waits for, for tokio, the server and what the
/// controllers write. Only a runtime of one thread has such a clock, and only where nothing outside of it is waited for.
struct Jumping {
    _of_objects: clock::Set,
}

thread_local! {
    static JUMPS: Cell<bool> = const { Cell::new(false) };
}

impl Jumping {
    /// With the time of the server; the machine's where several threads work.
    fn begin() -> (Option<Self>, Clock) {
        let alone = Handle::current().runtime_flavor() == RuntimeFlavor::CurrentThread;
        if !alone || JUMPS.replace(true) {
            return (None, Clock::system());
        }
        tokio::time::pause();
        let (at, start) = (jiff::Timestamp::now(), tokio::time::Instant::now());
        let now = move || at + start.elapsed();
        (Some(Self { _of_objects: clock::set(now) }), Clock::from_fn(now))
    }
}

impl Drop for Jumping {
    fn drop(&mut self) {
        tokio::time::resume();
        JUMPS.set(false);
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(
                self.authorizer.refused(),
                Default::default(),
                "the roles of vela-core do not allow it"
            );
        }
    }
}

impl World {
    /// A cluster with CRDs, definitions and running controllers.
    pub(crate) async fn new() -> Self {
        let mut world = Self::without_controllers().await;
        world.start();
        world
    }

    /// The same where applications may make everything everywhere, as in releases of KubeVela.
    pub(crate) async fn unbounded() -> Self {
        let mut world = Self::without_controllers().await;
        world.start_unbounded();
        world
    }

    /// The embedded server as it was prepared, or the real cluster that is asked for.
    pub(crate) async fn without_controllers() -> Self {
        if let Ok(filter) = std::env::var("CORE_TEST_LOG") {
            let log = tracing_subscriber::fmt().with_env_filter(tracing_subscriber::EnvFilter::new(filter));
            let _ = log.with_test_writer().try_init();
        }
        let Some(file) = std::env::var_os("CORE_TEST_KUBECONFIG") else {
            let (jumping, clock) = Jumping::begin();
            let mut world = Self::embedded(prepared().fork(clock));
            world.jumping = jumping;
            return world;
        };
        let (faults, authorizer) = (Faults::new(), Authorizer::default());
        let number = WORLDS.fetch_add(1, Ordering::SeqCst);
        let namespace = format!("core-{}-{number}", std::process::id());
        let _ = rustls::crypto::ring::default_provider().install_default();
        let config = kube::config::Kubeconfig::read_from(file).unwrap();
        let config = kube::Config::from_custom_kubeconfig(config, &Default::default()).await.unwrap();
        let builder = kube::client::ClientBuilder::try_from(config.clone()).unwrap();
        let controlled = builder.with_layer(&faults).with_layer(&authorizer).build();
        let client = kube::Client::try_from(config).unwrap();
        let world = Self::over(client, controlled, (faults, authorizer), namespace, None);
        world.furnish().await;
        world
    }

    fn embedded(server: ApiServer) -> Self {
        let (faults, authorizer) = (Faults::new(), Authorizer::default());
        let (guard, door) = (Box::new(server.run_controllers()), SwitchableService::new(server.service()));
        let client = kube::Client::new(door.clone(), "default");
        let controlled = kube::Client::new(authorizer.layer(faults.layer(door.clone())), "default");
        let server = Embedded { server, guard, door };
        Self::over(client, controlled, (faults, authorizer), NAMESPACE.to_owned(), Some(server))
    }

    /// The namespace, and the definitions in it.
    async fn furnish(&self) {
        self.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}}))
            .await;
        let built_in =
            vela_definitions::builtin().iter().map(|definition| definition.manifest(&self.namespace));
        for definition in built_in.chain(definitions(&self.namespace)) {
            self.create(definition).await;
        }
    }

    fn over(
        client: kube::Client,
        controlled: kube::Client,
        (faults, authorizer): (Faults, Authorizer),
        namespace: String,
        server: Option<Embedded>,
    ) -> Self {
        let discovery = Discovery::new(client.clone());
        let (running, jumping) = (None, None);
        Self { client, faults, namespace, controlled, discovery, running, authorizer, server, jumping }
    }

    /// The same cluster seen from another namespace; its controllers are those of the first.
    pub(crate) fn in_namespace(world: &Self, namespace: &str) -> Self {
        let (client, controlled) = (world.client.clone(), world.controlled.clone());
        Self::over(
            client,
            controlled,
            (world.faults.clone(), world.authorizer.clone()),
            namespace.to_owned(),
            None,
        )
    }

    /// From now on the controllers' requests are judged by the rights of those in whose names they ask.
    pub(crate) fn on_behalf(&mut self, rights: &Rights) {
        self.authorizer.on_behalf();
        self.controlled = rights.judge(self.controlled.clone());
    }

    async fn install(&self) {
        for crd in vela_crds::crds().unwrap() {
            self.create(serde_json::to_value(crd).unwrap()).await;
        }
        let applications =
            || async { self.discovery.resolve("core.oam.dev/v1beta1", "Application").await.is_ok() };
        until("the CRDs are served", applications).await;
    }

    /// Start the controllers as a new process would: with empty caches and memory.
    pub(crate) fn start(&mut self) {
        assert!(self.running.is_none());
        self.start_as(Process::default());
    }

    /// The same where applications may make everything everywhere.
    pub(crate) fn start_unbounded(&mut self) {
        let options = Options { bounds: Bounds::NONE, ..Options::default() };
        self.start_as(Process { options, ..Process::default() });
    }

    /// The same with an operator's choices.
    pub(crate) fn start_as(&mut self, process: Process) {
        assert!(self.running.is_none());
        let (stop, counts) = (process.stop.clone(), process.counts.clone());
        let task = tokio::spawn(Controllers::run(self.controlled.clone(), process));
        self.running = Some(Running { stop, counts, task });
    }

    /// The embedded server, for a process of its own; none on a real cluster.
    pub(crate) fn server(&self) -> Option<&ApiServer> {
        self.server.as_ref().map(|embedded| &embedded.server)
    }

    /// Puts the server as it was when this was taken from it in the place of the one that is; clients are not told.
    pub(crate) async fn restore(&mut self, backup: ApiServer) {
        let embedded = self.server.as_mut().unwrap();
        embedded.door.switch_to(backup.service());
        embedded.guard = Box::new(backup.run_controllers());
        let before = std::mem::replace(&mut embedded.server, backup);
        before.shutdown().await;
    }

    /// What is stored now; none on a real cluster.
    pub(crate) fn back_up(&self) -> Option<ApiServer> {
        self.server().map(|server| server.fork(Clock::system()))
    }

    /// A client of a further process, whose requests are on a record of their own; none on a real cluster.
    pub(crate) fn another(&self) -> Option<(kube::Client, Faults)> {
        let door = self.server.as_ref()?.door.clone();
        let faults = Faults::new();
        Some((kube::Client::new(faults.layer(door), "default"), faults))
    }

    /// Stop them in order.
    pub(crate) async fn stop(&mut self) {
        let running = self.running.take().unwrap();
        running.stop.cancel();
        running.task.await.unwrap().unwrap();
    }

    /// End them in the middle of whatever they do, as SIGKILL would.
    pub(crate) async fn kill(&mut self) {
        let running = self.running.take().unwrap();
        running.task.abort();
        assert!(running.task.await.unwrap_err().is_cancelled());
        // Stops what the aborted task had started.
        running.stop.cancel();
    }

    /// Wait until the controllers have written nothing for a while: workloads may still be settling.
    pub(crate) async fn quiet(&self) {
        let end = tokio::time::Instant::now() + DEADLINE;
        self.writes();
        let mut quiet_before = false;
        loop {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let writes = self.writes();
            if writes.is_empty() && std::mem::replace(&mut quiet_before, true) {
                return;
            }
            quiet_before = writes.is_empty();
            assert!(tokio::time::Instant::now() < end, "never quiet: {writes:#?}");
        }
    }

    /// Let time pass in which nothing may happen: a clock that jumps takes none of ours for it.
    pub(crate) async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    /// Wake every application that uses a component type, without changing what it means.
    pub(crate) async fn resync(&self, component_type: &str) {
        let before = self.running.as_ref().unwrap().counts.reconciles("application");
        let patch = json!({"metadata": {"annotations": {"touched": before.to_string()}}});
        self.patch("core.oam.dev/v1beta1", "ComponentDefinition", component_type, patch).await;
        self.rested(before + 1).await;
    }

    /// Wait until the application controller has reconciled at least that often since its start, and rests.
    pub(crate) async fn rested(&self, reconciles: u64) {
        self.rested_of("application", reconciles).await;
    }

    /// The same for any controller.
    pub(crate) async fn rested_of(&self, controller: &str, reconciles: u64) {
        let counts = self.running.as_ref().unwrap().counts.clone();
        until(&format!("the {controller} controller rests"), || async {
            let before = counts.reconciles(controller);
            tokio::time::sleep(Duration::from_millis(100)).await;
            before >= reconciles && before == counts.reconciles(controller) && counts.active(controller) == 0
        })
        .await;
    }

    /// What the controllers have counted since their start, as `/metrics` shows it.
    pub(crate) fn metrics(&self) -> String {
        self.running.as_ref().unwrap().counts.text()
    }

    /// How often a controller has reconciled since its start.
    pub(crate) fn reconciles(&self, controller: &str) -> u64 {
        self.running.as_ref().unwrap().counts.reconciles(controller)
    }

    pub(crate) async fn api(&self, api_version: &str, kind: &str) -> Api<DynamicObject> {
        let kind = self.discovery.resolve(api_version, kind).await.unwrap();
        kind.api(self.client.clone(), &self.namespace).inner().unwrap()
    }

    pub(crate) async fn create(&self, object: Value) -> DynamicObject {
        let (api, object) = self.placed(object).await;
        api.create(&PostParams::default(), &object).await.unwrap()
    }

    /// Makes it so, whether it is there or not: some definitions come by themselves.
    pub(crate) async fn apply(&self, object: Value) {
        let (api, object) = self.placed(object).await;
        let name = object.metadata.name.clone().unwrap();
        api.patch(&name, &PatchParams::apply("scenario").force(), &Patch::Apply(&object)).await.unwrap();
    }

    async fn placed(&self, mut object: Value) -> (Api<DynamicObject>, DynamicObject) {
        if object["metadata"]["namespace"].is_null() {
            object["metadata"]["namespace"] = json!(self.namespace);
        }
        let (version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
        let resource = self.discovery.resolve(version, kind).await.unwrap();
        if !resource.namespaced {
            object["metadata"].as_object_mut().unwrap().remove("namespace");
        }
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
        let api = resource.api(self.client.clone(), namespace).inner().unwrap();
        (api, serde_json::from_value(object).unwrap())
    }

    pub(crate) async fn get(&self, api_version: &str, kind: &str, name: &str) -> Option<Value> {
        let found = self.api(api_version, kind).await.get_opt(name).await.unwrap();
        found.map(|object| serde_json::to_value(object).unwrap())
    }

    pub(crate) async fn list(&self, api_version: &str, kind: &str) -> Vec<Value> {
        let found = self.api(api_version, kind).await.list(&ListParams::default()).await.unwrap();
        found.items.into_iter().map(|object| serde_json::to_value(object).unwrap()).collect()
    }

    pub(crate) async fn patch(&self, api_version: &str, kind: &str, name: &str, patch: Value) {
        let api = self.api(api_version, kind).await;
        api.patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    }

    pub(crate) async fn delete(&self, api_version: &str, kind: &str, name: &str) {
        self.api(api_version, kind).await.delete(name, &DeleteParams::default()).await.unwrap();
    }

    pub(crate) async fn application(&self, name: &str) -> Value {
        self.get("core.oam.dev/v1beta1", "Application", name).await.unwrap_or(Value::Null)
    }

    pub(crate) async fn deployment(&self, name: &str) -> Option<Value> {
        self.get("apps/v1", "Deployment", name).await
    }

    /// The record of an application, wherever it lives.
    pub(crate) async fn tracker(&self, application: &str) -> Option<Value> {
        let name = format!("{application}.{}", self.namespace);
        self.get("core.oam.dev/v1beta1", "ResourceTracker", &name).await
    }

    pub(crate) async fn phase(&self, name: &str, phase: &str) {
        let what = format!("application {name} is {phase}");
        until_or(
            &what,
            || async { self.application(name).await },
            |application| {
                application["status"]["status"] == phase
                    && application["status"]["observedGeneration"] == application["metadata"]["generation"]
            },
        )
        .await;
    }

    pub(crate) async fn gone(&self, api_version: &str, kind: &str, name: &str) {
        until(&format!("{kind} {name} is gone"), || async {
            self.get(api_version, kind, name).await.is_none()
        })
        .await;
    }

    /// The controllers' requests since the last call, without the watches and without what the definitions cost that
    /// every world begins with: their controllers work while others are looked at.
    pub(crate) fn requests(&self) -> Vec<Entry> {
        let definition = |path: &str| {
            ["definitions", "definitionrevisions"].iter().any(|kind| path.contains(kind))
                || path.contains("/schema-")
        };
        let entries = self.faults.take().into_iter();
        entries.filter(|entry| !entry.is_watch() && !definition(&entry.path)).collect()
    }

    /// Every write since the last call, those for definitions too, without events.
    pub(crate) fn all_writes(&self) -> Vec<Entry> {
        self.faults.take().into_iter().filter(|entry| entry.writes() && !entry.is_event()).collect()
    }

    /// Wait until the controllers of definitions have nothing to do.
    pub(crate) async fn settled(&self) {
        let counts = self.running.as_ref().unwrap().counts.clone();
        let kinds = ["componentdefinition", "traitdefinition"];
        let done = || kinds.map(|kind| counts.reconciles(kind));
        until("the definitions' controllers rest", || async {
            let before = done();
            tokio::time::sleep(Duration::from_millis(300)).await;
            before == done() && before[0] > 0 && kinds.iter().all(|kind| counts.active(kind) == 0)
        })
        .await;
    }

    /// The controllers' writes since the last call, without events.
    pub(crate) fn writes(&self) -> Vec<Entry> {
        self.requests().into_iter().filter(|entry| entry.writes() && !entry.is_event()).collect()
    }
}

/// Wait for a condition; the failure names it.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, condition: impl Fn() -> F) {
    until_or(what, condition, |met| *met).await;
}

/// Wait until a value is as wanted; the failure names the wish and shows the value.
pub(crate) async fn until_or<T: std::fmt::Debug, F: Future<Output = T>>(
    what: &str,
    value: impl Fn() -> F,
    wanted: impl Fn(&T) -> bool,
) -> T {
    let end = tokio::time::Instant::now() + DEADLINE;
    loop {
        let now = value().await;
        if wanted(&now) {
            return now;
        }
        assert!(tokio::time::Instant::now() < end, "never: {what}; last seen: {now:#?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Definitions small enough to read here, in the second template language.
fn definitions(namespace: &str) -> Vec<Value> {
    let web = r#"apiVersion: apps/v1
kind: Deployment
spec:
  replicas: {{parameter.replicas}}
  selector:
    matchLabels:
      app.oam.dev/component: {{context.name}}
  template:
    metadata:
      labels:
        app.oam.dev/component: {{context.name}}
    spec:
      containers:
      - name: main
        image: {{parameter.image}}
        resources:
          limits:
            cpu: "0.5"
---
apiVersion: v1
kind: Service
metadata:
  name: {{context.name}}
spec:
  selector:
    app.oam.dev/component: {{context.name}}
  ports:
  - port: 80
"#;
    let settings = "apiVersion: v1\nkind: ConfigMap\ndata:\n  text: {{parameter.text}}\n";
    [("web", web, "apps/v1", "Deployment"), ("settings", settings, "v1", "ConfigMap")]
        .into_iter()
        .map(|(name, template, version, kind)| {
            json!({
                "apiVersion": "core.oam.dev/v1beta1",
                "kind": "ComponentDefinition",
                "metadata": {"name": name, "namespace": namespace},
                "spec": {
                    "workload": {"definition": {"apiVersion": version, "kind": kind}},
                    "schematic": {"handlebars": {"template": template}},
                },
            })
        })
        .collect()
}

/// A web component.
pub(crate) fn web(name: &str, image: &str) -> Value {
    json!({"name": name, "type": "web", "properties": {"image": image, "replicas": 2}})
}

/// An application of these components.
pub(crate) fn application(name: &str, components: &[Value]) -> Value {
    json!({
        "apiVersion": "core.oam.dev/v1beta1",
        "kind": "Application",
        "metadata": {"name": name},
        "spec": {"components": components},
    })
}
