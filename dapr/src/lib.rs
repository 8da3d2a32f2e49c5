//! The Dapr operator: keeps the headless Services by which the sidecars of annotated workloads are reached.
//!
//! Flow: a workload's pod-template annotations (`annotations`) → which workload has the Service where several ask for one
//! (`claims`) → the Service (`service`) → `controller` applies it through the shared runtime; [`run`] is the process.
//! What sidecars are given of the objects of dapr.io is decided in `resources` and served by `api` in the words of [`protocol`].
//! `injector` decides what a pod with a sidecar looks like; `admission` asks the cluster for it and answers API servers; `watchdog`
//! restarts pods that run without one. `sentry` issues the certificates by which all of them know each other.
//! `rollouts` watches Argo Rollouts while the cluster has that kind.

#![warn(missing_docs, clippy::missing_errors_doc)]

mod admission;
mod annotations;
mod api;
mod claims;
mod controller;
mod controllers;
mod conversion;
mod injector;
mod metrics;
pub mod protocol;
mod resources;
mod rollouts;
mod sentry;
mod service;
mod serving;
mod watchdog;
mod webhooks;
mod workload;

pub use admission::{INJECT_PATH, Injector, SidecarInjector};
pub use api::{Api, ApiError, Credentials, CredentialsError, Pem, Security};
pub use controllers::{Error, Process, Stop, WORKERS, run};
pub use conversion::{CONVERT_PATH, convert};
pub use injector::{AccountsError, AllowedAccounts, Confinement, PeerService, SidecarSettings};
pub use metrics::InjectionMetrics;
pub use resources::{
    Denied, Identity, IdentityError, SecretError, Secrets, ServedKind, Update, UpdateType, Viewer, payload,
    resolve, secrets_of, updates,
};
pub use sentry::{AuthorityError, Jwts, Sentry, SentryError, StoreError};
pub use vela_runtime::lease::Config as LeaseConfig;
pub use vela_runtime::manager::Endpoint;
pub use watchdog::{RESTARTS_PER_MINUTE, Watchdog};
pub use webhooks::Webhooks;
