//! The steps of a workflow as people see them: a tree of what was looked at and what is to come, with times and reasons.

use std::collections::BTreeMap;

use anstyle::Style;
use jiff::Timestamp;
use serde_json::Value;
use vela_engine::workflow::{Reason, RunPhase, RunStatus, StepPhase, StepStatus};

use crate::pointer::text;
use crate::screen::{BAD, BOLD, BUSY, DIM, GOOD, styled};
use crate::table::Table;

/// Column of the reasons, which give way to a narrow terminal.
const WHY: usize = 5;
/// The type of a step that vela adds by itself.
const APPLY_COMPONENT: &str = "apply-component";

/// How far a workflow is, in a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Progress {
    /// For which revision it runs.
    pub(crate) revision: String,
    pub(crate) phase: RunPhase,
    /// Steps that are finished, without groups.
    pub(crate) done: usize,
    /// Steps that there are, without groups.
    pub(crate) count: usize,
    pub(crate) began: String,
    /// Empty as long as it has not ended.
    pub(crate) ended: String,
    /// What holds it up, or why it failed.
    pub(crate) why: String,
}

/// A step that was looked at, or is to come.
struct Step<'a> {
    name: &'a str,
    type_: &'a str,
    /// Nothing where it is to come.
    status: Option<&'a StepStatus>,
    below: Vec<Step<'a>>,
}

/// How far the workflow of an application is.
pub(crate) fn progress(run: &RunStatus, application: &Value) -> Progress {
    let all = steps(Some(run), application);
    let leaves: Vec<&Step<'_>> = all
        .iter()
        .flat_map(|step| if step.below.is_empty() { vec![step] } else { step.below.iter().collect() })
        .collect();
    let is_finished = |step: &&&Step<'_>| step.status.is_some_and(StepStatus::is_finished);
    let why = leaves.iter().filter_map(|step| step.status).find(|status| {
        !matches!(status.phase, StepPhase::Succeeded | StepPhase::Skipped) && !status.message.is_empty()
    });
    Progress {
        revision: run.revision.clone(),
        phase: run.phase,
        done: leaves.iter().filter(is_finished).count(),
        count: leaves.len(),
        began: run.start.to_string(),
        ended: run.end.map(|end| end.to_string()).unwrap_or_default(),
        why: why.map(|status| format!("{}: {}", status.name, status.message)).unwrap_or_default(),
    }
}

/// The workflow of an application for people; nothing where it has no other steps than its components, which are shown anyway.
pub(crate) fn render(application: &Value, now: Timestamp, width: Option<usize>) -> Option<String> {
    let run = application.pointer("/status/workflow").and_then(|written| RunStatus::read(written, now));
    let all = steps(run.as_ref(), application);
    let is_written = application.pointer("/spec/workflow").is_some_and(Value::is_object);
    if all.is_empty() || !is_written && all.iter().all(|step| step.type_ == APPLY_COMPONENT) {
        return None;
    }
    let head = match &run {
        Some(run) => {
            let phase = styled(style_of_run(run.phase), run.phase.as_str());
            format!("{}  {phase}, {}\n", styled(BOLD, "Workflow"), run.mode)
        }
        None => format!("{}  {}\n", styled(BOLD, "Workflow"), styled(DIM, "has not begun")),
    };
    let mut table = Table::new(&["STEP", "TYPE", "PHASE", "BEGAN", "TOOK", "WHY"]);
    rows(&all, "", now, &mut table);
    Some(format!("{head}{}", table.cut_to(width, WHY).render()))
}

/// How far a step is and why, in a line.
pub(crate) fn words(status: &StepStatus) -> String {
    let mut words = status.phase.as_str().to_owned();
    if let Some(reason) = status.reason {
        words.push_str(&format!(" ({})", reason.as_str()));
    }
    if !status.message.is_empty() {
        words.push_str(&format!(": {}", status.message));
    }
    words
}

/// Does an application wait for a person, and for what? A suspension with a `duration` ends by itself.
pub(crate) fn waits_for_person(application: &Value) -> Option<String> {
    let workflow = application.pointer("/status/workflow")?;
    if workflow["suspend"] != true {
        return None;
    }
    let name = text(application, "/metadata/name");
    let suspended: Vec<&Value> = listed(workflow)
        .into_iter()
        .filter(|step| step["phase"] == "suspending" && step["reason"] == "Suspend")
        .collect();
    let written = written(application);
    let is_timed = |step: &&Value| {
        let duration = written.get(text(step, "/name")).and_then(|step| step.pointer("/properties/duration"));
        duration.is_some_and(|duration| duration.as_str() != Some(""))
    };
    let Some(first) = suspended.iter().find(|&step| !is_timed(step)) else {
        // Where no call suspends, a person suspended the whole.
        return suspended
            .is_empty()
            .then(|| format!("its workflow is suspended: `vela workflow resume {name}` lets it go on"));
    };
    Some(format!("step {:?} waits for `vela workflow resume {name}`", text(first, "/name")))
}

