//! The actions of people on a workflow: they define its steps, resume it, forget how far it is, and ask for another
//! run.

use http::Method;
use serde_json::{Value, json};

use super::{TELL, TELL_TEMPLATE, steps};
use crate::cluster::SimulatedCluster;
use crate::model::{APPLICATION, Form, NAMESPACE, path};

/// Where the definition of the step lies.
const DEFINITIONS: &str = "/apis/core.oam.dev/v1beta1/namespaces/vela-system/workflowstepdefinitions";

/// The definition of the step that sends a message; once it is there, nothing happens.
pub(crate) fn define(cluster: &SimulatedCluster) {
    let definition = json!({
        "apiVersion": "core.oam.dev/v1beta1",
        "kind": "WorkflowStepDefinition",
        "metadata": {"name": TELL, "namespace": "vela-system"},
        "spec": {"schematic": {"cue": {"template": TELL_TEMPLATE}}},
    });
    cluster.user(Method::POST, DEFINITIONS, Some(&definition));
}

/// Writes as `vela workflow resume` does, or `restart` where the run has failed: whether a killed sender sent its message
/// is unknown. Gives the ids of the steps that go on.
pub(crate) fn resume(cluster: &SimulatedCluster) -> Vec<String> {
    let found = cluster.store().find(Form::Workflow.resource(), NAMESPACE, APPLICATION);
    let Some(mut journal) = found.map(|found| found["status"]["workflow"].clone()) else {
        return Vec::new();
    };
    if journal["finished"] == true && journal["status"] == "failed" {
        forget(cluster);
        return Vec::new();
    }
    let is_suspended = |step: &&Value| step["phase"] == "suspending";
    let id = |step: &Value| step["id"].as_str().unwrap_or_default().to_owned();
    let resumed: Vec<String> = steps(&journal).filter(is_suspended).map(id).collect();
    if resumed.is_empty() {
        return resumed;
    }
    for step in list(&mut journal, "steps") {
        go_on(step);
        list(step, "subSteps").for_each(go_on);
    }
    journal["suspend"] = json!(false);
    write(cluster, &journal);
    resumed
}

fn list<'a>(value: &'a mut Value, field: &str) -> impl Iterator<Item = &'a mut Value> {
    value.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten()
}

fn go_on(step: &mut Value) {
    if step["phase"] != "suspending" {
        return;
    }
    if let Some(fields) = step.as_object_mut() {
        fields.insert("phase".to_owned(), json!("running"));
        fields.remove("reason");
    }
}

/// The write of `vela workflow restart`: the run is forgotten.
pub(crate) fn forget(cluster: &SimulatedCluster) {
    write(cluster, &Value::Null);
}

fn write(cluster: &SimulatedCluster, journal: &Value) {
    let place = format!("{}/status", path(Form::Workflow.resource(), APPLICATION));
    cluster.user(Method::PATCH, &place, Some(&json!({"status": {"workflow": journal}})));
}

/// The annotation by which a workflow runs again when the run under way is over.
pub(crate) fn ask_again(cluster: &SimulatedCluster) {
    let body = json!({"metadata": {"annotations": {"app.oam.dev/restart-workflow": "true"}}});
    cluster.user(Method::PATCH, &path(Form::Workflow.resource(), APPLICATION), Some(&body));
}
