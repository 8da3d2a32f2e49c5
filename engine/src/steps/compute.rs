//! Answers the calls of a step that need nothing but their arguments: base64, dates, bytes as text, patches.

use serde_json::{Map, Value as Json, json};
use vela_cue::calls::{Answer, Call};
use vela_cue::packages::{self, Data, Failure, Run};

use super::patching;

/// The layout of dates when none is given.
const RFC3339: &str = "2006-01-02T15:04:05Z07:00";

/// The answer of `vela/base64`.
pub(super) fn base64(call: &Call) -> Option<Result<Answer, String>> {
    let text = || call.params().ok().and_then(|params| params.as_str().map(Data::text));
    let made = match (call.function.as_str(), text()) {
        ("encode", Some(text)) => builtin("encoding/base64", "Encode", &[Data::Null, text]),
        ("decode", Some(text)) => builtin("encoding/base64", "Decode", &[Data::Null, text]),
        ("encode" | "decode", None) => Err("$params is not a string".to_owned()),
        _ => return None,
    };
    Some(made.map(|data| Answer::Returns(Json::String(as_text(&data)))))
}

/// The answer of `vela/time`.
pub(super) fn time(call: &Call) -> Option<Result<Answer, String>> {
    let params = call.params().ok()?;
    let layout = params.get("layout").and_then(Json::as_str).filter(|layout| !layout.is_empty());
    let layout = Data::text(layout.unwrap_or(RFC3339));
    let made = match call.function.as_str() {
        "timestamp" => timestamp(&params, layout).map(|seconds| ("timestamp", json!(seconds))),
        "date" => date(&params, layout).map(|date| ("date", json!(date))),
        _ => return None,
    };
    Some(made.map(|(name, value)| named(call, name, value)))
}

/// The answer of `vela/util`.
pub(super) fn util(call: &Call) -> Option<Result<Answer, String>> {
    match call.function.as_str() {
        "string" => {
            let text = call.asked().field("bt").to_data().map(|data| as_text(&data));
            let text = text.map_err(|open| format!("bt is not known: {open}"));
            Some(text.map(|text| named(call, "str", Json::String(text))))
        }
        "patch-k8s-object" => Some(Ok(match patched(call) {
            Ok(result) => named(call, "result", result),
            Err(reason) => named(call, "err", Json::String(reason)),
        })),
        _ => None,
    }
}

/// The answer of `vela/cue`.
pub(super) fn cue(call: &Call) -> Option<Result<Answer, String>> {
    (call.function == "strategyUnify").then(|| patched(call).map(Answer::Returns))
}

/// The answer of `vela/op`, which has all functions under one name.
pub(super) fn op(call: &Call) -> Option<Result<Answer, String>> {
    time(call).or_else(|| util(call))
}

/// The answer of a package whose every call needs an outside provider.
pub(super) fn nothing(_: &Call) -> Option<Result<Answer, String>> {
    None
}

fn patched(call: &Call) -> Result<Json, String> {
    let asked = call.asked();
    patching::patched(&asked.field("value"), &asked.field("patch"))
}

/// An answer with one field, where the package of the call has its answers.
fn named(call: &Call, name: &str, value: Json) -> Answer {
    let fields = Map::from_iter([(name.to_owned(), value)]);
    if call.has_params() { Answer::Returns(Json::Object(fields)) } else { Answer::Fields(fields) }
}

fn timestamp(params: &Json, layout: Data) -> Result<i64, String> {
    let date = params.get("date").and_then(Json::as_str).filter(|date| !date.is_empty());
    let date = date.ok_or("there is no date")?;
    let parsed = as_text(&builtin("time", "Parse", &[layout, Data::text(date)])?);
    let moment: jiff::Timestamp = parsed.parse().map_err(|e| format!("{parsed:?} is not a time: {e}"))?;
    Ok(moment.as_second())
}

fn date(params: &Json, layout: Data) -> Result<String, String> {
    let seconds = params.get("timestamp").and_then(Json::as_i64).ok_or("timestamp is not an integer")?;
    let moment = builtin("time", "Unix", &[Data::int(seconds), Data::int(0)])?;
    Ok(as_text(&builtin("time", "FormatString", &[layout, moment])?))
}

/// Calls a function of the language's own packages.
fn builtin(path: &str, name: &str, arguments: &[Data]) -> Result<Data, String> {
    match packages::lookup(path).and_then(|package| package.function(name)).map(|function| function.run) {
        Some(Run::Data(run)) => run(arguments).map_err(|failure| match failure {
            Failure::Error(message) | Failure::Budget(message) => message,
            Failure::Incomplete(_) => "it is not complete".to_owned(),
        }),
        _ => Err(format!("{path} has no function {name}")),
    }
}

/// Text or bytes as text; what is not UTF-8 is replaced, as JSON could not hold it.
fn as_text(data: &Data) -> String {
    match data {
        Data::String(text) => text.clone(),
        Data::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        _ => String::new(),
    }
}