/// How a user tries again what failed: from the first failed step, or from the beginning.
pub(crate) fn way_to_try_again(application: &Value) -> Option<String> {
    let workflow = application.pointer("/status/workflow")?;
    let name = text(application, "/metadata/name");
    let failed = listed(workflow).into_iter().find(|step| step["phase"] == "failed");
    Some(match failed.map(|step| text(step, "/name")) {
        Some(step) => format!("`vela workflow restart {name} --step {step}` tries it again from that step"),
        None => format!("`vela workflow restart {name}` runs it again"),
    })
}

/// The steps of a run or workflow, and those in groups.
fn listed(workflow: &Value) -> Vec<&Value> {
    let steps = workflow["steps"].as_array().into_iter().flatten();
    steps
        .flat_map(|step| std::iter::once(step).chain(step["subSteps"].as_array().into_iter().flatten()))
        .collect()
}

/// The steps that are written, by name.
fn written(application: &Value) -> BTreeMap<&str, &Value> {
    let workflow = application.pointer("/spec/workflow").unwrap_or(&Value::Null);
    listed(workflow).into_iter().map(|step| (text(step, "/name"), step)).collect()
}

/// Those that were looked at, in the order of the status, then those that are to come, in the order written.
fn steps<'a>(run: Option<&'a RunStatus>, application: &'a Value) -> Vec<Step<'a>> {
    let looked_at = run.map(|run| run.steps.as_slice()).unwrap_or_default();
    merged(looked_at, application.pointer("/spec/workflow/steps"))
}

fn merged<'a>(looked_at: &'a [StepStatus], written: Option<&'a Value>) -> Vec<Step<'a>> {
    let written = written.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let known = looked_at.iter().map(|status| Step {
        name: &status.name,
        type_: &status.type_,
        status: Some(status),
        below: merged(
            &status.sub_steps,
            of_name(written, &status.name).and_then(|step| step.get("subSteps")),
        ),
    });
    let is_new = |step: &&Value| !looked_at.iter().any(|status| status.name == text(step, "/name"));
    let to_come = written.iter().filter(is_new).map(|step| Step {
        name: text(step, "/name"),
        type_: text(step, "/type"),
        status: None,
        below: merged(&[], step.get("subSteps")),
    });
    known.chain(to_come).collect()
}

fn of_name<'a>(written: &'a [Value], name: &str) -> Option<&'a Value> {
    written.iter().find(|step| text(step, "/name") == name)
}

fn rows(steps: &[Step<'_>], below: &str, now: Timestamp, table: &mut Table) {
    for (index, step) in steps.iter().enumerate() {
        let (branch, rail) = if index + 1 == steps.len() { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        let mut cells = vec![format!("{below}{branch}{}", step.name), step.type_.to_owned()];
        cells.extend(match step.status {
            Some(status) => looked_at(status, now),
            None => [styled(DIM, "to come"), String::new(), String::new(), String::new()],
        });
        table.row(cells);
        rows(&step.below, &format!("{below}{rail}"), now, table);
    }
}

/// Phase, beginning, how long it took so far, and why it is so.
fn looked_at(status: &StepStatus, now: Timestamp) -> [String; 4] {
    let has_begun = !matches!(status.phase, StepPhase::Pending | StepPhase::Skipped);
    let end = if status.is_finished() { status.last } else { now };
    let (began, took) = match has_begun {
        true => (status.first.to_string(), whole_seconds(status.first, end)),
        false => (String::new(), String::new()),
    };
    // What the phase says already is not said again.
    let reason =
        status.reason.filter(|reason| ![Reason::Wait, Reason::Suspend, Reason::Skip].contains(reason));
    let why = [reason.map(Reason::as_str).unwrap_or_default(), status.message.as_str()];
    let why: Vec<&str> = why.into_iter().filter(|text| !text.is_empty()).collect();
    [styled(style(status.phase), status.phase.as_str()), began, took, why.join(": ")]
}

/// The time between the two, without fractions of a second.
pub(crate) fn whole_seconds(from: Timestamp, to: Timestamp) -> String {
    let seconds = to.as_second().saturating_sub(from.as_second()).max(0);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds}s"),
        (0, _) => format!("{minutes}m{seconds}s"),
        _ => format!("{hours}h{minutes}m{seconds}s"),
    }
}

fn style(phase: StepPhase) -> Style {
    match phase {
        StepPhase::Succeeded => GOOD,
        StepPhase::Failed => BAD,
        StepPhase::Running | StepPhase::Suspending => BUSY,
        StepPhase::Pending | StepPhase::Skipped => DIM,
    }
}

