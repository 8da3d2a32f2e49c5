//! A small Kubernetes API for one person or one test.
//!
//! A request comes in as `http::Request` (in process, or over TLS from [`Served`]), its path and options are parsed
//! (`http`), the resource is found (`catalog`), a verb reads, watches or writes objects (`verbs`) in the [`store`], and
//! the answer leaves as JSON, as a Table or as a stream of events. A write is one pipeline: decode → default → admit
//! (`admission`) → validate → store.
//! Background work (simulated workloads, garbage collection, namespaces) is started by [`ApiServer::run_controllers`].

mod admission;
mod age;
mod apply;
mod bootstrap;
mod builtin;
mod catalog;
mod clock;
mod controllers;
mod crd;
mod discovery;
mod gc;
mod http;
mod object;
mod openapi;
mod patch;
mod propagation;
pub mod schema;
mod selector;
mod serve;
mod server;
mod service;
pub mod simulate;
mod state;
mod status;
pub mod store;
mod table;
mod verbs;

pub use bootstrap::BuildError;
pub use clock::Clock;
pub use http::ResponseBody;
pub use serve::{ServeError, Served};
pub use server::{ApiServer, Builder, Controllers, ManualControllers};
pub use service::ApiService;
pub use vela_kinds::cause;
pub use vela_kinds::cause::{Cause, CauseReason};
