//! What a cluster does by itself, driven by the store's events.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::server::Core;

pub(crate) fn start(_core: &Arc<Core>, _stop: &CancellationToken) {}
