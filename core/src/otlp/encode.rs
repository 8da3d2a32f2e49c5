//! Encodes finished spans as the body of one OTLP request in JSON: 64-bit numbers are strings, ids are hexadecimal.

use serde_json::{Value as Json, json};

use super::layer::{Fields, FinishedSpan, SpanEvent, Value};

/// The name of the service; collectors group by it.
const SERVICE: &str = "vela-core";
/// Work inside a process, neither a server's nor a client's.
const INTERNAL: u8 = 1;
/// It went wrong.
const ERROR: u8 = 2;

pub(super) fn body(spans: &[FinishedSpan]) -> Json {
    let resource = [("service.name", SERVICE), ("service.version", env!("CARGO_PKG_VERSION"))];
    let resource: Vec<Json> =
        resource.iter().map(|(name, text)| json!({"key": name, "value": {"stringValue": text}})).collect();
    json!({"resourceSpans": [{
        "resource": {"attributes": resource},
        "scopeSpans": [{"scope": {"name": SERVICE}, "spans": spans.iter().map(span).collect::<Vec<_>>()}],
    }]})
}

fn span(finished: &FinishedSpan) -> Json {
    let FinishedSpan { trace, id, parent, name, began, ended, fields, events, error } = finished;
    let mut span = json!({
        "traceId": format!("{trace:032x}"),
        "spanId": format!("{id:016x}"),
        "name": name,
        "kind": INTERNAL,
        "startTimeUnixNano": began.to_string(),
        "endTimeUnixNano": ended.to_string(),
        "attributes": attributes(fields),
        "events": events.iter().map(event).collect::<Vec<_>>(),
    });
    if let Some(parent) = parent {
        span["parentSpanId"] = json!(format!("{parent:016x}"));
    }
    if let Some(error) = error {
        span["status"] = json!({"code": ERROR, "message": error});
    }
    span
}

fn event(event: &SpanEvent) -> Json {
    json!({"timeUnixNano": event.at.to_string(), "name": event.words, "attributes": attributes(&event.fields)})
}

fn attributes(fields: &Fields) -> Vec<Json> {
    let attribute = |(name, value): &(&str, Value)| {
        let value = match value {
            Value::Text(text) => json!({"stringValue": text}),
            Value::Number(number) => json!({"intValue": number.to_string()}),
            Value::Real(number) => json!({"doubleValue": number}),
            Value::Flag(flag) => json!({"boolValue": flag}),
        };
        json!({"key": name, "value": value})
    };
    fields.0.iter().map(attribute).collect()
}
