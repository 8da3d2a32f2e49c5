//! The CRDs of core.oam.dev and standard.oam.dev as they lie in the repository, one in a line of `crds/crds.json`.
//!
//! Every command and every test needs them at its start, and to read them costs a tenth of what it costs to generate them from the types.
//! A test proves that the file is current.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::de::DeserializeOwned;
use serde_json::Value;

const LINES: &str = include_str!("../crds.json");

/// Every CRD of core.oam.dev and standard.oam.dev.
///
/// # Errors
/// A line of `crds/crds.json` is no CRD: a mistake in this crate.
pub fn crds() -> Result<Vec<CustomResourceDefinition>, serde_json::Error> {
    read()
}

/// The same as values, as an API server takes them.
///
/// # Errors
/// A line of `crds/crds.json` is not JSON: a mistake in this crate.
pub fn crd_values() -> Result<Vec<Value>, serde_json::Error> {
    read()
}

fn read<T: DeserializeOwned>() -> Result<Vec<T>, serde_json::Error> {
    LINES.lines().map(serde_json::from_str).collect()
}
