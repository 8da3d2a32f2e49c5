//! Reads the Dapr annotations of a pod template, and reports every mistake in them.

use std::collections::BTreeMap;

/// Switches the sidecar on.
pub const ENABLED: &str = "dapr.io/enabled";
/// Name under which other applications call this one.
pub const APP_ID: &str = "dapr.io/app-id";
/// Whether the sidecar serves metrics.
pub const ENABLE_METRICS: &str = "dapr.io/enable-metrics";
/// Port of the metrics.
pub const METRICS_PORT: &str = "dapr.io/metrics-port";

/// What the Service is called after the application's id.
pub(crate) const SUFFIX: &str = "-dapr";
const METRICS_PORT_DEFAULT: u16 = 9090;
/// A Service's name is a DNS label.
const NAME_AT_MOST: usize = 63;
/// Ports the sidecar itself listens on; metrics cannot have one of them.
const SIDECAR_PORTS: [u16; 3] = [80, 50001, 50002];

/// What a workload asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sidecar {
    /// The application's id.
    pub app_id: String,
    /// Port of the metrics, when they are on.
    pub metrics_port: Option<u16>,
}

/// A mistake in one annotation: what stands there and what may.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("annotation {annotation}: {message}")]
pub struct AnnotationError {
    /// The annotation.
    pub annotation: &'static str,
    /// What is wrong and what to write instead.
    pub message: String,
}

/// Reads the annotations of a pod template; `None` when Dapr is not switched on.
///
/// # Errors
/// Every mistake, so that one look mends all of them.
pub fn read(annotations: &BTreeMap<String, String>) -> Result<Option<Sidecar>, Vec<AnnotationError>> {
    let text = |name: &str| annotations.get(name).map(|value| value.trim());
    if !text(ENABLED).is_some_and(is_truthy) {
        return Ok(None);
    }
    let mut mistakes = Vec::new();
    let app_id = text(APP_ID).unwrap_or_default().to_owned();
    if let Err(message) = check_app_id(&app_id) {
        mistakes.push(AnnotationError { annotation: APP_ID, message });
    }
    let metrics = text(ENABLE_METRICS).is_none_or(is_truthy);
    let port = match text(METRICS_PORT) {
        None => METRICS_PORT_DEFAULT,
        Some(value) => match value.parse::<u16>() {
            Ok(port) if port > 0 && !SIDECAR_PORTS.contains(&port) => port,
            Ok(port) => {
                let message =
                    format!("{port} is a port of the sidecar or none at all; take another, such as 9090");
                mistakes.push(AnnotationError { annotation: METRICS_PORT, message });
                METRICS_PORT_DEFAULT
            }
            Err(_) => {
                let message = format!("{value:?} is not a port; expected a number from 1 to 65535");
                mistakes.push(AnnotationError { annotation: METRICS_PORT, message });
                METRICS_PORT_DEFAULT
            }
        },
    };
    if mistakes.is_empty() {
        Ok(Some(Sidecar { app_id, metrics_port: metrics.then_some(port) }))
    } else {
        Err(mistakes)
    }
}

/// The words that mean yes, in any case.
fn is_truthy(value: &str) -> bool {
    ["y", "yes", "true", "t", "on", "1"].iter().any(|yes| value.eq_ignore_ascii_case(yes))
}

fn check_app_id(id: &str) -> Result<(), String> {
    let longest = NAME_AT_MOST - SUFFIX.len();
    if id.is_empty() {
        return Err("is missing; give the application an id".to_owned());
    }
    if id.len() > longest {
        return Err(format!(
            "has {} characters; {longest} at most, because its Service adds {SUFFIX:?}",
            id.len()
        ));
    }
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    let letter = id.bytes().next().is_some_and(|c| c.is_ascii_lowercase());
    if letter && id.bytes().all(inner) && !id.ends_with('-') {
        Ok(())
    } else {
        Err(format!(
            "{id:?} is not a DNS label; use lower-case letters, digits and `-`, and begin with a letter"
        ))
    }
}
