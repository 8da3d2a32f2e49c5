//! A stored Application and the Workflow that it names → its workflow as it is written, which is what orders for its steps
//! go by.

use serde_json::Value as Json;

use super::external::merge;
use crate::manifest::Document;
use crate::workflow::{Unsteerable, WorkflowSpec};

/// The Workflow that the application names, in its namespace.
pub fn named_workflow(application: &Json) -> Option<&str> {
    application["spec"]["workflow"]["ref"].as_str().filter(|name| !name.is_empty())
}

/// The workflow of the application; `named` is the Workflow that it names, where there is one.
///
/// # Errors
/// The workflow cannot be read.
pub fn written_workflow(application: &Json, named: Option<Json>) -> Result<WorkflowSpec, Unsteerable> {
    let beside: Vec<Document> = named.into_iter().map(Document::from_object).collect();
    let whole = merge(&Document::from_object(application.clone()), &beside, false).application;
    let written = whole.value().pointer("/spec/workflow").unwrap_or(&Json::Null);
    WorkflowSpec::read(written, "spec.workflow").map_err(|findings| {
        let all: Vec<String> = findings.iter().map(ToString::to_string).collect();
        let name = application["metadata"]["name"].as_str().unwrap_or_default();
        Unsteerable {
            message: format!("the workflow of {name} cannot be read: {}", all.join("; ")),
            hint: "correct the application: its workflow then runs from the beginning".to_owned(),
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn steps_stand_in_the_application_or_in_the_workflow() {
        let steps = json!([{"name": "go", "type": "t"}]);
        let application =
            |workflow: Json| json!({"metadata": {"name": "shop"}, "spec": {"workflow": workflow}});
        let own = application(json!({"steps": steps}));
        assert_eq!(named_workflow(&own), None);
        assert!(written_workflow(&own, None).unwrap().step("go").is_some());
        let naming = application(json!({"ref": "slowly"}));
        assert_eq!(named_workflow(&naming), Some("slowly"));
        let named = json!({"apiVersion": "core.oam.dev/v1alpha1", "kind": "Workflow", "metadata": {"name": "slowly"}, "steps": steps});
        assert!(written_workflow(&naming, Some(named)).unwrap().step("go").is_some());
        let broken = written_workflow(&application(json!({"steps": 1})), None).unwrap_err();
        assert!(broken.message.contains("the workflow of shop cannot be read"), "{broken:?}");
    }
}
