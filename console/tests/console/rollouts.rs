//! Rollouts of an application: which they are, how far their batches are, and the picture of them.

use std::convert::Infallible;
use std::sync::Arc;

use http::{Method, Request};
use kube::Client;
use serde_json::{Value, json};
use tokio::sync::{Notify, mpsc};
use tower::ServiceExt as _;
use vela_console::{Audit, Options};

use crate::cluster::{Cluster, FORM, application};

const ROLLOUTS: &str = "/api/v1/namespaces/default/applications/shop/rollouts";

fn rollout(name: &str, target: &str, source: Option<&str>) -> Value {
    let batches = json!([{"replicas": 1}, {"replicas": 3}]);
    let mut rollout = json!({
        "apiVersion": "core.oam.dev/v1beta1", "kind": "AppRollout", "metadata": {"name": name, "namespace": "default"},
        "spec": {"targetAppRevisionName": target, "componentList": ["cart"],
            "rolloutPlan": {"targetSize": 4, "batchPartition": 0, "rolloutBatches": batches}},
    });
    if let Some(source) = source {
        rollout["spec"]["sourceAppRevisionName"] = json!(source);
    }
    rollout
}

/// With a rollout that waits behind its first batch, that of another application, and one nothing looked at.
async fn cluster() -> Cluster {
    let cluster = Cluster::with_shop().await;
    cluster.create(rollout("canary", "shop-v2", Some("shop-v1"))).await;
    cluster.create(rollout("other", "shop-front-v2", Some("shop-front-v1"))).await;
    cluster.create(rollout("scale", "shop-v3", None)).await;
    let status = json!({
        "rolloutOriginalSize": 4, "rolloutTargetSize": 4, "rollingState": "rollingInBatches",
        "batchRollingState": "batchReady", "currentBatch": 0, "upgradedReplicas": 1, "upgradedReadyReplicas": 1,
        "lastTargetAppRevision": "shop-v2", "LastSourceAppRevision": "shop-v1", "targetGeneration": "",
    });
    cluster.status("core.oam.dev/v1beta1", "AppRollout", "canary", status).await;
    cluster
}

