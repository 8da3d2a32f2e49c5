//! Rollouts: decides the next writes, hooks, events and status from a plan, the live workloads and the status; pure.
//!
//! One look at the cluster gives the [`next_step()`]: at most one step of the state machine. The reconciler calls the hooks,
//! writes the patches and stores the status; nothing here does.
//!
//! ```text
//! plan (checked, completed) ─┐
//! workloads, pods, status ───┼─ step ▶ hooks before, writes, hooks after ─ done or failed ─▶ status, conditions, events
//! sizes, state, strategies ──┘
//! ```

mod finding;
pub mod hooks;
pub mod inline;
pub mod metrics;
pub mod next_step;
mod parts;
pub mod plan;
pub mod pods;
pub mod preview;
pub mod progress;
pub mod rest;
pub mod revert;
pub mod rollout_trait;
pub mod size;
pub mod spelling;
pub mod state;
pub mod steering;
pub mod template;
pub mod workload;

#[cfg(test)]
mod cluster;

pub use next_step::{PlannedStep, Situation, next_step};
pub use parts::Part;
pub use preview::preview;
pub use progress::progress;
pub use spelling::Spelling;
pub use state::{Effect, Event, Input, State};
pub use workload::{Note, Owner, View, Write};
