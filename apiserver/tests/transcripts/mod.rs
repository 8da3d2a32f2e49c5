//! Requests and what a real Kubernetes API server answered to them: ours must answer the same.
//!
//! Each file of `tests/transcripts/*.json` is a list of steps `{do, type?, accept?, body?, status, answer}`; `do` is a
//! method and a path, in which `$NS` stands for a fresh namespace. A step with `known` (a reason) may differ. To record the answers anew from a real server:
//! `UPDATE=1 E2E_KUBECONFIG=… cargo test -p vela-apiserver --test apiserver transcripts`.

use std::path::{Path, PathBuf};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Map, Value, json};
use vela_apiserver::ApiServer;

/// Values that differ from run to run, wherever they stand.
const VOLATILE: &[&str] =
    &["uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "lastTransitionTime", "time"];

#[tokio::test]
async fn transcripts_of_the_real_server_are_answered_alike() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("the folder of transcripts")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "there are no transcripts");
    let record = std::env::var_os("UPDATE").is_some().then(|| std::env::var("E2E_KUBECONFIG").ok()).flatten();
    let mut differences = Vec::new();
    for file in files {
        let steps: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(&file).expect("readable"))
            .expect("a list of steps");
        match &record {
            Some(kubeconfig) => {
                let answered = run(&real(kubeconfig).await, &file, &steps).await;
                let text = serde_json::to_string_pretty(&answered).expect("JSON");
                std::fs::write(&file, text + "\n").expect("writable");
            }
            None => {
                let server = ApiServer::builder().build().expect("a server in memory");
                let answered = run(&Client::new(server.service(), "default"), &file, &steps).await;
                for (want, got) in steps.iter().zip(&answered) {
                    if want["known"].is_string() {
                        let now = if want == got { "no longer differs" } else { "differs" };
                        println!("known difference, {now}: {}: {}", want["do"], want["known"]);
                    } else if want != got {
                        differences.push(format!(
                            "{}: {}\n  want {} {}\n  got  {} {}",
                            file.file_name().unwrap_or_default().to_string_lossy(),
                            want["do"],
                            want["status"],
                            want["answer"],
                            got["status"],
                            got["answer"]
                        ));
                    }
                }
            }
        }
    }
    assert!(differences.is_empty(), "{} steps differ:\n{}", differences.len(), differences.join("\n"));
}

async fn real(kubeconfig: &str) -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = Kubeconfig::read_from(kubeconfig).expect("a kubeconfig");
    let config =
        Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.expect("a config");
    Client::try_from(config).expect("a client")
}

/// Sends every step and puts the answers in.
async fn run(client: &Client, file: &Path, steps: &[Value]) -> Vec<Value> {
    let topic = file.file_stem().unwrap_or_default().to_string_lossy();
    let namespace = format!("transcript-{topic}-{}", std::process::id());
    let place = |text: &str| text.replace("$NS", &namespace);
    send(
        client,
        "POST",
        "/api/v1/namespaces",
        &json!({}),
        Some(
            json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } })
            .to_string(),
        ),
    )
    .await;
    let mut answered = Vec::new();
    for step in steps {
        let (method, path) =
            step["do"].as_str().and_then(|d| d.split_once(' ')).expect("a method and a path");
        let body = match &step["body"] {
            Value::Null => None,
            Value::String(text) => Some(place(text)),
            other => Some(place(&other.to_string())),
        };
        let (status, text) = send(client, method, &place(path), step, body).await;
        let mut answer: Value = serde_json::from_str(&text).unwrap_or_else(|_| Value::from(text.trim()));
        let wanted = step["only"].as_array().cloned();
        if let Some(pointers) = wanted {
            // Of large answers only some parts are compared.
            let parts: Map<String, Value> = pointers
                .iter()
                .filter_map(Value::as_str)
                .map(|p| (p.to_owned(), answer.pointer(p).cloned().unwrap_or(Value::Null)))
                .collect();
            answer = Value::Object(parts);
        }
        normalise(&mut answer, &namespace);
        let mut step = step.clone();
        step["status"] = status.into();
        step["answer"] = answer;
        answered.push(step);
    }
    send(client, "DELETE", &format!("/api/v1/namespaces/{namespace}"), &json!({}), None).await;
    answered
}

async fn send(
    client: &Client,
    method: &str,
    path: &str,
    step: &Value,
    body: Option<String>,
) -> (u16, String) {
    use http_body_util::BodyExt;
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", step["type"].as_str().unwrap_or("application/json"))
        .header("accept", step["accept"].as_str().unwrap_or("application/json"))
        .header("user-agent", "transcript/1")
        .body(kube::client::Body::from(body.unwrap_or_default().into_bytes()))
        .expect("a request");
    let response = client.send(request).await.expect("an answer");
    let status = response.status().as_u16();
    let bytes = response.into_body().collect().await.expect("a body").to_bytes();
    (status, String::from_utf8_lossy(&bytes).into_owned())
}

fn normalise(value: &mut Value, namespace: &str) {
    match value {
        Value::Object(map) => {
            for (name, inner) in map.iter_mut() {
                if VOLATILE.contains(&name.as_str()) && inner.is_string() {
                    *inner = format!("<{name}>").into();
                } else {
                    normalise(inner, namespace);
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|inner| normalise(inner, namespace)),
        Value::String(text) => *text = text.replace(namespace, "$NS"),
        _ => {}
    }
}
