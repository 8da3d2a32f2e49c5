//! A deleted Application → every recorded object gone, then the record, then the finalizer; never parses or renders.

use vela_runtime::Key;
use vela_runtime::apply::{self as runtime_apply, Deletion};

use super::Hands;
use super::apply::delete;
use super::record::{Entry, Owned};

/// Why the deletion cannot go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot read the record of owned objects: {0}")]
    Unreadable(#[from] serde_json::Error),
    #[error(transparent)]
    Delete(#[from] runtime_apply::Error),
    #[error("cannot remove the record of owned objects: {}", runtime_apply::explain(.0))]
    Record(#[source] kube::Error),
}

/// Delete everything recorded, last wave first; true when all of it is gone. What is still going away wakes the
/// application again when it is gone.
pub(crate) async fn finalize(hands: &Hands, application: &Key) -> Result<bool, Error> {
    let (record, stored) = hands.records.read(application)?;
    let mut entries: Vec<(&Owned, &Entry)> = record.entries.iter().collect();
    entries.sort_by_key(|(_, entry)| std::cmp::Reverse(entry.wave));
    let mut all_gone = true;
    let mut first_error = None;
    for (owned, entry) in entries {
        match delete(hands, application, owned, entry).await {
            Ok(Deletion::Gone) => {}
            Ok(Deletion::Going) => all_gone = false,
            // The others can go nevertheless.
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    if let Some(error) = first_error {
        return Err(error.into());
    }
    if all_gone && stored.is_some() {
        hands.records.remove(application).await.map_err(Error::Record)?;
    }
    Ok(all_gone)
}
