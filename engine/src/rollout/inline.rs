//! Decides between which revisions an Application with a plan of its own rolls out, and builds the AppRollout that does
//! it.
//!
//! The first revision has nothing to come from and is applied as without a plan, unless the plan names a size. Every later
//! one is reached by an AppRollout of the application's name. Where that stands is all that is needed to go on: what
//! succeeded last is the source of what comes next.

use serde_json::{Map, Value as Json, json};
use vela_crds::rollout_plan::RollingState;
use vela_crds::{AppRollout, AppRolloutStatus};

use super::plan::{self, Distribution};
use super::spelling::Spelling;
use super::state::State;

/// The inputs that decide how a revision is reached.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The ends of its rollouts: the form that the application is written in decides.
    pub spelling: Spelling,
    /// The plan as the application has it.
    pub plan: &'a Json,
    /// The revision to reach.
    pub revision: &'a str,
    /// The components of it.
    pub components: &'a [&'a str],
    /// The revision that the application applied itself last.
    pub applied: Option<&'a str>,
    /// The AppRollout of its name.
    pub rollout: Option<&'a AppRollout>,
    /// The memory of a deleted AppRollout in the application's status.
    pub remembered: Option<&'a AppRolloutStatus>,
}

/// How a revision is reached.
#[derive(Clone, Debug, PartialEq)]
pub enum NextRollout {
    /// The application applies it itself.
    Itself,
    /// It was reached by a rollout that is gone; nothing is to be done.
    Reached,
    /// By an AppRollout with this spec.
    Rollout(Json),
}

/// Decides it.
pub fn next_rollout(known: &Known<'_>) -> NextRollout {
    let Known { revision, applied, rollout, remembered, .. } = *known;
    if let Some(rollout) = rollout {
        let spec = &rollout.spec;
        let status = rollout.status.clone().unwrap_or_default();
        if spec.target() == revision {
            return NextRollout::Rollout(known.spec(spec.source()));
        }
        let reached = reached(&status).filter(|reached| *reached == spec.target());
        let from = reached.or(spec.source());
        // Back to where it came from: what runs of its target is what is replaced.
        let from = from.filter(|from| *from != revision).unwrap_or(spec.target());
        return NextRollout::Rollout(known.spec(Some(from)));
    }
    if let Some(status) = remembered.filter(|status| !status.last_target_app_revision.is_empty()) {
        let from =
            reached(status).or(status.last_source_app_revision.as_deref().filter(|name| !name.is_empty()));
        return match from {
            Some(from) if from == revision => NextRollout::Reached,
            from => NextRollout::Rollout(known.spec(from)),
        };
    }
    match applied {
        Some(applied) if applied != revision => NextRollout::Rollout(known.spec(Some(applied))),
        None if known.plan["targetSize"].is_i64() => NextRollout::Rollout(known.spec(None)),
        _ => NextRollout::Itself,
    }
}

/// The revision that a rollout has reached.
fn reached(status: &AppRolloutStatus) -> Option<&str> {
    let succeeded = State::of(&status.rollout).rolling == RollingState::RolloutSucceed;
    succeeded.then_some(status.last_target_app_revision.as_str()).filter(|name| !name.is_empty())
}

impl Known<'_> {
    fn spec(&self, source: Option<&str>) -> Json {
        let [to, from] = self.spelling.fields();
        let mut spec = json!({
            to: self.revision,
            "componentList": self.components,
            "rolloutPlan": match source {
                Some(_) => completed(self.plan),
                None => at_once(self.plan),
            },
        });
        if let Some(source) = source {
            spec[from] = json!(source);
        }
        spec
    }
}

/// The plan with its defaults. The verification reports fields without a default.
fn completed(plan: &Json) -> Json {
    let mut plan = plan.as_object().cloned().unwrap_or_default();
    let before = plan.clone();
    if plan::complete(&mut plan, Some(Distribution::RoundRobin)).is_err() {
        return Json::Object(before);
    }
    Json::Object(plan)
}

/// A first revision replaces nothing, so nothing is gained by batches: it comes in one.
fn at_once(plan: &Json) -> Json {
    let mut first: Map<String, Json> = plan.as_object().cloned().unwrap_or_default();
    for meant_for_batches in ["numBatches", "batchPartition", "canaryMetric"] {
        first.remove(meant_for_batches);
    }
    first.insert("rolloutBatches".to_owned(), json!([{"replicas": "100%"}]));
    completed(&Json::Object(first))
}

