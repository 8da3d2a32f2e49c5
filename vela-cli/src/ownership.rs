//! The name under which this program writes: it owns the fields that it applied, and only those.

pub(crate) use vela_runtime::ownership::{Path, change, claimed, set};

/// Owner of the fields that this program applies.
pub(crate) const FIELD_MANAGER: &str = "vela-cli";
