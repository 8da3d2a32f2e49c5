//! Decides which objects may enter: verdicts, patches and conversions.
//!
//! ```text
//! bytes ─review─▶ Review ─paths─▶ Snapshot ─validate│mutate─▶ Verdict, patch ─reply─▶ bytes
//! ```
//!
//! Judging is pure: a [`Review`] and a `Snapshot` in, a [`Verdict`] out, by the same engine that reconciles and by what
//! the same reader reads, so what is admitted here also renders there. This room never writes to a cluster.
//! [`Webhooks::answer`] takes a path and bytes and gives status and body; [`paths`] lists who answers where.

pub mod allowance;
pub mod application;
mod charts;
pub mod component;
pub mod configuration;
pub mod conversion;
mod counts;
pub mod definition;
mod envelope;
mod fields;
pub mod identity;
pub mod paths;
pub mod registration;
pub mod review;
pub mod rollout;
mod serve;
pub mod service_binding;
pub mod standard;
mod strictness;
mod verdict;

pub use envelope::EnvelopeError;
pub use review::{Operation, Resource, Review, ReviewError, User};
pub use serve::{Reply, Webhooks};
pub use strictness::Strictness;
pub use verdict::{Cause, Refusal, Verdict};