#[tokio::test]
async fn rollouts_have_their_batches_and_why_they_wait() {
    let cluster = cluster().await;
    let (status, list) = cluster.json(ROLLOUTS).await;
    assert_eq!((status, &list["planned"], &list["truncated"]), (200, &json!(false), &json!(false)), "{list}");
    let items = list["items"].as_array().unwrap();
    let mut names: Vec<&str> = items.iter().map(|one| one["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["canary", "scale"]);
    let canary = items.iter().find(|one| one["name"] == "canary").unwrap();
    for (field, expected) in [
        ("from", json!("shop-v1")),
        ("to", json!("shop-v2")),
        ("phase", json!("rollingInBatches")),
        ("waiting", json!(true)),
        ("ofApplication", json!(false)),
        ("podsBefore", json!(4)),
        ("podsAfter", json!(4)),
        ("replaced", json!(1)),
        (
            "batches",
            json!([{"pods": 1, "ready": 1, "phase": "done", "state": ""}, {"pods": 3, "ready": 0, "phase": "toCome", "state": ""}]),
        ),
    ] {
        assert_eq!(canary[field], expected, "{field}: {canary}");
    }
    assert!(canary["reason"].as_str().unwrap().contains("vela rollout promote canary"), "{canary}");
    let scale = items.iter().find(|one| one["name"] == "scale").unwrap();
    assert_eq!(
        (&scale["phase"], &scale["doing"]),
        (&json!(""), &json!("no controller has looked at it yet"))
    );
    assert_eq!(cluster.json(&ROLLOUTS.replace("shop", "absent")).await.0, 404);
}

#[tokio::test]
async fn the_page_of_rollouts_draws_their_batches() {
    let cluster = cluster().await;
    let (status, page) = cluster.text("/namespaces/default/applications/shop/rollouts").await;
    assert_eq!(status, 200, "{page}");
    for words in [
        "aria-label=\"Batches of canary, 1 of 2 done\"",
        "<rect class=\"done\" x=\"0\" y=\"2\" height=\"28\" width=\"200\"/>",
        "<rect class=\"to-come\" x=\"204\" y=\"2\" height=\"28\" width=\"0\"/>",
        "It waits: batch 1 is done",
        "Its batches are not known yet.",
        "data-watch=\"/api/v1/watch/namespaces/default/applications/shop/rollouts\"",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert!(!page.contains(" style=") && !page.contains("shop-front"), "{page}");
    cluster.create(application("plain")).await;
    cluster
        .until("/api/v1/applications?search=plain", |list| list["items"][0]["metadata"]["name"] == "plain")
        .await;
    let (_, page) = cluster.text("/namespaces/default/applications/plain/rollouts").await;
    assert!(page.contains("no AppRollout names its revisions"), "{page}");
}

#[tokio::test]
async fn a_rollout_of_the_applications_own_plan_is_marked() {
    let cluster = Cluster::new().await;
    let mut planned = application("shop");
    planned["spec"]["rolloutPlan"] = json!({"rolloutBatches": [{"replicas": 1}]});
    let planned = cluster.create(planned).await;
    cluster.until(ROLLOUTS, |list| list["planned"] == true).await;
    let mut own = rollout("shop", "shop-v1", None);
    own["metadata"]["ownerReferences"] = json!([{"apiVersion": "core.oam.dev/v1beta1", "kind": "Application", "name": "shop",
        "uid": planned["metadata"]["uid"], "controller": true}]);
    cluster.create(own).await;
    let (_, list) = cluster.json(ROLLOUTS).await;
    assert_eq!(
        (&list["items"][0]["name"], &list["items"][0]["ofApplication"]),
        (&json!("shop"), &json!(true)),
        "{list}"
    );
}

#[tokio::test]
async fn changes_of_rollouts_come_as_events() {
    let cluster = cluster().await;
    let mut events = cluster.events("/api/v1/watch/namespaces/default/applications/shop/rollouts").await;
    let text = events.until("\"name\":\"canary\"").await;
    assert!(text.contains("event: changed"), "{text}");
    cluster.create(rollout("late", "shop-v4", Some("shop-v2"))).await;
    events.until("\"name\":\"late\"").await;
}

const FORM_TYPE: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");
const TOKEN: (&str, &str) = ("x-csrf-token", FORM);
const PAGE: &str = "/namespaces/default/applications/shop/rollouts";

/// The same in a console that changes, and the audits of what it writes.
async fn that_changes() -> (Cluster, mpsc::Receiver<Audit>) {
    let mut cluster = cluster().await;
    let (audit, audits) = mpsc::channel(64);
    let changes_as = Some("vela-cli".to_owned());
    let options =
        Options { changes_as, cluster: "kind".to_owned(), audit: Some(audit), ..Options::default() };
    cluster.serve(cluster.client(), options).await;
    cluster.until(ROLLOUTS, |list| list["items"].is_array()).await;
    (cluster, audits)
}

async fn plan(cluster: &Cluster) -> Value {
    let spec = cluster.get("core.oam.dev/v1beta1", "AppRollout", "canary").await["spec"].take();
    json!({"plan": spec["rolloutPlan"], "to": spec["targetAppRevisionName"], "from": spec["sourceAppRevisionName"]})
}

#[tokio::test]
async fn a_rollout_is_paused_resumed_promoted_and_undone() {
    let (cluster, mut audits) = that_changes().await;
    let (_, list) = cluster.json(ROLLOUTS).await;
    let canary = list["items"].as_array().unwrap().iter().find(|one| one["name"] == "canary").unwrap();
    assert_eq!(canary["orders"], json!(["pause", "promote", "undo"]), "{canary}");
    for (order, says, field, expected) in [
        ("pause", "is paused", "/plan/paused", json!(true)),
        ("resume", "goes on", "/plan/paused", Value::Null),
        ("promote", "goes on to the end", "/plan/batchPartition", Value::Null),
        ("undo", "goes back from shop-v2 to shop-v1", "/to", json!("shop-v1")),
    ] {
        let (status, said) = cluster.post(&format!("{ROLLOUTS}/canary/{order}"), &[TOKEN], "").await;
        assert!(status == 200 && said.contains(says), "{order}: {status} {said}");
        let plan = plan(&cluster).await;
        assert_eq!(plan.pointer(field).unwrap_or(&Value::Null), &expected, "{order}: {plan}");
        let audit = audits.recv().await.unwrap();
        let expected = format!(
            "audit: user=\"vela-sandbox\" cluster=\"kind\" order={order:?} object=\"AppRollout default/canary\" outcome=\"done\""
        );
        assert_eq!(audit.to_string(), expected);
    }
    assert_eq!(plan(&cluster).await["from"], "shop-v2");
}

#[tokio::test]
async fn a_form_steers_a_rollout_and_leads_back() {
    let (cluster, _audits) = that_changes().await;
    let (_, page) = cluster.text(PAGE).await;
    for words in ["Pause canary", "Promote canary", "Undo canary", "to the end", "name=\"token\""] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let form = format!("token={FORM}&rollout=canary&order=pause&full=true");
    let (status, said) = cluster.post(PAGE, &[FORM_TYPE], &form).await;
    assert!(status == 303 && said.contains(PAGE), "{status} {said}");
    assert_eq!(plan(&cluster).await["plan"]["paused"], true);
    let (_, page) = cluster.text(PAGE).await;
    assert!(page.contains("Resume canary") && !page.contains("Pause canary"), "{page}");
}

#[tokio::test]
async fn an_undone_rollout_of_a_plan_restores_its_application() {
    let (cluster, _audits) = that_changes().await;
    let shop = cluster.get("core.oam.dev/v1beta1", "Application", "shop").await;
    let held = json!({"spec": {"rolloutPlan": {"paused": true, "rolloutBatches": [{"replicas": 1}]}}});
    cluster.merge("core.oam.dev/v1beta1", "Application", "shop", held).await;
    let mut own = rollout("shop", "shop-v2", Some("shop-v1"));
    own["metadata"]["ownerReferences"] = json!([{"apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
        "name": "shop", "uid": shop["metadata"]["uid"], "controller": true}]);
    cluster.create(own).await;
    let (status, said) = cluster.post(&format!("{ROLLOUTS}/shop/undo"), &[TOKEN], "").await;
    assert_eq!(status, 200, "{said}");
    let restored = cluster.get("core.oam.dev/v1beta1", "Application", "shop").await;
    let spec = &restored["spec"];
    assert_eq!(spec["components"][0]["properties"]["image"], "nginx:1", "{restored}");
    assert_eq!(spec["rolloutPlan"], json!({"rolloutBatches": [{"replicas": 1}]}), "{restored}");
}

#[tokio::test]
async fn orders_of_rollouts_that_are_not_allowed_are_refused() {
    let (cluster, mut audits) = that_changes().await;
    let before = plan(&cluster).await;
    let pause = format!("{ROLLOUTS}/canary/pause");
    for (path, headers, body, expected) in [
        (&*pause, vec![], "", 403),
        (&pause, vec![TOKEN, ("origin", "http://evil.example:8080")], "", 403),
        (&pause, vec![TOKEN, ("sec-fetch-site", "cross-site")], "", 403),
        (PAGE, vec![FORM_TYPE], "rollout=canary&order=pause", 403),
        (PAGE, vec![FORM_TYPE], "token=of-forms&rollout=canary&order=pause&other=1", 400),
        (PAGE, vec![FORM_TYPE], "token=of-forms&rollout=..%2Fa&order=pause", 400),
        (PAGE, vec![FORM_TYPE], "token=of-forms&rollout=canary&order=delete", 404),
        (&format!("{ROLLOUTS}/canary/abandon"), vec![TOKEN], "", 404),
        (&format!("{ROLLOUTS}/canary/pause?full=true"), vec![TOKEN], "", 400),
        (&format!("{ROLLOUTS}/other/pause"), vec![TOKEN], "", 404),
        (&format!("{ROLLOUTS}/absent/pause"), vec![TOKEN], "", 404),
        (&format!("{ROLLOUTS}/scale/undo"), vec![TOKEN], "", 409),
        (&format!("{ROLLOUTS}/scale/promote?full=maybe"), vec![TOKEN], "", 400),
    ] {
        let (status, said) = cluster.post(path, &headers, body).await;
        assert_eq!(status, expected, "{path} {body}: {said}");
    }
    assert_eq!(plan(&cluster).await, before);
    let mut outcomes = Vec::new();
    while let Ok(audit) = audits.try_recv() {
        outcomes.push(audit.outcome.split(':').next().unwrap_or_default().to_owned());
    }
    assert_eq!(outcomes, ["400", "404", "404", "400", "404", "404", "409"], "refusals are audited, too");
}

#[tokio::test]
async fn a_console_that_only_reads_steers_no_rollout() {
    let cluster = cluster().await;
    let before = plan(&cluster).await;
    let (status, said) = cluster.post(&format!("{ROLLOUTS}/canary/undo"), &[TOKEN], "").await;
    assert!(status == 403 && said.contains("--allow-changes"), "{status} {said}");
    let (_, page) = cluster.text(PAGE).await;
    assert!(page.contains("--allow-changes") && !page.contains("<form"), "{page}");
    assert_eq!(plan(&cluster).await, before);
}

#[tokio::test]
async fn an_order_that_a_browser_left_is_audited_as_unknown() {
    let mut cluster = cluster().await;
    let (reached, service) = (Arc::new(Notify::new()), cluster.service());
    let asked = reached.clone();
    let hanging = tower::service_fn(move |request: Request<kube::client::Body>| {
        let (service, asked) = (service.clone(), asked.clone());
        async move {
            if request.method() == Method::PATCH {
                asked.notify_one();
                return std::future::pending().await;
            }
            let answer = service.oneshot(request).await?;
            Ok::<_, Infallible>(answer.map(crate::cluster::boxed))
        }
    });
    let (audit, mut audits) = mpsc::channel(1);
    let changes_as = Some("vela-cli".to_owned());
    let options = Options { changes_as, audit: Some(audit), ..Options::default() };
    cluster.serve(Client::new(hanging, "default"), options).await;
    let path = format!("{ROLLOUTS}/canary/pause");
    tokio::select! {
        answer = cluster.post(&path, &[TOKEN], "") => panic!("{answer:?}"),
        () = reached.notified() => {}
    }
    let audit = audits.recv().await.unwrap();
    assert!(audit.outcome.contains("may have carried it out"), "{audit}");
}
