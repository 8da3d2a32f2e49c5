//! How the workloads of an Application in the v1alpha2 form are called: after their component, or after each revision of it.

use std::str::FromStr;

use serde_json::{Value as Json, json};
use vela_crds::annotations;

/// The name of a component's workload where no rollout is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkloadNames {
    /// `<component>`: it is changed in place, as since release 1.0.
    #[default]
    Component,
    /// `<component>-vN`: each revision of the component has a workload of its own, as early in 2021.
    Revision,
}

impl WorkloadNames {
    /// The word that people write.
    pub fn word(self) -> &'static str {
        match self {
            Self::Component => "component",
            Self::Revision => "revision",
        }
    }

    /// The value of an object's own annotation, if it has one.
    ///
    /// # Errors
    /// A word that means nothing.
    pub fn annotated(object: &Json) -> Result<Option<Self>, String> {
        let all = object.pointer("/metadata/annotations");
        let Some(given) = all.and_then(|all| all.get(annotations::WORKLOAD_NAMES)) else { return Ok(None) };
        given.as_str().unwrap_or_default().parse().map(Some)
    }
}

impl FromStr for WorkloadNames {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let known = [Self::Component, Self::Revision].into_iter().find(|names| names.word() == word);
        known.ok_or_else(|| {
            format!("{word:?} says nothing about the names of workloads: write component or revision")
        })
    }
}

/// Does the configuration, which is stored for an Application, name workloads after revisions?
pub fn names_by_revision(configuration: &Json) -> bool {
    WorkloadNames::annotated(configuration) == Ok(Some(WorkloadNames::Revision))
}

/// Has the composed configuration name workloads as its Application says, or else as the operator does; its components are to be
/// pinned then where this says so.
pub fn set(configuration: &mut Json, otherwise: WorkloadNames) -> bool {
    // The parser of the Application refused an unknown value.
    let names = WorkloadNames::annotated(configuration).ok().flatten().unwrap_or(otherwise);
    if names == WorkloadNames::Component {
        return false;
    }
    if !configuration["metadata"]["annotations"].is_object() {
        configuration["metadata"]["annotations"] = json!({});
    }
    configuration["metadata"]["annotations"][annotations::WORKLOAD_NAMES] = json!(names.word());
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_annotation_counts_more_than_the_choice_of_the_operator() {
        let configuration =
            |word: &str| json!({"metadata": {"annotations": {annotations::WORKLOAD_NAMES: word}}});
        let mut written = configuration("component");
        assert!(!set(&mut written, WorkloadNames::Revision) && !names_by_revision(&written));
        assert!(set(&mut configuration("revision"), WorkloadNames::Component));
        let mut silent = json!({"metadata": {"name": "shop"}});
        assert!(!set(&mut silent, WorkloadNames::Component) && !names_by_revision(&silent));
        assert!(set(&mut silent, WorkloadNames::Revision) && names_by_revision(&silent));
        let wrong = WorkloadNames::annotated(&configuration("versions")).unwrap_err();
        assert!(wrong.contains("write component or revision"), "{wrong}");
    }
}
