//! Options in, an API server out: the builder and the door that the rest of the house uses.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::http::ApiService;
use crate::registry::Registry;
use crate::store::{self, Key, Precondition, Store};

/// The time of the server: what it writes into `creationTimestamp` and conditions.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> jiff::Timestamp + Send + Sync>);

impl Clock {
    /// The time of this machine.
    pub fn system() -> Self {
        Self(Arc::new(jiff::Timestamp::now))
    }

    /// A time of the caller's choice, for tests and simulations.
    pub fn from_fn(now: impl Fn() -> jiff::Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The present moment.
    pub fn now(&self) -> jiff::Timestamp {
        (self.0)()
    }

    /// The present second, as `metav1.Time` is written.
    pub(crate) fn text(&self) -> String {
        seconds(self.now())
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clock")
    }
}

pub(crate) fn seconds(at: jiff::Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Where uids and the ends of generated names come from.
#[derive(Debug)]
pub(crate) enum Ids {
    /// The machine's chance.
    Random,
    /// A count, stirred: the same in every run.
    Counted(AtomicU64),
}

impl Ids {
    /// A count that goes on where this one is, so that no uid is drawn twice.
    fn fork(&self) -> Self {
        Self::Counted(AtomicU64::new(match self {
            Self::Random => 0,
            Self::Counted(count) => count.load(Ordering::SeqCst),
        }))
    }

    pub(crate) fn next(&self) -> uuid::Uuid {
        match self {
            Self::Random => uuid::Uuid::new_v4(),
            Self::Counted(count) => {
                let count = count.fetch_add(1, Ordering::SeqCst);
                let made = uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_OID, &count.to_le_bytes());
                uuid::Builder::from_random_bytes(made.into_bytes()).into_uuid()
            }
        }
    }
}

/// Why the server could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The store could not be read or written.
    #[error("store: {0}")]
    Store(#[from] store::Error),
    /// A CustomResourceDefinition in the store can no longer be read.
    #[error("stored CustomResourceDefinition {0:?} is not usable")]
    Definition(String),
}

/// Options of an [`ApiServer`].
#[derive(Debug)]
pub struct Builder {
    store: Option<Store>,
    clock: Clock,
    token: Option<String>,
}

impl Builder {
    /// Where objects are kept; memory if not said.
    #[must_use]
    pub fn store(mut self, store: Store) -> Self {
        self.store = Some(store);
        self
    }

    /// The time of the server; this machine's if not said.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// The bearer token of the network door; a random one if not said.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Makes the server: reads what the store holds and creates the first namespaces.
    pub fn build(self) -> Result<ApiServer, BuildError> {
        let store = self.store.unwrap_or_else(Store::memory);
        let core = Core {
            store,
            registry: Registry::new(),
            clock: self.clock,
            token: self.token.unwrap_or_else(|| uuid::Uuid::new_v4().simple().to_string()),
            ids: Ids::Random,
            openapi: crate::openapi::Cache::default(),
            closing: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        core.load_definitions()?;
        core.first_objects()?;
        Ok(ApiServer { core: Arc::new(core) })
    }
}

/// A small Kubernetes API. Clones share everything; it lives until [`ApiServer::shutdown`] or the last clone goes.
#[derive(Clone, Debug)]
pub struct ApiServer {
    pub(crate) core: Arc<Core>,
}

impl ApiServer {
    /// A server with default options: in memory, this machine's clock.
    pub fn builder() -> Builder {
        Builder { store: None, clock: Clock::system(), token: None }
    }

    /// The API as a service for `kube::Client::new(server.service(), "default")`; no token is asked.
    pub fn service(&self) -> ApiService {
        ApiService::new(self.core.clone(), false)
    }

