//! Reads which of its two spellings a rollout is written in: revisions of an Application, or ApplicationConfigurations.

use serde_json::Value as Json;

/// Where the revisions of an Application in the v1beta1 form are named.
pub const REVISIONS: [&str; 2] = ["targetAppRevisionName", "sourceAppRevisionName"];
/// Where the ApplicationConfigurations of an Application in the v1alpha2 form are named, as in early 2021.
pub const CONFIGURATIONS: [&str; 2] = ["targetApplicationName", "sourceApplicationName"];

/// The ends of a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// Two revisions of an Application.
    Revisions,
    /// Two ApplicationConfigurations that an Application stored for its revisions.
    Configurations,
}

/// A name that cannot be meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misspelled {
    /// The field, below `spec`.
    pub field: &'static str,
    /// Is it missing, rather than wrong?
    pub missing: bool,
    /// The error and its remedy.
    pub message: String,
}

impl std::fmt::Display for Misspelled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "spec.{}: {}", self.field, self.message)
    }
}

impl Spelling {
    /// The spelling of a rollout's `spec`.
    ///
    /// # Errors
    /// Both are mixed, or neither names a target.
    pub fn of(spec: &Json) -> Result<Self, Misspelled> {
        let is_named = |field: &&str| spec[*field].as_str().is_some_and(|name| !name.is_empty());
        let revision = REVISIONS.into_iter().find(is_named);
        let configuration = CONFIGURATIONS.into_iter().find(is_named);
        match (revision, configuration) {
            (Some(revision), Some(field)) => Err(Misspelled {
                field,
                missing: false,
                message: format!(
                    "spec.{revision} is written, too: the one names an ApplicationConfiguration, the other an \
                     ApplicationRevision; write {} and {} for an Application in the v1beta1 form, {} and {} for one in the \
                     v1alpha2 form",
                    REVISIONS[0], REVISIONS[1], CONFIGURATIONS[0], CONFIGURATIONS[1]
                ),
            }),
            (None, Some(_)) => Self::Configurations.with_target(spec),
            _ => Self::Revisions.with_target(spec),
        }
    }

    /// Its fields: where it goes to, and where it comes from.
    pub fn fields(self) -> [&'static str; 2] {
        match self {
            Self::Revisions => REVISIONS,
            Self::Configurations => CONFIGURATIONS,
        }
    }

    fn with_target(self, spec: &Json) -> Result<Self, Misspelled> {
        let [target, _] = self.fields();
        if spec[target].as_str().is_some_and(|name| !name.is_empty()) {
            return Ok(self);
        }
        let message = "a rollout needs to know where to go; name the revision, as in my-app-v2".to_owned();
        Err(Misspelled { field: target, missing: true, message })
    }

    /// A workload cannot make room for itself: its pods would go and come back for ever.
    ///
    /// # Errors
    /// Source and target are one.
    pub fn differ(self, target: &str, from: Option<&str>) -> Result<(), Misspelled> {
        if from != Some(target) {
            return Ok(());
        }
        let [_, source] = self.fields();
        let message = format!(
            "source and target are both {target}, so there is nothing to replace; name another revision, or leave {source} out \
             to change the number of pods"
        );
        Err(Misspelled { field: source, missing: false, message })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn one_spelling_is_read_and_two_are_refused() {
        let of = |spec: Json| Spelling::of(&spec).map_err(|wrong| wrong.to_string());
        assert_eq!(of(json!({"targetAppRevisionName": "a-v1"})), Ok(Spelling::Revisions));
        assert_eq!(
            of(json!({"targetApplicationName": "a-v2", "sourceApplicationName": "a-v1"})),
            Ok(Spelling::Configurations)
        );
        for (spec, expected) in [
            (
                json!({"targetApplicationName": "a-v2", "sourceAppRevisionName": "a-v1"}),
                "spec.targetApplicationName: spec.sourceAppRevisionName is written, too",
            ),
            (json!({"sourceApplicationName": "a-v1"}), "spec.targetApplicationName: a rollout needs"),
            (json!({}), "spec.targetAppRevisionName: a rollout needs"),
        ] {
            let why = of(spec).unwrap_err();
            assert!(why.starts_with(expected), "{why}");
        }
        assert_eq!(Spelling::Configurations.differ("a-v2", Some("a-v1")), Ok(()));
        let why = Spelling::Configurations.differ("a-v1", Some("a-v1")).unwrap_err().to_string();
        assert!(why.starts_with("spec.sourceApplicationName: source and target are both a-v1"), "{why}");
    }
}
