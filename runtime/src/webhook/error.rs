//! Why a server of webhooks did not start.

use std::net::SocketAddr;

use super::certificate::CertificateError;
use super::directory::DirectoryError;
use super::secret::SecretError;

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address could not be bound.
    #[error("cannot listen on {address} for webhooks: {source}; choose another port")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        source: std::io::Error,
    },
    /// There is no certificate to serve with.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The Secret with the certificate cannot be had.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The certificate cannot be served with.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
}
