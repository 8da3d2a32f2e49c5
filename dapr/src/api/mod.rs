//! The gRPC API that sidecars ask for the objects of dapr.io, and that streams changes of them.
//!
//! ```text
//! connection ─server─▶ certificate ─caller─▶ Viewer ─service─▶ objects: lists, single objects, with values of Secrets
//!                                                   └────────▶ stream ◀─pending─ changes of the watched kinds
//! ```
//!
//! Every replica serves it, leader or not. Nothing here writes to the cluster but events on objects that cannot be given to a sidecar.

mod caller;
mod credentials;
mod message;
mod objects;
mod payloads;
mod pending;
mod secret_data;
mod server;
mod service;
mod stream;

pub(crate) use credentials::certificates;
pub use credentials::{Credentials, CredentialsError, Pem};
pub use server::{Api, ApiError, Security};
