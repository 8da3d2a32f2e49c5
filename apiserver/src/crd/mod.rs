//! CustomResourceDefinitions: what they say, what they serve, and the status that they have.

mod column_path;
mod definition;
mod status;

pub(crate) use definition::{Definition, ScalePaths, Version};
pub(crate) use status::{apply_defaults, is_established, status};
