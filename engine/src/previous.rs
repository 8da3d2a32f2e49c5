//! The last revision of an application or of a definition: its number and the hash of its content.

use crate::manifest::Document;

/// The last revision, by the application's status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Previous {
    /// N of `<app>-vN`.
    pub number: u64,
    /// Its hash.
    pub hash: String,
}

impl Previous {
    /// From `status.latestRevision` of an Application.
    pub fn of(application: &Document) -> Option<Self> {
        let latest = application.value().get("status")?.get("latestRevision")?;
        Some(Self {
            number: latest.get("revision")?.as_u64()?,
            hash: latest.get("revisionHash")?.as_str()?.to_owned(),
        })
    }
}
