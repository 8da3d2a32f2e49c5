//! `DeleteOptions`, read from the body or the query of a deletion.

use serde_json::Value;

use crate::cause::Cause;
use crate::http::{Call, Query};
use crate::propagation::Propagation;
use crate::status::{ApiError, ApiResult};

/// `DeleteOptions`, from the body or from the query.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeleteOptions {
    pub(crate) propagation: Option<Propagation>,
    pub(crate) uid: Option<String>,
    pub(crate) resource_version: Option<String>,
    pub(crate) grace_seconds: Option<i64>,
    pub(crate) dry_run: bool,
}

impl DeleteOptions {
    pub(super) fn read(call: &Call) -> ApiResult<Self> {
        let mut options = Self::query(&call.query)?;
        if call.body.is_empty() {
            return Ok(options);
        }
        let body = call.object()?;
        if let Some(policy) = body["propagationPolicy"].as_str() {
            options.propagation = Some(propagation(policy)?);
        } else if let Some(orphan) = body["orphanDependents"].as_bool() {
            options.propagation = Some(if orphan { Propagation::Orphan } else { Propagation::Background });
        }
        if let Some(seconds) = body["gracePeriodSeconds"].as_i64() {
            options.grace_seconds = Some(seconds);
        }
        let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        options.uid = text("/preconditions/uid");
        options.resource_version = text("/preconditions/resourceVersion");
        options.dry_run |= body["dryRun"].as_array().is_some_and(|d| d.iter().any(|v| v == "All"));
        Ok(options)
    }

    fn query(query: &Query) -> ApiResult<Self> {
        let policy = query.text("propagationPolicy");
        Ok(Self {
            propagation: if policy.is_empty() { None } else { Some(propagation(policy)?) },
            grace_seconds: query.number("gracePeriodSeconds")?.and_then(|s| i64::try_from(s).ok()),
            dry_run: query.dry_run("DeleteOptions")?,
            ..Self::default()
        })
    }
}

fn propagation(policy: &str) -> ApiResult<Propagation> {
    match policy {
        "Background" => Ok(Propagation::Background),
        "Foreground" => Ok(Propagation::Foreground),
        "Orphan" => Ok(Propagation::Orphan),
        other => {
            let allowed = ["Foreground", "Background", "Orphan", "nil"];
            let cause = Cause::not_supported("propagationPolicy", &Value::from(other), &allowed);
            Err(ApiError::invalid_options("DeleteOptions", cause))
        }
    }
}
