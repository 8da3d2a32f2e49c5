//! Reads the `Snapshot` by which the pure phases know a cluster, read from it, from watches or from files.
//!
//! ```text
//! References ─Reader over a Source─▶ Snapshot
//! ```
//!
//! Controllers, webhooks, console and command read the cluster here and nowhere else, so what one of them renders, the others
//! render alike. A [`Source`] says where objects come from: [`Live`] asks the API server, [`Watched`] looks into the watches
//! of a process first, [`Files`] puts documents before another source. The [`Reader`] decides what that means: in which
//! namespaces definitions are looked for and in which order, which version `name@v1` is, and what advice needs. This room
//! never writes.

mod definition_cache;
mod files;
mod imports;
mod live;
mod manifests;
mod policies;
mod policy_scopes;
mod reader;
mod referenced;
mod registered;
mod source;
mod typed;
mod watched;

pub use files::Files;
pub use imports::with_imports;
pub use live::Live;
pub use policy_scopes::PolicyScopes;
pub use reader::{Namespaces, Reader};
pub use referenced::read as read_referenced;
pub use registered::ApiKind;
pub use source::{Error, KindOf, Source, Version};
pub use watched::Watched;
