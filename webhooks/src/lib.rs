//! What may enter: verdicts, patches and conversions.
//!
//! ```text
//! bytes ─review─▶ Review ─fetch─▶ Snapshot ─application│definition─▶ Verdict ─reply─▶ bytes
//! ```
//!
//! Judging is pure: a [`Review`] and a `Snapshot` in, a [`Verdict`] out, by the same engine that
//! reconciles, so what is admitted here also renders there. Only [`fetch`] and [`kinds`] read a cluster, and
//! nothing here writes to one. [`Webhooks::answer`] takes a path and bytes and gives status and
//! body to the TLS listener of `vela_runtime::webhook`. Conversion between API versions is not here yet: both versions of
//! Application accept both spellings until it is (see `vela_crds::application`).

pub mod application;
pub mod definition;
pub mod fetch;
pub mod kinds;
pub mod review;
pub mod serve;
pub mod verdict;

pub use review::{Operation, Review, ReviewError};
pub use serve::{Reply, Webhooks};
pub use verdict::{Cause, Verdict};
