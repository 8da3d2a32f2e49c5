//! Issues the certificates of sidecars, in the place of Dapr's sentry: a request with a token in, a certificate out.
//!
//! ```text
//! Secret ─store─▶ texts ─bundle: renewed─▶ Secret, ConfigMap
//!                     └─authority─▶ Authority ─issuance─▶ credentials of the operator's API and of this one
//! SignCertificate ─service─▶ requester: TokenReview, pod, Configuration ─▶ who it is
//!                     └────▶ csr: whose key ─▶ Authority::sign
//! ```
//!
//! Every replica answers. All agree on one bundle, because each write names the version that it replaces. What a CSR says of names and
//! rights is not taken over.

mod authority;
mod bundle;
mod csr;
mod issuance;
mod requester;
mod service;
mod store;
mod texts;

pub use authority::AuthorityError;
pub use issuance::{Sentry, SentryError};
pub use store::StoreError;
