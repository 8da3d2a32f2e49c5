//! Where what vela installs lives.

/// Where definitions that everybody may use and the controller live.
pub(crate) const SYSTEM_NAMESPACE: &str = "vela-system";
