//! Annotations as users write them, good and bad, and the Service each asks for.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::annotations::{self, Sidecar};
use crate::service;

fn read(pairs: &[(&str, &str)]) -> Result<Option<Sidecar>, Vec<annotations::AnnotationError>> {
    let map: BTreeMap<String, String> =
        pairs.iter().map(|(k, v)| (format!("dapr.io/{k}"), (*v).to_owned())).collect();
    annotations::read(&map)
}

#[test]
fn dapr_is_off_unless_a_word_for_yes_switches_it_on() {
    assert_eq!(read(&[("app-id", "a")]), Ok(None));
    assert_eq!(read(&[("enabled", "no"), ("app-id", "a")]), Ok(None));
    for yes in ["true", "Yes", "ON", "1", " y "] {
        let sidecar = read(&[("enabled", yes), ("app-id", "a")]).unwrap().unwrap();
        assert_eq!(sidecar, Sidecar { app_id: "a".into(), metrics_port: Some(9090) });
    }
    let quiet = read(&[("enabled", "on"), ("app-id", "a"), ("enable-metrics", "false")]).unwrap().unwrap();
    assert_eq!(quiet.metrics_port, None);
}

#[test]
fn every_mistake_is_named_with_its_annotation() {
    let mistakes = read(&[("enabled", "true"), ("app-id", "Bad_Id"), ("metrics-port", "70000")]).unwrap_err();
    let said: Vec<&str> = mistakes.iter().map(|m| m.annotation).collect();
    assert_eq!(said, [annotations::APP_ID, annotations::METRICS_PORT]);
    assert_eq!(read(&[("enabled", "true"), ("app-id", "a"), ("metrics-port", "80")]).unwrap_err().len(), 1);
    assert_eq!(read(&[("enabled", "true"), ("app-id", &"a".repeat(59))]).unwrap_err().len(), 1);
    assert!(read(&[("enabled", "true"), ("app-id", &"a".repeat(58))]).is_ok());
}

fn deployment(selector: Value) -> Value {
    json!({"metadata": {"name": "d", "namespace": "n", "uid": "u"}, "spec": {"selector": selector}})
}

#[test]
fn the_service_is_headless_and_belongs_to_the_workload() {
    let sidecar = Sidecar { app_id: "shop".into(), metrics_port: Some(9091) };
    let made = service::service(&deployment(json!({"matchLabels": {"app": "x"}})), &sidecar).unwrap();
    assert_eq!(made["metadata"]["name"], "shop-dapr");
    assert_eq!(made["metadata"]["ownerReferences"][0]["uid"], "u");
    assert_eq!(made["spec"]["clusterIP"], "None");
    assert_eq!(made["spec"]["selector"], json!({"app": "x"}));
    assert_eq!(made["spec"]["ports"].as_array().unwrap().len(), 4);
    assert_eq!(made["metadata"]["annotations"]["prometheus.io/port"], "9091");
    let quiet = Sidecar { metrics_port: None, ..sidecar };
    let made = service::service(&deployment(json!({"matchLabels": {"app": "x"}})), &quiet).unwrap();
    assert_eq!(made["metadata"]["annotations"], json!({"dapr.io/app-id": "shop"}));
}

#[test]
fn a_selector_without_labels_is_refused() {
    let sidecar = Sidecar { app_id: "a".into(), metrics_port: None };
    let message = service::service(&deployment(json!({"matchExpressions": [{}]})), &sidecar).unwrap_err();
    assert!(message.contains("matchLabels"), "{message}");
}
