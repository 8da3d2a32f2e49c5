//! Deterministic simulation: seeded schedules of the real controllers against the real embedded API server.
//!
//! A seed decides everything: which request goes on, which is lost or refused, when a watch tells what, what people
//! do, when a process dies, how time passes. Nothing else does: one thread, a clock that jumps, no chance anywhere.
//! After every step the promises are checked (`checker`); at the end the cluster heals and must come to the state of a
//! run without faults (`settle`).
//!
//! [`run`] is the way in; README.md tells of the rest.

mod arguments;
mod checker;
mod checkpoints;
mod cluster;
mod comparison;
mod draws;
mod egress;
mod harbor;
mod known;
mod model;
mod network;
mod new_events;
mod outcome;
mod outside;
mod report;
mod rollout;
mod run;
mod sabotage;
mod schedule;
mod search;
mod settle;
mod shrink;
mod subject;
#[cfg(test)]
mod tests;
mod user;
mod violation;
mod workflow;

use std::time::Instant;

pub use self::arguments::Arguments;
pub use self::model::Form;
pub use self::report::Report;
pub use self::sabotage::Sabotage;
pub use self::subject::Subject;
use crate::checkpoints::Checkpoints;
use crate::run::Applications;
use crate::subject::Schedules;

/// Runs the schedules that are asked for; the first that breaks a promise ends it, unless it shall keep going.
///
/// # Errors
///
/// The cluster with which schedules begin could not be prepared, or a thread broke.
pub fn run(arguments: &Arguments) -> Result<Report, String> {
    let began = Instant::now();
    let sabotage = arguments.sabotage;
    let form = match arguments.subject {
        Some(Subject::Harbor) => {
            let checkpoints = harbor::Checkpoints::prepare()?;
            return report(arguments, &harbor::Harbors { checkpoints: &checkpoints, sabotage }, began);
        }
        Some(Subject::Application(form)) => Some(form),
        None => None,
    };
    let checkpoints = Checkpoints::prepare(form)?;
    report(arguments, &Applications { checkpoints: &checkpoints, form, sabotage }, began)
}

fn report<S: Schedules>(arguments: &Arguments, schedules: &S, began: Instant) -> Result<Report, String> {
    let total = search::search(arguments, schedules)?;
    let seconds = began.elapsed().as_secs_f64();
    let outcome = search::judge(&total, arguments, schedules);
    Ok(Report { total, threads: arguments.threads, seconds, outcome })
}