/// The next action on the existing AppRollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// It asks for what it should.
    Nothing,
    /// Its spec is to be written.
    Write,
    /// It failed, and the plan is another one now: it is to be deleted, and another one tries.
    Again,
}

/// Does the rollout ask for what it should? One that ended keeps the plan it ended with, as admission wants it.
pub fn ask(rollout: &AppRollout, live: &Json, wanted: &Json) -> Ask {
    let same = |field: &str| {
        let none = |value: &Json| value.is_null() || value == "" || *value == json!([]);
        live[field] == wanted[field] || none(&live[field]) && none(&wanted[field])
    };
    if [Spelling::Revisions, Spelling::Configurations].iter().any(|each| !each.fields().into_iter().all(same))
    {
        return Ask::Write;
    }
    let state = rollout.status.as_ref().map(|status| State::of(&status.rollout).rolling);
    match (same("componentList") && same("rolloutPlan"), state) {
        (true, _) | (false, Some(RollingState::RolloutSucceed)) => Ask::Nothing,
        (false, Some(RollingState::RolloutFailed)) => Ask::Again,
        (false, _) => Ask::Write,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rollout(target: &str, source: Option<&str>, state: &str) -> AppRollout {
        serde_json::from_value(json!({
            "apiVersion": "core.oam.dev/v1beta1", "kind": "AppRollout", "metadata": {"name": "shop"},
            "spec": {"targetAppRevisionName": target, "sourceAppRevisionName": source, "rolloutPlan": {}},
            "status": {
                "rollingState": state, "currentBatch": 0, "upgradedReplicas": 0, "upgradedReadyReplicas": 0,
                "lastTargetAppRevision": target, "LastSourceAppRevision": source,
            },
        }))
        .unwrap()
    }

    fn known<'a>(plan: &'a Json, revision: &'a str) -> Known<'a> {
        let spelling = Spelling::Revisions;
        let components = &["web", "api"];
        Known { spelling, plan, revision, components, applied: None, rollout: None, remembered: None }
    }

    /// Target and source.
    fn between(way: &NextRollout) -> (&str, Option<&str>) {
        let NextRollout::Rollout(spec) = way else { unreachable!("{way:?}") };
        (spec["targetAppRevisionName"].as_str().unwrap(), spec["sourceAppRevisionName"].as_str())
    }

    #[test]
    fn the_first_revision_comes_at_once() {
        let plan = json!({"rolloutBatches": [{"replicas": 1}, {"replicas": "50%"}]});
        assert_eq!(next_rollout(&known(&plan, "shop-v1")), NextRollout::Itself);
        assert_eq!(
            next_rollout(&Known { applied: Some("shop-v1"), ..known(&plan, "shop-v1") }),
            NextRollout::Itself
        );
        let sized = json!({"targetSize": 5, "rolloutBatches": [{"replicas": 1}, {"replicas": 4}], "batchPartition": 0});
        let first = next_rollout(&known(&sized, "shop-v1"));
        assert_eq!(between(&first), ("shop-v1", None));
        let NextRollout::Rollout(spec) = first else { unreachable!() };
        let at_once = json!({"targetSize": 5, "rolloutStrategy": "IncreaseFirst", "rolloutBatches": [{"replicas": "100%"}]});
        assert_eq!(spec["rolloutPlan"], at_once);
        assert_eq!(spec["componentList"], json!(["web", "api"]));
    }

    #[test]
    fn an_older_application_goes_between_its_configurations() {
        let plan = json!({"rolloutBatches": [{"replicas": "100%"}]});
        let known =
            Known { spelling: Spelling::Configurations, applied: Some("shop-v1"), ..known(&plan, "shop-v2") };
        let NextRollout::Rollout(spec) = next_rollout(&known) else { unreachable!() };
        assert_eq!(
            (&spec["targetApplicationName"], &spec["sourceApplicationName"]),
            (&json!("shop-v2"), &json!("shop-v1"))
        );
        let mut there = rollout("", None, "rolloutSucceed");
        there.spec.target_application_name = Some("shop-v2".to_owned());
        there.spec.source_application_name = Some("shop-v1".to_owned());
        there.status.as_mut().unwrap().last_target_app_revision = "shop-v2".to_owned();
        assert_eq!(ask(&there, &spec, &spec), Ask::Nothing);
        let known = Known { rollout: Some(&there), revision: "shop-v3", ..known };
        let NextRollout::Rollout(next) = next_rollout(&known) else { unreachable!() };
        assert_eq!(
            (&next["targetApplicationName"], &next["sourceApplicationName"]),
            (&json!("shop-v3"), &json!("shop-v2"))
        );
        assert_eq!(ask(&there, &spec, &next), Ask::Write);
    }

    #[test]
    fn later_revisions_come_from_what_was_reached_last() {
        let plan = json!({"rolloutBatches": [{"replicas": "50%"}, {"replicas": "50%"}]});
        let next = |revision, rollout: &AppRollout| {
            let way = next_rollout(&Known {
                rollout: Some(rollout),
                applied: Some("shop-v1"),
                ..known(&plan, revision)
            });
            let (target, source) = between(&way);
            (target.to_owned(), source.map(str::to_owned))
        };
        let of = |target: &str, source: &str| (target.to_owned(), Some(source.to_owned()));
        assert_eq!(
            between(&next_rollout(&Known { applied: Some("shop-v1"), ..known(&plan, "shop-v2") })),
            ("shop-v2", Some("shop-v1"))
        );
        let there = rollout("shop-v2", Some("shop-v1"), "rolloutSucceed");
        assert_eq!(next("shop-v2", &there), of("shop-v2", "shop-v1"), "it stays as it is");
        assert_eq!(next("shop-v3", &there), of("shop-v3", "shop-v2"));
        let half_way = rollout("shop-v2", Some("shop-v1"), "rollingInBatches");
        assert_eq!(next("shop-v3", &half_way), of("shop-v3", "shop-v1"));
        assert_eq!(next("shop-v1", &half_way), of("shop-v1", "shop-v2"), "and back");
        let failed = rollout("shop-v2", Some("shop-v1"), "rolloutFailed");
        assert_eq!(next("shop-v3", &failed), of("shop-v3", "shop-v1"));
        let first = rollout("shop-v1", None, "rollingInBatches");
        assert_eq!(next("shop-v2", &first), of("shop-v2", "shop-v1"));
    }

    #[test]
    fn a_rollout_that_a_user_deleted_is_remembered() {
        let plan = json!({"rolloutBatches": [{"replicas": "50%"}, {"replicas": "50%"}]});
        let gone = |state: &str| rollout("shop-v2", Some("shop-v1"), state).status.unwrap();
        let again = |revision, status: &AppRolloutStatus| {
            next_rollout(&Known { remembered: Some(status), ..known(&plan, revision) })
        };
        assert_eq!(again("shop-v2", &gone("rolloutSucceed")), NextRollout::Reached);
        assert_eq!(between(&again("shop-v3", &gone("rolloutSucceed"))), ("shop-v3", Some("shop-v2")));
        assert_eq!(between(&again("shop-v2", &gone("rollingInBatches"))), ("shop-v2", Some("shop-v1")));
    }

    #[test]
    fn a_rollout_that_ended_keeps_its_plan() {
        let plan = json!({"rolloutBatches": [{"replicas": 1}]});
        let wanted = json!({"targetAppRevisionName": "shop-v2", "sourceAppRevisionName": "shop-v1", "rolloutPlan": plan});
        let live = json!({"targetAppRevisionName": "shop-v2", "sourceAppRevisionName": "shop-v1", "rolloutPlan": {}});
        let of = |state: &str| ask(&rollout("shop-v2", Some("shop-v1"), state), &live, &wanted);
        assert_eq!((of("rolloutSucceed"), of("rollingInBatches")), (Ask::Nothing, Ask::Write));
        assert_eq!(of("rolloutFailed"), Ask::Again, "what failed may be tried with another plan");
        let other = json!({"targetAppRevisionName": "shop-v3", "rolloutPlan": plan});
        assert_eq!(ask(&rollout("shop-v2", Some("shop-v1"), "rolloutSucceed"), &live, &other), Ask::Write);
    }
}
