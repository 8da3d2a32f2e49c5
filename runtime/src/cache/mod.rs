//! The informer cache: local, trimmed stores of watched kinds that are read without a request.

mod informer;
mod latest;
mod watched;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kube::api::{ApiResource, DynamicObject, ObjectMeta};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::informer::SharedState;
use crate::api::Api;

pub(crate) use informer::{Cause, WatchError};
pub use informer::{Index, Informer, NotSynced, SYNC_TIMEOUT, Unread};
pub(crate) use latest::Latest;
pub use watched::{Change, Depth, Handler, Key, Watch, version_of};

/// Longest wait for all stores after the server was set back: one kind that cannot be listed must not hold up the others.
const ONE_TIME_AT_MOST: Duration = Duration::from_secs(20);

/// All watches of one process.
#[derive(Clone)]
pub struct Cache {
    inner: Arc<Inner>,
}

/// A cache that may be gone.
pub(crate) struct WeakCache(std::sync::Weak<Inner>);

impl WeakCache {
    pub(crate) fn upgrade(&self) -> Option<Cache> {
        self.0.upgrade().map(|inner| Cache { inner })
    }
}

struct Inner {
    client: kube::Client,
    /// Each with its number: first come, first waited for, in every run alike.
    informers: Mutex<HashMap<Watch, (usize, Arc<Informer>)>>,
    tasks: TaskTracker,
    stop: CancellationToken,
    shared: SharedState,
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").finish_non_exhaustive()
    }
}

impl Cache {
    /// A cache without watches yet.
    pub fn new(client: kube::Client) -> Self {
        Self::without(client, Vec::new())
    }

    /// The same, whose copies leave out the fields that no reader uses.
    pub fn without(client: kube::Client, unread: Vec<Unread>) -> Self {
        Self {
            inner: Arc::new(Inner {
                client,
                informers: Mutex::default(),
                tasks: TaskTracker::new(),
                stop: CancellationToken::new(),
                shared: SharedState { unread: unread.into(), ..SharedState::default() },
            }),
        }
    }

    /// A read of the server that no copy answers.
    pub(crate) async fn read_anew(
        &self,
        resource: &ApiResource,
        key: &Key,
    ) -> Result<Option<DynamicObject>, kube::Error> {
        let client = self.inner.client.clone();
        let api: Api<DynamicObject> = match key.namespace.as_str() {
            "" => Api::all_with(client, resource),
            namespace => Api::namespaced_with(client, namespace, resource),
        };
        api.get_opt(&key.name).await
    }

    /// As much of the object's metadata as copies have.
    pub(crate) fn trimmed(&self, resource: &ApiResource, object: &DynamicObject) -> ObjectMeta {
        let mut metadata = object.metadata.clone();
        self.inner.shared.without_unread(resource, &mut metadata);
        metadata
    }

    /// The informer of that watch; the first question starts it.
    pub fn informer(&self, watch: Watch) -> Arc<Informer> {
        let mut informers = self.inner.informers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, informer)) = informers.get(&watch) {
            return informer.clone();
        }
        let informer = Arc::new(Informer::with_state(watch.clone(), self.inner.shared.clone()));
        let number = informers.len();
        informers.insert(watch, (number, informer.clone()));
        self.inner.tasks.spawn(crate::watch::run(
            self.inner.client.clone(),
            informer.clone(),
            self.inner.stop.child_token(),
        ));
        informer
    }

    /// Every informer, oldest first.
    fn informers(&self) -> Vec<Arc<Informer>> {
        let mut informers: Vec<_> = {
            let informers = self.inner.informers.lock().unwrap_or_else(PoisonError::into_inner);
            informers.values().cloned().collect()
        };
        informers.sort_by_key(|(number, _)| *number);
        informers.into_iter().map(|(_, informer)| informer).collect()
    }

    /// Wait until every watch started so far has its first list.
    ///
    /// # Errors
    /// Those of [`Informer::synced`], of the first watch that has no list.
    pub async fn synced(&self) -> Result<(), NotSynced> {
        for informer in self.informers() {
            informer.synced().await?;
        }
        Ok(())
    }

    /// Wait until no watch has lost its server.
    pub(crate) async fn current(&self) {
        for informer in self.informers() {
            informer.current().await;
        }
    }

    /// Kinds of this group are served otherwise than before: those that were refused are asked for at once.
    pub(crate) fn changed(&self, group: &str) {
        for informer in self.informers() {
            if informer.watch().resource.group == group && informer.refusals() > 0 {
                informer.recheck.notify_one();
            }
        }
    }

    /// The same cache, which does not live on for this.
    pub(crate) fn weak(&self) -> WeakCache {
        WeakCache(Arc::downgrade(&self.inner))
    }

    /// Counts how often a watch found a server again that was away.
    pub(crate) fn reconnections(&self) -> Latest<u64> {
        self.inner.shared.reconnections.clone()
    }

    /// Come back at once, unless the server was set back to an earlier state: then only when all stores are of the new
    /// time. A decision from one store of the new time and one of the old would create objects that no owner wants any
    /// more.
    pub(crate) async fn consistent(&self) {
        if !self.inner.shared.is_set_back.get() {
            return;
        }
        let all = async {
            for informer in self.informers() {
                informer.follows().await;
            }
        };
        if tokio::time::timeout(ONE_TIME_AT_MOST, all).await.is_err() {
            let behind: Vec<String> = self
                .informers()
                .iter()
                .filter(|informer| !informer.is_following())
                .map(|informer| informer.watch().resource.kind.clone())
                .collect();
            let (after, kinds) = (ONE_TIME_AT_MOST, behind.join(", "));
            tracing::warn!(?after, kinds, "not all kinds could be listed anew since the server was set back");
        }
        self.inner.shared.is_set_back.replace(false);
    }

    /// Why a first list is missing, where the server is away.
    pub(crate) fn unreachable(&self) -> Option<String> {
        self.informers().iter().find_map(|informer| informer.unreachable())
    }

    /// Stop all watches and wait for them.
    pub async fn stop(&self) {
        self.inner.stop.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }
}
