//! A note on each child of what was applied last. After a restart it shows that nothing of ours lingers on the child that is no longer
//! wanted, so that a child which has all that is wanted needs no write.

use kube::api::DynamicObject;
use vela_runtime::apply;

use crate::parts::kinds;

/// The annotation of the note.
const NOTE: &str = "goharbor.io/applied";

/// Writes the note on what is desired, and says whether the live object has the same one. A Secret gets none, since its hash would tell
/// of what is confidential: its data is compared instead.
pub(crate) fn note(desired: &mut DynamicObject, known: Option<&DynamicObject>) -> bool {
    if desired.types.as_ref().is_some_and(|types| types.kind == kinds::SECRET.1) {
        return known.is_some_and(|known| known.data["data"] == desired.data["data"]);
    }
    apply::note(desired, known, NOTE)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn object(kind: &str, data: Value) -> DynamicObject {
        let object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "a", "namespace": "n"}, "data": data});
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn only_what_was_applied_as_it_is_wanted_is_noted() {
        for kind in ["ConfigMap", "Secret"] {
            let wanted = || object(kind, json!({"a": "MQ=="}));
            let mut live = wanted();
            assert!(!note(&mut live, None), "{kind}: it was not there");
            assert!(note(&mut wanted(), Some(&live)), "{kind}: nothing changed");
            assert!(!note(&mut object(kind, json!({})), Some(&live)), "{kind}: a key is not wanted any more");
            let has_note = live.metadata.annotations.is_some();
            assert_eq!(has_note, kind == "ConfigMap", "the hash of a Secret is not shown");
        }
    }
}
