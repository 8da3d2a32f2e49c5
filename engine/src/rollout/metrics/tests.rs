//! Gates: what is due when, what an answer means, how often it may fail, and what is refused before it runs.

use serde_json::{Value as Json, json};

use super::*;

fn plan(metric: Json) -> RolloutPlan {
    let base = json!({
        "name": "errors", "interval": "10s", "metricsRange": {"max": "5%"},
        "provider": {"address": "http://prometheus:9090"}, "query": "errors{namespace=\"{{ namespace }}\"}",
    });
    let mut merged = base;
    json_patch::merge(&mut merged, &metric);
    serde_json::from_value(json!({"rolloutBatches": [{"replicas": 1}], "canaryMetric": [merged]})).unwrap()
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// A rollout whose batch is measured.
struct Case {
    plan: RolloutPlan,
    status: RolloutStatus,
    generation: i64,
}

impl Case {
    fn new(metric: Json) -> Self {
        Self { plan: plan(metric), status: RolloutStatus::default(), generation: 1 }
    }

    fn gate(&self, second: i64) -> Gate {
        let seen =
            Seen { plan: &self.plan, status: &self.status, generation: self.generation, now: at(second) };
        gate(&seen, &BTreeMap::from([("namespace", "shop".to_owned())]))
    }

    /// A look at this second, the values it finds, and what they come to; nothing where nothing is due.
    fn look(&mut self, second: i64, value: Result<f64, &str>) -> Option<Verdict> {
        let Gate::Measuring(mut measuring) = self.gate(second) else { return None };
        let reading = Reading { query: Some("errors".to_owned()), value: value.map_err(str::to_owned) };
        let is_due = !measuring.due.is_empty();
        let verdict = measuring.judge(&vec![reading; measuring.due.len()]);
        self.status.canary_analysis = Some(measuring.analysis);
        is_due.then_some(verdict)
    }
}

#[test]
fn a_metric_is_measured_once_an_interval_and_first_after_one() {
    let mut case = Case::new(json!({"count": 2}));
    assert_eq!(case.look(100, Ok(0.0)), None, "its pods have not been there for an interval");
    assert_eq!(case.look(109, Ok(0.0)), None);
    let Some(Verdict::Measuring(progress)) = case.look(110, Ok(0.01)) else { panic!() };
    assert!(
        progress.contains("1 of 2 measurements in range, 0 failed of 0 tolerated, last 0.01"),
        "{progress}"
    );
    let Gate::Measuring(waiting) = case.gate(113) else { panic!() };
    assert_eq!((waiting.due.len(), waiting.seconds_left), (0, 7));
    assert_eq!(case.look(125, Ok(0.05)), Some(Verdict::Open), "the bounds belong to the range");
    assert_eq!(case.gate(126), Gate::Open, "what was let through stays so");
}

#[test]
fn too_many_failures_close_the_gate_until_the_object_changes() {
    let mut case = Case::new(json!({"failureLimit": 1}));
    case.look(0, Ok(0.0));
    assert!(matches!(case.look(10, Ok(0.3)), Some(Verdict::Measuring(_))));
    let Some(Verdict::Failed { message, revert }) = case.look(20, Err("connection refused")) else {
        panic!()
    };
    assert!(!revert);
    for part in
        ["canaryMetric[0] \"errors\"", "connection refused", "2 failed, 1 tolerated", "the query is errors"]
    {
        assert!(message.contains(part), "{message}");
    }
    assert!(matches!(case.gate(1000), Gate::Held(_)));
    case.generation = 2;
    let Gate::Measuring(anew) = case.gate(1000) else { panic!() };
    assert_eq!((anew.analysis.metrics[0].failed, anew.analysis.since.0), (0, at(1000)), "from the beginning");
    case.status.current_batch = 1;
    assert!(matches!(case.gate(1000), Gate::Measuring(_)), "another batch is another matter");
}

#[test]
fn nothing_that_cannot_be_measured_is_a_pass() {
    for (metric, value) in [
        (json!({}), Ok(f64::NAN)),
        (json!({}), Ok(f64::INFINITY)),
        (json!({"metricsRange": {"max": null, "min": 1}}), Ok(0.5)),
        (json!({"metricsRange": null}), Ok(0.0)),
        (json!({"metricsRange": {"max": "many"}}), Ok(0.0)),
        (json!({}), Err("no value")),
    ] {
        let mut case = Case::new(metric.clone());
        case.look(0, Ok(0.0));
        let verdict = case.look(10, value);
        assert!(matches!(verdict, Some(Verdict::Failed { .. })), "{metric} {verdict:?}");
    }
    let mut case = Case::new(json!({"onFailure": "Revert"}));
    case.look(0, Ok(0.0));
    assert!(matches!(case.look(10, Ok(9.0)), Some(Verdict::Failed { revert: true, .. })));
}

#[test]
fn a_metric_that_was_written_anew_is_measured_anew() {
    let mut case = Case::new(json!({"count": 3}));
    case.look(0, Ok(0.0));
    case.look(10, Ok(0.0));
    assert_eq!(case.status.canary_analysis.as_ref().unwrap().metrics[0].passed, 1);
    case.plan = plan(json!({"count": 3, "query": "other"}));
    let Gate::Measuring(measuring) = case.gate(20) else { panic!() };
    assert_eq!(measuring.analysis.metrics[0].passed, 0);
}

#[test]
fn an_answer_is_one_number_or_a_reason() {
    let read = |status, body: Json| reading(status, body.to_string().as_bytes());
    let vector =
        |values: Json| json!({"status": "success", "data": {"resultType": "vector", "result": values}});
    let one = |text: &str| json!({"metric": {}, "value": [1, text]});
    assert_eq!(read(200, vector(json!([one("0.25")]))), Ok(0.25));
    assert_eq!(read(200, vector(json!([one("+Inf")]))), Ok(f64::INFINITY));
    assert!(read(200, vector(json!([one("NaN")]))).unwrap().is_nan());
    assert_eq!(
        read(200, json!({"status": "success", "data": {"resultType": "scalar", "result": [1, "3"]}})),
        Ok(3.0)
    );
    for (status, body, expected) in [
        (200, vector(json!([])), "no value"),
        (200, vector(json!([one("1"), one("2")])), "2 values"),
        (200, vector(json!([{"metric": {}}])), "a number is expected"),
        (200, json!({"status": "success", "data": {"resultType": "matrix", "result": []}}), "gives a matrix"),
        (
            400,
            json!({"status": "error", "errorType": "bad_data", "error": "parse error"}),
            "status 400: parse error",
        ),
        (200, json!("<html>"), "is the address right"),
        (503, json!("down"), "status 503"),
    ] {
        let why = read(status, body).unwrap_err();
        assert!(why.contains(expected), "{why}");
    }
    assert_eq!(
        url("http://a/b/", "x{y=\"ä\"}").unwrap(),
        "http://a/b/api/v1/query?query=x%7By%3D%22%C3%A4%22%7D"
    );
    assert!(url("ftp://a", "x").is_err());
}

#[test]
fn templates_tell_address_and_query() {
    let words = BTreeMap::from([("target", "front-v2".to_owned()), ("interval", "1m".to_owned())]);
    assert_eq!(render("r{t=\"{{ target }}\"}[{{interval}}]", &words).unwrap(), "r{t=\"front-v2\"}[1m]");
    assert!(render("{{ service }}", &words).unwrap_err().contains("only interval, target are known"));
    assert!(render("{{ target", &words).is_err());
    let flagger = json!({"apiVersion": "flagger.app/v1beta1", "kind": "MetricTemplate", "spec": {
        "provider": {"type": "prometheus", "address": "http://p", "headers": {"X-Scope-OrgID": ["a"]}}, "query": "q"}});
    let asked = template(&flagger).unwrap();
    assert_eq!((asked.address.as_str(), asked.query.as_str()), ("http://p", "q"));
    assert_eq!(asked.headers["X-Scope-OrgID"], "a");
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"address": "http://p"}});
    assert_eq!(template(&map).unwrap_err(), "data.query is missing");
    for (field, value, expected) in [
        ("type", json!("datadog"), "only prometheus can"),
        ("secretRef", json!({"name": "s"}), "credentials are not sent"),
        ("insecureSkipVerify", json!(true), "always checked"),
    ] {
        let mut wrong = flagger.clone();
        wrong["spec"]["provider"][field] = value;
        assert!(template(&wrong).unwrap_err().contains(expected));
    }
}

