//! The committed CRD YAML is what the types generate; conditions and types keep their promises.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "crds/conditions.rs"]
mod conditions;
#[path = "crds/dapr.rs"]
mod dapr;
#[path = "crds/types.rs"]
mod types;
#[path = "crds/yaml.rs"]
mod yaml;
