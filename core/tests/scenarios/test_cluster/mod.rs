//! A small cluster with controllers that can be stopped, started and cut off, and waits on conditions.

mod counts;
mod jump;
mod manifests;
mod objects;
mod wait;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::task::JoinHandle;
use tower::Layer;
use vela_apiserver::{ApiServer, ApiService, Clock};
use vela_core::options::Bounds;
use vela_core::{Controllers, Options, Process, Stop};
use vela_embedded::objects::{kinds, namespace};
use vela_embedded::virtual_time;
use vela_runtime::RequestLimiter;
use vela_runtime::discovery::Discovery;
use vela_runtime::fault::{Faults, SwitchableService};
use vela_runtime::metrics::Metrics;

use self::jump::Jumping;
use self::manifests::definitions;
pub(crate) use self::manifests::{application, web};
pub(crate) use self::wait::{until, until_or};
use super::access::Authorizer;
use super::rights::Rights;

pub(crate) struct TestCluster {
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

static CLUSTERS: AtomicUsize = AtomicUsize::new(0);

/// A server whose kinds and definitions are there and recorded. It is made once: every cluster goes its own way from there.
fn prepared() -> &'static ApiServer {
    static PREPARED: OnceLock<ApiServer> = OnceLock::new();
    // On a thread of its own, since the first caller is inside a runtime.
    PREPARED.get_or_init(|| std::thread::spawn(prepare).join().unwrap())
}

fn prepare() -> ApiServer {
    let prepared = virtual_time::run(async {
        let server = ApiServer::builder().build().unwrap();
        let mut cluster = TestCluster::embedded(server.clone());
        cluster.install_kinds().await;
        cluster.install_definitions().await;
        cluster.start();
        cluster.settled().await;
        cluster.stop().await;
        server
    });
    prepared.unwrap()
}

impl Drop for TestCluster {
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

impl TestCluster {
    /// A cluster with CRDs, definitions and running controllers.
    pub(crate) async fn new() -> Self {
        let mut cluster = Self::without_controllers().await;
        cluster.start();
        cluster
    }

    /// The same where applications may make everything everywhere, as in releases of KubeVela.
    pub(crate) async fn unbounded() -> Self {
        let mut cluster = Self::without_controllers().await;
        cluster.start_unbounded();
        cluster
    }

    /// The embedded server as it was prepared, or the real cluster that is asked for.
    pub(crate) async fn without_controllers() -> Self {
        if let Ok(filter) = std::env::var("CORE_TEST_LOG") {
            let log = tracing_subscriber::fmt().with_env_filter(tracing_subscriber::EnvFilter::new(filter));
            let _ = log.with_test_writer().try_init();
        }
        let Some(file) = std::env::var_os("CORE_TEST_KUBECONFIG") else {
            let (jumping, clock) = Jumping::begin();
            let mut cluster = Self::embedded(prepared().fork(clock));
            cluster.jumping = jumping;
            return cluster;
        };
        let (faults, authorizer) = (Faults::new(), Authorizer::default());
        let number = CLUSTERS.fetch_add(1, Ordering::SeqCst);
        let namespace = format!("core-{}-{number}", std::process::id());
        let _ = rustls::crypto::ring::default_provider().install_default();
        let config = kube::config::Kubeconfig::read_from(file).unwrap();
        let config = kube::Config::from_custom_kubeconfig(config, &Default::default()).await.unwrap();
        let builder = kube::client::ClientBuilder::try_from(config.clone()).unwrap();
        let controlled = builder.with_layer(&faults).with_layer(&authorizer).build();
        let client = kube::Client::try_from(config).unwrap();
        let cluster = Self::over(client, controlled, (faults, authorizer), namespace, None);
        cluster.install_definitions().await;
        cluster
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
    async fn install_definitions(&self) {
        self.create(namespace(&self.namespace)).await;
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
    pub(crate) fn in_namespace(cluster: &Self, namespace: &str) -> Self {
        let (client, controlled) = (cluster.client.clone(), cluster.controlled.clone());
        Self::over(
            client,
            controlled,
            (cluster.faults.clone(), cluster.authorizer.clone()),
            namespace.to_owned(),
            None,
        )
    }

    /// From now on the controllers' requests are judged by the rights of those in whose names they ask.
    pub(crate) fn on_behalf(&mut self, rights: &Rights) {
        self.authorizer.on_behalf();
        self.controlled = rights.judge(self.controlled.clone());
    }

    /// From now on no more requests of the controllers are in flight than the server bears, as in `vela-core`.
    pub(crate) fn limit_requests(&mut self, most: usize) {
        self.controlled = RequestLimiter::new(most).client(&self.controlled);
    }

    async fn install_kinds(&self) {
        for kind in kinds().unwrap() {
            self.create(kind).await;
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

    /// Let time pass in which nothing may happen: a clock that jumps takes none of ours for it.
    pub(crate) async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }
}
