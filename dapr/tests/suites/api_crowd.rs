//! Many connected sidecars, a hundred of which read nothing: each of the others gets each event once, in order. Prints how soon, and what
//! a stream costs.

use std::time::{Duration, Instant};

use hyper::client::conn::http2;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tonic::Streaming;
use vela_dapr::protocol::{ResourceEvent, ResourceEventType};

use super::api_bench::{Bench, component, in_namespace, next};

/// Streams on one connection: so many sidecars fit into the files that a process may open.
const STREAMS_EACH: usize = 20;
/// Sidecars that read nothing.
const DEAF: usize = 100;
/// So little that the first event does not fit.
const DEAF_WINDOW_BYTES: u32 = 1;
const CHANGES: usize = 5;

/// What the process has in memory, in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

async fn deaf(bench: &Bench) -> Vec<Streaming<ResourceEvent>> {
    let mut streams = Vec::new();
    for _ in 0..DEAF {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.initial_stream_window_size(DEAF_WINDOW_BYTES);
        let tls = bench.authority.sidecar("h1", "deaf");
        let mut sidecar = bench.connect_with(Some(tls), builder).await.unwrap();
        streams.push(sidecar.component_update(in_namespace("h1")).await.unwrap().into_inner());
    }
    streams
}

async fn crowd(bench: &Bench, sidecars: usize) -> Vec<Streaming<ResourceEvent>> {
    let mut streams = Vec::with_capacity(sidecars);
    while streams.len() < sidecars {
        let mut sidecar = bench.sidecar("h1", "app").await;
        for _ in 0..STREAMS_EACH.min(sidecars - streams.len()) {
            streams.push(sidecar.component_update(in_namespace("h1")).await.unwrap().into_inner());
        }
    }
    streams
}

/// The next event of each stream, which all have to be this one, and how long after the change each came.
async fn each_gets(
    streams: Vec<Streaming<ResourceEvent>>,
    began: Instant,
    expected: (ResourceEventType, Value),
) -> (Vec<Streaming<ResourceEvent>>, Vec<Duration>) {
    let waiting: Vec<_> = streams
        .into_iter()
        .map(|mut stream| {
            let expected = expected.clone();
            tokio::spawn(async move {
                let (happened, object) = next("an event", &mut stream).await;
                let time = began.elapsed();
                assert_eq!((happened, &object["spec"]["version"]), (expected.0, &expected.1));
                (stream, time)
            })
        })
        .collect();
    let mut got = (Vec::new(), Vec::new());
    for one in waiting {
        let (stream, time) = one.await.unwrap();
        got.0.push(stream);
        got.1.push(time);
    }
    got
}

/// Each event is awaited by all before the next change, so that none may be left out; one that came twice would be taken for the next.
async fn crowd_of(sidecars: usize) {
    let bench = Bench::new();
    let unread = deaf(&bench).await;
    let before = resident();
    let mut streams = crowd(&bench, sidecars).await;
    let each = resident().saturating_sub(before) as f64 / sidecars as f64;
    let object = component("h1", "w", &json!({"name": "a", "value": "0"}));
    let began = Instant::now();
    bench.create(&object);
    (streams, _) = each_gets(streams, began, (ResourceEventType::Created, json!("v1"))).await;
    let mut times = Vec::new();
    for number in 1..=CHANGES {
        let version = json!(format!("change-{number}"));
        let began = Instant::now();
        bench.change(&object, &json!({"spec": {"version": version}}));
        let (open, took) = each_gets(streams, began, (ResourceEventType::Updated, version)).await;
        streams = open;
        times.extend(took);
    }
    let last = json!(format!("change-{CHANGES}"));
    let began = Instant::now();
    bench.delete(&object);
    (streams, _) = each_gets(streams, began, (ResourceEventType::Deleted, last)).await;
    assert_eq!((streams.len(), times.len(), unread.len()), (sidecars, sidecars * CHANGES, DEAF));
    times.sort();
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
    println!(
        "{sidecars} sidecars, and {DEAF} that read nothing: p50 {:?}, p99 {:?} of {} events; {each:.1} KiB for each stream, both ends",
        at(50),
        at(99),
        times.len()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn each_sidecar_gets_each_event_once_beside_deaf_ones() {
    crowd_of(100).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "prints figures: cargo test -p vela-dapr -- --ignored --nocapture figures"]
async fn figures_of_a_changed_component() {
    for sidecars in [1, 100, 5000] {
        crowd_of(sidecars).await;
    }
}
