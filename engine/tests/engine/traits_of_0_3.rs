//! The built-in traits of 0.3: the object that each makes, and that it knows its workload.

use serde_json::{Value as Json, json};
use vela_engine::render::State;
use vela_engine::{Templates, dry_run, manifest};

use crate::snapshots;

/// The spec of the one object that a trait of a web service makes, whose name is `web-TYPE`.
fn made(type_: &str, properties: &Json) -> Result<Json, String> {
    let application = format!(
        "apiVersion: core.oam.dev/v1beta1\nkind: Application\nmetadata: {{name: shop}}\nspec:\n  components:\n  - {{name: web, type: webservice, properties: {{image: nginx}}, traits: [{{type: {type_}, properties: {properties}}}]}}\n"
    );
    let application = manifest::read("app.yaml", &application).unwrap();
    let rendered = dry_run::render(&application.as_slice()[0], &snapshots::built_in(), &Templates::new());
    let rendered = rendered.map_err(|errors| errors.to_string())?;
    assert!(rendered.warnings().is_empty(), "{}", rendered.warnings());
    let State::Ready(objects) = &rendered.components()[0].state else { unreachable!("it waits for nothing") };
    assert_eq!(objects.len(), 2, "a Deployment and the trait's object");
    assert_eq!(objects[1].object["metadata"]["name"], format!("web-{type_}"));
    Ok(objects[1].object["spec"].clone())
}

fn workload() -> Json {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"})
}

#[test]
fn route_leads_to_the_workload() {
    assert_eq!(
        made("route", &json!({})).unwrap(),
        json!({"host": "", "provider": "nginx", "workloadRef": workload()})
    );
    let rules = json!([{"path": "/a", "rewriteTarget": "/"}, {"path": "/b"}]);
    let properties = json!({"domain": "a.example", "issuer": "own", "provider": "contour", "rules": rules});
    assert_eq!(
        made("route", &properties).unwrap(),
        json!({
            "host": "a.example",
            "tls": {"issuerName": "own"},
            "rules": [{"path": "/a", "rewriteTarget": "/"}, {"path": "/b", "rewriteTarget": ""}],
            "provider": "contour",
            "workloadRef": workload(),
        })
    );
}

#[test]
fn autoscale_has_a_processor_trigger_and_then_a_clock_trigger() {
    let cron = json!({"startAt": "08:00", "duration": "2h", "days": "Monday", "replicas": 3});
    let properties = json!({"min": 1, "max": 4, "cpuPercent": 60, "cron": cron});
    assert_eq!(
        made("autoscale", &properties).unwrap(),
        json!({
            "minReplicas": 1,
            "maxReplicas": 4,
            "triggers": [
                {"type": "cpu", "condition": {"type": "Utilization", "value": "60"}},
                {"type": "cron", "condition": {
                    "startAt": "08:00", "duration": "2h", "days": "Monday", "replicas": "3", "timezone": "UTC",
                }},
            ],
            "workloadRef": workload(),
        })
    );
    let message = made("autoscale", &json!({"min": 1, "max": 4})).unwrap_err();
    assert!(message.contains("give cpuPercent, cron or both"), "{message}");
}

#[test]
fn metrics_asks_where_the_parameters_say() {
    let scrape = |properties: Json| made("metrics", &properties).unwrap()["scrapeService"].clone();
    assert_eq!(
        scrape(json!({})),
        json!({"format": "prometheus", "path": "/metrics", "scheme": "http", "enabled": true, "port": 0})
    );
    let asked = scrape(json!({"path": "/m", "port": 8080, "selector": {"a": "b"}}));
    assert_eq!(
        (&asked["path"], &asked["port"], &asked["selector"]),
        (&json!("/m"), &json!(8080), &json!({"a": "b"}))
    );
    assert_eq!(made("metrics", &json!({})).unwrap()["workloadRef"], workload());
}

#[test]
fn rollout_is_a_canary_of_the_workload() {
    let spec = made("rollout", &json!({"replicas": 5, "stepWeight": 10})).unwrap();
    assert_eq!(spec["targetRef"], workload());
    assert_eq!(
        spec["analysis"],
        json!({"interval": "30s", "stepWeight": 10, "maxWeight": 50, "maxReplicas": 5, "threshold": 10})
    );
    assert_eq!(spec["service"], json!({"port": 80, "targetPort": 8080}));
    // What is meant for the trait that later releases have under this name is no Canary.
    let message = made("rollout", &json!({"targetSize": 5})).unwrap_err();
    assert!(message.contains("targetSize"), "{message}");
}
