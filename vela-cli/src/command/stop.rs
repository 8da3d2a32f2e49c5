//! When a command that goes on until it is stopped has to end.

use crate::error::{Error, Result};

/// Ctrl-C, or the signal that `vela sandbox stop` and service managers send.
pub(super) async fn stop_asked() -> Result<()> {
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
        .map_err(|error| Error::internal(format!("signals cannot be received: {error}")))?;
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}
