//! Deployments while others write: a status of the controller is no change, what people write is one, and what the API server
//! refuses is told in its words.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Method, Request, Response};
use http_body_util::Full;
use kube::Client;
use serde_json::{Value, json};
use tower::ServiceExt as _;
use vela_apiserver::ApiService;

use crate::cluster::{Cluster, FORM, boxed};
use crate::deploy::{FORM_TYPE, SITE, TOKEN, YAML, encoded, planned, stored, that_changes, writing};
use crate::plan::manifest;

const API: &str = "core.oam.dev/v1beta1";

/// With an application that was deployed with the image `nginx:1`.
async fn deployed() -> Cluster {
    let cluster = writing().await;
    let (status, said) = cluster.sent(Method::PUT, SITE, &[YAML, TOKEN], &manifest("nginx:1")).await;
    assert_eq!(status, 200, "{said}");
    cluster
}

/// Deploys what was planned.
async fn put(cluster: &Cluster, changes: &Value, text: &str) -> (u16, String) {
    let of = |name: &str| changes[name].as_str().unwrap().to_owned();
    let path = format!("{SITE}?resourceVersion={}&contentHash={}", of("resourceVersion"), of("contentHash"));
    cluster.sent(Method::PUT, &path, &[YAML, TOKEN], text).await
}

async fn status_is(cluster: &Cluster, phase: &str) {
    cluster.status(API, "Application", "site", json!({"status": phase})).await;
}

async fn image(cluster: &Cluster) -> Value {
    stored(cluster).await["spec"]["components"][0]["properties"]["image"].clone()
}

#[tokio::test]
async fn a_status_in_between_is_no_change() {
    let cluster = deployed().await;
    let changes = planned(&cluster, &manifest("nginx:2")).await;
    status_is(&cluster, "rendering").await;
    let old = json!({"resourceVersion": changes["resourceVersion"], "contentHash": ""});
    let (status, said) = put(&cluster, &old, &manifest("nginx:2")).await;
    assert!(
        status == 409 && said.contains("changed since the plan"),
        "by the version alone: {status} {said}"
    );
    let (status, said) = put(&cluster, &changes, &manifest("nginx:2")).await;
    assert_eq!(status, 200, "{said}");
    let now = stored(&cluster).await;
    assert_eq!(
        (&now["status"]["status"], image(&cluster).await),
        (&json!("rendering"), json!("nginx:2")),
        "{now}"
    );
    // The same holds for a page.
    let form = format!("token={FORM}&namespace=default&manifest={}", encoded(&manifest("nginx:3")));
    let (_, page) = cluster.post("/dry-run", &[FORM_TYPE], &form).await;
    let field = |name: &str| {
        let (_, rest) = page.split_once(&format!("name=\"{name}\" value=\"")).unwrap();
        rest.split('"').next().unwrap().to_owned()
    };
    let form =
        format!("{form}&resourceVersion={}&contentHash={}", field("resourceVersion"), field("contentHash"));
    status_is(&cluster, "running").await;
    let (status, said) = cluster.post("/deploy", &[FORM_TYPE], &form).await;
    assert_eq!((status, image(&cluster).await), (303, json!("nginx:3")), "{said}");
}

#[tokio::test]
async fn what_people_write_in_between_is_a_change() {
    let cluster = deployed().await;
    for (change, what) in [
        (json!({"spec": {"policies": []}}), "spec"),
        (json!({"metadata": {"labels": {"team": "a"}}}), "labels"),
        (json!({"metadata": {"annotations": {"note": "a"}}}), "annotations"),
    ] {
        let changes = planned(&cluster, &manifest("nginx:2")).await;
        status_is(&cluster, "rendering").await;
        cluster.merge(API, "Application", "site", change).await;
        let (status, said) = put(&cluster, &changes, &manifest("nginx:2")).await;
        assert!(status == 409 && said.contains("changed since the plan"), "{what}: {status} {said}");
        assert_eq!(image(&cluster).await, "nginx:1", "{what}");
    }
    let changes = planned(&cluster, &manifest("nginx:2")).await;
    assert_eq!(cluster.sent(Method::DELETE, SITE, &[TOKEN], "").await.0, 200);
    let (status, said) = put(&cluster, &changes, &manifest("nginx:2")).await;
    assert!(status == 409 && said.contains("was deleted since the plan"), "{status} {said}");
    // One of the same content that was made anew is another one.
    assert_eq!(cluster.sent(Method::PUT, SITE, &[YAML, TOKEN], &manifest("nginx:1")).await.0, 200);
    let (status, said) = put(&cluster, &changes, &manifest("nginx:2")).await;
    assert!(status == 409 && said.contains("changed since the plan"), "{status} {said}");
}

