//! The status of an application in the v1alpha2 form, as people scripted against it: the conditions and phases that releases
//! up to 1.0 wrote, from those of the phases of the reconcile.
//!
//! `Parsed` stands for everything before the templates, `Built` for these, `Applied` for the objects being there and
//! `HealthCheck` for their health; nothing is conditions of what was not come to.

use serde_json::{Value as Json, json};
use vela_crds::condition::{reasons, types};

use super::conditions::Condition;
use super::phase::Phase;
use crate::graph::Graph;
use crate::parse::Era;

/// `apiVersion` and `kind` of what a component is stored as.
const STORED_AS: (&str, &str) = ("core.oam.dev/v1alpha2", "Component");

/// The part of a status beyond phase and conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Progress {
    /// Every object was seen in the cluster.
    pub(super) applied: bool,
    /// The running objects are those of a former revision, and stay.
    pub(super) kept: bool,
    /// A rollout brings the revision.
    pub(super) rolls: bool,
}

/// The phase, by the one and the [`conditions`] of the era.
pub(super) fn phase(phase: Phase, conditions: &[Condition], progress: Progress) -> Phase {
    match phase {
        Phase::Unhealthy if progress.rolls => Phase::RollingOut,
        Phase::RunningWorkflow | Phase::Unhealthy => match is_applied(conditions).unwrap_or(progress.kept) {
            true => Phase::HealthChecking,
            false => Phase::Rendering,
        },
        phase => phase,
    }
}

/// The conditions for those of the phases, which come in their order.
pub(super) fn conditions(phases: &[Condition], progress: Progress) -> Vec<Condition> {
    let mut conditions: Vec<Condition> = Vec::with_capacity(phases.len());
    for condition in phases {
        match condition.type_ {
            types::RENDER => conditions.push(named(types::BUILT, condition)),
            types::WORKFLOW => conditions.extend(applied(condition, progress)),
            types::READY => {
                let health = health_check(condition, is_applied(&conditions), progress.kept);
                conditions.extend(health);
            }
            _ => parsed(condition, &mut conditions),
        }
    }
    conditions
}

/// References to what the components are stored as, in the order written; in the other form they are not stored.
pub(super) fn components(graph: &Graph) -> Vec<Json> {
    if graph.app_file().era() != Era::V1alpha2 {
        return Vec::new();
    }
    let (api_version, kind) = STORED_AS;
    let components = graph.app_file().components().iter();
    components
        .map(|component| json!({"apiVersion": api_version, "kind": kind, "name": component.name}))
        .collect()
}

/// `Parsed` also tells what stands against the revision and the plan: the era had no conditions of these.
fn parsed(condition: &Condition, conditions: &mut Vec<Condition>) {
    match conditions.last_mut() {
        None => conditions.push(named(types::PARSED, condition)),
        Some(last) if last.status => *last = named(types::PARSED, condition),
        Some(_) => {}
    }
}

/// Whether objects are healthy does not belong to their being applied.
fn applied(workflow: &Condition, progress: Progress) -> Vec<Condition> {
    match (workflow.status, progress) {
        (true, Progress { rolls: true, .. }) => vec![available(types::ROLLOUT), available(types::APPLIED)],
        (false, Progress { rolls: true, .. }) => vec![named(types::ROLLOUT, workflow)],
        (false, _) if workflow.reason == reasons::CREATING => match progress.applied {
            true => vec![available(types::APPLIED)],
            false => Vec::new(),
        },
        _ => vec![named(types::APPLIED, workflow)],
    }
}

/// Health is looked at where everything is applied, or where a former revision is kept.
fn health_check(ready: &Condition, applied: Option<bool>, kept: bool) -> Option<Condition> {
    if ready.status {
        return Some(available(types::HEALTH_CHECK));
    }
    let message = match kept {
        true => ready.message.clone(),
        false => format!("not healthy: {}", ready.message),
    };
    let reason = reasons::RECONCILE_ERROR;
    (kept || applied == Some(true)).then_some(Condition {
        type_: types::HEALTH_CHECK,
        status: false,
        reason,
        message,
    })
}

fn is_applied(conditions: &[Condition]) -> Option<bool> {
    conditions.iter().find(|condition| condition.type_ == types::APPLIED).map(|condition| condition.status)
}

fn available(type_: &'static str) -> Condition {
    Condition { type_, status: true, reason: reasons::AVAILABLE, message: String::new() }
}

fn named(type_: &'static str, condition: &Condition) -> Condition {
    Condition { type_, ..condition.clone() }
}

#[cfg(test)]
mod tests {
    use super::super::conditions::ConditionType;
    use super::*;

    const APPLYING: Progress = Progress { applied: false, kept: false, rolls: false };
    const APPLIED: Progress = Progress { applied: true, ..APPLYING };
    const RETAINED: Progress = Progress { kept: true, ..APPLYING };
    const ROLLS: Progress = Progress { rolls: true, ..APPLYING };

