//! The harness of the end-to-end scenarios: everything they need to use the programs, and nothing of the rooms inside.
//!
//! * [`programs`] finds the programs `vela` and `vela-core`, and builds them where they are missing.
//! * [`target`] opens a sandbox of its own, or the cluster of `E2E_KUBECONFIG` with one `vela-core` for all scenarios, or a control plane of its
//!   own that can be set back to a backup.
//! * [`proxy`] stands between a program and an API server and makes faults; [`replica`] is a `vela-core` behind it,
//!   [`balancer`] the one address of several.
//! * [`operator`] is `vela-dapr` or `vela-harbor` beside a target.
//! * [`objects`] reads what is in a namespace and waits for conditions with a deadline.
//! * [`expected`] compares live objects with those a file describes, [`compare`] whole recorded namespaces with live ones.
//! * [`person`] is a user with kubectl, [`contents`] everything a namespace holds.
//! * [`pod_history`] follows the pods of a namespace and holds every moment to a bound; [`kruise`] is OpenKruise's own manager.
//! * [`recording`] reads a recorded run, [`rules`] are the differences that are meant, [`passing`] the numbers that only rise.
//!
//! Nothing here knows a room of this repository: the scenarios could be run against any build of the programs.

pub mod balancer;
pub mod compare;
pub mod contents;
mod control_plane;
pub mod expected;
mod identity;
pub mod kruise;
pub mod objects;
pub mod operator;
mod output;
pub mod passing;
pub mod person;
pub mod pod_history;
pub mod programs;
pub mod proxy;
pub mod recording;
pub mod replica;
pub mod rules;
pub mod target;

/// Why a scenario cannot go on, in words for the person who reads the test's output.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
/// A result of the harness.
pub type Result<T> = std::result::Result<T, Failure>;
