//! A sidecar that stops reading: others get their events, and it gets the newest state when it reads again.

use hyper::client::conn::http2;
use hyper_util::rt::TokioExecutor;
use serde_json::json;

use super::api_bench::{Bench, component, in_namespace, next};

/// More than any buffer on the way takes.
const CHANGES: usize = 160;
const WINDOW_BYTES: u32 = 64 * 1024;
/// As wide as a number is written at most.
const VALUE_BYTES: usize = 60_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_sidecar_holds_up_no_other() {
    let bench = Bench::new();
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder.initial_stream_window_size(WINDOW_BYTES).initial_connection_window_size(WINDOW_BYTES);
    let tls = bench.authority.sidecar("h1", "slow");
    let mut slow = bench.connect_with(Some(tls), builder).await.unwrap();
    let mut unread = slow.component_update(in_namespace("h1")).await.unwrap().into_inner();
    let mut quick = bench.sidecar("h1", "quick").await;
    let mut read = quick.component_update(in_namespace("h1")).await.unwrap().into_inner();
    let value = |number: usize| json!({"name": "a", "value": format!("{number:0VALUE_BYTES$}")});
    let object = component("h1", "w", &value(0));
    bench.create(&object);
    next("the first", &mut read).await;
    for number in 1..CHANGES {
        bench.change(&object, &json!({"spec": {"metadata": [value(number)]}}));
        // Each change by itself, so that none is left out for the quick one.
        let (_, found) = next("a change", &mut read).await;
        assert_eq!(found["spec"]["metadata"][0], value(number), "change {number}");
    }
    let last = value(CHANGES - 1);
    let mut events = 0;
    loop {
        let (_, found) = next("what was not read", &mut unread).await;
        events += 1;
        if found["spec"]["metadata"][0] == last {
            break;
        }
    }
    assert!(events < CHANGES / 2, "the slow one was sent {events} of {CHANGES} states");
}
