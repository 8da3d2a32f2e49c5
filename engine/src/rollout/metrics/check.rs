//! Checks the metrics of a plan, and reports each mistake with its place.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::Value as Json;

use super::query::{is_template, known};
use super::syntax::{DEFAULT_INTERVAL, PAUSE, REVERT, WORDS, bound};
use super::{render, url};
use crate::rollout::finding::Finding;

/// Metrics of one list: each is a request of every reconcile in which it is due.
pub const METRICS_AT_MOST: usize = 20;
/// Measurements and failures that may be asked for: a batch that is measured for longer hangs for those who wait.
const COUNT_AT_MOST: i64 = 1000;
/// Prometheus scrapes in seconds.
const SHORTEST: SignedDuration = SignedDuration::from_secs(1);
/// A batch that is measured less often than once a day is forgotten.
const LONGEST: SignedDuration = SignedDuration::from_hours(24);

/// A time such as `30s` or `1m30s`.
pub(super) fn duration(text: &str) -> Option<SignedDuration> {
    let duration: SignedDuration = text.parse().ok()?;
    (SHORTEST..=LONGEST).contains(&duration).then_some(duration)
}

/// Judges one list of metrics.
pub fn check(list: &Json, path: &str, found: &mut Vec<Finding>) {
    let Some(metrics) = list.as_array() else {
        if !list.is_null() {
            found.push(Finding::wrong(path, "expected a list of metrics"));
        }
        return;
    };
    if metrics.len() > METRICS_AT_MOST {
        let message = format!("expected at most {METRICS_AT_MOST} metrics, found {}", metrics.len());
        found.push(Finding::wrong(path, message));
    }
    for (index, metric) in metrics.iter().enumerate().take(METRICS_AT_MOST) {
        one(metric, &format!("{path}[{index}]"), found);
    }
}

fn one(metric: &Json, path: &str, found: &mut Vec<Finding>) {
    let at = |field: &str| format!("{path}.{field}");
    let text = |field: &str| metric[field].as_str().unwrap_or_default();
    if text("name").is_empty() {
        found.push(Finding::missing(at("name"), "a metric needs a name, which its messages say"));
    }
    let interval = text("interval");
    if !interval.is_empty() && duration(interval).is_none() {
        let message = format!(
            "{interval:?} is no time between 1s and 24h; write for example \"30s\", or leave it out for {DEFAULT_INTERVAL}"
        );
        found.push(Finding::wrong(at("interval"), message));
    }
    for (field, least) in [("count", 1), ("failureLimit", 0)] {
        let wrong = metric[field].as_i64().filter(|number| !(least..=COUNT_AT_MOST).contains(number));
        if let Some(number) = wrong {
            let message = format!("{number} is not between {least} and {COUNT_AT_MOST}");
            found.push(Finding::wrong(at(field), message));
        }
    }
    let action = text("onFailure");
    if !["", PAUSE, REVERT].contains(&action) {
        let message = format!("{action:?} is no way to fail; write {PAUSE} or {REVERT}");
        found.push(Finding::wrong(at("onFailure"), message));
    }
    range(&metric["metricsRange"], &at("metricsRange"), found);
    asked(metric, path, found);
}

fn range(range: &Json, path: &str, found: &mut Vec<Finding>) {
    if range["min"].is_null() && range["max"].is_null() {
        found.push(Finding::missing(path, "write min or max, or both: without them no value can be right"));
        return;
    }
    let mut bounds = BTreeMap::new();
    for field in ["min", "max"] {
        if range[field].is_null() {
            continue;
        }
        let read = serde_json::from_value::<IntOrString>(range[field].clone())
            .map_err(|_| format!("expected a number or a text with one, found {}", range[field]))
            .and_then(|written| bound(&written));
        match read {
            Ok(number) => {
                bounds.insert(field, number);
            }
            Err(why) => found.push(Finding::wrong(format!("{path}.{field}"), why)),
        }
    }
    if let (Some(min), Some(max)) = (bounds.get("min"), bounds.get("max"))
        && min > max
    {
        let message = format!("min {min} is above max {max}: no value can be right");
        found.push(Finding::wrong(format!("{path}.min"), message));
    }
}

fn asked(metric: &Json, path: &str, found: &mut Vec<Finding>) {
    let at = |field: &str| format!("{path}.{field}");
    let (template, provider, query) = (&metric["templateRef"], &metric["provider"], &metric["query"]);
    if !template.is_null() {
        let text = |field: &str| template[field].as_str().unwrap_or_default();
        if !is_template(text("apiVersion"), text("kind")) {
            let message = "expected a MetricTemplate of flagger.app/v1beta1 or a ConfigMap of v1";
            found.push(Finding::wrong(at("templateRef.kind"), message));
        }
        if text("name").is_empty() {
            found.push(Finding::missing(at("templateRef.name"), "which template?"));
        }
        if !provider.is_null() || !query.is_null() {
            let field = if provider.is_null() { "query" } else { "provider" };
            found.push(Finding::wrong(at(field), "the template says this; leave out one of both"));
        }
        return;
    }
    if provider.is_null() && query.is_null() {
        let message = "there is nothing to ask: name a template, or write provider.address and query";
        found.push(Finding::missing(at("templateRef"), message));
        return;
    }
    if let Err(why) = known(provider["type"].as_str().unwrap_or_default()) {
        found.push(Finding::wrong(at("provider.type"), why));
    }
    match provider["address"].as_str().filter(|address| !address.trim().is_empty()) {
        None => found.push(Finding::missing(
            at("provider.address"),
            "write the server's address, for example http://prometheus.monitoring:9090",
        )),
        Some(address) => {
            if let Err(why) = url(address, "") {
                found.push(Finding::wrong(at("provider.address"), why));
            }
        }
    }
    match query.as_str().filter(|query| !query.trim().is_empty()) {
        None => found.push(Finding::missing(at("query"), "write what is asked, in PromQL")),
        Some(query) => {
            let words = WORDS.iter().map(|word| (*word, String::new())).collect();
            if let Err(why) = render(query, &words) {
                found.push(Finding::wrong(at("query"), why));
            }
        }
    }
}
