//! `vela/builtin`: values of the run by their names. Waits, suspensions, failures and messages are no calls here.

use serde_json::Value;

use super::provider::{Asked, Called, Provider, Reach};

/// Answers `builtin.#DoVar`.
pub(super) struct Builtin;

impl Provider for Builtin {
    const NAMES: &'static [&'static str] = &["builtin", "op"];

    async fn call<R: Reach>(_: &mut R, asked: &mut Asked<'_>) -> Result<Option<Called>, R::Error> {
        if asked.question.function != "var" {
            return Ok(None);
        }
        let (method, path) = (asked.text("method").to_owned(), asked.text("path").to_owned());
        Ok(Some(match method.as_str() {
            _ if path.is_empty() => asked.broken("path: expected the name of a value"),
            "Put" => put(asked, &path),
            _ => match asked.values.get(&path) {
                Some(value) => asked.named("value", "value", value.clone()),
                // Another step may still give it.
                None => Called::failed(format!("{}: there is no value {path:?}", asked.question.path)),
            },
        }))
    }
}

fn put(asked: &mut Asked<'_>, path: &str) -> Called {
    let value = asked.params().get("value").cloned().unwrap_or(Value::Null);
    match asked.values.set(path, value.clone()) {
        Ok(()) => asked.named("value", "value", value),
        Err(why) => asked.broken(why),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;
    use vela_engine::workflow::RunValues;

    use super::super::test_double::{Double, asked_with, question};
    use super::*;

    #[tokio::test]
    async fn a_value_is_put_and_got() {
        let (mut double, mut values) = (Double::default(), RunValues::default());
        let now = Timestamp::UNIX_EPOCH;
        for provider in ["builtin", "op"] {
            let put = json!({"method": "Put", "path": "web.ip", "value": provider});
            let called = asked_with(&mut double, question(provider, "var", put), &mut values, now).await;
            assert_eq!(called, Called::Answer(json!({"value": provider})));
            let get = json!({"method": "Get", "path": "web.ip"});
            let called = asked_with(&mut double, question(provider, "var", get), &mut values, now).await;
            assert_eq!(called, Called::Answer(json!({"value": provider})));
        }
        let absent = json!({"method": "Get", "path": "nothing"});
        let called = asked_with(&mut double, question("builtin", "var", absent), &mut values, now).await;
        assert_eq!(called, Called::failed("ask: there is no value \"nothing\""));
        let nameless = json!({"method": "Get", "path": ""});
        let called = asked_with(&mut double, question("builtin", "var", nameless), &mut values, now).await;
        assert_eq!(called, Called::broken("ask: path: expected the name of a value"));
    }
}
