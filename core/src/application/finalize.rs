//! A deleted Application → every recorded object gone, then the record, then the finalizer; never parses or renders.

use vela_runtime::apply::{self as runtime_apply, Deletion};

use super::Hands;
use super::apply::delete;
use super::owned::Application;
use super::record::{Entry, Owned};

/// Why the deletion cannot go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot read the record of owned objects: {0}")]
    Unreadable(#[from] serde_json::Error),
    #[error("cannot delete all that it made: {0}")]
    Delete(String),
    #[error("cannot read the application: {}", runtime_apply::explain(.0))]
    Read(#[source] kube::Error),
    #[error("cannot remove the record of owned objects: {}", runtime_apply::explain(.0))]
    Record(#[source] kube::Error),
}

/// Delete everything recorded, last wave first; true when all of it is gone. What is still going away wakes the
/// application again when it is gone.
pub(crate) async fn finalize(hands: &Hands, application: &Application<'_>) -> Result<bool, Error> {
    if !is_still_deleted(hands, application).await.map_err(Error::Read)? {
        // Another one took its name, or nothing is left to do: what comes next wakes us.
        return Ok(false);
    }
    let (record, stored) = hands.records.read(&application.key)?;
    let mut entries: Vec<(&Owned, &Entry)> = record.entries.iter().collect();
    entries.sort_by_key(|(_, entry)| std::cmp::Reverse(entry.wave));
    let mut all_gone = true;
    let mut first_error = None;
    for (owned, entry) in entries {
        match delete(hands, application, owned, entry).await {
            Ok(Deletion::Gone) => {}
            Ok(Deletion::Going) => all_gone = false,
            // The others can go nevertheless.
            Err(error) => {
                first_error = first_error.or_else(|| Some(application.acting.told(&error)));
            }
        }
    }
    if let Some(error) = first_error {
        return Err(Error::Delete(error));
    }
    if all_gone && let Some(stored) = stored {
        hands.records.remove(&stored).await.map_err(Error::Record)?;
    }
    Ok(all_gone)
}

/// The cache may be behind: an application of that name that was created since is not to be touched.
async fn is_still_deleted(hands: &Hands, application: &Application<'_>) -> Result<bool, kube::Error> {
    let fresh = hands.api(&application.key).get_opt(&application.key.name).await?;
    Ok(fresh.is_some_and(|fresh| {
        fresh.metadata.uid == application.object.metadata.uid && fresh.metadata.deletion_timestamp.is_some()
    }))
}
