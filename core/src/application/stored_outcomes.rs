//! Which outcomes of workflows this process has seen stored, so that none is read or written twice.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use vela_runtime::Key;

/// Applications whose last outcome is remembered; beyond it the memory starts anew, at the price of reading each again.
const REMEMBERED_AT_MOST: usize = 50_000;

/// The outcomes that this process has seen stored.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcomes {
    stored: Arc<Mutex<BTreeMap<Key, String>>>,
}

impl Outcomes {
    /// Was it stored?
    pub(super) fn has(&self, application: &Key, outcome: &str) -> bool {
        let stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        stored.get(application).is_some_and(|known| known == outcome)
    }

    /// It is stored by now.
    pub(super) fn insert(&self, application: &Key, outcome: String) {
        let mut stored = self.stored.lock().unwrap_or_else(PoisonError::into_inner);
        if stored.len() >= REMEMBERED_AT_MOST {
            stored.clear();
        }
        stored.insert(application.clone(), outcome);
    }

    /// The application is gone.
    pub(super) fn forget(&self, application: &Key) {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner).remove(application);
    }
}