/// How the phase of a workflow is shown.
pub(crate) fn style_of_run(phase: RunPhase) -> Style {
    match phase {
        RunPhase::Succeeded => GOOD,
        RunPhase::Failed | RunPhase::Terminated => BAD,
        RunPhase::Executing | RunPhase::Suspending => BUSY,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shop() -> Value {
        json!({
            "metadata": {"name": "shop"},
            "spec": {"workflow": {"steps": [
                {"name": "back", "type": "apply-component"},
                {"name": "rest", "type": "step-group", "subSteps": [
                    {"name": "hold", "type": "suspend"}, {"name": "front", "type": "apply-component"},
                ]},
                {"name": "tell", "type": "notification"},
            ]}},
            "status": {"workflow": {
                "appRevision": "shop-v1", "mode": "StepByStep-DAG", "status": "suspending", "suspend": true,
                "startTime": "2026-01-01T00:00:00Z",
                "steps": [
                    {"id": "a", "name": "back", "type": "apply-component", "phase": "succeeded",
                     "firstExecuteTime": "2026-01-01T00:00:00Z", "lastExecuteTime": "2026-01-01T00:01:05Z"},
                    {"id": "b", "name": "rest", "type": "step-group", "phase": "suspending",
                     "firstExecuteTime": "2026-01-01T00:01:05Z", "lastExecuteTime": "2026-01-01T00:01:05Z",
                     "subSteps": [
                        {"id": "c", "name": "hold", "type": "suspend", "phase": "suspending", "reason": "Suspend",
                         "message": "Suspended by field suspend",
                         "firstExecuteTime": "2026-01-01T00:01:05Z", "lastExecuteTime": "2026-01-01T00:01:05Z"},
                     ]},
                ],
            }},
        })
    }

    fn now() -> Timestamp {
        "2026-01-01T01:01:05Z".parse().unwrap()
    }

    #[test]
    fn steps_are_a_tree_with_what_is_to_come() {
        let shown = render(&shop(), now(), None).unwrap();
        let shown = anstream::adapter::strip_str(&shown).to_string();
        let lines: Vec<Vec<&str>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["Workflow", "suspending,", "StepByStep-DAG"]);
        assert_eq!(lines[2], ["├─", "back", "apply-component", "succeeded", "2026-01-01T00:00:00Z", "1m5s"]);
        assert_eq!(lines[3][..5], ["├─", "rest", "step-group", "suspending", "2026-01-01T00:01:05Z"]);
        let hold =
            ["│", "├─", "hold", "suspend", "suspending", "2026-01-01T00:01:05Z", "1h0m0s", "Suspended"];
        assert_eq!(lines[4][..8], hold);
        assert_eq!(lines[5], ["│", "└─", "front", "apply-component", "to", "come"]);
        assert_eq!(lines[6], ["└─", "tell", "notification", "to", "come"]);
    }

    #[test]
    fn what_only_applies_components_is_not_shown_twice() {
        let mut shop = shop();
        shop["spec"] = json!({});
        shop["status"]["workflow"]["steps"].as_array_mut().unwrap().truncate(1);
        assert_eq!(render(&shop, now(), None), None);
        assert_eq!(render(&json!({}), now(), None), None);
    }

    #[test]
    fn a_workflow_in_a_line_counts_the_steps_without_groups() {
        let shop = shop();
        let run = RunStatus::read(&shop["status"]["workflow"], now()).unwrap();
        let found = progress(&run, &shop);
        assert_eq!((found.done, found.count, found.phase), (1, 4, RunPhase::Suspending));
        assert_eq!(found.why, "hold: Suspended by field suspend");
        assert_eq!(found.ended, "");
    }

    #[test]
    fn a_person_is_waited_for_unless_a_time_is() {
        let mut shop = shop();
        let waits = waits_for_person(&shop).unwrap();
        assert_eq!(waits, "step \"hold\" waits for `vela workflow resume shop`");
        shop["spec"]["workflow"]["steps"][1]["subSteps"][0]["properties"] = json!({"duration": "10s"});
        assert_eq!(waits_for_person(&shop), None);
        shop["status"]["workflow"]["steps"].as_array_mut().unwrap().truncate(1);
        assert!(waits_for_person(&shop).unwrap().contains("its workflow is suspended"));
        shop["status"]["workflow"]["suspend"] = json!(false);
        assert_eq!(waits_for_person(&shop), None);
    }

    #[test]
    fn a_failed_workflow_names_the_way_to_try_again() {
        let of = |steps: Value| {
            let status = json!({"status": "workflowFailed", "workflow": {"steps": steps}});
            way_to_try_again(&json!({"metadata": {"name": "web"}, "status": status})).unwrap_or_default()
        };
        let why = of(json!([{"name": "a", "phase": "succeeded"}, {"name": "try", "phase": "failed"}]));
        assert_eq!(why, "`vela workflow restart web --step try` tries it again from that step");
        assert_eq!(of(json!([])), "`vela workflow restart web` runs it again");
    }
}
