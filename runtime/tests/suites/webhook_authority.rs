//! Certificates that we issue ourselves: one Secret for all replicas, and whom API servers are told to trust.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use vela_runtime::fault::{Faults, Injection};
use vela_runtime::metrics::Metrics;
use vela_runtime::webhook::{
    CaBundles, CertificateSecret, CertificateSource, Config, Handler, Limits, Reply, Running, Server,
};

use super::cluster::recorded;
use super::tls::{NAME, connect, review};

struct Yes;

impl Handler for Yes {
    fn answer<'a>(&'a self, _: &'a str, _: &'a [u8]) -> BoxFuture<'a, Reply> {
        Box::pin(async { Reply { status: 200, body: json!({}) } })
    }
}

fn config(client: &kube::Client) -> Config {
    let names = vec![NAME.to_owned(), "127.0.0.1".to_owned()];
    Config {
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        certificates: CertificateSource::Secret(CertificateSecret {
            look_every: Duration::from_millis(20),
            ..CertificateSecret::new(client.clone(), "default", "hook", "tester", names)
        }),
        bundles: Some(CaBundles {
            client: client.clone(),
            selector: "hooks=ours".to_owned(),
            manager: "tester".to_owned(),
        }),
        limits: Limits::default(),
    }
}

async fn start(client: &kube::Client) -> Result<Running, String> {
    let server = Server::new(config(client), Arc::new(Yes));
    server.start(&Metrics::default()).await.map_err(|error| error.to_string())
}

fn secrets(client: &kube::Client) -> Api<Secret> {
    Api::namespaced(client.clone(), "default")
}

async fn authorities(client: &kube::Client) -> Option<String> {
    let secret = secrets(client).get_opt("hook").await.unwrap()?;
    Some(String::from_utf8(secret.data?.get("ca.crt")?.0.clone()).unwrap())
}

async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let end = tokio::time::Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(tokio::time::Instant::now() < end, "never: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn trusted(running: &Running, authorities: &str) {
    let mut stream = connect(running.address(), authorities, "http/1.1").await.unwrap();
    assert_eq!(review(&mut stream, "/", b"{}").await.0, 200);
}

/// Waits until a few rounds of looking have passed, and says what was written in them.
async fn writes(faults: &Faults) -> Vec<String> {
    faults.take();
    let (mut seen, mut rounds) = (Vec::new(), 0);
    until("ten looks", async || {
        for entry in faults.take() {
            rounds += 1;
            if entry.writes() {
                seen.push(format!("{entry:?}"));
            }
        }
        (rounds >= 40).then_some(())
    })
    .await;
    seen
}

#[tokio::test]
async fn replicas_share_a_secret_and_unchanged_costs_no_write() {
    let (client, faults) = recorded();
    let (one, two) = tokio::join!(start(&client), start(&client));
    let (one, two) = (one.unwrap(), two.unwrap());
    let bundle = authorities(&client).await.unwrap();
    trusted(&one, &bundle).await;
    trusted(&two, &bundle).await;
    assert_eq!(writes(&faults).await, Vec::<String>::new());
    // A user deletes it: the served certificate is stored again.
    secrets(&client).delete("hook", &DeleteParams::default()).await.unwrap();
    let again = until("the Secret is back", async || authorities(&client).await).await;
    assert_eq!(again, bundle);
    trusted(&one, &bundle).await;
}

#[tokio::test]
async fn a_broken_secret_is_mended_and_its_foreign_keys_stay() {
    let (client, _faults) = recorded();
    let running = start(&client).await.unwrap();
    let before = authorities(&client).await.unwrap();
    let patch = json!({"stringData": {"tls.key": "nonsense", "ca.crt": "nonsense", "note": "mine"}});
    let params = PatchParams::default();
    secrets(&client).patch("hook", &params, &Patch::Merge(patch)).await.unwrap();
    let bundle = until("an authority", async || {
        authorities(&client).await.filter(|bundle| bundle.contains("BEGIN CERTIFICATE"))
    })
    .await;
    assert_eq!(bundle, before, "what is presented stays trusted");
    trusted(&running, &bundle).await;
    let data = secrets(&client).get("hook").await.unwrap().data.unwrap();
    assert_eq!(data["note"].0, b"mine");
}

