//! Much, and what never comes: large and many Components, connections without an answer, sidecars that read no more.

use std::time::Instant;

use http::Method;
use hyper::client::conn::http2;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use vela_testkit::silent;

use super::api_bench::{Bench, DEADLINE, component, in_namespace, next, within};

/// As much as an API server stores in one object, about.
const MEGABYTE: usize = 1_000_000;
const COMPONENTS: &str = "/apis/dapr.io/v1alpha1/namespaces/h1/components";
/// Components of one namespace.
const MANY: usize = 10_000;
/// What a gRPC client takes unless it says otherwise. Dapr's sidecars never do.
const MESSAGE_AT_MOST: usize = 4 * 1024 * 1024;
/// Sidecars that read no more.
const DEAF: usize = 50;
const WINDOW_BYTES: u32 = 64 * 1024;

fn of_size(name: &str, bytes: usize) -> Value {
    component("h1", name, &json!({"name": "a", "value": "x".repeat(bytes)}))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_of_a_megabyte_reaches_its_sidecars() {
    let bench = Bench::new();
    let mut sidecar = bench.sidecar("h1", "app").await;
    let mut updates = sidecar.component_update(in_namespace("h1")).await.unwrap().into_inner();
    let large = of_size("large", MEGABYTE);
    bench.create(&large);
    let (_, found) = next("the large one", &mut updates).await;
    assert_eq!(found["spec"], large["spec"]);
    bench.create(&of_size("small", 1));
    let (_, found) = next("the small one", &mut updates).await;
    assert_eq!(found["metadata"]["name"], "small");
    let listed = within("a list", sidecar.list_components(in_namespace("h1"))).await.unwrap().into_inner();
    assert_eq!(listed.json.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_components_are_listed_and_followed() {
    let bench = Bench::new();
    for number in 0..MANY {
        bench.send(Method::POST, COMPONENTS, &of_size(&format!("c-{number:05}"), 1));
    }
    let mut sidecar = bench.sidecar("h1", "app").await.max_decoding_message_size(MESSAGE_AT_MOST);
    let mut updates = sidecar.component_update(in_namespace("h1")).await.unwrap().into_inner();
    // The operator may still hear of the last of them.
    let began = Instant::now();
    loop {
        let listed = within("a list", sidecar.list_components(in_namespace("h1"))).await.unwrap();
        if listed.get_ref().json.len() == MANY {
            break;
        }
        assert!(began.elapsed() < DEADLINE, "{} are listed", listed.get_ref().json.len());
    }
    let one = format!("{COMPONENTS}/c-{:05}", MANY / 2);
    bench.send(Method::PATCH, &one, &json!({"spec": {"version": "v2"}}));
    while next("the change", &mut updates).await.1["spec"]["version"] != "v2" {}
}

#[tokio::test(flavor = "multi_thread")]
async fn half_open_connections_hold_up_no_sidecar() {
    silent::many_files().unwrap();
    for over_tls in [false, true] {
        let bench = Bench::with(over_tls, &[]);
        let tls = || over_tls.then(|| bench.authority.sidecar("h1", "app"));
        // The operator listens once this one is answered.
        bench.connect(tls()).await.unwrap().list_components(in_namespace("h1")).await.unwrap();
        let mut held = Vec::new();
        for number in 0..silent::MANY {
            use tokio::io::AsyncWriteExt as _;
            let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", bench.port())).await.unwrap();
            // Nothing, the beginning of HTTP/2, and half a greeting of TLS.
            let beginnings: [&[u8]; 3] =
                [b"", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]];
            stream.write_all(beginnings[number % beginnings.len()]).await.unwrap();
            held.push(stream);
        }
        let mut sidecar = bench.connect(tls()).await.unwrap();
        within("a list", sidecar.list_components(in_namespace("h1"))).await.unwrap();
        assert_eq!(held.len(), silent::MANY);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sidecars_that_read_no_more_hold_up_no_other() {
    let bench = Bench::new();
    let mut deaf = Vec::new();
    for _ in 0..DEAF {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder.initial_stream_window_size(WINDOW_BYTES).initial_connection_window_size(WINDOW_BYTES);
        let tls = bench.authority.sidecar("h1", "deaf");
        let mut sidecar = bench.connect_with(Some(tls), builder).await.unwrap();
        deaf.push(sidecar.component_update(in_namespace("h1")).await.unwrap().into_inner());
    }
    let mut quick = bench.sidecar("h1", "quick").await;
    let mut read = quick.component_update(in_namespace("h1")).await.unwrap().into_inner();
    let large = of_size("large", MEGABYTE / 2);
    bench.create(&large);
    next("the first", &mut read).await;
    for number in 0..10 {
        bench.change(&large, &json!({"spec": {"version": format!("v{number}")}}));
        let (_, found) = next("a change", &mut read).await;
        assert_eq!(found["spec"]["version"], format!("v{number}"));
    }
    // One of them reads again: it gets the newest state, and not each of them.
    let (mut events, stream) = (0, &mut deaf[DEAF / 2]);
    while next("what was not read", stream).await.1["spec"]["version"] != "v9" {
        events += 1;
    }
    assert!(events < 5, "{events} states that are not the newest");
    // Sidecars that go without a word cost the others nothing.
    drop(deaf);
    bench.change(&large, &json!({"spec": {"version": "last"}}));
    assert_eq!(next("the last", &mut read).await.1["spec"]["version"], "last");
}
