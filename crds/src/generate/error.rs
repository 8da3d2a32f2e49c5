//! Why CRDs could not be generated.

/// Why CRDs could not be generated: always a mistake in this crate's types.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// The schema of a kind lacks a place that generation adds to.
    #[error("CRD {crd}: the schema has nothing at {path}")]
    NoSuchPlace {
        /// The CRD.
        crd: String,
        /// The place.
        path: &'static str,
    },
    /// A schema could not be read back.
    #[error("CRD {crd}: {source}")]
    Schema {
        /// The CRD.
        crd: String,
        /// Why.
        source: serde_json::Error,
    },
    /// A table of fields could not be read.
    #[error("CRD {crd}: {message}")]
    Table {
        /// The CRD.
        crd: String,
        /// Which field, and why.
        message: String,
    },
    /// A CRD could not be written as YAML.
    #[error("CRD {crd}: {message}")]
    Yaml {
        /// The CRD.
        crd: String,
        /// Why.
        message: String,
    },
}
