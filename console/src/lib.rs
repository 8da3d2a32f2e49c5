//! REST API and pages for people; reads the API, decides nothing.
//!
//! ```text
//! request ─access─▶ a person who may ask ─route─▶ Endpoint ─data─▶ typed answer ─answer│pages─▶ JSON or HTML
//!                                                          └stream─▶ server-sent events
//! ```
//!
//! [`Door`] is the tower service that [`Server`] serves on a loopback port: of a [`Console`] over one kube client, or of
//! [`People`] over the client of each user who brings a token, or whom a [`Proxy`] names. A console reads what the client it was given may read; a dry
//! run takes a manifest and writes nothing. Only with a field manager in its [`Options`] does it write: applications, as
//! `vela up` writes them, what a user orders a workflow or a rollout to do, as the engine decides it, and environments, by the
//! [`Commands`] of the program that starts it. Objects are judged by the same readiness rules the controllers use; the console
//! has none of its own. It neither asks for the content of Secrets nor shows it.
//!
//! `route` has the table of all paths; the OpenAPI document is made of it and of the types in `data`.

#![warn(missing_docs, clippy::missing_errors_doc)]

mod access;
mod answer;
mod commands;
mod data;
mod error;
mod find;
mod identity;
mod openapi;
mod pages;
mod proxy;
mod query;
mod route;
mod routes_2021;
mod serve;
mod server;
mod stream;
mod submit;
mod text;
mod write;

pub use access::{Access, PublicUrl, Secrets};
pub use commands::{Center, Commands, Environment, Fault, FromAppfile, NewCenter, Offer};
pub use proxy::{Proxy, ProxyHeaders};
pub use serve::{Audit, Console, Door, Options, People};
pub use server::Server;
