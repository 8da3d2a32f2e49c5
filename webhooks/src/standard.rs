//! Mutates and validates MetricsTraits and PodSpecWorkloads.

use serde_json::{Value, json};

use crate::fields;
use crate::review::Review;
use crate::verdict::{Cause, Refusal, Verdict};

/// The only format of metrics.
const FORMAT: &str = "prometheus";
/// The only scheme they are read by.
const SCHEME: &str = "http";

/// Fills in how metrics are scraped.
pub fn mutate_metrics(review: &Review) -> Verdict {
    let mut object = review.object.clone();
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
        return Verdict::bad_request("spec", "expected an object");
    };
    let service = spec.entry("scrapeService").or_insert_with(|| json!({}));
    let Some(service) = service.as_object_mut() else {
        return Verdict::bad_request("spec.scrapeService", "expected an object");
    };
    for (field, default) in [("format", FORMAT), ("path", "/metrics"), ("scheme", SCHEME)] {
        if service.get(field).is_none_or(|value| value.is_null() || value == "") {
            service.insert(field.to_owned(), json!(default));
        }
    }
    if service.get("enabled").is_none_or(Value::is_null) {
        service.insert("enabled".to_owned(), json!(true));
    }
    Verdict::changed(review, &object)
}

/// Judges a MetricsTrait. An absent value means the only one there is.
pub fn validate_metrics(review: &Review) -> Verdict {
    if !review.concerns_a_living_object() {
        return Verdict::allowed();
    }
    let mut causes = fields::metadata(&review.object);
    let service = &review.object["spec"]["scrapeService"];
    for (field, noun, only) in [("format", "data format", FORMAT), ("scheme", "scheme", SCHEME)] {
        let found = match &service[field] {
            Value::Null => continue,
            Value::String(text) if text.is_empty() || text == only => continue,
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let message = format!("the {noun} `{found}` is not supported; write `{only}`");
        causes.push(Cause::not_supported(format!("spec.scrapeService.{field}"), message));
    }
    Verdict::refused(Refusal::Invalid, causes)
}

/// Fills in the number of pods.
pub fn mutate_pod_spec(review: &Review) -> Verdict {
    let mut object = review.object.clone();
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
        return Verdict::bad_request("spec", "expected an object");
    };
    if spec.get("replicas").is_none_or(Value::is_null) {
        spec.insert("replicas".to_owned(), json!(1));
    }
    Verdict::changed(review, &object)
}

/// Judges a PodSpecWorkload. Without a number of pods one is meant.
pub fn validate_pod_spec(review: &Review) -> Verdict {
    if !review.concerns_a_living_object() {
        return Verdict::allowed();
    }
    let mut causes = fields::metadata(&review.object);
    let spec = &review.object["spec"];
    match &spec["replicas"] {
        Value::Null => {}
        Value::Number(number) if number.as_i64().is_some_and(|number| number >= 0) => {}
        found => {
            causes.push(Cause::invalid("spec.replicas", format!("expected a number from 0, found {found}")));
        }
    }
    if spec["podSpec"]["containers"].as_array().is_none_or(Vec::is_empty) {
        causes.push(Cause::required("spec.podSpec.containers", "You need at least one container"));
    }
    Verdict::refused(Refusal::Invalid, causes)
}
