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

use crate::model::{CONFIGURATIONS, Form};

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
    /// From one Deployment to another, which two ApplicationConfigurations have made.
    Configured,
}

impl Kind {
    /// What is rolled in schedules of this form.
    fn of(form: Form) -> &'static [Self] {
        match form {
            Form::RolloutSeed => &[Self::Configured],
            _ => &[Self::Deployment, Self::StatefulSet],
        }
    }

    /// The form of the schedules in which it is rolled.
    pub(crate) fn form(self) -> Form {
        match self {
            Self::Configured => Form::RolloutSeed,
            Self::Deployment | Self::StatefulSet => Form::Rollout,
        }
    }

    /// Do pods go from one object to another?
    fn is_deployment(self) -> bool {
        self != Self::StatefulSet
    }

    /// Where that lies which rollouts go between.
    fn revisions(self) -> &'static str {
        match self {
            Self::Configured => CONFIGURATIONS,
            Self::Deployment | Self::StatefulSet => REVISIONS,
        }
    }

    /// The fields of a rollout that name its target and its source.
    fn fields(self) -> [&'static str; 2] {
        match self {
            Self::Configured => ["targetApplicationName", "sourceApplicationName"],
            Self::Deployment | Self::StatefulSet => ["targetAppRevisionName", "sourceAppRevisionName"],
        }
    }

    fn resource(self) -> &'static str {
        match self {
            Self::Deployment | Self::Configured => "deployments.apps",
            Self::StatefulSet => "statefulsets.apps",
        }
    }

    fn type_name(self) -> &'static str {
        match self {
            Self::Deployment | Self::Configured => "serve",
            Self::StatefulSet => "keep",
        }
    }

    /// The workload that a revision, named `shop-v2`, means.
    fn workload(self, revision: &str) -> String {
        match self {
            Self::Deployment | Self::Configured => {
                format!("{COMPONENT}{}", revision.trim_start_matches("shop"))
            }
            Self::StatefulSet => COMPONENT.to_owned(),
        }
    }
}
