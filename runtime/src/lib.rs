//! A controller kit: what any controller needs, and no word of any domain.
//!
//! Flow: [`cache`] watches kinds and keeps trimmed stores → its changes put keys on a [`queue`] → a
//! [`controller`] runs one reconcile per key at a time → the reconcile reads the cache and writes through
//! [`apply`] → [`manager`] starts all of it in order and stops it in reverse order. `examples/greeter.rs` is a whole
//! controller.
//!
//! | module | in → out |
//! |---|---|
//! | [`queue`] | keys → one worker per key, per-item back-off, requeue-after |
//! | [`cache`] | a watched kind → a local store and its changes |
//! | [`controller`] | changes → calls of a [`controller::Reconciler`] |
//! | [`Predicate`] | a change → whether a watch cares |
//! | [`manager`] | controllers → a process with lease, health and metrics |
//! | [`apply`] | desired objects → writes, only where the live object differs |
//! | [`limiter`] | requests → as many in flight as the API server bears |
//! | [`Retry`] | an answer of the API server → when another try is worth while |
//! | [`confirm`] | objects as cached → proof by fresh reads that they still ask for the same |
//! | [`graph`] | nodes and what each waits for → each run once, independent ones together; first causes |
//! | [`dynamic_watch`] | what a reconcile read, of any kind → its key again when that changes |
//! | [`impersonation`] | a client and a name → a client that asks in that name |
//! | [`egress`] | a URL that a user wrote → an answer from an address that was judged |
//! | [`smtp`] | an e-mail and the server that a user named → whether the server has it |
//! | [`owner`] | an object → who controls it |
//! | [`ownership`] | fields with new values → one apply that gives up no other field |
//! | [`api`] | a kind, a namespace and names → requests whose paths say exactly that |
//! | [`discovery`] | group, version, kind → resource |
//! | [`openapi`] | a group version → its published schemas |
//! | [`conditions`], [`events`] | outcomes → what a user sees on the object |
//! | [`webhook`] | requests of an API server over TLS → what a handler says about them |
//! | [`computations`] | places and memory of a process → an allowance for each computation |
//! | [`kubeconfig`] | an error about access to a cluster → what may be told of it |
//! | [`pod_log`] | a container of a pod → the lines of its log |
//! | [`clock`] | the present moment as objects carry it |
//! | [`fault`] | a client service → the same service, counted and, on demand, failing |

#![warn(missing_docs, clippy::missing_errors_doc)]

pub mod api;
pub mod apply;
pub mod cache;
pub mod clock;
pub mod computations;
pub mod conditions;
pub mod confirm;
pub mod controller;
pub mod discovery;
pub mod dynamic_watch;
pub mod egress;
pub mod events;
pub mod fault;
pub mod graph;
mod health;
pub mod impersonation;
pub mod kubeconfig;
pub mod lease;
pub mod limiter;
pub mod manager;
pub mod metrics;
pub mod openapi;
pub mod owner;
pub mod ownership;
mod packed;
pub mod pod_log;
mod predicate;
pub mod queue;
mod resync;
mod retry;
mod server;
pub mod smtp;
mod store;
#[cfg(feature = "streams")]
mod streams;
mod term;
mod trial;
mod undelivered;
mod watch;
mod watch_client;
pub mod webhook;

pub use api::Api;
pub use apply::{Applied, Applier, Outcome};
pub use cache::{Cache, Change, Informer, Key, Watch};
pub use computations::{Allowance, Computations};
pub use controller::{Action, Controller, Failure, Reconciler};
pub use discovery::{Discovery, Kind};
pub use dynamic_watch::DynamicWatches;
pub use limiter::RequestLimiter;
pub use manager::Manager;
pub use predicate::{Predicate, Watched};
pub use retry::{CONFLICT_WAIT, Retry, over_conflicts};
pub use trial::{Trial, trial};
