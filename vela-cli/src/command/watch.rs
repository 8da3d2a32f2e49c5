//! What commands with `--watch` have in common: when they end, and how they print a document anew.

use std::future::Future;
use std::time::Duration;

use serde_json::Value;

use super::stop::stop_asked;
use crate::args::Format;
use crate::error::Result;
use crate::screen::{data, data_line};

/// The least time between two times that something is printed, however much changes.
pub(super) const LEAST_PAUSE: Duration = Duration::from_millis(200);

/// Works until Ctrl-C, a signal, or the end of the time; the end of neither is a failure.
pub(super) async fn until_stopped(
    timeout: Option<Duration>,
    work: impl Future<Output = Result<()>>,
) -> Result<()> {
    let late = async {
        match timeout {
            Some(timeout) => tokio::time::sleep(timeout).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        done = work => done,
        stopped = stop_asked() => stopped,
        () = late => Ok(()),
    }
}

/// A document among others: one line of JSON, one document of YAML, or what a template makes of it.
pub(super) fn document(format: Format, value: &Value) -> Result<String> {
    match format {
        Format::Json => Ok(data_line(value)),
        Format::JsonPath(_) => data(format, value),
        Format::Yaml | Format::Table => Ok(format!("---\n{}", data(Format::Yaml, value)?)),
    }
}
