//! How long a request takes in process; figures, not a test: `cargo test -p vela-apiserver -- --ignored --nocapture`.

use std::time::Instant;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, PostParams};
use tower::Service;

use crate::verbs::{client, config_map};

const REQUESTS: u32 = 2000;

#[tokio::test]
#[ignore = "prints figures: cargo xtask bench"]
async fn latency() {
    let (server, client) = client();
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let mut objects = Vec::new();
    for n in 0..REQUESTS {
        objects.push(config_map(&format!("m{n}"), "x"));
    }
    let start = Instant::now();
    for object in &objects {
        maps.create(&PostParams::default(), object).await.expect("created");
    }
    println!("create through kube: {:?}", start.elapsed() / REQUESTS);
    let start = Instant::now();
    for n in 0..REQUESTS {
        maps.get(&format!("m{n}")).await.expect("there");
    }
    println!("get through kube:    {:?}", start.elapsed() / REQUESTS);
    let mut service = server.service();
    let start = Instant::now();
    for n in 0..REQUESTS {
        let request = http::Request::get(format!("/api/v1/namespaces/default/configmaps/m{n}"))
            .body(http_body_util::Empty::<bytes::Bytes>::new())
            .expect("a request");
        service.call(request).await.expect("answered");
    }
    println!("get by the service:  {:?}", start.elapsed() / REQUESTS);
    let start = Instant::now();
    let list = maps.list(&ListParams::default()).await.expect("listed");
    println!("list of {} through kube: {:?}", list.items.len(), start.elapsed());
}
