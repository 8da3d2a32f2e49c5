//! The webhook server: passes the reviews of an API server to a handler over TLS, within limits of size, number and
//! time.
//!
//! ```text
//! connection ─server─▶ request ─answer─▶ path, bytes ─Handler─▶ Reply
//! folder ─directory▶ ┐
//!                    ├ ServingCertificate ─rotation▶ current: the certificate of the next handshake
//! Secret ─secret───▶ ┘                  └──────────▶ ca_bundle: by whom API servers trust it
//! ```
//!
//! Everything inside the JSON is the handler's, who may read it with [`AdmissionReview`] and [`convert`]; what surrounds it is ours: one method, a body of bounded size, a
//! deadline before the API server's own, so many at once and no more, and a certificate that may change at any time.

mod answer;
mod authority;
mod ca_bundle;
mod certificate;
mod conversion;
mod current;
mod directory;
mod error;
mod handler;
mod metrics;
mod names;
mod review;
mod rotation;
mod secret;
mod server;
mod validity;

pub use answer::Limits;
pub use authority::IssueError;
pub use ca_bundle::CaBundles;
pub use certificate::{CertificateError, ServingCertificate};
pub use conversion::convert;
pub use directory::{Directory, DirectoryError};
pub use error::Error;
pub use handler::{BODY_AT_MOST, Handler, Reply};
pub use names::{SelfIssued, service_names};
pub use review::{Admission, AdmissionReview, AdmissionReviewError};
pub use rotation::CertificateSource;
pub use secret::{CertificateSecret, SecretError};
pub use server::{Config, Running, Server};
