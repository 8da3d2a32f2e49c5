//! ConversionReview in, Subscriptions of the other version out: all of them or none.

use vela_crds::dapr_io::convert_subscription;
use vela_runtime::webhook::{self, Reply};

/// Where an API server asks.
pub const CONVERT_PATH: &str = "/convert";

/// What to answer to these bytes. What cannot be converted is a failed result with the reason.
#[must_use]
pub fn convert(bytes: &[u8]) -> Reply {
    webhook::convert(bytes, convert_subscription)
}
