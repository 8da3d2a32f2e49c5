//! Rollouts in the simulation: where they begin, what people do to them, what holds at every step, and how they end.

mod checker;
mod checkpoints;
mod end;
mod judge;
mod manifests;
mod object;
mod plan;
mod state;
mod user;

pub(crate) use checker::RolloutChecker;
pub(crate) use checkpoints::{RolloutCheckpoint, checkpoints};
pub(crate) use end::{EndStates, end};
pub(crate) use user::RolloutUser;

/// Pods of the component before anything rolls.
const SIZE: i64 = 4;
/// The component that is rolled.
const COMPONENT: &str = "front";
/// Where rollouts lie.
const ROLLOUTS: &str = "approllouts.core.oam.dev";
/// Where revisions lie.
const REVISIONS: &str = "applicationrevisions.core.oam.dev";
const APPLICATIONS: &str = "applications.core.oam.dev";
/// The annotation by which a simulated pod fails.
const FAIL: &str = "simulate.vela.dev/fail";

/// What is rolled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// From one Deployment to another.
    Deployment,
    /// In one StatefulSet.
    StatefulSet,
}

impl Kind {
    fn resource(self) -> &'static str {
        match self {
            Self::Deployment => "deployments.apps",
            Self::StatefulSet => "statefulsets.apps",
        }
    }

    fn type_name(self) -> &'static str {
        match self {
            Self::Deployment => "serve",
            Self::StatefulSet => "keep",
        }
    }

    /// The workload that a revision, named `shop-v2`, means.
    fn workload(self, revision: &str) -> String {
        match self {
            Self::Deployment => format!("{COMPONENT}{}", revision.trim_start_matches("shop")),
            Self::StatefulSet => COMPONENT.to_owned(),
        }
    }
}
