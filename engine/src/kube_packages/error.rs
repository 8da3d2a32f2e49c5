//! Why a document gives no package.

/// Why a document gives no package.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It is no OpenAPI v3 document.
    #[error("the OpenAPI document of {api_version} has no components.schemas")]
    NoSchemas {
        /// The group version.
        api_version: String,
    },
    /// It is larger than any known group version by far.
    #[error("the OpenAPI document of {api_version} has more than {limit} schemas or one nested too deeply")]
    TooLarge {
        /// The group version.
        api_version: String,
        /// The limit.
        limit: usize,
    },
}