    /// The conditions of the phases, good up to the first bad one that is given.
    fn phases(bad: &[(ConditionType, &'static str, &str)]) -> Vec<Condition> {
        let first = bad.first().map_or(ConditionType::Ready, |(type_, ..)| *type_);
        let good = ConditionType::ORDER.into_iter().filter(|type_| *type_ < first).map(Condition::good);
        let bad = bad.iter().map(|(type_, reason, message)| Condition::bad(*type_, reason, *message));
        good.chain(bad).collect()
    }

    /// The phase, and each condition as `Type` or `!Type: message`.
    fn shown(
        from: Phase,
        bad: &[(ConditionType, &'static str, &str)],
        progress: Progress,
    ) -> (String, String) {
        let all = match bad {
            [] => ConditionType::ORDER.into_iter().map(Condition::good).collect(),
            bad => phases(bad),
        };
        let all = conditions(&all, progress);
        let phase = phase(from, &all, progress);
        let words = all.iter().map(|condition| match condition.status {
            true => condition.type_.to_owned(),
            false => format!("!{}: {}", condition.type_, condition.message),
        });
        (phase.as_str().to_owned(), words.collect::<Vec<_>>().join(", "))
    }

    fn is(phase: &str, conditions: &str) -> (String, String) {
        (phase.to_owned(), conditions.to_owned())
    }

    #[test]
    fn an_application_goes_from_rendering_to_running() {
        let waits = [
            (ConditionType::Workflow, "Creating", "web: Ready:0/1"),
            (ConditionType::Ready, "Unavailable", "web: Ready:0/1"),
        ];
        assert_eq!(shown(Phase::RunningWorkflow, &waits, APPLYING), is("rendering", "Parsed, Built"));
        assert_eq!(
            shown(Phase::RunningWorkflow, &waits, APPLIED),
            is("healthChecking", "Parsed, Built, Applied, !HealthCheck: not healthy: web: Ready:0/1")
        );
        let good = is("running", "Parsed, Built, Applied, HealthCheck");
        assert_eq!(shown(Phase::Running, &[], APPLIED), good);
        let all: Vec<Condition> = ConditionType::ORDER.into_iter().map(Condition::good).collect();
        assert!(conditions(&all, APPLIED).iter().all(|condition| condition.reason == reasons::AVAILABLE));
        // It was healthy once: the object that is gone was applied all the same.
        let ill = [(ConditionType::Ready, "Unavailable", "web: gone")];
        assert_eq!(
            shown(Phase::Unhealthy, &ill, APPLYING),
            is("healthChecking", "Parsed, Built, Applied, !HealthCheck: not healthy: web: gone")
        );
    }

    #[test]
    fn the_first_thing_that_fails_is_the_last_that_is_told() {
        let fails =
            |type_| [(type_, "ReconcileError", "why"), (ConditionType::Ready, "ReconcileError", "it failed")];
        for (type_, expected) in [
            (ConditionType::Parsed, "!Parsed: why"),
            (ConditionType::Revision, "!Parsed: why"),
            (ConditionType::Policy, "!Parsed: why"),
            (ConditionType::Render, "Parsed, !Built: why"),
            (ConditionType::Workflow, "Parsed, Built, !Applied: why"),
        ] {
            assert_eq!(shown(Phase::Rendering, &fails(type_), APPLYING), is("rendering", expected));
        }
        assert_eq!(
            shown(Phase::RunningWorkflow, &fails(ConditionType::Workflow), APPLYING),
            is("rendering", "Parsed, Built, !Applied: why")
        );
    }

    #[test]
    fn what_a_former_revision_made_is_told_beside_what_fails() {
        let kept = [
            (ConditionType::Render, "ReconcileError", "why"),
            (ConditionType::Ready, "ReconcileError", "Built failed; revision shop-v1 is kept running"),
        ];
        let conditions = "Parsed, !Built: why, !HealthCheck: Built failed; revision shop-v1 is kept running";
        assert_eq!(shown(Phase::Rendering, &kept, RETAINED), is("rendering", conditions));
        assert_eq!(shown(Phase::Running, &kept, RETAINED), is("running", conditions));
        assert_eq!(shown(Phase::Unhealthy, &kept, RETAINED), is("healthChecking", conditions));
    }

    #[test]
    fn a_rollout_has_a_condition_of_its_own() {
        let rolls = [
            (ConditionType::Workflow, "RolloutWaits", "for a person"),
            (ConditionType::Ready, "RolloutWaits", "for a person"),
        ];
        let conditions = "Parsed, Built, !Rollout: for a person";
        assert_eq!(shown(Phase::RollingOut, &rolls, ROLLS), is("rollingOut", conditions));
        assert_eq!(shown(Phase::Unhealthy, &rolls, ROLLS), is("rollingOut", conditions));
        let done = "Parsed, Built, Rollout, Applied, HealthCheck";
        assert_eq!(shown(Phase::Running, &[], Progress { rolls: true, ..APPLIED }), is("running", done));
    }
}
