//! How Harbors are asked: at which addresses, or in a simulation by what answers in their place.

use std::sync::Arc;

use futures::future::BoxFuture;
use http::Request;
use vela_runtime::egress::{Answer, EgressPolicy, Error};

/// Answers what Harbors are asked in place of the network, for runs that must touch nothing outside.
pub type EgressOverride =
    Arc<dyn Fn(Request<Vec<u8>>) -> BoxFuture<'static, Result<Answer, Error>> + Send + Sync>;

/// How Harbors are asked; cheap to clone.
#[derive(Clone)]
pub(crate) struct Egress {
    /// Which addresses are asked.
    pub(crate) policy: EgressPolicy,
    /// What answers in place of them.
    pub(crate) instead: Option<EgressOverride>,
}
