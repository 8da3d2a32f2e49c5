//! Figures of whole commands beside a server that answers at once: `cargo test --profile dist -p vela-cli --test cli -- figures
//! --ignored --nocapture`.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Person;
use crate::inside::{answers, kubeconfig};
use crate::verbs::{answer, serve};

const APPLICATIONS: usize = 1_000;
const PODS: usize = 50;
const LINES: usize = 20_000;
/// Runs of a command; the fastest is the figure.
const RUNS: usize = 5;

fn json_answer(value: &Value) -> String {
    answer("200 OK\r\ncontent-type: application/json", &value.to_string())
}

fn list(kind: &str, version: &str, items: Vec<Value>) -> String {
    json_answer(
        &json!({"kind": kind, "apiVersion": version, "metadata": {"resourceVersion": "5"}, "items": items}),
    )
}

/// The fastest of some runs of a command, and what the last one wrote.
fn fastest(person: &Person, words: &[&str]) -> (Duration, String) {
    let mut best = (Duration::MAX, String::new());
    for _ in 0..RUNS {
        let begun = Instant::now();
        let said = person.types(words).ok();
        best = (best.0.min(begun.elapsed()), said.out);
    }
    best
}

#[test]
#[ignore = "needs the profile dist: cargo test --profile dist -p vela-cli --test cli -- figures --ignored --nocapture"]
fn figures_of_a_thousand_applications() {
    let application = |number: usize| {
        json!({
            "apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
            "metadata": {"name": format!("shop-{number:04}"), "namespace": "default", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"components": [{"name": "web", "type": "webservice", "properties": {"image": "nginx"}, "traits": [{"type": "scaler"}]}]},
            "status": {"status": "running", "services": [{"name": "web", "healthy": true, "message": "Ready:1/1", "traits": [{"type": "scaler", "healthy": true}]}]},
        })
    };
    let mut all = answers();
    let path = "/apis/core.oam.dev/v1beta1/namespaces/default/applications";
    all.insert(
        0,
        (path, list("ApplicationList", "core.oam.dev/v1beta1", (0..APPLICATIONS).map(application).collect())),
    );
    let configurations = "/apis/core.oam.dev/v1alpha2/namespaces/default/applicationconfigurations";
    all.insert(
        0,
        (configurations, list("ApplicationConfigurationList", "core.oam.dev/v1alpha2", Vec::new())),
    );
    let person = Person::new();
    let file = person.write("kubeconfig", kubeconfig(&serve(all)));
    let (time, out) = fastest(&person, &["--kubeconfig", &file, "ls"]);
    assert_eq!(out.lines().filter(|line| line.starts_with("shop-")).count(), APPLICATIONS, "{}", out.len());
    println!("`vela ls` of {APPLICATIONS} applications: {time:.1?}");
}

#[test]
#[ignore = "needs the profile dist: cargo test --profile dist -p vela-cli --test cli -- figures --ignored --nocapture"]
fn figures_of_the_logs_of_fifty_pods() {
    let pod = |number: usize| {
        json!({
            "metadata": {"name": format!("web-{number}-x"), "namespace": "default", "uid": format!("u{number}"), "labels": {"app": "web"},
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "rs"}]},
            "spec": {"containers": [{"name": "web"}]},
            "status": {"phase": "Running", "containerStatuses": [{"name": "web", "restartCount": 0, "state": {"running": {}}}]},
        })
    };
    let mut all = answers();
    let pods = "/api/v1/namespaces/default/pods";
    all.insert(0, (pods, list("PodList", "v1", (0..PODS).map(pod).collect())));
    for number in 0..PODS {
        let path: &'static str = format!("{pods}/web-{number}-x/log?&container=web&follow=true").leak();
        let lines: String =
            (0..LINES).map(|line| format!("{line:06} GET /index.html 200 from 10.0.0.{number}\n")).collect();
        all.insert(0, (path, answer("200 OK", &lines)));
    }
    let person = Person::new();
    let file = person.write("kubeconfig", kubeconfig(&serve(all)));
    let (time, out) = fastest(&person, &["--kubeconfig", &file, "logs", "shop", "--follow"]);
    assert_eq!(
        out.lines().filter(|line| line.contains("GET /index.html")).count(),
        PODS * LINES,
        "lines are lost"
    );
    let a_second = (PODS * LINES) as f64 / time.as_secs_f64();
    println!("`vela logs --follow` of {PODS} pods: {a_second:.0} lines a second");
}
