//! When the objects of a trait are made: before those of its component, with them, or when the component is healthy.

use super::Definition;

/// A stage, as `spec.stage` of a TraitDefinition names it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Before the component: it waits until they are healthy.
    PreDispatch,
    /// With the component.
    #[default]
    DefaultDispatch,
    /// When the component is healthy; the template sees its objects as they are in the cluster.
    PostDispatch,
}

impl Stage {
    /// All of them.
    const ALL: [Self; 3] = [Self::PreDispatch, Self::DefaultDispatch, Self::PostDispatch];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PreDispatch => "PreDispatch",
            Self::DefaultDispatch => "DefaultDispatch",
            Self::PostDispatch => "PostDispatch",
        }
    }
}

impl Definition {
    /// The stage of a trait.
    ///
    /// # Errors
    /// A word that is no stage: what to write instead.
    pub fn stage(&self) -> Result<Stage, String> {
        let written = self.text(&["stage"]);
        if written.is_empty() {
            return Ok(Stage::default());
        }
        let found = Stage::ALL.into_iter().find(|stage| stage.as_str() == written);
        found.ok_or_else(|| {
            let names = Stage::ALL.map(Stage::as_str).join(", ");
            format!("spec.stage {written:?} is no stage of a trait: write one of {names}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_stage_is_one_of_three_words() {
        let stage = |stage: serde_json::Value| {
            let object = json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "TraitDefinition", "metadata": {"name": "t"},
                "spec": {"stage": stage}});
            Definition::from_object(object).unwrap_or_else(|error| unreachable!("{error}")).stage()
        };
        assert_eq!(stage(json!("PreDispatch")), Ok(Stage::PreDispatch));
        assert_eq!(stage(json!("PostDispatch")), Ok(Stage::PostDispatch));
        assert_eq!(stage(json!(null)), Ok(Stage::DefaultDispatch));
        let error = stage(json!("Later")).unwrap_err();
        assert!(error.contains("PreDispatch, DefaultDispatch, PostDispatch"), "{error}");
    }
}
