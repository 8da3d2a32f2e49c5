//! Renders by definitions that an application does not go by → what was wrong, each content tried once.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use vela_engine::Diagnostics;
use vela_runtime::Key;

/// Applications whose last try is remembered; beyond it the memory starts anew, at the price of one render each.
const TRIES_AT_MOST: usize = 50_000;

/// The results of rendering each application by definitions it does not go by: the content, and its errors.
#[derive(Debug, Default)]
pub(super) struct RenderAttempts(Mutex<BTreeMap<Key, (String, Option<Diagnostics>)>>);

impl RenderAttempts {
    /// The errors of this content; nothing where it was not tried.
    pub(super) fn of(&self, key: &Key, content: &str) -> Option<Option<Diagnostics>> {
        let tried = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tried.get(key).filter(|(known, _)| known == content).map(|(_, wrong)| wrong.clone())
    }

    /// Remember what was wrong with this content.
    pub(super) fn insert(&self, key: &Key, content: String, wrong: Option<Diagnostics>) {
        let mut tried = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if tried.len() >= TRIES_AT_MOST {
            tried.clear();
        }
        tried.insert(key.clone(), (content, wrong));
    }

    /// The application is gone.
    pub(super) fn forget(&self, key: &Key) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}
