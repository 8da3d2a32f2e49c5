//! The embedded API server in the time of a clock that jumps, with our kinds for it, for simulations and tests.
//!
//! The simulation, `vela rollout simulate` and the scenarios of the controllers stand on it. A run on one thread repeats:
//! time passes only when every task waits, uids come from a count, and the simulated workloads move when told to. It
//! knows nothing of the controllers that are run against it.
//!
//! * [`virtual_time`] runs work on such a clock, and gives it to the server and to what the controllers write.
//! * [`EmbeddedCluster`] is a server with its simulated workloads in that time; a [`Checkpoint`] is where others begin.
//! * [`objects`] are what a cluster needs before it understands applications.

mod cluster;
pub mod objects;
pub mod virtual_time;

pub use cluster::{Checkpoint, EmbeddedCluster, STEP, send};
