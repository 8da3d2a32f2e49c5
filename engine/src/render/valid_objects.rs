//! Remembers rendered objects in which an API server would refuse nothing, so that a reconcile that renders the same checks nothing anew.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, PoisonError};

use serde_json::Value as Json;
use vela_kinds::Problem;

/// More of them are not remembered: all are forgotten, and each costs one check more. One takes 16 bytes.
const REMEMBERED_AT_MOST: usize = 16_384;

/// Valid objects, by two hashes of their content with keys of this process, so that no template can make one that passes for another.
#[derive(Default)]
pub(super) struct ValidObjects {
    known: Mutex<HashSet<[u64; 2]>>,
    hashers: [RandomState; 2],
}

impl ValidObjects {
    /// What an API server would drop or refuse of the object.
    pub(super) fn problems(&self, object: &Json) -> Vec<Problem> {
        let key = self.hashers.each_ref().map(|hasher| hasher.hash_one(object));
        if self.known.lock().unwrap_or_else(PoisonError::into_inner).contains(&key) {
            return Vec::new();
        }
        let problems = vela_kinds::problems(object);
        if problems.is_empty() {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if known.len() >= REMEMBERED_AT_MOST {
                known.clear();
            }
            known.insert(key);
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_valid_objects_are_remembered() {
        let valid = ValidObjects::default();
        let service = |port: u32| {
            json!({
                "apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"},
                "spec": {"selector": {"a": "b"}, "ports": [{"port": port}]},
            })
        };
        for _ in 0..2 {
            assert_eq!(valid.problems(&service(80)), []);
            assert!(!valid.problems(&service(0)).is_empty(), "each time");
        }
        let known = |valid: &ValidObjects| valid.known.lock().unwrap().len();
        assert_eq!(known(&valid), 1);
        valid.known.lock().unwrap().extend((0..REMEMBERED_AT_MOST as u64).map(|number| [number, 0]));
        assert_eq!(valid.problems(&service(81)), []);
        assert_eq!(known(&valid), 1, "their number has a limit");
    }
}
