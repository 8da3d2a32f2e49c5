//! Remembers evaluations that ran out of their budget, so that the same template with the same values is not evaluated
//! again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};

use crate::diagnostic::Diagnostics;

/// More of them are not remembered: all are forgotten, and each costs one evaluation more.
const REMEMBERED_AT_MOST: usize = 1024;

/// Evaluations that ran out, by the content of the template and of what it was given.
#[derive(Default)]
pub(super) struct Exhausted {
    known: Mutex<HashMap<[u8; 32], Diagnostics>>,
}

impl Exhausted {
    /// The message of the former evaluation, if it ran out before.
    pub(super) fn get(&self, template: &str, given: &[&Json]) -> Option<Diagnostics> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Almost always nothing ran out, and nothing has to be hashed.
        if known.is_empty() { None } else { known.get(&key(template, given)).cloned() }
    }

    /// Remembers what was told of it.
    pub(super) fn insert(&self, template: &str, given: &[&Json], diagnostics: &Diagnostics) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED_AT_MOST {
            known.clear();
        }
        known.insert(key(template, given), diagnostics.clone());
    }
}

fn key(template: &str, given: &[&Json]) -> [u8; 32] {
    let mut hash = Sha256::new();
    let texts = std::iter::once(template.to_owned()).chain(given.iter().map(ToString::to_string));
    for text in texts {
        hash.update(text.len().to_le_bytes());
        hash.update(text);
    }
    hash.finalize().into()
}
