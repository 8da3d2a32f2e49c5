//! The built-in kinds of Kubernetes as data: an object in; what it lacks, what is unknown in it, what no API server takes of it
//! and how far it is, out. Pure; knows no project and serves nothing.
//!
//! The API server of this workspace answers with it, and the engine reports it to authors before anything is sent.

#![warn(missing_docs, clippy::missing_errors_doc)]

pub mod cause;
mod check;
mod defaults;
pub mod names;
mod problems;
mod prune;
pub mod readiness;
pub mod types;
mod validate;

pub use cause::{Cause, CauseReason};
pub use check::check_types;
pub use defaults::apply_defaults;
pub use problems::{Problem, problems};
pub use prune::{prune, walk as prune_type};
pub use validate::validate;
