//! The log of a container, as text that any template can hold: in base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use kube::api::LogParams;
use serde_json::{Value, json};

use super::super::provider::{Asked, Called, Reach};
use super::place::elsewhere;

/// The answer to `query.#CollectLogsInPod`. Why there is no log is a part of it: a step can go on without.
pub(super) async fn collected<R: Reach>(reach: &mut R, asked: &Asked<'_>) -> Result<Called, R::Error> {
    if let Some(elsewhere) = elsewhere(asked) {
        return Ok(elsewhere);
    }
    let (namespace, pod, options) = (asked.text("namespace"), asked.text("pod"), &asked.params()["options"]);
    let params = match extent(options) {
        Ok(params) => params,
        Err(why) => return Ok(asked.broken(format!("options.{why}"))),
    };
    let identity =
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": pod, "namespace": namespace}});
    let found = match reach.read_object(&identity).await? {
        Ok(Some(found)) => found,
        Ok(None) => {
            return Ok(outputs(
                asked,
                json!({"err": format!("there is no pod {pod} in namespace {namespace}")}),
            ));
        }
        Err(why) => return Ok(outputs(asked, json!({"err": format!("pod {pod} cannot be read: {why}")}))),
    };
    let since = params.since_seconds.map(|seconds| asked.now - SignedDuration::from_secs(seconds));
    let made = || found["metadata"]["creationTimestamp"].as_str().and_then(|at| at.parse::<Timestamp>().ok());
    let from = params.since_time.or(since).or_else(made).unwrap_or(asked.now);
    Ok(match reach.pod_log(namespace, pod, params).await? {
        Ok(log) => outputs(
            asked,
            json!({
                "logs": STANDARD.encode(log),
                "info": {"fromDate": from.to_string(), "toDate": asked.now.to_string()},
            }),
        ),
        Err(why) => outputs(asked, json!({"err": format!("the log of pod {pod} cannot be read: {why}")})),
    })
}

fn outputs(asked: &Asked<'_>, outputs: Value) -> Called {
    asked.named("outputs", "outputs", outputs)
}

/// How much of the log is asked for.
fn extent(options: &Value) -> Result<LogParams, String> {
    let since_time = match options["sinceTime"].as_str() {
        Some(text) => Some(
            text.parse::<Timestamp>()
                .map_err(|_| format!("sinceTime: {text:?} is no time such as 2026-01-31T08:00:00Z"))?,
        ),
        None => None,
    };
    // A second ago at least, and no longer than a time can say.
    let since_seconds = options["sinceSeconds"].as_i64().map(|seconds| seconds.clamp(1, 100 * 365 * 86_400));
    Ok(LogParams {
        container: options["container"].as_str().filter(|name| !name.is_empty()).map(str::to_owned),
        previous: options["previous"] == true,
        since_seconds: since_seconds.filter(|_| since_time.is_none()),
        since_time,
        timestamps: options["timestamps"] == true,
        tail_lines: options["tailLines"].as_i64(),
        limit_bytes: options["limitBytes"].as_i64(),
        ..LogParams::default()
    })
}
