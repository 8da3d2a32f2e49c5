//! The Harbor operator in the simulation: the graph of a Harbor under faults and kills, what holds at every step, and how it ends.
//!
//! | file | in → out |
//! |---|---|
//! | `model` | what people want → the objects they write, and what must never be deleted for it |
//! | `calm` | a cluster in which nothing goes wrong → the same, when its Harbor is ready |
//! | `bound` | a namespace that asks for a project → what it lacks in the end |
//! | `checkpoints` | servers with which schedules begin |
//! | `cluster` | a checkpoint → a forked server, the simulated network, the process of the operator, a cert-manager that is played |
//! | `user` | decisions → what people do |
//! | `checker` | changes of the operator → the first broken promise |
//! | `projects` | changes of the operator for such namespaces → the first broken promise |
//! | `registry` | requests to the Harbor that runs → its answers, and what the operator may not do there |
//! | `schedule` | the state of a schedule under way |
//! | `run` | a seed → one schedule, step by step |
//! | `end` | a schedule → everything heals, settles, rests, and is deleted |
//! | `sabotage` | an operator that is broken on purpose, by what it sends and receives |

mod bound;
mod calm;
mod checker;
mod checkpoints;
mod cluster;
mod end;
mod model;
mod projects;
mod registry;
mod run;
mod sabotage;
mod schedule;
#[cfg(test)]
mod tests;
mod user;

pub(crate) use checkpoints::Checkpoints;
pub(crate) use run::Harbors;
