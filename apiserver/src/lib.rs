//! A small Kubernetes API for one person or one test.
//!
//! A request comes in as `http::Request` (in process, or over TLS from [`Served`]), its path and options are parsed
//! ([`http`]), the resource is found ([`registry`]), a verb reads, watches or writes objects ([`read`], [`watch`],
//! [`write`]) in the [`store`], and the answer leaves as JSON, as a Table or as a stream of events.
//! Background work (simulated workloads, garbage collection, namespaces) is started by [`ApiServer::run_controllers`].

mod allocate;
pub mod apply;
pub mod builtin;
mod controllers;
mod crd;
mod delete;
mod discovery;
pub mod gc;
mod http;
mod object;
mod openapi;
pub mod patch;
mod read;
mod registry;
mod review;
mod scale;
pub mod schema;
mod selector;
mod serve;
mod server;
pub mod simulate;
mod status;
pub mod store;
mod table;
mod validate;
mod watch;
mod write;

pub use http::{ApiService, ResponseBody};
pub use serve::{ServeError, Served};
pub use server::{ApiServer, BuildError, Builder, Clock, Controllers, ManualControllers};
pub use vela_kinds::cause;
pub use vela_kinds::cause::{Cause, CauseReason};
