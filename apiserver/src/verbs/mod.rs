//! The verbs: a request, or a wish of the server's own controllers, in; objects read or written out.
//!
//! Verbs are functions over a [`Context`] of three small traits: `Storage` (the objects), `CatalogSource` (the kinds that
//! are served) and [`Admission`] (the rules of the cluster). Create, update, patch, apply and scale share one pipeline:
//! [`decode`] → [`default`] → admission → [`validate`] → [`persist`].

mod apply;
mod context;
mod convert;
mod create;
mod decode;
mod default;
mod delete;
mod delete_collection;
mod delete_options;
mod evict;
mod get;
mod list;
mod options;
mod patch;
mod persist;
mod render;
mod resource_version;
mod review;
mod scale;
mod storage;
mod track;
mod update;
mod validate;
mod watch;

pub(crate) use context::{Admission, Context};
pub(crate) use create::{create, create_object};
pub(crate) use delete::{Deleted, delete, delete_object, resume as resume_deletions};
pub(crate) use delete_collection::delete_collection;
pub(crate) use delete_options::DeleteOptions;
pub(crate) use evict::evict;
pub(crate) use get::get;
pub(crate) use list::list;
pub(crate) use options::{ObjectRef, WriteOptions};
pub(crate) use patch::patch;
pub(crate) use review::review;
pub(crate) use scale::scale;
pub(crate) use update::{update, update_object};
pub(crate) use watch::{WatchSource, watch};
