//! Why nothing can be signed with a trust bundle.

/// Why nothing can be signed with a bundle.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// A text of the bundle cannot be used.
    #[error("{key} of the trust bundle cannot be used: {reason}; expected {expected}")]
    Text {
        /// Which key of the Secret.
        key: &'static str,
        /// What is wrong.
        reason: String,
        /// What it should have.
        expected: &'static str,
    },
    /// Certificates signed with it would be trusted by no sidecar.
    #[error(
        "issuer.crt and ca.crt of the trust bundle do not belong together: {0}; expected an issuer that an authority of ca.crt signed"
    )]
    Chain(String),
    /// A certificate cannot be made.
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// A date beyond the calendar, or no chance to be had of this machine.
    #[error("cannot make a certificate: this machine's {0} is not usable")]
    Machine(&'static str),
}
