//! The namespace of what vela installs.

/// Where definitions that everybody may use and the controller live.
pub(crate) const SYSTEM_NAMESPACE: &str = "vela-system";
