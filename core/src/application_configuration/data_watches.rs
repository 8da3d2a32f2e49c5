//! The waits of configurations → the watches that wake them, and their last reads and writes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kube::api::DynamicObject;
use serde_json::Value;
use vela_engine::ObjectKey;
use vela_runtime::Key;
use vela_runtime::dynamic_watch::DynamicWatches;
use vela_runtime::queue::Queue;

use crate::context::Context;

/// The waits of configurations, and the contents they read for them.
#[derive(Clone)]
pub(super) struct Flows {
    pub(super) interests: DynamicWatches,
    queue: Arc<Mutex<Option<Arc<Queue<Key>>>>>,
    memories: Arc<Mutex<BTreeMap<Key, Memory>>>,
}

/// The reads and writes of one configuration's last reconcile; the next one's take their place.
#[derive(Default, Clone)]
pub(super) struct Memory {
    /// On whose behalf it was read.
    pub(super) author: Option<String>,
    pub(super) read: BTreeMap<ObjectKey, Arc<DynamicObject>>,
    /// The content that was written into a store, and the version that made: the server may keep it in another
    /// spelling.
    pub(super) written: BTreeMap<ObjectKey, (Value, Option<String>)>,
}

impl Flows {
    pub(super) fn new(context: &Context) -> Self {
        let interests = DynamicWatches::new(context.client.clone(), &context.cache, &context.discovery, &[]);
        Self { interests: interests.metadata_only(), queue: Arc::default(), memories: Arc::default() }
    }

    /// Wake configurations through this queue.
    pub(super) fn wake(&self, queue: Arc<Queue<Key>>) {
        self.interests.wake(queue.clone());
        *self.queue.lock().unwrap_or_else(PoisonError::into_inner) = Some(queue);
    }

    /// Wake this configuration after a time.
    pub(super) fn wake_after(&self, configuration: &Key, time: Duration) {
        if let Some(queue) = &*self.queue.lock().unwrap_or_else(PoisonError::into_inner) {
            queue.add_after(configuration.clone(), time);
        }
    }

    /// No reconcile waits on behalf of this configuration any more.
    pub(super) fn forget(&self, configuration: &Key) {
        self.interests.forget(configuration);
        self.memories().remove(configuration);
    }

    pub(super) fn memories(&self) -> MutexGuard<'_, BTreeMap<Key, Memory>> {
        self.memories.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
