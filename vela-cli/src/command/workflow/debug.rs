//! Prints what steps were given, took, gave and called: what a run has stored of them.

use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Map, Value, json};
use vela_engine::workflow::{RunValues, StepSpec, StepStatus};

use super::found::{meant, run_of, spec_of};
use super::stored_values;
use crate::applications::find;
use crate::args::Format;
use crate::cluster::Cluster;
use crate::error::Result;
use crate::pointer::text;
use crate::screen::Screen;

/// Characters of a uid at the end of the name of a debug ConfigMap.
const SUFFIX_LENGTH: usize = 5;

pub(super) async fn print(
    cluster: &Cluster,
    name: &str,
    step: Option<&str>,
    format: Format,
    screen: &mut Screen,
) -> Result<()> {
    let application = find(cluster, name).await?;
    let run = run_of(&application)?;
    let stored = stored_values::read(cluster, &run).await?;
    // A workflow that was edited since it ran may be broken; what ran is told all the same.
    let spec = spec_of(cluster, &application).await.ok();
    let mut all = Vec::new();
    for status in meant(&run, name, step)? {
        let written = spec.as_ref().and_then(|spec| spec.step(&status.name));
        let mut shown = of_step(status, written, &stored.values);
        if step.is_some()
            && let Some(template) = evaluated(cluster, &application, &status.id).await?
        {
            shown["template"] = json!(template);
        }
        all.push(shown);
    }
    screen.data(format, &Value::Array(all))
}

fn of_step(status: &StepStatus, written: Option<&StepSpec>, values: &RunValues) -> Value {
    let mut step = json!({
        "name": status.name,
        "type": status.type_,
        "phase": status.phase.as_str(),
        "began": status.first.to_string(),
        "changed": status.last.to_string(),
    });
    if let Some(reason) = status.reason {
        step["reason"] = json!(reason.as_str());
    }
    if !status.message.is_empty() {
        step["message"] = json!(status.message);
    }
    if let Some(written) = written {
        let value = |name: &str| values.get(name).cloned().unwrap_or_default();
        let takes: Map<String, Value> =
            written.inputs.iter().map(|input| (input.from.clone(), value(&input.from))).collect();
        let gives: Map<String, Value> =
            written.outputs.iter().map(|output| (output.name.clone(), value(&output.name))).collect();
        step["properties"] = written.properties.clone();
        for (field, values) in [("takes", takes), ("gives", gives)] {
            if !values.is_empty() {
                step[field] = Value::Object(values);
            }
        }
    }
    let calls: Vec<Value> = values
        .calls(&status.id)
        .iter()
        .map(|call| json!({"path": call.path, "answer": call.answer}))
        .collect();
    if !calls.is_empty() {
        step["calls"] = Value::Array(calls);
    }
    step
}

/// The template of the step as it was evaluated, where the application has a policy of type `debug` and the controller
/// stores that.
async fn evaluated(cluster: &Cluster, application: &DynamicObject, id: &str) -> Result<Option<String>> {
    let uid = application.uid().unwrap_or_default();
    let start = uid.char_indices().rev().nth(SUFFIX_LENGTH - 1).map_or(0, |(start, _)| start);
    let name = format!("{}-{id}-debug-{}", application.name_any(), &uid[start..]);
    let found = cluster.get("v1", "ConfigMap", None, &name).await?;
    let text = found.map(|found| text(&found.data, "/data/debug").to_owned());
    Ok(text.filter(|text| !text.is_empty()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use vela_engine::workflow::{RunStatus, WorkflowSpec};
    use vela_runtime::clock;

    use super::*;

    #[test]
    fn what_a_step_took_gave_and_called_is_shown() {
        let spec = json!({"steps": [{
            "name": "send", "type": "notify", "properties": {"to": "ops"},
            "inputs": [{"from": "address", "parameterKey": "url"}],
            "outputs": [{"name": "answer", "valueFrom": "post.status"}],
        }]});
        let spec = WorkflowSpec::read(&spec, "spec.workflow").unwrap();
        let run = json!({"appRevision": "shop-v1", "steps": [
            {"id": "abc", "name": "send", "type": "notify", "phase": "failed", "reason": "Timeout", "message": "late"},
        ]});
        let run = RunStatus::read(&run, clock::now()).unwrap();
        let stored = [("vars", r#"{"address": "http://a"}"#), ("abc.calls", r#"[{"path": "post"}]"#)];
        let stored: BTreeMap<String, String> =
            stored.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
        let values = RunValues::read(&stored).unwrap();
        let shown = of_step(run.step("send").unwrap(), spec.step("send"), &values);
        assert_eq!(shown["takes"], json!({"address": "http://a"}), "{shown}");
        assert_eq!(shown["gives"], json!({"answer": null}), "{shown}");
        assert_eq!(shown["calls"], json!([{"path": "post", "answer": null}]), "{shown}");
        assert_eq!((&shown["reason"], &shown["properties"]["to"]), (&json!("Timeout"), &json!("ops")));
    }
}
