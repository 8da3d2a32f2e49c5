//! Last part of a write: an object that may be stored in, its entry in the store out, and what follows at once.

use std::sync::Arc;

use serde_json::Value;

use super::context::Context;
use super::convert::to_stored;
use super::options::WriteOptions;
use crate::catalog::Resource;
use crate::status::{ApiError, ApiResult};
use crate::store::{self, Change, Entry, Key, Precondition};
use crate::{crd, object};

/// The outcome of a write.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) entry: Arc<Entry>,
    pub(crate) created: bool,
    pub(crate) warnings: Vec<String>,
}

/// Stores a new object.
pub(super) fn create(
    context: &Context<'_>,
    resource: &Resource,
    key: &Key,
    mut new: Value,
    options: &WriteOptions,
) -> ApiResult<Arc<Entry>> {
    to_stored(resource, &mut new);
    if options.dry_run {
        if context.store.get(key).is_some() {
            return Err(ApiError::already_exists(resource.named(), &key.name));
        }
        return Ok(Arc::new(Entry::new(new, 0)));
    }
    let entry = context
        .store
        .write(key, Precondition::Absent, Change::Put(new))
        .map_err(|error| refused(resource, &key.name, &error))?;
    serve_definition(context, resource, &entry);
    Ok(entry)
}

/// Stores the next state of an object; nothing if another client has changed it since.
pub(super) fn update(
    context: &Context<'_>,
    resource: &Resource,
    key: &Key,
    stored: &Entry,
    mut new: Value,
    options: &WriteOptions,
) -> ApiResult<Option<Arc<Entry>>> {
    if options.dry_run {
        return Ok(Some(unstored(resource, stored, new)));
    }
    to_stored(resource, &mut new);
    match context.store.write(key, Precondition::Revision(stored.revision()), Change::Put(new)) {
        Ok(entry) => {
            serve_definition(context, resource, &entry);
            Ok(Some(entry))
        }
        Err(store::Error::Conflict) => Ok(None),
        Err(error) => Err(refused(resource, &key.name, &error)),
    }
}

/// A state that is answered and not stored: of a dry run, or of a write that ends the object.
pub(super) fn unstored(resource: &Resource, stored: &Entry, mut new: Value) -> Arc<Entry> {
    to_stored(resource, &mut new);
    Arc::new(Entry::new(new, stored.revision()))
}

/// A definition is served as soon as it is stored, before anybody is answered.
fn serve_definition(context: &Context<'_>, resource: &Resource, entry: &Entry) {
    if resource.is_definition() {
        match crd::Definition::read(entry) {
            Ok(definition) if crd::is_established(entry) => context.catalog.put(definition),
            _ => context.catalog.remove(object::name(entry)),
        }
    }
}

fn refused(resource: &Resource, name: &str, error: &store::Error) -> ApiError {
    match error {
        store::Error::NotFound => ApiError::not_found(resource.named(), name),
        store::Error::AlreadyExists => ApiError::already_exists(resource.named(), name),
        store::Error::Conflict => ApiError::modified(resource.named(), name),
        other => ApiError::internal(other),
    }
}