    /// Another server in memory with the same objects, kinds and options, which goes its own way from here: many
    /// runs from one prepared beginning, without preparing it again. `clock` is the time of the new one; its uids are
    /// drawn by a count, so that the same run has the same ones.
    #[must_use]
    pub fn fork(&self, clock: Clock) -> Self {
        let core = Core {
            store: self.core.store.fork(),
            registry: self.core.registry.fork(),
            clock,
            token: self.core.token.clone(),
            ids: self.core.ids.fork(),
            openapi: crate::openapi::Cache::default(),
            closing: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        Self { core: Arc::new(core) }
    }

    /// The objects.
    pub fn store(&self) -> &Store {
        &self.core.store
    }

    /// Starts what a cluster does by itself: simulated workloads, garbage collection, emptying of deleted namespaces.
    /// It runs until the server is shut down or the returned guard is dropped. Needs a tokio runtime.
    pub fn run_controllers(&self) -> Controllers {
        let stop = self.core.closing.child_token();
        crate::controllers::start(&self.core, &stop);
        Controllers { stop }
    }

    /// The same, done only when the caller says so: one turn at a time, for simulations.
    pub fn manual_controllers(&self) -> ManualControllers {
        ManualControllers {
            driver: crate::controllers::Driver::new(self.core.clone()),
            revisions: self.core.store.subscribe_all(),
        }
    }

    /// Ends watches, controllers and the network door, and waits for them.
    pub async fn shutdown(&self) {
        self.core.closing.cancel();
        self.core.tasks.close();
        self.core.tasks.wait().await;
    }
}

/// Running controllers; they stop when this is dropped.
#[derive(Debug)]
#[must_use = "controllers stop when this is dropped"]
pub struct Controllers {
    stop: CancellationToken,
}

impl Controllers {
    /// Leaves the controllers running until the server is shut down.
    pub fn detach(self) {
        std::mem::forget(self);
    }
}

impl Drop for Controllers {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Controllers that work when they are told to; made by [`ApiServer::manual_controllers`].
pub struct ManualControllers {
    driver: crate::controllers::Driver,
    revisions: store::RevisionReceiver,
}

impl std::fmt::Debug for ManualControllers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ManualControllers")
    }
}

impl ManualControllers {
    /// The same controllers for a server that was forked from theirs: they know what these know, and need not look at
    /// everything again. Needs a tokio runtime.
    #[must_use]
    pub fn fork(&self, server: &ApiServer) -> Self {
        Self { driver: self.driver.fork(server.core.clone()), revisions: server.core.store.subscribe_all() }
    }

    /// The same, but no Event tells what they do: where nobody reads them they are a third of all writes.
    #[must_use]
    pub fn silent(mut self) -> Self {
        self.driver.be_silent();
        self
    }

    /// Reads what changed, does what is due by now, and says when there will be more to do. Needs a tokio runtime.
    pub fn turn(&mut self) -> Option<tokio::time::Instant> {
        self.revisions.mark_seen();
        self.driver.turn()
    }

    /// Waits until something was written since the last turn began, by anybody; may be dropped at any time.
    pub async fn news(&mut self) {
        // The server's objects live as long as the driver: the sender cannot go.
        let _ = self.revisions.changed().await;
    }
}

/// What all requests share.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) store: Store,
    pub(crate) registry: Registry,
    pub(crate) clock: Clock,
    pub(crate) token: String,
    pub(crate) ids: Ids,
    pub(crate) openapi: crate::openapi::Cache,
    pub(crate) closing: CancellationToken,
    pub(crate) tasks: TaskTracker,
}

/// Namespaces that every cluster has.
const NAMESPACES: &[&str] = &["default", "kube-node-lease", "kube-public", "kube-system"];

impl Core {
    fn load_definitions(&self) -> Result<(), BuildError> {
        for object in self.store.list("customresourcedefinitions.apiextensions.k8s.io", None).0 {
            if crate::crd::is_established(&object) {
                let definition = crate::crd::Definition::read(&object)
                    .map_err(|_| BuildError::Definition(crate::object::name(&object).to_owned()))?;
                self.registry.put(definition);
            }
        }
        Ok(())
    }

    fn first_objects(&self) -> Result<(), BuildError> {
        for name in NAMESPACES {
            self.first(
                "namespaces",
                "",
                json!({
                    "apiVersion": "v1", "kind": "Namespace",
                    "metadata": { "name": name, "labels": { "kubernetes.io/metadata.name": name } },
                    "spec": { "finalizers": ["kubernetes"] },
                    "status": { "phase": "Active" },
                }),
            )?;
            self.first(
                "serviceaccounts",
                name,
                json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "default", "namespace": name } }),
            )?;
        }
        self.first(
            "services",
            "default",
            json!({
                "apiVersion": "v1", "kind": "Service",
                "metadata": { "name": "kubernetes", "namespace": "default",
                              "labels": { "component": "apiserver", "provider": "kubernetes" } },
                "spec": { "type": "ClusterIP", "clusterIP": crate::allocate::FIRST_CLUSTER_IP,
                          "clusterIPs": [crate::allocate::FIRST_CLUSTER_IP], "ipFamilies": ["IPv4"],
                          "ipFamilyPolicy": "SingleStack", "internalTrafficPolicy": "Cluster", "sessionAffinity": "None",
                          "ports": [{ "name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443 }] },
                "status": { "loadBalancer": {} },
            }),
        )
    }

    fn first(&self, resource: &str, namespace: &str, mut object: Value) -> Result<(), BuildError> {
        let key = Key {
            resource: Arc::from(resource),
            namespace: namespace.to_owned(),
            name: crate::object::name(&object).to_owned(),
        };
        if self.store.get(&key).is_some() {
            return Ok(());
        }
        crate::object::set_meta(&mut object, "uid", self.ids.next().to_string());
        crate::object::set_meta(&mut object, "creationTimestamp", self.clock.text());
        match self.store.write(&key, Precondition::Absent, store::Change::Put(object)) {
            Ok(_) | Err(store::Error::AlreadyExists) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
