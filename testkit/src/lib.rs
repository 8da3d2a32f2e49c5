//! The helpers that the tests of every room share; never shipped.
//!
//! * [`golden`] compares text with a committed file; `UPDATE=1` rewrites it.
//! * [`archive`] reads small programs that keep input and expectation in one file.
//! * [`cases`] unpacks inputs with what the real systems made of them.
//! * [`tar_gz`] packs and unpacks the archives they lie in.
//! * [`Process`] ends a process with its starter.
//! * [`program`] writes random CUE programs, and smaller ones of one that shows a mistake.
//! * [`hostile`] has names that would ask for something else.
//! * [`silent`] connects to a port in every way that says nothing.
//! * [`normalize`] removes what two runs may never agree on (uids, times, resource versions).

mod archive;
pub mod cases;
mod golden;
pub mod hostile;
mod normalize;
mod process;
pub mod program;
pub mod silent;
pub mod tar_gz;

pub use archive::{Archive, ArchiveFile};
pub use golden::{golden, golden_json};
pub use normalize::{normalize, same_value};
pub use process::Process;