#[tokio::test]
async fn a_swapped_secret_is_served_once_its_authority_is_published() {
    let (client, _faults) = recorded();
    let api: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    api.create(&PostParams::default(), &configuration("ours", &json!({"hooks": "ours"}))).await.unwrap();
    let mut slow = config(&client);
    if let CertificateSource::Secret(secret) = &mut slow.certificates {
        // A second look would take longer than this test may.
        secret.look_every = Duration::from_secs(5);
    }
    let one = Server::new(slow, Arc::new(Yes)).start(&Metrics::default()).await.unwrap();
    let elsewhere = recorded().0;
    let _other = start(&elsewhere).await.unwrap();
    let data = secrets(&elsewhere).get("hook").await.unwrap().data;
    let bundle = authorities(&elsewhere).await.unwrap();
    let patch = Patch::Merge(json!({"data": data}));
    secrets(&client).patch("hook", &PatchParams::default(), &patch).await.unwrap();
    let published = async || {
        let webhooks = api.get("ours").await.unwrap().webhooks?;
        (webhooks[0].client_config.ca_bundle.as_ref()?.0 == bundle.as_bytes()).then_some(())
    };
    until("its authority is published", published).await;
    let began = tokio::time::Instant::now();
    until("it is served", async || connect(one.address(), &bundle, "http/1.1").await.ok()).await;
    assert!(began.elapsed() < Duration::from_secs(4), "one look too late: {:?}", began.elapsed());
}

#[tokio::test]
async fn a_secret_of_another_owner_is_left_alone() {
    let (client, _faults) = recorded();
    let theirs = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hook"}, "stringData": {"tls.key": "theirs"},
    });
    let theirs: Secret = serde_json::from_value(theirs).unwrap();
    let made = secrets(&client).create(&PostParams::default(), &theirs).await.unwrap();
    let error = start(&client).await.unwrap_err();
    assert!(
        error.contains("default/hook is not managed by tester") && error.contains("another name"),
        "{error}"
    );
    assert_eq!(
        secrets(&client).get("hook").await.unwrap().metadata.resource_version,
        made.metadata.resource_version
    );
}

#[tokio::test]
async fn an_api_server_that_is_away_is_waited_for() {
    let (client, faults) = recorded();
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = asked.clone();
    faults.inject(move |_| match counted.fetch_add(1, Ordering::SeqCst) {
        0 => Injection::DropRequest,
        _ => Injection::Pass,
    });
    start(&client).await.unwrap();
    assert!(asked.load(Ordering::SeqCst) > 1);
}

fn configuration(name: &str, labels: &Value) -> ValidatingWebhookConfiguration {
    let webhook = |name: &str| {
        json!({
            "name": name, "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": {"url": "https://127.0.0.1:1/x"}, "timeoutSeconds": 7,
        })
    };
    serde_json::from_value(json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name, "labels": labels},
        "webhooks": [webhook("one.tests.example"), webhook("two.tests.example")],
    }))
    .unwrap()
}

#[tokio::test]
async fn labelled_configurations_get_the_authorities_each_round() {
    let (client, faults) = recorded();
    let api: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    for (name, labels) in [("ours", json!({"hooks": "ours"})), ("theirs", json!({}))] {
        api.create(&PostParams::default(), &configuration(name, &labels)).await.unwrap();
    }
    let _running = start(&client).await.unwrap();
    let bundle = authorities(&client).await.unwrap();
    let bundles = async || {
        let webhooks = api.get("ours").await.unwrap().webhooks?;
        let right = |bytes: &k8s_openapi::ByteString| bytes.0 == bundle.as_bytes();
        webhooks.iter().all(|one| one.client_config.ca_bundle.as_ref().is_some_and(right)).then_some(webhooks)
    };
    let webhooks = until("both webhooks are told", bundles).await;
    assert_eq!(webhooks.iter().map(|one| one.timeout_seconds).collect::<Vec<_>>(), [Some(7), Some(7)]);
    assert_eq!(writes(&faults).await, Vec::<String>::new());
    let patch =
        json!([{"op": "replace", "path": "/webhooks/1/clientConfig/caBundle", "value": "bm9uc2Vuc2U="}]);
    let patch: Patch<Value> = Patch::Json(serde_json::from_value(patch).unwrap());
    api.patch("ours", &PatchParams::default(), &patch).await.unwrap();
    until("it is told again", bundles).await;
    let theirs = api.get("theirs").await.unwrap().webhooks.unwrap();
    assert!(theirs.iter().all(|one| one.client_config.ca_bundle.is_none()));
}
