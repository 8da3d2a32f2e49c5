//! `vela/http`: requests to servers outside, through the egress guard.
//!
//! A request that changes something there is sent once: the runner of the step stores that it is sent before it is, and
//! then the answer. No message says more of a URL than its server, and none repeats a header or a body.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::provider::{Asked, Called, Provider, Reach};
use super::tls;
use crate::egress::{Answer, NoAnswer, Request, server};
use vela_engine::workflow::duration;

/// Until an answer is read, where the step says nothing.
const TIMEOUT: Duration = Duration::from_secs(3);
/// A reconcile waits no longer for one answer, whatever the step says.
const TIMEOUT_AT_MOST: Duration = Duration::from_secs(30);
/// An answer becomes part of the values of the run, which share one ConfigMap.
const ANSWER_BYTES_AT_MOST: usize = 512 * 1024;
/// The same of what is sent.
const BODY_BYTES_AT_MOST: usize = 1 << 20;
/// Headers of one request.
const HEADERS_AT_MOST: usize = 100;
/// Many servers refuse a client without this header.
const USER_AGENT: (&str, &str) = ("user-agent", "vela");

/// Answers `http.#HTTPDo` and those made of it.
pub(super) struct Http;

impl Provider for Http {
    const NAMES: &'static [&'static str] = &["http", "op"];

    async fn call<R: Reach>(reach: &mut R, asked: &mut Asked<'_>) -> Result<Option<Called>, R::Error> {
        if asked.question.function != "do" {
            return Ok(None);
        }
        let mut request = match request(asked.params()) {
            Ok(request) => request,
            Err(message) => return Ok(Some(asked.broken(message))),
        };
        if let Some(refusal) = rate_limit(reach, asked, &request) {
            return Ok(Some(refusal));
        }
        match tls::read(reach, &asked.params()["tls_config"]).await? {
            Ok(tls) => request.tls = tls,
            Err(message) => return Ok(Some(Called::failed(message))),
        }
        let is_once = asked.question.has_effect_outside();
        Ok(Some(match reach.send(&request).await {
            Ok(answer) if asked.question.has_returns => Called::Answer(written(&answer)),
            Ok(answer) => Called::Answer(json!({"response": written(&answer)})),
            Err(why) => no_answer(&request, why, is_once),
        }))
    }
}

