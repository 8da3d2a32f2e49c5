//! What a sidecar is given of the objects of dapr.io: which it may see, what a change is to it, and with which values of Secrets.
//!
//! Pure decisions for the gRPC API: an identity and a namespace → a [`Viewer`]; objects → those it
//! [lists](Viewer::list); a change of the store → [`updates`] of one sidecar; an object → its [`payload`], after [`resolve`] put in
//! what stands in Secrets.

mod identity;
mod kind;
mod payload;
mod secrets;
mod updates;
mod viewer;

pub use identity::{Identity, IdentityError};
pub use kind::ServedKind;
pub use payload::payload;
pub use secrets::{SecretError, Secrets, resolve, secrets_of};
pub use updates::{Update, UpdateType, updates};
pub use viewer::{Denied, Viewer};
