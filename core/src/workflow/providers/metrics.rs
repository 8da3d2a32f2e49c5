//! `vela/metrics`: a Prometheus query held against a condition, for a while.
//!
//! Since when the condition holds, or fails, is kept with the values of the run: another process goes on counting.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::SignedDuration;
use serde_json::json;
use vela_engine::rollout::metrics::{ANSWER_BYTES_AT_MOST, reading, url};
use vela_engine::workflow::duration;

use super::provider::{Asked, Called, Provider, Reach};
use crate::egress::{NoAnswer, Request, server};

/// One question to a Prometheus.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Under what it is kept since when the condition holds, and since when it does not; upstream has the same names.
const SUCCESS: &str = "success";
const FAIL: &str = "fail";

/// Answers `metrics.#PromCheck`.
pub(super) struct Metrics;

impl Provider for Metrics {
    const NAMES: &'static [&'static str] = &["metrics", "op"];

    async fn call<R: Reach>(reach: &mut R, asked: &mut Asked<'_>) -> Result<Option<Called>, R::Error> {
        if asked.question.function != "promCheck" {
            return Ok(None);
        }
        let check = match Check::read(asked) {
            Ok(check) => check,
            Err(message) => return Ok(Some(asked.broken(message))),
        };
        Ok(Some(match reach.send(&check.request).await {
            Ok(answer) => match reading(answer.status, &answer.body) {
                Ok(value) => check.judge(value, asked),
                Err(why) => Called::failed(check.message(&why)),
            },
            Err(NoAnswer::Refused(why)) => Called::broken(check.message(&why)),
            Err(NoAnswer::NotSent(why) | NoAnswer::Unknown(why) | NoAnswer::TooLarge(why)) => {
                Called::failed(check.message(&why))
            }
        }))
    }
}

/// The query, and the condition that its answer has to meet for how long.
struct Check {
    request: Request,
    condition: Condition,
    lasts: SignedDuration,
    may_fail: SignedDuration,
}

impl Check {
    fn read(asked: &Asked<'_>) -> Result<Self, String> {
        let query = Some(asked.text("query")).filter(|query| !query.trim().is_empty());
        let url = url(asked.text("metricEndpoint"), query.ok_or("query: expected a query in PromQL")?)?;
        let time = |field: &str| {
            let written = asked.text(field);
            let wrong = || format!("{field}: {written:?} is no duration; write for example \"5m\"");
            duration(written).ok_or_else(wrong)
        };
        let request = Request {
            method: "GET".to_owned(),
            url,
            headers: BTreeMap::new(),
            body: Vec::new(),
            timeout: TIMEOUT,
            bytes_at_most: ANSWER_BYTES_AT_MOST,
            tls: None,
        };
        let condition = Condition::read(asked.text("condition"))?;
        Ok(Self { request, condition, lasts: time("duration")?, may_fail: time("failDuration")? })
    }

    fn message(&self, why: &str) -> String {
        format!("{}: {why}", server(&self.request.url))
    }

    /// A look at the condition begins to count, or goes on; it begins anew when the condition changes to the other.
    fn judge(&self, value: f64, asked: &mut Asked<'_>) -> Called {
        let holds = self.condition.holds(value);
        let (name, other, lasts) = match holds {
            true => (SUCCESS, FAIL, self.lasts),
            false => (FAIL, SUCCESS, self.may_fail),
        };
        let (step, now) = (asked.step, asked.now);
        let since = asked.values.since(step, name).unwrap_or(now);
        asked.values.set_since(step, other, None);
        asked.values.set_since(step, name, Some(since));
        let is_over = now.duration_since(since) >= lasts;
        let condition = &self.condition.text;
        let message = match (holds, is_over) {
            (true, true) => format!("the result {value} meets {condition}, as it had to for {lasts:#}"),
            (true, false) => format!("the result meets {condition} since {since}; it has to for {lasts:#}"),
            (false, true) => {
                format!("the result {value} does not meet {condition}, and did not for {lasts:#}")
            }
            (false, false) => {
                format!(
                    "the result {value} does not meet {condition} since {since}; it may fail for {lasts:#}"
                )
            }
        };
        let answer = json!({"result": holds && is_over, "failed": !holds && is_over, "message": message});
        Called::Answer(answer)
    }
}

type Compare = fn(&f64, &f64) -> bool;

/// A comparison with a number.
struct Condition {
    text: String,
    compare: Compare,
    bound: f64,
}

/// How values are compared, the longer signs first.
const COMPARISONS: [(&str, Compare); 6] =
    [(">=", f64::ge), ("<=", f64::le), ("==", f64::eq), ("!=", f64::ne), (">", f64::gt), ("<", f64::lt)];

