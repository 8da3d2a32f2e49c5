//! The reconcilers: the only room that changes a cluster for OAM; what an Application means is decided in `engine`.
//!
//! One controller a kind, one file a phase: `fetch → (engine: parse → revision → plan → render → graph) → apply →
//! observe → (engine: status) → report`, and `finalize` when an object goes. [`Controllers::run`] runs them all.

pub mod access;
mod application;
mod application_configuration;
mod application_metrics;
mod author;
mod authors;
mod blocking;
mod bounds;
mod component;
mod compression;
mod containerized_workload;
mod context;
mod controllers;
mod definition;
mod egress;
mod health_scope;
pub mod hooks;
mod immutable;
pub mod log_filter;
mod manual_scaler_trait;
mod metrics;
pub mod options;
mod order;
mod prune;
mod rate_limits;
mod reading;
mod recreate;
mod rollout;
mod side_by_side;
mod standard;
mod status;
mod successors;
pub mod view;
pub mod webhooks;
mod workflow;
mod workflow_run;

pub use context::Context;
pub use controllers::{Controllers, Error, Process};
pub use egress::EgressOverride;
pub use hooks::Hooks;
pub use options::Options;
pub use tokio_util::sync::CancellationToken as Stop;
pub use vela_runtime::lease::Config as LeaseConfig;
pub use vela_runtime::manager::Endpoint;
pub use webhooks::Webhooks;
