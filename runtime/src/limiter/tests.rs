//! The limiter against servers that slow down, refuse and come back, in virtual time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::join_all;
use http::{Method, StatusCode, header};
use tokio::time::{Instant, sleep, timeout};

use super::gate::{Gate, Urgency};
use super::window::{Signal, Window};
use super::*;

const MOMENT: Duration = Duration::from_millis(1);

fn limits(gate: &Arc<Gate>) -> (usize, usize, usize) {
    let Figures { in_flight, waiting, limit } = gate.figures();
    (in_flight, waiting, limit)
}

/// An answer to a request of a window that was used up, one round after the last one.
fn round(window: &mut Window, signal: Signal, at: &mut Instant) {
    let sent = *at + MOMENT;
    *at = sent + MOMENT;
    window.answered(signal, sent, *at, true);
}

#[test]
fn a_window_grows_with_quick_answers_and_never_beyond_its_bound() {
    let (mut window, mut at) = (Window::new(40), Instant::now());
    let start = window.limit();
    round(&mut window, Signal::Answered(MOMENT), &mut at);
    assert_eq!(window.limit(), start + 1, "one more for each answer until the first refusal");
    for _ in 0..100 {
        round(&mut window, Signal::Answered(MOMENT), &mut at);
    }
    assert_eq!(window.limit(), 40);
    round(&mut window, Signal::Refused(None), &mut at);
    assert_eq!(window.limit(), 20);
    for _ in 0..20 {
        round(&mut window, Signal::Answered(MOMENT), &mut at);
    }
    assert!((20..=21).contains(&window.limit()), "one more for each round: {}", window.limit());
    assert_eq!(Window::new(0).limit(), 1);
}

#[test]
fn a_window_that_is_not_used_up_does_not_grow() {
    let (mut window, now) = (Window::new(40), Instant::now());
    let start = window.limit();
    for _ in 0..100 {
        window.answered(Signal::Answered(MOMENT), now, now, false);
    }
    assert_eq!(window.limit(), start);
}

#[test]
fn all_refusals_of_one_round_count_once() {
    let (mut window, start) = (Window::new(64), Instant::now());
    for at in 1..=16 {
        window.answered(Signal::Refused(None), start, start + MOMENT * at, true);
    }
    assert_eq!(window.limit(), 8);
    for round in 1..=10 {
        let sent = start + Duration::from_secs(round);
        window.answered(Signal::Refused(None), sent, sent + MOMENT, true);
    }
    assert_eq!(window.limit(), 1, "one request always finds out how the server is");
}

#[test]
fn slowness_and_failures_alone_leave_some() {
    for signal in [Signal::Failed, Signal::Answered(Duration::from_secs(1))] {
        let (mut window, mut at) = (Window::new(64), Instant::now());
        round(&mut window, Signal::Answered(MOMENT), &mut at);
        for _ in 0..12 {
            round(&mut window, signal, &mut at);
        }
        assert_eq!(window.limit(), 8, "{signal:?}");
    }
}

#[test]
fn a_server_that_has_become_slower_for_good_is_asked_more_again() {
    let (mut window, mut at) = (Window::new(64), Instant::now());
    round(&mut window, Signal::Answered(MOMENT), &mut at);
    for _ in 0..400 {
        round(&mut window, Signal::Answered(Duration::from_millis(400)), &mut at);
    }
    assert!(window.limit() > 16, "{}", window.limit());
}

#[test]
fn a_server_that_is_far_away_is_not_a_slow_one() {
    let (mut window, mut at) = (Window::new(64), Instant::now());
    for _ in 0..100 {
        round(&mut window, Signal::Answered(Duration::from_millis(400)), &mut at);
    }
    assert_eq!(window.limit(), 64);
}

