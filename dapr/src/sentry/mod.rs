//! Issues the certificates of sidecars, in the place of Dapr's sentry: a request with a token in, a certificate out.
//!
//! ```text
//! Secret ─store─▶ texts ─bundle: renewed─▶ Secret, ConfigMap
//!                     └─authority─▶ Authority ─issuance─▶ credentials of the operator's API and of this one
//! SignCertificate ─service─▶ requester: TokenReview, pod, Configuration ─▶ who it is
//!                     └────▶ csr: whose key ─▶ Authority::sign
//!                     └────▶ jwt: who it is ─▶ a token, for others; discovery: the keys by which they verify it
//! ```
//!
//! Every replica answers. All agree on one bundle, because each write names the version that it replaces. What a CSR says of names and
//! rights is not taken over.

mod authority;
mod bundle;
mod csr;
mod discovery;
mod error;
mod issuance;
mod jwt;
mod private_key;
mod requester;
mod service;
mod store;
mod texts;

pub use error::AuthorityError;
pub use issuance::{Sentry, SentryError};
pub use jwt::Jwts;
pub use store::StoreError;
