//! An Application whose workflow stands in an object of its own → the same with the steps in their place; reads nothing but the
//! snapshot.
//!
//! With the steps in place, whatever follows need not know where they were written: revision and hash are those of the steps,
//! so that a changed Workflow cuts a revision like a changed Application.

use serde_json::Value as Json;
use vela_crds::annotations;

use super::parser::{DEFAULT_NAMESPACE, Parser};
use crate::diagnostic::{Code, Diagnostic};
use crate::manifest::Document;
use crate::observed::ObjectKey;
use crate::snapshot::Snapshot;
use crate::workflow::check_restart;

/// Version and kind of a workflow that applications name.
const WORKFLOW: (&str, &str) = ("core.oam.dev/v1alpha1", "Workflow");

/// The Workflow that an Application names, where it writes no steps itself.
pub fn named_workflow(application: &Document) -> Option<ObjectKey> {
    let workflow = application.value().pointer("/spec/workflow")?;
    let name = workflow.get("ref")?.as_str().filter(|name| !name.is_empty())?;
    let namespace = match application.namespace() {
        "" => DEFAULT_NAMESPACE,
        namespace => namespace,
    };
    let (api_version, kind) = WORKFLOW;
    (!has_steps(workflow)).then(|| ObjectKey::local(api_version, kind, namespace, name))
}

/// The Application with the steps of the Workflow that it names, where the snapshot has that; its own `mode` counts before the
/// one written there.
pub fn with_workflow(application: &Document, snapshot: &Snapshot) -> Option<Document> {
    with_workflow_object(application, snapshot.object(&named_workflow(application)?)?)
}

/// The Application with the steps of this Workflow, which it names.
pub fn with_workflow_object(application: &Document, workflow: &Json) -> Option<Document> {
    let mut value = application.value().clone();
    let own = value.pointer_mut("/spec/workflow")?.as_object_mut()?;
    own.remove("ref");
    let steps = workflow.get("steps").cloned().unwrap_or_else(|| Json::Array(Vec::new()));
    own.insert("steps".to_owned(), steps);
    if let Some(mode) = workflow.get("mode").filter(|mode| !mode.is_null())
        && own.get("mode").is_none_or(Json::is_null)
    {
        own.insert("mode".to_owned(), mode.clone());
    }
    Some(application.with_value(value))
}

/// Does it write steps itself?
pub(super) fn has_steps(workflow: &Json) -> bool {
    workflow.get("steps").and_then(Json::as_array).is_some_and(|steps| !steps.is_empty())
}

impl Parser<'_> {
    /// A Workflow that is named has taken its place, or cannot.
    pub(super) fn unresolved_workflow(&mut self, reference: &Json, has_steps: bool) {
        const PATH: &str = "spec.workflow.ref";
        let hint = "keep one of the two".to_owned();
        match reference.as_str() {
            Some("") => {}
            Some(_) if has_steps => {
                let message = "cannot set steps and ref in workflow at the same time";
                self.error(Code::WrongType, PATH, message, Some(hint));
            }
            Some(name) => {
                let message = format!("there is no Workflow {name:?} in the namespace of the application");
                let hint = "create it (core.oam.dev/v1alpha1), or write the steps under spec.workflow.steps";
                self.error(Code::UnknownReference, PATH, message, Some(hint.to_owned()));
            }
            None => self.error(Code::WrongType, PATH, "expected the name of a Workflow", None),
        }
    }

    /// Parsing does not refuse an application for it: the workflow runs all the same, but not again.
    pub(super) fn restart(&mut self) {
        let annotations = self.document.value().pointer("/metadata/annotations");
        let restart = annotations.and_then(|all| all.get(annotations::WORKFLOW_RESTART)?.as_str());
        if let Some(Err(why)) = restart.map(check_restart) {
            let path = format!("metadata.annotations[{}]", annotations::WORKFLOW_RESTART);
            self.found.push(Diagnostic::warning(Code::WrongType, why).at(self.document, path));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn application(workflow: &Json) -> Document {
        Document::from_object(json!({"apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
            "metadata": {"name": "shop", "namespace": "prod"}, "spec": {"components": [], "workflow": workflow}}))
    }

    fn snapshot() -> Snapshot {
        let mut snapshot = Snapshot::default();
        snapshot.insert_object(json!({"apiVersion": "core.oam.dev/v1alpha1", "kind": "Workflow",
            "metadata": {"name": "release", "namespace": "prod"},
            "mode": {"steps": "DAG"}, "steps": [{"name": "hold", "type": "suspend"}]}));
        snapshot
    }

    #[test]
    fn the_steps_of_a_named_workflow_take_their_place() {
        let of = |workflow: &Json| {
            let whole = with_workflow(&application(workflow), &snapshot());
            whole.map(|whole| whole.value()["spec"]["workflow"].clone())
        };
        let steps = json!([{"name": "hold", "type": "suspend"}]);
        assert_eq!(of(&json!({"ref": "release"})), Some(json!({"mode": {"steps": "DAG"}, "steps": steps})));
        let mode = json!({"steps": "StepByStep"});
        let own = of(&json!({"ref": "release", "mode": mode}));
        assert_eq!(own, Some(json!({"mode": mode, "steps": steps})));
        assert_eq!(of(&json!({"ref": "other"})), None);
        assert_eq!(of(&json!({"steps": steps})), None);
        // Both are written: parsing says so.
        assert_eq!(of(&json!({"ref": "release", "steps": steps})), None);
    }
}
