//! The served kinds: built-in ones and the versions of CustomResourceDefinitions, looked up by path or by kind.

mod registry;
mod resource;
mod snapshot;

pub(crate) use registry::Registry;
pub(crate) use resource::{DEFINITIONS, Resource};
pub(crate) use snapshot::{Catalog, Served};