#[test]
fn what_is_wrong_with_a_metric_is_told_at_its_field() {
    let paths = |metric: Json| {
        let mut found = Vec::new();
        check(&json!([metric]), "canaryMetric", &mut found);
        found.into_iter().map(|finding| finding.path.replace("canaryMetric[0].", "")).collect::<Vec<_>>()
    };
    let good = serde_json::to_value(&plan(json!({})).canary_metric[0]).unwrap();
    assert_eq!(paths(good.clone()), Vec::<String>::new());
    let case = |patch: Json, expected: &[&str]| {
        let mut metric = good.clone();
        json_patch::merge(&mut metric, &patch);
        assert_eq!(paths(metric), expected, "{patch}");
    };
    case(json!({"name": null}), &["name"]);
    case(json!({"interval": "often"}), &["interval"]);
    case(json!({"interval": "1ms"}), &["interval"]);
    case(json!({"count": 0, "failureLimit": -1}), &["count", "failureLimit"]);
    case(json!({"onFailure": "Explode"}), &["onFailure"]);
    case(json!({"metricsRange": null}), &["metricsRange"]);
    case(json!({"metricsRange": {"min": "a", "max": true}}), &["metricsRange.min", "metricsRange.max"]);
    case(json!({"metricsRange": {"min": "6%"}}), &["metricsRange.min"]);
    case(json!({"provider": null, "query": null}), &["templateRef"]);
    case(
        json!({"provider": {"type": "datadog", "address": "nowhere"}}),
        &["provider.type", "provider.address"],
    );
    case(json!({"provider": {"address": null}, "query": ""}), &["provider.address", "query"]);
    case(json!({"query": "{{ service }}"}), &["query"]);
    let template = json!({"apiVersion": "v1", "kind": "Secret", "name": ""});
    case(json!({"templateRef": template}), &["templateRef.kind", "templateRef.name", "provider"]);
    let mut found = Vec::new();
    check(&json!({}), "canaryMetric", &mut found);
    check(&json!(vec![good; 21]), "canaryMetric", &mut found);
    assert_eq!(found.len(), 2, "{found:?}");
}