impl Condition {
    fn read(written: &str) -> Result<Self, String> {
        let text = written.trim();
        let read = COMPARISONS.iter().find_map(|(sign, compare)| {
            let bound = text.strip_prefix(*sign)?.trim().parse().ok()?;
            Some(Self { text: text.to_owned(), compare: *compare, bound })
        });
        read.ok_or_else(|| format!("condition: {written:?} compares nothing; write for example \">=0.95\""))
    }

    fn holds(&self, value: f64) -> bool {
        (self.compare)(&value, &self.bound)
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::Value;
    use vela_engine::workflow::{RunValues, StepOutcome};

    use super::super::test_double::{Double, asked, asked_with, question};
    use super::*;
    use crate::egress::Answer;

    fn prometheus(value: &str) -> Double {
        let body = json!({"status": "success", "data": {"resultType": "scalar", "result": [0, value]}});
        let answer = Answer { status: 200, body: body.to_string().into_bytes(), ..Answer::default() };
        Double { answers: vec![Ok(answer)], ..Double::default() }
    }

    fn params() -> Value {
        json!({
            "query": "up", "condition": ">=0.95", "metricEndpoint": "http://prometheus:9090",
            "duration": "5m", "failDuration": "2m",
        })
    }

    /// The result of a measurement at this time.
    async fn look(value: &str, values: &mut RunValues, seconds: i64) -> Value {
        let now = Timestamp::from_second(seconds).unwrap();
        let mut double = prometheus(value);
        let called = asked_with(&mut double, question("metrics", "promCheck", params()), values, now).await;
        assert_eq!(double.sent[0].url, "http://prometheus:9090/api/v1/query?query=up");
        match called {
            Called::Answer(answer) => answer,
            called @ Called::Ended(_) => panic!("{called:?}"),
        }
    }

    #[tokio::test]
    async fn a_condition_has_to_hold_for_a_while() {
        let mut values = RunValues::default();
        let first = look("1", &mut values, 100).await;
        assert_eq!((&first["result"], &first["failed"]), (&json!(false), &json!(false)));
        let later = look("0.97", &mut values, 399).await;
        assert_eq!(later["message"], first["message"], "nothing new is said while it goes on");
        assert_eq!(look("1", &mut values, 400).await["result"], true);
        assert_eq!(look("0.5", &mut values, 410).await["result"], false);
        assert_eq!(look("1", &mut values, 420).await["result"], false, "it begins anew");
    }

    #[tokio::test]
    async fn a_condition_may_fail_for_a_while() {
        let mut values = RunValues::default();
        assert_eq!(look("0.5", &mut values, 100).await["failed"], false);
        // Another process goes on counting.
        let mut values = RunValues::read(&values.to_data()).unwrap();
        assert_eq!(look("0.5", &mut values, 219).await["failed"], false);
        let failed = look("0.5", &mut values, 220).await;
        assert_eq!(failed["failed"], true);
        assert_eq!(failed["message"], "the result 0.5 does not meet >=0.95, and did not for 2m");
    }

    #[tokio::test]
    async fn what_cannot_be_asked_or_read_is_told() {
        for (field, wrong, expected) in [
            ("query", "", "query: expected"),
            ("condition", "about 1", "condition: \"about 1\" compares nothing"),
            ("duration", "long", "duration: \"long\""),
            ("failDuration", "", "failDuration: \"\""),
            ("metricEndpoint", "prometheus", "no http:// or https:// URL"),
        ] {
            let mut params = params();
            params[field] = json!(wrong);
            let called = asked(&mut Double::default(), question("op", "promCheck", params)).await;
            let Called::Ended(StepOutcome::Broken { message }) = called else { panic!("{called:?}") };
            assert!(message.contains(expected), "{message}");
        }
        let called = asked(&mut prometheus("many"), question("op", "promCheck", params())).await;
        let Called::Ended(StepOutcome::Error { message }) = called else { panic!("{called:?}") };
        assert!(message.starts_with("http://prometheus:9090: "), "{message}");
    }

    #[test]
    fn conditions_compare_with_a_number() {
        let holds = |text: &str, value: f64| Condition::read(text).unwrap().holds(value);
        assert!(holds(">=0.95", 0.95) && holds("< 1", 0.5) && holds("==3", 3.0) && holds("!=0", 1.0));
        assert!(!holds(">1", 1.0) && !holds("<=1", 1.5) && !holds(">0", f64::NAN));
        assert!(Condition::read("0.95").is_err() && Condition::read(">=a").is_err());
    }
}
