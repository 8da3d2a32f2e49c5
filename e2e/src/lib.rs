//! Strangers: what the end-to-end scenarios need to use the doors, and nothing else of this house.
//!
//! * [`doors`] finds the programs `vela` and `vela-core`, and builds them where they are missing.
//! * [`target`] opens a sandbox of its own, or the cluster of `E2E_KUBECONFIG` with one `vela-core` for all scenarios, or a control plane of its
//!   own that can be set back to a backup.
//! * [`proxy`] stands between a program and an API server and makes faults; [`replica`] is a `vela-core` behind it,
//!   [`balancer`] the one address of several.
//! * [`objects`] reads what is in a namespace and waits for conditions with a deadline.
//! * [`expected`] compares live objects with those a file describes, [`alike`] whole recorded namespaces with live ones.
//! * [`person`] is somebody with kubectl, [`contents`] everything a namespace holds.
//! * [`moments`] follows the pods of a namespace and holds every moment to a bound; [`kruise`] is OpenKruise's own manager.
//! * [`recording`] reads a recorded run, [`rules`] are the differences that are meant, [`passing`] the numbers that only rise.
//!
//! Nothing here knows a room of this repository: the scenarios could be run against any build of the programs.

pub mod alike;
pub mod balancer;
pub mod contents;
pub mod doors;
pub mod expected;
pub mod identity;
pub mod kruise;
pub mod moments;
pub mod objects;
pub mod passing;
pub mod person;
mod plane;
pub mod proxy;
pub mod recording;
pub mod replica;
pub mod rules;
mod said;
pub mod target;

/// Why a scenario cannot go on, in words for the person who reads the test's output.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
/// A result of the harness.
pub type Result<T> = std::result::Result<T, Failure>;
