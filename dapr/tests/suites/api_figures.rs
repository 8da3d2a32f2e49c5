//! Figures: from a changed Component to the event at each connected sidecar.

use std::time::{Duration, Instant};

use serde_json::json;

use super::api_bench::{Bench, component, in_namespace, next};

const CHANGES: usize = 50;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "prints figures: cargo test -p vela-dapr -- --ignored figures"]
async fn figures_of_a_changed_component() {
    for sidecars in [1, 100] {
        let bench = Bench::new();
        let mut streams = Vec::new();
        for number in 0..sidecars {
            let mut sidecar = bench.sidecar("h1", &format!("app-{number}")).await;
            streams.push(sidecar.component_update(in_namespace("h1")).await.unwrap().into_inner());
        }
        let object = component("h1", "w", &json!({"name": "a", "value": "0"}));
        bench.create(&object);
        for stream in &mut streams {
            next("the first", stream).await;
        }
        let mut times: Vec<Duration> = Vec::new();
        for number in 1..=CHANGES {
            let value = json!([{"name": "a", "value": number.to_string()}]);
            let began = Instant::now();
            bench.change(&object, &json!({"spec": {"metadata": value}}));
            let waiting: Vec<_> = streams
                .drain(..)
                .map(|mut stream| {
                    tokio::spawn(async move {
                        next("an event", &mut stream).await;
                        (began.elapsed(), stream)
                    })
                })
                .collect();
            for one in waiting {
                let (time, stream) = one.await.unwrap();
                times.push(time);
                streams.push(stream);
            }
        }
        times.sort();
        let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
        println!("{sidecars} sidecars: p50 {:?}, p99 {:?} of {} events", at(50), at(99), times.len());
        assert!(at(99) < Duration::from_secs(5));
    }
}
