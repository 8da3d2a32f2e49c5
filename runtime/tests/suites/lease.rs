//! One leader at a time, in the words that other implementations read.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tower::Layer as _;
use vela_apiserver::ApiServer;
use vela_runtime::fault::{Faults, Injection};
use vela_runtime::lease::{Config, Elector, LEASE_DURATION, RENEW_DEADLINE, RETRY_PERIOD};

use super::cluster::{client, recorded, until};

fn candidate(client: &kube::Client, identity: &str) -> Elector {
    let config =
        Config { namespace: "default".to_owned(), name: "leader".to_owned(), identity: identity.to_owned() };
    Elector::new(client.clone(), config)
}

fn leases(client: &kube::Client) -> Api<Lease> {
    Api::namespaced(client.clone(), "default")
}

/// The candidate asks in the background; the task ends with the candidate when it leads.
fn waits(mut candidate: Elector, stop: &CancellationToken) -> tokio::task::JoinHandle<(bool, Elector)> {
    let stop = stop.clone();
    tokio::spawn(async move { (candidate.acquire(&stop).await, candidate) })
}

/// A lease as another implementation writes it.
async fn held_by(client: &kube::Client, holder: &str, renewed: &str) {
    let lease: Lease = serde_json::from_value(json!({
        "metadata": {"name": "leader"},
        "spec": {
            "holderIdentity": holder, "leaseDurationSeconds": 15, "leaseTransitions": 6,
            "acquireTime": renewed, "renewTime": renewed,
        },
    }))
    .unwrap();
    leases(client).create(&PostParams::default(), &lease).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_second_leads_at_once_when_the_first_gives_the_lease_back() {
    let client = client();
    let stop = CancellationToken::new();
    let mut first = candidate(&client, "first");
    assert!(first.acquire(&stop).await);
    let lease = leases(&client).get("leader").await.unwrap().spec.unwrap();
    assert_eq!(lease.holder_identity.as_deref(), Some("first"));
    assert_eq!(lease.lease_duration_seconds, Some(15));
    assert_eq!(lease.lease_transitions, Some(0));
    let waiting = waits(candidate(&client, "second"), &stop);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!waiting.is_finished());
    let given = Instant::now();
    first.release().await.unwrap();
    assert!(waiting.await.unwrap().0);
    assert!(given.elapsed() < RETRY_PERIOD / 4, "its watch told it, not its next question");
    let lease = leases(&client).get("leader").await.unwrap().spec.unwrap();
    assert_eq!(lease.holder_identity.as_deref(), Some("second"));
    assert_eq!((lease.lease_transitions, lease.lease_duration_seconds), (Some(1), Some(15)));
}

#[tokio::test(start_paused = true)]
async fn without_a_watch_the_next_question_finds_the_lease_free() {
    let (client, faults) = recorded();
    faults.inject(|entry| if entry.is_watch() { Injection::DropRequest } else { Injection::Pass });
    let stop = CancellationToken::new();
    let mut first = candidate(&client, "first");
    assert!(first.acquire(&stop).await);
    let waiting = waits(candidate(&client, "second"), &stop);
    tokio::time::sleep(Duration::from_secs(5)).await;
    first.release().await.unwrap();
    let given = Instant::now();
    faults.take();
    assert!(waiting.await.unwrap().0);
    assert!(given.elapsed() <= RETRY_PERIOD + Duration::from_millis(500), "{:?}", given.elapsed());
    let watches = faults.take().into_iter().filter(vela_runtime::fault::Entry::is_watch).count();
    assert!(watches <= 1, "a watch that is refused is not asked for again and again: {watches}");
}