/// The request that a call asks for, or what is wrong with it.
fn request(params: &Value) -> Result<Request, String> {
    let options = &params["request"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let url = text(&params["url"]).filter(|url| !url.is_empty()).ok_or("url: expected a URL")?;
    let body = text(&options["body"]).unwrap_or_default();
    if body.len() > BODY_BYTES_AT_MOST {
        return Err(format!(
            "request.body: expected at most {BODY_BYTES_AT_MOST} bytes, found {}",
            body.len()
        ));
    }
    if options["trailer"].as_object().is_some_and(|trailer| !trailer.is_empty()) {
        return Err("request.trailer: trailers are not sent; write a header".to_owned());
    }
    let timeout = match text(&options["timeout"]).filter(|timeout| !timeout.is_empty()) {
        None => TIMEOUT,
        Some(written) => time(&written, "request.timeout")?.min(TIMEOUT_AT_MOST),
    };
    Ok(Request {
        method: text(&params["method"]).unwrap_or_else(|| "GET".to_owned()),
        url,
        headers: headers(&options["header"])?,
        body: body.into_bytes(),
        timeout,
        bytes_at_most: ANSWER_BYTES_AT_MOST,
        tls: None,
    })
}

/// A duration as Go writes it.
fn time(written: &str, field: &str) -> Result<Duration, String> {
    let read = duration(written).map(|time| time.unsigned_abs()).filter(|time| !time.is_zero());
    read.ok_or_else(|| format!("{field}: {written:?} is no duration; write for example \"10s\""))
}

/// A body without a type is JSON, as upstream.
fn headers(written: &Value) -> Result<BTreeMap<String, String>, String> {
    let mut headers: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in written.as_object().into_iter().flatten() {
        headers.insert(name.to_lowercase(), value.as_str().unwrap_or_default().to_owned());
    }
    if headers.len() > HEADERS_AT_MOST {
        return Err(format!("request.header: expected at most {HEADERS_AT_MOST}, found {}", headers.len()));
    }
    if !written.is_object() {
        headers.insert("content-type".to_owned(), "application/json".to_owned());
    }
    let (name, value) = USER_AGENT;
    headers.entry(name.to_owned()).or_insert_with(|| value.to_owned());
    Ok(headers)
}

/// Why the request waits, where it says how often it may be sent and was sent as often.
fn rate_limit<R: Reach>(reach: &mut R, asked: &Asked<'_>, request: &Request) -> Option<Called> {
    let limits = &asked.params()["request"]["ratelimiter"];
    if !limits.is_object() {
        return None;
    }
    let limit = limits["limit"].as_u64().and_then(|limit| usize::try_from(limit).ok());
    let Some(limit) = limit.filter(|limit| *limit > 0) else {
        return Some(asked.broken("request.ratelimiter.limit: expected a number above 0"));
    };
    let period = match time(limits["period"].as_str().unwrap_or_default(), "request.ratelimiter.period") {
        Ok(period) => period,
        Err(message) => return Some(asked.broken(message)),
    };
    let name = format!("{} {}", request.method, request.url.split('?').next().unwrap_or_default());
    let admitted = reach.admits(&name, limit, period);
    (!admitted).then(|| Called::failed("request exceeds the rate limiter"))
}

/// The answer as steps read it.
fn written(answer: &Answer) -> Value {
    let headers = answer.headers.iter().map(|(name, values)| (canonical(name), json!(values)));
    json!({
        "statusCode": answer.status,
        "body": String::from_utf8_lossy(&answer.body),
        "header": Value::Object(headers.collect()),
    })
}

/// `content-type` as templates write it: `Content-Type`.
fn canonical(name: &str) -> String {
    let capital = |part: &str| {
        let mut letters = part.chars();
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>()
    };
    name.split('-').map(capital).collect::<Vec<_>>().join("-")
}

/// The meaning of a missing answer for the step.
fn no_answer(request: &Request, why: NoAnswer, is_once: bool) -> Called {
    let asked = format!("{} {}", request.method, server(&request.url));
    match why {
        NoAnswer::Refused(why) => Called::broken(format!("{asked}: {why}")),
        NoAnswer::NotSent(why) => Called::failed(format!("{asked}: {why}")),
        NoAnswer::Unknown(why) if is_once => Called::uncertain(format!(
            "{asked}: {why}. It may have been taken, so it is not sent again: look, and restart the workflow from this step \
             where it was not"
        )),
        NoAnswer::Unknown(why) => Called::failed(format!("{asked}: {why}")),
        NoAnswer::TooLarge(why) if is_once => Called::uncertain(format!("{asked}: it was sent, and {why}")),
        NoAnswer::TooLarge(why) => Called::broken(format!("{asked}: {why}; ask for less")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_double::{Double, asked, question};
    use super::*;
    use vela_engine::workflow::StepOutcome;

    fn answer(status: u16, body: &str) -> Answer {
        let headers = BTreeMap::from([("content-type".to_owned(), vec!["text/plain".to_owned()])]);
        Answer { status, headers, body: body.as_bytes().to_vec() }
    }

    #[tokio::test]
    async fn a_request_is_sent_and_its_answer_read_in_both_forms() {
        for (provider, field) in [("http", ""), ("op", "/response")] {
            let mut double = Double { answers: vec![Ok(answer(404, "no"))], ..Double::default() };
            let params = json!({"method": "POST", "url": "http://a/b", "request": {
                "body": "{}", "timeout": "10s", "header": {"X-Key": "k"}}});
            let called = asked(&mut double, question(provider, "do", params)).await;
            let Called::Answer(read) = called else { panic!("{called:?}") };
            let read = read.pointer(field).unwrap();
            assert_eq!(read["statusCode"], 404, "every status is an answer");
            assert_eq!(
                (&read["body"], &read["header"]["Content-Type"][0]),
                (&json!("no"), &json!("text/plain"))
            );
            let sent = &double.sent[0];
            assert_eq!((sent.method.as_str(), sent.timeout), ("POST", Duration::from_secs(10)));
            assert_eq!(sent.headers["x-key"], "k");
            assert!(!sent.headers.contains_key("content-type"), "only where no header is written");
        }
    }

    #[tokio::test]
    async fn what_is_not_said_is_as_upstream() {
        let mut double = Double { answers: vec![Ok(answer(200, ""))], ..Double::default() };
        asked(&mut double, question("http", "do", json!({"url": "http://a"}))).await;
        let sent = &double.sent[0];
        assert_eq!((sent.method.as_str(), sent.timeout), ("GET", TIMEOUT));
        assert_eq!(sent.headers["content-type"], "application/json");
        let mut double = Double { answers: vec![Ok(answer(200, ""))], ..Double::default() };
        let long = json!({"url": "http://a", "request": {"timeout": "2h"}});
        asked(&mut double, question("http", "do", long)).await;
        assert_eq!(double.sent[0].timeout, TIMEOUT_AT_MOST);
    }

    #[tokio::test]
    async fn what_may_have_been_taken_is_not_sent_again() {
        let unknown = || NoAnswer::Unknown("no answer within 3 s".to_owned());
        let outcome = async |method: &str, why: NoAnswer| {
            let mut double = Double { answers: vec![Err(why)], ..Double::default() };
            let params =
                json!({"method": method, "url": "http://a/key?key", "request": {"header": {"a": "key"}}});
            match asked(&mut double, question("http", "do", params)).await {
                Called::Ended(outcome) => outcome,
                answer @ Called::Answer(_) => panic!("{answer:?}"),
            }
        };
        let StepOutcome::Fail { message } = outcome("POST", unknown()).await else {
            panic!("it may be taken")
        };
        assert!(message.starts_with("POST http://a: no answer") && !message.contains("key"), "{message}");
        assert!(matches!(outcome("GET", unknown()).await, StepOutcome::Error { .. }));
        let not_sent = NoAnswer::NotSent("no server answers".to_owned());
        assert!(matches!(outcome("POST", not_sent).await, StepOutcome::Error { .. }));
        let large = || NoAnswer::TooLarge("the answer is larger".to_owned());
        assert!(matches!(outcome("POST", large()).await, StepOutcome::Fail { .. }));
        assert!(matches!(outcome("GET", large()).await, StepOutcome::Broken { .. }));
        let refused = NoAnswer::Refused("only http and https are asked".to_owned());
        assert!(matches!(outcome("GET", refused).await, StepOutcome::Broken { .. }));
    }

    #[tokio::test]
    async fn what_cannot_be_asked_is_told_with_its_field() {
        for (params, expected) in [
            (json!({"url": ""}), "url: expected a URL"),
            (json!({"url": "http://a", "request": {"timeout": "soon"}}), "request.timeout: \"soon\""),
            (json!({"url": "http://a", "request": {"trailer": {"a": "b"}}}), "request.trailer"),
            (json!({"url": "http://a", "request": {"ratelimiter": {"limit": 0, "period": "1s"}}}), "limit"),
            (json!({"url": "http://a", "request": {"ratelimiter": {"limit": 1, "period": ""}}}), "period"),
            (json!({"url": "http://a", "request": {"body": "x".repeat(BODY_BYTES_AT_MOST + 1)}}), "body"),
        ] {
            let mut double = Double::default();
            let called = asked(&mut double, question("http", "do", params)).await;
            let Called::Ended(StepOutcome::Broken { message }) = called else { panic!("{called:?}") };
            assert!(message.starts_with("ask: ") && message.contains(expected), "{message}");
            assert!(double.sent.is_empty());
        }
    }

    #[tokio::test]
    async fn what_is_sent_too_often_is_tried_later() {
        let mut double = Double { is_limited: true, ..Double::default() };
        let limited = json!({"url": "http://a", "request": {"ratelimiter": {"limit": 1, "period": "1m"}}});
        let called = asked(&mut double, question("http", "do", limited)).await;
        assert_eq!(called, Called::failed("request exceeds the rate limiter"));
    }
}