#[tokio::test(start_paused = true)]
async fn places_go_to_who_waits_longest_and_events_wait_for_the_rest() {
    let gate = Gate::new(1);
    let first = gate.enter(Urgency::Normal).await;
    let order = Arc::new(Mutex::new(Vec::new()));
    let waiting = [("event", Urgency::Low), ("a", Urgency::Normal), ("b", Urgency::Normal)];
    let waiting = waiting.map(|(name, urgency)| {
        let (gate, order) = (gate.clone(), order.clone());
        tokio::spawn(async move {
            let permit = gate.enter(urgency).await;
            order.lock().unwrap().push(name);
            sleep(MOMENT).await;
            permit.answered(Signal::Fine);
        })
    });
    sleep(MOMENT).await;
    assert_eq!(limits(&gate), (1, 3, 1));
    first.answered(Signal::Fine);
    join_all(waiting).await;
    assert_eq!(*order.lock().unwrap(), ["a", "b", "event"]);
    assert_eq!(limits(&gate), (0, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn events_do_not_wait_for_ever() {
    let gate = Gate::new(1);
    let first = gate.enter(Urgency::Normal).await;
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut waiting = Vec::new();
    for (name, urgency) in [("event", Urgency::Low)].into_iter().chain([("write", Urgency::Normal); 20]) {
        let (gate, order) = (gate.clone(), order.clone());
        waiting.push(tokio::spawn(async move {
            let permit = gate.enter(urgency).await;
            order.lock().unwrap().push(name);
            permit.answered(Signal::Fine);
        }));
    }
    sleep(MOMENT).await;
    first.answered(Signal::Fine);
    join_all(waiting).await;
    let turn = order.lock().unwrap().iter().position(|name| *name == "event");
    assert!(turn.is_some_and(|turn| turn < 8), "{turn:?}");
}

#[tokio::test(start_paused = true)]
async fn who_gives_up_leaves_no_place_taken() {
    let gate = Gate::new(1);
    let first = gate.enter(Urgency::Normal).await;
    assert!(timeout(MOMENT, gate.enter(Urgency::Normal)).await.is_err());
    drop(first);
    let second = timeout(MOMENT, gate.enter(Urgency::Normal)).await.unwrap();
    // One that is dropped without an answer, as by a reconcile that is cut off, gives its place back too.
    drop(second);
    assert_eq!(limits(&gate), (0, 0, 1));
}

/// A server that works on so many requests at a time, each for so long; the others wait in it.
#[derive(Clone)]
struct Server {
    capacity: usize,
    work: Duration,
    in_flight: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Server {
    fn new(capacity: usize, work: Duration) -> Self {
        Self { capacity, work, in_flight: Arc::default(), most: Arc::default() }
    }

    fn client(&self) -> kube::Client {
        let server = self.clone();
        let service = tower::service_fn(move |_: Request<Body>| {
            let server = server.clone();
            async move {
                let in_flight = server.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
                server.most.fetch_max(in_flight, Ordering::SeqCst);
                let rounds = in_flight.div_ceil(server.capacity);
                sleep(server.work * u32::try_from(rounds).unwrap()).await;
                server.in_flight.fetch_sub(1, Ordering::SeqCst);
                Ok::<_, std::convert::Infallible>(Response::new(Body::empty()))
            }
        });
        kube::Client::new(service, "default")
    }
}

fn get(uri: &str) -> Request<Body> {
    Request::get(uri).body(Body::empty()).unwrap()
}

const POD: &str = "/api/v1/namespaces/a/pods/b";

/// So many clients ask one after the other, for that long.
async fn ask(client: &kube::Client, clients: usize, lasts: Duration) {
    let end = Instant::now() + lasts;
    join_all((0..clients).map(|_| async {
        while Instant::now() < end {
            client.send(get(POD)).await.unwrap();
        }
    }))
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_server_gets_as_many_requests_as_it_bears() {
    let (strong, weak) = (Server::new(1000, MOMENT * 5), Server::new(2, MOMENT * 5));
    let mut limits = Vec::new();
    for (server, lasts) in [(&strong, MOMENT * 300), (&weak, MOMENT * 5000)] {
        let limiter = RequestLimiter::new(64);
        ask(&limiter.client(&server.client()), 200, lasts).await;
        assert!(server.most.load(Ordering::SeqCst) <= 64, "never more than the bound");
        assert_eq!(limiter.figures().in_flight, 0);
        limits.push(limiter.figures().limit);
    }
    assert_eq!(limits[0], 64);
    assert!((8..48).contains(&limits[1]), "{limits:?}");
}

/// A server that refuses for a while, counts, and names the priority level of each resource.
fn refusing(until: Instant, seconds: &'static str, sent: Arc<Mutex<Vec<(String, Instant)>>>) -> kube::Client {
    let service = tower::service_fn(move |request: Request<Body>| {
        let path = request.uri().path().to_owned();
        let is_other = path.contains("configmaps");
        sent.lock().unwrap().push((path, Instant::now()));
        let refused = !is_other && Instant::now() < until;
        let status = if refused { StatusCode::TOO_MANY_REQUESTS } else { StatusCode::OK };
        let answer = Response::builder()
            .status(status)
            .header("X-Kubernetes-PF-PriorityLevel-UID", if is_other { "other" } else { "first" });
        let answer = if refused { answer.header(header::RETRY_AFTER, seconds) } else { answer };
        std::future::ready(Ok::<_, std::convert::Infallible>(answer.body(Body::empty()).unwrap()))
    });
    kube::Client::new(service, "default")
}

#[tokio::test(start_paused = true)]
async fn a_request_is_sent_again_after_the_time_the_server_asks_for() {
    let (limiter, sent, start) = (RequestLimiter::new(64), Arc::<Mutex<Vec<_>>>::default(), Instant::now());
    let client = limiter.client(&refusing(start + MOMENT, "2", sent.clone()));
    let first = tokio::spawn({
        let client = client.clone();
        async move { client.send(get(POD)).await.unwrap().status() }
    });
    sleep(MOMENT * 10).await;
    // One that comes while the server is left alone waits as well.
    assert_eq!(client.send(get("/api/v1/namespaces/a/pods/c")).await.unwrap().status(), StatusCode::OK);
    assert_eq!(first.await.unwrap(), StatusCode::OK);
    let sent: Vec<Duration> = sent.lock().unwrap().iter().map(|(_, at)| *at - start).collect();
    assert_eq!(sent.len(), 3, "{sent:?}");
    assert!(sent[1..].iter().all(|at| *at >= Duration::from_secs(2)), "{sent:?}");
    assert_eq!(limiter.figures().limit, 8);
}

#[tokio::test(start_paused = true)]
async fn a_level_that_refuses_holds_up_no_other() {
    let (limiter, sent) = (RequestLimiter::new(64), Arc::<Mutex<Vec<_>>>::default());
    let client = limiter.client(&refusing(Instant::now(), "5", sent));
    let map = "/api/v1/namespaces/a/configmaps/b";
    for uri in [POD, map] {
        client.send(get(uri)).await.unwrap();
    }
    let [pods, maps, unknown] = [POD, map, "/version"].map(|uri| gate_of(&limiter, uri));
    assert!(!Arc::ptr_eq(&pods, &maps), "each level has its own");
    assert!(Arc::ptr_eq(&pods, &unknown), "the first one has what is unknown too");
    pods.enter(Urgency::Normal).await.answered(Signal::Refused(Some(Duration::from_secs(5))));
    let asked = Instant::now();
    client.send(get(map)).await.unwrap();
    assert!(asked.elapsed() < MOMENT * 10, "{:?}", asked.elapsed());
    client.send(get(POD)).await.unwrap();
    assert!(asked.elapsed() >= Duration::from_secs(5), "{:?}", asked.elapsed());
}

fn gate_of(limiter: &RequestLimiter, uri: &str) -> Arc<Gate> {
    limiter.levels.gate(&Class::of(&get(uri)).unwrap().kind)
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_renewed_while_everything_else_waits() {
    let limiter = RequestLimiter::new(1);
    let server = Server::new(1, MOMENT);
    let client = limiter.client(&server.client());
    let _place = gate_of(&limiter, POD).enter(Urgency::Normal).await;
    assert!(timeout(Duration::from_secs(60), client.send(get(POD))).await.is_err());
    let lease = "/apis/coordination.k8s.io/v1/namespaces/a/leases/b";
    let mut renew = get(lease);
    *renew.method_mut() = Method::PUT;
    timeout(Duration::from_secs(1), client.send(renew)).await.unwrap().unwrap();
}
