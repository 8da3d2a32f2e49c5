//! Prints what the steps of a run came to, in the order of time, and where the logs are that they name.

use jiff::Timestamp;
use serde_json::Value;
use vela_engine::workflow::{RunStatus, StepPhase, StepStatus, StoredValues};

use super::found::{meant, run_of};
use super::stored_values;
use crate::applications::find;
use crate::cluster::Cluster;
use crate::error::Result;
use crate::pointer::text;
use crate::screen::Screen;
use crate::steps::words;
use crate::table::Table;

/// What happened: when, in which step, and what.
type Line = (Timestamp, String, String);

pub(super) async fn print(
    cluster: &Cluster,
    name: &str,
    step: Option<&str>,
    screen: &mut Screen,
) -> Result<()> {
    let application = find(cluster, name).await?;
    let run = run_of(&application)?;
    let stored = stored_values::read(cluster, &run).await?;
    let steps = meant(&run, name, step)?;
    let mut lines = if step.is_none() { of_run(&run) } else { Vec::new() };
    lines.extend(steps.iter().flat_map(|step| of_step(step, &stored)));
    // The sort is stable: what has the same second stays in the order of the steps.
    lines.sort_by_key(|(time, ..)| *time);
    let mut table = Table::new(&["TIME", "STEP", "WHAT"]);
    for (time, step, what) in lines {
        table.row(vec![time.to_string(), step, what]);
    }
    screen.print(&table.render())?;
    let sources = stored.log_sources();
    for step in steps {
        for command in commands(&sources[&step.name], cluster.namespace()) {
            screen.say(&format!("Step {:?} has logs of its own: `{command}` prints them.", step.name));
        }
    }
    Ok(())
}

fn of_run(run: &RunStatus) -> Vec<Line> {
    let line = |time: Timestamp, what: String| (time, String::new(), what);
    let mut lines = vec![line(run.start, format!("the workflow began for {}", run.revision))];
    lines.extend(run.end.map(|end| line(end, format!("the workflow {}", run.phase.as_str()))));
    lines
}

fn of_step(step: &StepStatus, stored: &StoredValues) -> Vec<Line> {
    let line = |time: Timestamp, what: String| (time, step.name.clone(), what);
    let mut lines = Vec::new();
    if !matches!(step.phase, StepPhase::Pending | StepPhase::Skipped) {
        lines.push(line(step.first, "began".to_owned()));
    }
    for call in stored.values.calls(&step.id) {
        let state = if call.answer.is_some() { "answered" } else { "no answer is known" };
        lines.push(line(step.last, format!("called {}: {state}", call.path)));
    }
    lines.push(line(step.last, words(step)));
    lines
}

/// The commands that print the logs of the pods that a step names.
fn commands(source: &Value, namespace: &str) -> Vec<String> {
    let pods = source.pointer("/source/resources").and_then(Value::as_array).into_iter().flatten();
    pods.filter_map(|pod| {
        let namespace = Some(text(pod, "/namespace")).filter(|name| !name.is_empty()).unwrap_or(namespace);
        let labels = pod.get("labelSelector").and_then(Value::as_object).into_iter().flatten();
        let labels: Vec<String> =
            labels.filter_map(|(name, value)| Some(format!("{name}={}", value.as_str()?))).collect();
        match (text(pod, "/name"), labels.is_empty()) {
            ("", true) => None,
            ("", false) => Some(format!("kubectl logs -n {namespace} -l {}", labels.join(","))),
            (name, _) => Some(format!("kubectl logs -n {namespace} {name}")),
        }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pods_are_named_or_selected() {
        let source = json!({"source": {"resources": [
            {"name": "job-1", "namespace": "build"}, {"labelSelector": {"app": "web", "tier": "front"}}, {},
        ]}});
        let expected = ["kubectl logs -n build job-1", "kubectl logs -n default -l app=web,tier=front"]
            .map(str::to_owned);
        assert_eq!(commands(&source, "default"), expected);
        assert!(commands(&json!({"data": true}), "default").is_empty());
        assert!(commands(&Value::Null, "default").is_empty());
    }
}
