//! Whether what was applied once is applied again: the mode an operator or an application chooses.

use std::str::FromStr;

use serde_json::Value as Json;
use vela_crds::{annotations, labels};

use super::{items, text};

/// When an object that was applied before is applied again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ApplyOnce {
    /// Every reconcile brings each object back to what is wanted.
    #[default]
    Off,
    /// An object is applied when what is wanted changed, or when it is missing.
    On,
    /// An object is applied when its wanted content changed, and not even then when a user deleted it.
    Force,
}

/// A word that names no mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no apply-once mode: write off (or false), on (or true) or force")]
pub struct UnknownMode(String);

impl FromStr for ApplyOnce {
    type Err = UnknownMode;

    /// Any case is accepted, and nothing means off.
    fn from_str(word: &str) -> Result<Self, UnknownMode> {
        match word.to_ascii_lowercase().as_str() {
            "" | "false" | "off" => Ok(Self::Off),
            "true" | "on" => Ok(Self::On),
            "force" => Ok(Self::Force),
            _ => Err(UnknownMode(word.to_owned())),
        }
    }
}

impl ApplyOnce {
    /// The mode of a configuration: its own annotation, or else the operator's choice.
    ///
    /// # Errors
    /// The annotation has a word that is no mode.
    pub fn of(configuration: &Json, operator: Self) -> Result<Self, UnknownMode> {
        let all = configuration.get("metadata").and_then(|metadata| metadata.get("annotations"));
        match all.and_then(|all| all.get(annotations::APPLY_ONCE_ONLY)).and_then(Json::as_str) {
            Some(word) => word.parse(),
            None => Ok(operator),
        }
    }

    /// Is the object to be written in this reconcile? `status` is the configuration's, as the last reconcile left it.
    pub fn applies(self, desired: &Json, live: Option<&Json>, status: Option<&Json>) -> bool {
        let role = text(desired, &["metadata", "labels", labels::RESOURCE_TYPE]);
        let is_ours = [labels::RESOURCE_TYPE_WORKLOAD, labels::RESOURCE_TYPE_TRAIT].contains(&role);
        match (self, live) {
            _ if !is_ours => true,
            (Self::Off, _) | (Self::On, None) => true,
            (Self::On | Self::Force, Some(live)) => !is_unchanged(desired, live),
            (Self::Force, None) => !was_applied(desired, role, status),
        }
    }
}

fn generation(object: &Json) -> &str {
    text(object, &["metadata", "annotations", annotations::APP_GENERATION])
}

fn revision(object: &Json) -> &str {
    text(object, &["metadata", "labels", labels::APP_COMPONENT_REVISION])
}

/// The live object is of the wanted generation and revision; a user changed the rest on purpose.
fn is_unchanged(desired: &Json, live: &Json) -> bool {
    generation(desired) == generation(live) && revision(desired) == revision(live)
}

/// Does the status say that exactly this was applied? Then a user deleted it on purpose.
fn was_applied(desired: &Json, role: &str, status: Option<&Json>) -> bool {
    let same = |reference: Option<&Json>| {
        reference.is_some_and(|reference| {
            text(reference, &["apiVersion"]) == text(desired, &["apiVersion"])
                && text(reference, &["kind"]) == text(desired, &["kind"])
                && text(reference, &["name"]) == text(desired, &["metadata", "name"])
        })
    };
    for entry in status.map_or(&[][..], |status| items(status, &["workloads"])) {
        if same(entry.get("workloadRef")) {
            return role == labels::RESOURCE_TYPE_WORKLOAD
                && !text(entry, &["appliedComponentRevision"]).is_empty()
                && text(entry, &["appliedComponentRevision"]) == revision(desired);
        }
        if let Some(trait_) = items(entry, &["traits"]).iter().find(|trait_| same(trait_.get("traitRef"))) {
            let applied = trait_.get("appliedGeneration").and_then(Json::as_i64);
            return role == labels::RESOURCE_TYPE_TRAIT
                && text(entry, &["componentRevisionName"]) == revision(desired)
                && applied.is_some_and(|applied| applied.to_string() == generation(desired));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_read_in_any_case_and_nothing_else() {
        for (words, mode) in [
            (["", "false", "OFF"], ApplyOnce::Off),
            (["true", "on", "True"], ApplyOnce::On),
            (["force", "FORCE", "Force"], ApplyOnce::Force),
        ] {
            for word in words {
                assert_eq!(word.parse(), Ok(mode), "{word}");
            }
        }
        for word in ["yes", " on", "forced", "0"] {
            assert!(word.parse::<ApplyOnce>().unwrap_err().to_string().contains("force"), "{word}");
        }
    }
}
