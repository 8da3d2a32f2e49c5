//! Options in, an API server out: the builder and the handle that other crates use.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::bootstrap::{self, BuildError};
use crate::catalog::Registry;
use crate::clock::{Clock, Ids};
use crate::controllers::{self, ControllerManager};
use crate::service::ApiService;
use crate::state::State;
use crate::store::{RevisionReceiver, Store};

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

    /// The bearer token of clients on the network; a random one if not said.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Makes the server: reads what the store holds and creates the first namespaces.
    pub fn build(self) -> Result<ApiServer, BuildError> {
        let store = self.store.unwrap_or_else(Store::memory);
        let token = self.token.unwrap_or_else(|| uuid::Uuid::new_v4().simple().to_string());
        let state = State::new(store, Registry::new(), self.clock, token, Ids::Random);
        bootstrap::load_definitions(&state)?;
        bootstrap::resume_deletions(&state)?;
        bootstrap::create_first_objects(&state)?;
        Ok(ApiServer { state: Arc::new(state) })
    }
}

/// A small Kubernetes API. Clones share everything; it lives until [`ApiServer::shutdown`] or the last clone goes.
#[derive(Clone, Debug)]
pub struct ApiServer {
    pub(crate) state: Arc<State>,
}

impl ApiServer {
    /// A server with default options: in memory, this machine's clock.
    pub fn builder() -> Builder {
        Builder { store: None, clock: Clock::system(), token: None }
    }

    /// The API as a service for `kube::Client::new(server.service(), "default")`; no token is asked.
    pub fn service(&self) -> ApiService {
        ApiService::new(self.state.clone(), false)
    }

    /// Another server in memory with the same objects, kinds and options, which goes its own way from here: many
    /// runs from one prepared beginning, without preparing it again. `clock` is the time of the new one; its uids are
    /// drawn by a count, so that the same run has the same ones.
    #[must_use]
    pub fn fork(&self, clock: Clock) -> Self {
        let Self { state } = self;
        let (store, registry) = (state.store.fork(), state.registry.fork());
        let state = State::new(store, registry, clock, state.token.clone(), state.ids.fork());
        Self { state: Arc::new(state) }
    }

    /// The objects.
    pub fn store(&self) -> &Store {
        &self.state.store
    }

    /// Starts what a cluster does by itself: simulated workloads, garbage collection, emptying of deleted namespaces.
    /// It runs until the server is shut down or the returned guard is dropped. Needs a tokio runtime.
    pub fn run_controllers(&self) -> Controllers {
        let stop = self.state.closing.child_token();
        controllers::start(&self.state, &stop);
        Controllers { stop }
    }

    /// The same, done only when the caller says so: one turn at a time, for simulations.
    pub fn manual_controllers(&self) -> ManualControllers {
        ManualControllers {
            manager: ControllerManager::new(self.state.clone()),
            revisions: self.state.store.subscribe_all(),
        }
    }

    /// Ends watches, controllers and connections, and waits for them.
    pub async fn shutdown(&self) {
        self.state.closing.cancel();
        self.state.tasks.close();
        self.state.tasks.wait().await;
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

/// Controllers that work when they are called; made by [`ApiServer::manual_controllers`].
pub struct ManualControllers {
    manager: ControllerManager,
    revisions: RevisionReceiver,
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
        Self {
            manager: self.manager.fork(server.state.clone()),
            revisions: server.state.store.subscribe_all(),
        }
    }

    /// The same without Events of these actions: where no client reads them they are a third of all writes.
    #[must_use]
    pub fn silent(mut self) -> Self {
        self.manager.make_no_events();
        self
    }

    /// Reads what changed, does what is due by now, and says when there will be more to do. Needs a tokio runtime.
    pub fn turn(&mut self) -> Option<tokio::time::Instant> {
        self.revisions.mark_seen();
        self.manager.turn()
    }

    /// Waits until something was written since the last turn began, by anybody; may be dropped at any time.
    pub async fn changed(&mut self) {
        // The server's objects live as long as the manager: the sender cannot go.
        let _ = self.revisions.changed().await;
    }
}
