//! Rollouts: a plan, the workloads as they are and a status in; the next writes, hooks, events and status out.
//!
//! One look at the world is one [`lap`]: it makes at most one step of the state machine. Whoever has hands calls
//! the hooks, writes the patches and stores the status; nothing here does.
//!
//! ```text
//! plan (checked, completed) ─┐
//! workloads, pods, status ───┼─ lap ─▶ hooks before, writes, hooks after ─ done or failed ─▶ status, conditions, events
//! sizes, state, strategies ──┘
//! ```

pub mod hooks;
pub mod inline;
pub mod lap;
pub mod metrics;
pub mod named;
mod parts;
pub mod plan;
pub mod pods;
pub mod preview;
pub mod progress;
pub mod rest;
pub mod revert;
pub mod size;
pub mod state;
pub mod template;
pub mod workload;

#[cfg(test)]
mod world;

pub use lap::{Lap, World, lap};
pub use parts::Part;
pub use preview::preview;
pub use progress::progress;
pub use state::{Effect, Event, Input, State};
pub use workload::{Look, Note, Owner, Write};
