//! The context of the verbs: the objects, the kinds that are served, and the rules of the cluster.

use std::sync::Arc;

use serde_json::Value;

use super::storage::Storage;
use crate::catalog::{Catalog, Registry, Resource};
use crate::clock::{Clock, Ids};
use crate::crd::Definition;
use crate::status::ApiResult;

/// The kinds that are served, and how definitions enter and leave them.
pub(crate) trait CatalogSource {
    /// The kinds of now.
    fn catalog(&self) -> Arc<Catalog>;
    /// Serves a definition, instead of what it said before.
    fn put(&self, definition: Definition);
    /// Serves a definition no longer.
    fn remove(&self, name: &str);
}

impl CatalogSource for Registry {
    fn catalog(&self) -> Arc<Catalog> {
        Registry::catalog(self)
    }

    fn put(&self, definition: Definition) {
        Registry::put(self, definition);
    }

    fn remove(&self, name: &str) {
        Registry::remove(self, name);
    }
}

/// The rules of the cluster: what they refuse, and what they add to an object before it is validated.
pub(crate) trait Admission {
    /// A new object with its defaults.
    fn create(
        &self,
        context: &Context<'_>,
        resource: &Resource,
        namespace: &str,
        new: &mut Value,
    ) -> ApiResult<()>;
    /// A changed object with its defaults.
    fn update(
        &self,
        context: &Context<'_>,
        resource: &Resource,
        subresource: &str,
        old: &Value,
        new: &mut Value,
    ) -> ApiResult<()>;
    /// An object that is to go.
    fn delete(&self, resource: &Resource, name: &str) -> ApiResult<()>;
}

/// The context of the verbs.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) store: &'a dyn Storage,
    pub(crate) catalog: &'a dyn CatalogSource,
    pub(crate) admission: &'a dyn Admission,
    pub(crate) clock: &'a Clock,
    pub(crate) ids: &'a Ids,
}