/// A client whose writes of applications come after those that `before` makes of their number; it may answer itself.
fn after<F>(
    service: ApiService,
    before: impl Fn(usize) -> F + Send + Sync + 'static,
) -> (Client, Arc<AtomicUsize>)
where
    F: Future<Output = Option<(u16, Value)>> + Send + 'static,
{
    let (before, writes) = (Arc::new(before), Arc::new(AtomicUsize::new(0)));
    let counted = writes.clone();
    let answering = tower::service_fn(move |request: Request<kube::client::Body>| {
        let (service, before, writes) = (service.clone(), before.clone(), counted.clone());
        async move {
            let (method, uri) = (request.method(), request.uri());
            let is_trial = uri.query().is_some_and(|query| query.contains("dryRun"));
            let is_write =
                [Method::PATCH, Method::POST].contains(method) && uri.path().contains("/applications");
            if is_write && !is_trial {
                let number = writes.fetch_add(1, Ordering::SeqCst);
                if let Some((code, body)) = before(number).await {
                    let body = boxed(Full::from(body.to_string()));
                    return Ok::<_, Infallible>(Response::builder().status(code).body(body).unwrap());
                }
            }
            Ok(service.oneshot(request).await?.map(boxed))
        }
    });
    (Client::new(answering, "default"), writes)
}

/// Writes a status that differs each time, as a controller does.
fn by_controller(cluster: &Cluster) -> impl Fn(usize) -> futures::future::BoxFuture<'static, ()> + use<> {
    let client = cluster.client();
    move |number| {
        let request =
            Request::patch("/apis/core.oam.dev/v1beta1/namespaces/default/applications/site/status")
                .header("content-type", "application/merge-patch+json")
                .body(json!({"status": {"status": format!("phase {number}")}}).to_string().into_bytes())
                .unwrap();
        let client = client.clone();
        Box::pin(async move { drop(client.request::<Value>(request).await.unwrap()) })
    }
}

#[tokio::test]
async fn a_status_during_the_write_is_written_over() {
    let mut cluster = deployed().await;
    let of_controller = by_controller(&cluster);
    let before = move |number| {
        let wrote = (number < 3).then(|| of_controller(number));
        async move {
            if let Some(wrote) = wrote {
                wrote.await;
            }
            None
        }
    };
    let (client, writes) = after(cluster.service(), before);
    cluster.serve(client, that_changes()).await;
    let changes = planned(&cluster, &manifest("nginx:2")).await;
    let (status, said) = put(&cluster, &changes, &manifest("nginx:2")).await;
    assert_eq!((status, image(&cluster).await), (200, json!("nginx:2")), "{said}");
    assert_eq!(writes.load(Ordering::SeqCst), 4, "three tries met a newer version");
}

#[tokio::test]
async fn writers_that_never_rest_end_a_deployment() {
    let mut cluster = deployed().await;
    let of_controller = by_controller(&cluster);
    let before = move |number| {
        let wrote = of_controller(number);
        async move {
            wrote.await;
            None
        }
    };
    let (client, writes) = after(cluster.service(), before);
    cluster.serve(client, that_changes()).await;
    let changes = planned(&cluster, &manifest("nginx:2")).await;
    let (status, said) = put(&cluster, &changes, &manifest("nginx:2")).await;
    assert!(status == 503 && said.contains("changes faster"), "{status} {said}");
    assert_eq!((writes.load(Ordering::SeqCst), image(&cluster).await), (20, json!("nginx:1")));
}

#[tokio::test]
async fn a_refusal_of_admission_is_told_in_its_words() {
    let mut cluster = deployed().await;
    let words = "admission webhook \"policy.example\" denied the request: no image of nginx after six";
    let before = move |_| async move {
        let refusal = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": words, "reason": "Forbidden", "code": 403});
        Some((403, refusal))
    };
    let (client, _) = after(cluster.service(), before);
    cluster.serve(client, that_changes()).await;
    let changes = planned(&cluster, &manifest("nginx:2")).await;
    let (status, said) = put(&cluster, &changes, &manifest("nginx:2")).await;
    let said: Value = serde_json::from_str(&said).unwrap();
    assert!(status == 403 && said["message"].as_str().unwrap().contains(words), "{status} {said}");
    let fresh = manifest("nginx:1").replace("site", "fresh");
    let path = SITE.replace("site", "fresh");
    let (status, said) = cluster.sent(Method::PUT, &path, &[YAML, TOKEN], &fresh).await;
    assert!(status == 403 && said.contains("after six"), "an application that is new: {status} {said}");
    let form = format!(
        "token={FORM}&namespace=default&manifest={}&resourceVersion={}",
        encoded(&manifest("nginx:2")),
        changes["resourceVersion"].as_str().unwrap()
    );
    let (status, page) = cluster.post("/deploy", &[FORM_TYPE], &form).await;
    let is_told =
        page.contains("policy.example") && page.contains("after six") && page.contains("image: nginx:2");
    assert!(status == 403 && is_told, "{status} {page}");
    assert_eq!(image(&cluster).await, "nginx:1");
}