#[tokio::test(start_paused = true)]
async fn a_lease_expires_by_the_clock_of_the_waiting_process() {
    // The other host's clock is a year ahead, or years behind: only what changes while we look counts.
    for renewed in ["2099-01-01T00:00:00.000000Z", "2001-01-01T00:00:00.000000Z"] {
        let client = client();
        held_by(&client, "host-a_6c9c1f4e-0000-4000-8000-000000000001", renewed).await;
        let stop = CancellationToken::new();
        let began = Instant::now();
        let mut ours = candidate(&client, "ours");
        assert!(ours.acquire(&stop).await);
        let took = began.elapsed();
        assert!(took >= LEASE_DURATION, "{renewed}: taken from a living leader after {took:?}");
        assert!(took < LEASE_DURATION + Duration::from_secs(1), "{renewed}: {took:?}");
        let lease = leases(&client).get("leader").await.unwrap().spec.unwrap();
        assert_eq!(lease.lease_transitions, Some(7));
    }
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_renews_keeps_the_lease_with_few_requests() {
    let (client, faults) = recorded();
    let (stop, let_go) = (CancellationToken::new(), CancellationToken::new());
    let mut first = candidate(&client, "first");
    assert!(first.acquire(&stop).await);
    let holding = tokio::spawn({
        let let_go = let_go.clone();
        async move { (first.hold(&let_go).await, first) }
    });
    let waiting = waits(candidate(&client, "second"), &stop);
    tokio::time::sleep(Duration::from_secs(10)).await;
    faults.take();
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert!(!holding.is_finished() && !waiting.is_finished());
    let requests = faults.take().len();
    // A write every two seconds of the leader, a read of the other.
    assert!(requests <= 102, "{requests} requests in 100 s");
    let_go.cancel();
    let (lost, first) = holding.await.unwrap();
    assert!(!lost);
    first.release().await.unwrap();
    assert!(waiting.await.unwrap().0);
}

#[tokio::test(start_paused = true)]
async fn a_leader_far_from_its_server_leads_and_stays() {
    let (client, faults) = recorded();
    faults.slow(Duration::from_secs(3), |_| true);
    let (stop, let_go) = (CancellationToken::new(), CancellationToken::new());
    let mut far = candidate(&client, "far");
    assert!(far.acquire(&stop).await);
    faults.take();
    let held = tokio::time::timeout(Duration::from_secs(300), far.hold(&let_go)).await;
    assert!(held.is_err(), "it lost the lease");
    let requests = faults.take();
    assert!(
        requests.iter().all(|entry| entry.method == http::Method::PUT),
        "one request a renewal: {requests:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_leader_without_renewal_steps_down_before_another_begins() {
    let (client, faults) = recorded();
    let (other_client, stop) = (client.clone(), CancellationToken::new());
    let mut first = candidate(&client, "first");
    let mut second = candidate(&other_client, "second");
    assert!(first.acquire(&stop).await);
    let renewed = Instant::now();
    // From here on only the other one gets through: reads pass, renewals do not.
    let cut = Arc::new(AtomicBool::new(true));
    let is_cut = cut.clone();
    faults.inject(move |entry| {
        if entry.writes() && is_cut.load(Ordering::SeqCst) { Injection::DropRequest } else { Injection::Pass }
    });
    let waiting = tokio::spawn(async move { (second.acquire(&stop).await, Instant::now()) });
    assert!(first.hold(&CancellationToken::new()).await, "lost");
    let stepped_down = Instant::now();
    assert!(stepped_down - renewed <= RENEW_DEADLINE);
    cut.store(false, Ordering::SeqCst);
    let (led, began) = waiting.await.unwrap();
    assert!(led && began - renewed >= LEASE_DURATION);
    assert!(began - stepped_down >= Duration::from_secs(4), "{:?}", began - stepped_down);
    assert!(began - renewed <= LEASE_DURATION + Duration::from_secs(3));
}

/// Labels the lease from another thread, while the caller's own does not go on.
fn label(server: &ApiServer, number: usize) {
    let service = server.service();
    let labelled = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let patch: Value = json!({"metadata": {"labels": {"seen": number.to_string()}}});
            let leases = leases(&kube::Client::new(service, "default"));
            leases.patch("leader", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
        });
    });
    labelled.join().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_foreign_label_on_the_lease_is_no_loss() {
    let (faults, server) = (Faults::new(), ApiServer::builder().build().unwrap());
    let client = kube::Client::new(faults.layer(server.service()), "default");
    let (stop, let_go) = (CancellationToken::new(), CancellationToken::new());
    let mut first = candidate(&client, "first");
    assert!(first.acquire(&stop).await);
    // Each of the next two renewals finds the lease changed between its read and its write.
    let times = Arc::new(AtomicUsize::new(0));
    let seen = times.clone();
    faults.inject(move |entry| {
        if entry.method == http::Method::PUT {
            let number = seen.fetch_add(1, Ordering::SeqCst);
            if number < 2 {
                label(&server, number);
            }
        }
        Injection::Pass
    });
    let holding = tokio::spawn({
        let let_go = let_go.clone();
        async move { first.hold(&let_go).await }
    });
    until("the renewals went on", || times.load(Ordering::SeqCst) >= 4).await;
    assert!(!holding.is_finished(), "a conflict does not end a term");
    let_go.cancel();
    assert!(!holding.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_replaced_holder_has_lost_the_lease_at_once() {
    let client = client();
    let stop = CancellationToken::new();
    let mut first = candidate(&client, "first");
    assert!(first.acquire(&stop).await);
    let patch: Value = json!({"spec": {"holderIdentity": "another-process"}});
    leases(&client).patch("leader", &PatchParams::default(), &Patch::Merge(&patch)).await.unwrap();
    let began = Instant::now();
    assert!(first.hold(&stop).await);
    assert!(began.elapsed() <= RETRY_PERIOD + Duration::from_millis(100));
    first.release().await.unwrap();
    let lease = leases(&client).get("leader").await.unwrap().spec.unwrap();
    assert_eq!(lease.holder_identity.as_deref(), Some("another-process"), "only our own is given back");
}

#[tokio::test]
async fn a_candidate_that_is_stopped_does_not_lead() {
    let client = client();
    let stop = CancellationToken::new();
    let mut first = candidate(&client, "first");
    assert!(first.acquire(&stop).await);
    first.release().await.unwrap();
    stop.cancel();
    assert!(!candidate(&client, "second").acquire(&stop).await);
    // A free lease looks as client-go leaves it: without a holder, for a second, with its count of changes.
    let lease = leases(&client).get("leader").await.unwrap().spec.unwrap();
    assert_eq!((lease.holder_identity.as_deref(), lease.lease_duration_seconds), (Some(""), Some(1)));
    assert_eq!(lease.lease_transitions, Some(0));
}
