//! Resource versions that were asked for and cannot be answered: of the future, or forgotten.

use super::storage::Storage;
use crate::status::{ApiError, ApiResult};
use crate::store;

/// Refuses a resource version that no object has reached.
pub(super) fn check_not_future(store: &dyn Storage, asked: u64) -> ApiResult<()> {
    let current = store.revision();
    if asked > current { Err(ApiError::too_large_resource_version(asked, current)) } else { Ok(()) }
}

/// The refusal of a resource version that is older than the history.
pub(super) fn expired(error: store::Error) -> ApiError {
    match error {
        store::Error::Expired { asked, oldest } => {
            ApiError::gone(format!("too old resource version: {asked} ({oldest})"))
        }
        other => ApiError::internal(other),
    }
}
