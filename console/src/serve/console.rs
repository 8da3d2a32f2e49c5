//! The console over one cluster: what it holds, and what it knows of an application. Answers no request.

use std::sync::Arc;

use futures::stream::BoxStream;
use kube::Client;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use vela_runtime::{Cache, Discovery, clock};
use vela_snapshot::Namespaces;

use super::audit::Audit;
use crate::access::Access;
use crate::commands::Commands;
use crate::data::applications::Applications;
use crate::data::definitions;
use crate::data::explain::{self, Explanation};
use crate::data::logs::{self, Line, Wanted};
use crate::data::rollouts::{self, RolloutList};
use crate::data::tree::{self, Tree};
use crate::data::view::{ApplicationView, ApplicationWithTree, view};
use crate::data::workflow::{self, Workflow};
use crate::error::Error;
use crate::identity::Identity;
use crate::stream;

/// As `vela logs` says it.
const SIMULATED: &str = "the pods of the sandbox are simulated: no container runs, and none writes a log; the objects of the \
                         application say how they are";
/// Dry runs at once: each takes a processor for as long as its budget allows.
const RUNS: usize = 2;
/// Streams of events at once.
const STREAMS: usize = 256;

/// What the console shows, and of which cluster.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Only applications of this namespace.
    pub namespace: Option<String>,
    /// Where the definitions for everybody are, if not in `vela-system`.
    pub system_namespace: Option<String>,
    /// The field manager by which the console writes what users order; without one it only reads.
    pub changes_as: Option<String>,
    /// What the program does for it; without, environments and Appfiles are only read.
    pub commands: Option<Arc<dyn Commands>>,
    /// Which cluster it is, as audit lines call it.
    pub cluster: String,
    /// Who is told of each write that was ordered; an order waits until its audit is taken.
    pub audit: Option<mpsc::Sender<Audit>>,
    /// The pods of the cluster are simulated: no container runs.
    pub simulated_pods: bool,
}

/// The console over one cluster.
#[derive(Clone)]
pub struct Console {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) client: Client,
    pub(super) options: Options,
    pub(super) discovery: Discovery,
    cache: Cache,
    pub(super) applications: Applications,
    pub(super) access: Access,
    pub(super) user: Identity,
    places: Places,
}

/// What is served at once, to all users together.
#[derive(Clone, Debug)]
pub(super) struct Places {
    streams: Arc<Semaphore>,
    runs: Arc<Semaphore>,
}

impl Default for Places {
    fn default() -> Self {
        Self { streams: Arc::new(Semaphore::new(STREAMS)), runs: Arc::new(Semaphore::new(RUNS)) }
    }
}

impl std::fmt::Debug for Console {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Console").field("access", &"…").finish_non_exhaustive()
    }
}

impl Console {
    /// A console that reads with the rights of the client; it follows the applications from now on, so it is made inside
    /// of an event loop.
    pub fn new(client: Client, options: Options, access: Access) -> Self {
        Self::of(client, options, access, Identity::default(), Places::default())
    }

    /// The console of one user.
    pub(super) fn of(
        client: Client,
        options: Options,
        access: Access,
        user: Identity,
        places: Places,
    ) -> Self {
        let cache = Cache::new(client.clone());
        let applications = Applications::watch(&cache, &client, options.namespace.clone());
        let discovery = Discovery::new(client.clone());
        let inner = Inner { client, options, discovery, cache, applications, access, user, places };
        Self { inner: Arc::new(inner) }
    }

    /// Follows the applications no longer.
    pub async fn close(&self) {
        self.inner.cache.stop().await;
    }

    pub(super) fn place(&self) -> Result<stream::Place, Error> {
        self.inner.places.streams.clone().try_acquire_owned().map_err(|_| Error::TooManyStreams(STREAMS))
    }

    pub(super) async fn view(&self, namespace: &str, name: &str) -> Result<ApplicationView, Error> {
        self.inner.applications.listed().await?;
        Ok(view(self.inner.applications.get(namespace, name)?, clock::now()))
    }

    pub(super) async fn tree(&self, namespace: &str, name: &str) -> Result<Tree, Error> {
        tree::read(&self.inner.client, &self.inner.discovery, namespace, name).await
    }

    pub(super) async fn workflow(&self, namespace: &str, name: &str) -> Result<Workflow, Error> {
        let Inner { client, applications, .. } = &*self.inner;
        applications.listed().await?;
        let application = applications.get(namespace, name)?;
        let found = workflow::read(&application, clock::now())
            .ok_or_else(|| Error::NotFound(format!("the workflow of {name} has not begun")))?;
        Ok(workflow::with_values(client, &application, found).await)
    }

    pub(super) async fn rollouts(&self, namespace: &str, name: &str) -> Result<RolloutList, Error> {
        let Inner { client, applications, .. } = &*self.inner;
        applications.listed().await?;
        rollouts::read(client, &applications.get(namespace, name)?).await
    }

    pub(super) async fn explain(&self, namespace: &str, name: &str) -> Result<Explanation, Error> {
        let Inner { client, discovery, applications, .. } = &*self.inner;
        applications.listed().await?;
        let application = applications.get(namespace, name)?;
        let place = self.place_of_run()?;
        explain::explain((client, discovery), self.namespaces(), application, place).await
    }

    /// Where types are looked for beside the namespace that uses them.
    pub(super) fn namespaces(&self) -> Namespaces {
        let usual = Namespaces::default();
        let system = self.inner.options.system_namespace.clone();
        Namespaces { system: system.unwrap_or(usual.system), ..usual }
    }

    /// The token of forms that order something; there is none where the console only reads.
    pub(super) fn token_of_orders(&self) -> Option<&str> {
        self.inner.options.changes_as.as_ref().map(|_| self.inner.access.form_token())
    }

    /// A place among the dry runs, given back when the run ends.
    pub(super) fn place_of_run(&self) -> Result<OwnedSemaphorePermit, Error> {
        self.inner.places.runs.clone().try_acquire_owned().map_err(|_| Error::TooManyRuns(RUNS))
    }

    /// The lines that are asked for; the first of them come with the stream.
    pub(super) async fn logs(
        &self,
        namespace: &str,
        name: &str,
        wanted: &Wanted,
    ) -> Result<BoxStream<'static, Line>, Error> {
        self.view(namespace, name).await?;
        if self.inner.options.simulated_pods {
            return Err(Error::NotSupported(SIMULATED.to_owned()));
        }
        let Inner { client, discovery, .. } = &*self.inner;
        let tree = self.tree(namespace, name).await?;
        let sources = logs::sources(client, discovery, name, &tree, wanted).await?;
        Ok(logs::open(client, sources, wanted).await)
    }

    pub(super) async fn whole(&self, namespace: &str, name: &str) -> Result<ApplicationWithTree, Error> {
        let application = self.view(namespace, name).await?;
        Ok(ApplicationWithTree { application, tree: self.tree(namespace, name).await? })
    }

    pub(super) async fn definitions(&self) -> Result<definitions::DefinitionList, Error> {
        definitions::list(&self.inner.client, self.inner.options.namespace.as_deref()).await
    }
}
