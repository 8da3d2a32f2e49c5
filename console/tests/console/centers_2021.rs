//! Capability centers by the REST API of early 2021: what is listed, and what the commands are asked for.

use std::sync::atomic::Ordering;

use http::Method;
use serde_json::{Value, json};

use crate::write_2021::{done, sent, writing};

const CENTERS: &str = "/api/capability-centers";

#[tokio::test]
async fn centers_are_kept_by_the_commands() {
    let (cluster, noted) = writing().await;
    let listed = json!({"code": 200, "data": [{"name": "team", "url": "https://team.example"}]});
    assert_eq!(cluster.json(&format!("{CENTERS}/")).await, (200, listed));
    let new = json!({"name": "ours", "address": "/types", "token": "t"});
    let (status, said) = sent(&cluster, Method::PUT, CENTERS, &new).await;
    let words = "Successfully configured capability center and synchronized from remote\n2 of 2";
    assert_eq!((status, &said["data"]), (200, &json!(words)));
    let team = |rest: &str| format!("{CENTERS}/team{rest}");
    let put = async |path: &str| sent(&cluster, Method::PUT, path, &Value::Null).await;
    assert_eq!(put(&team("/capabilities/")).await, done("sync finished\n2 of 2"));
    assert_eq!(put(&team("/capabilities/queue")).await, done("installed"));
    let delete = async |path: &str| sent(&cluster, Method::DELETE, path, &Value::Null).await;
    assert_eq!(delete("/api/capabilities/queue").await, done("queue removed successfully"));
    assert_eq!(delete(&team("")).await, done("forgotten"));
    let expected = [
        "configure ours /types Some(\"t\")",
        "sync team",
        "install team/queue",
        "uninstall queue",
        "remove team",
    ];
    assert_eq!(noted.asked(), expected);
    for (status, said) in
        [delete(&format!("{CENTERS}/absent")).await, put(&format!("{CENTERS}/absent/capabilities")).await]
    {
        assert_eq!((status, &said["code"]), (404, &json!(404)), "{said}");
    }
    for (body, status, words) in [
        (json!({"name": "../a", "address": "/types"}), 422, "name: \"../a\""),
        (json!({"name": "a"}), 400, "missing field `address`"),
        (json!({"name": "a", "address": "/types", "x": 1}), 400, "unknown field `x`"),
    ] {
        let (found, said) = sent(&cluster, Method::PUT, CENTERS, &body).await;
        assert!(found == status && said["data"].as_str().unwrap().contains(words), "{body}: {found} {said}");
    }
    assert_eq!(noted.asked(), [""; 0]);
}

#[tokio::test]
async fn capabilities_are_installed_or_offered() {
    let (cluster, _) = writing().await;
    let (_, listed) = cluster.json("/api/capabilities").await;
    let of = |name: &str| {
        let mut all = listed["data"].as_array().unwrap().iter();
        all.find(|one| one["name"] == name).unwrap_or_else(|| panic!("{name}: {listed}")).clone()
    };
    let queue = json!({"name": "queue", "type": "trait", "description": "queues", "center": "team",
        "status": "uninstalled"});
    assert_eq!(of("queue"), queue);
    assert_eq!((&of("plain")["status"], of("plain").get("center")), (&json!("installed"), None));
}

#[tokio::test]
async fn a_shared_machine_has_no_center_that_is_missing() {
    let (cluster, noted) = writing().await;
    noted.is_shared.store(true, Ordering::SeqCst);
    let path = format!("{CENTERS}/absent/capabilities/queue");
    // The program says why it is refused, not that it is not there.
    assert_eq!(sent(&cluster, Method::PUT, &path, &Value::Null).await, done("installed"));
}
