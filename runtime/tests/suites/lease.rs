//! One leader at a time, in the words that other implementations read.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use tokio_util::sync::CancellationToken;
use vela_runtime::lease::{Config, Elector};

use super::cluster::client;

fn candidate(client: &kube::Client, identity: &str) -> Elector {
    let config =
        Config { namespace: "default".to_owned(), name: "leader".to_owned(), identity: identity.to_owned() };
    Elector::new(client.clone(), config)
}

#[tokio::test]
async fn the_second_waits_until_the_first_gives_the_lease_back() {
    let client = client();
    let api: Api<Lease> = Api::namespaced(client.clone(), "default");
    let stop = CancellationToken::new();
    let mut first = candidate(&client, "first");
    assert!(first.acquire(&stop).await);
    let lease = api.get("leader").await.unwrap().spec.unwrap();
    assert_eq!(lease.holder_identity.as_deref(), Some("first"));
    assert_eq!(lease.lease_duration_seconds, Some(15));
    assert_eq!(lease.lease_transitions, Some(0));
    let mut second = candidate(&client, "second");
    let waiting = tokio::spawn({
        let stop = stop.clone();
        async move { second.acquire(&stop).await }
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!waiting.is_finished());
    first.release().await.unwrap();
    let took_over = tokio::time::timeout(Duration::from_secs(10), waiting).await;
    assert!(took_over.unwrap().unwrap());
    let lease = api.get("leader").await.unwrap().spec.unwrap();
    assert_eq!(lease.holder_identity.as_deref(), Some("second"));
    assert_eq!(lease.lease_transitions, Some(1));
}

#[tokio::test]
async fn a_candidate_that_is_stopped_does_not_lead() {
    let client = client();
    let stop = CancellationToken::new();
    assert!(candidate(&client, "first").acquire(&stop).await);
    stop.cancel();
    assert!(!candidate(&client, "second").acquire(&stop).await);
}
