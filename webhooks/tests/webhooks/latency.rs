//! What an author waits for: reviews over TLS as an API server sends them, many at once.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use vela_runtime::metrics::Metrics;
use vela_runtime::webhook::{CertificateSource, Config, Limits, Server, ServingCertificate};

use super::cluster::{APPLICATIONS, cluster};

/// Reviews of one measurement.
const REVIEWS: usize = 3000;
/// Reviews before it: definitions are compiled once.
const WARM: usize = 200;

/// A server, with cached definitions or without, and a client that trusts it.
async fn serve(cached: bool) -> (vela_apiserver::ApiServer, vela_runtime::webhook::Running, TlsConnector) {
    let (api, mut webhooks) = cluster().await;
    if cached {
        let cache = vela_runtime::Cache::new(kube::Client::new(api.service(), "default"));
        webhooks = webhooks.with_watches(&cache);
        cache.synced().await.unwrap();
    }
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    let config = Config {
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        certificates: CertificateSource::Fixed(
            ServingCertificate::read(certificate.as_bytes(), key.as_bytes()).unwrap(),
        ),
        bundles: None,
        limits: Limits::default(),
    };
    let running = Server::new(config, Arc::new(webhooks)).start(&Metrics::default()).await.unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from(made.cert.der().to_vec())).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let client = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    (api, running, TlsConnector::from(Arc::new(client)))
}

/// One review on a connection that stays; the answer has to allow it.
async fn review(stream: &mut tokio_rustls::client::TlsStream<TcpStream>, request: &[u8]) {
    stream.write_all(request).await.unwrap();
    let (mut answer, mut part) = (Vec::new(), [0; 16 * 1024]);
    loop {
        let read = stream.read(&mut part).await.unwrap();
        assert!(read > 0, "the connection was closed");
        answer.extend_from_slice(&part[..read]);
        // The answer is one JSON object, and the only one.
        if answer.ends_with(b"}") && answer.windows(4).any(|four| four == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&answer);
            assert!(text.starts_with("HTTP/1.1 200") && text.contains("\"allowed\":true"), "{text}");
            return;
        }
    }
}

async fn measure(
    address: SocketAddr,
    client: &TlsConnector,
    request: &Arc<Vec<u8>>,
    at_once: usize,
    reviews: usize,
) -> Vec<Duration> {
    let left = Arc::new(AtomicUsize::new(reviews));
    let mut workers = tokio::task::JoinSet::new();
    for _ in 0..at_once {
        let (left, request, client) = (left.clone(), request.clone(), client.clone());
        workers.spawn(async move {
            let stream = TcpStream::connect(address).await.unwrap();
            stream.set_nodelay(true).unwrap();
            let mut stream =
                client.connect(ServerName::try_from("localhost").unwrap(), stream).await.unwrap();
            let mut times = Vec::new();
            while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
            {
                let began = Instant::now();
                review(&mut stream, &request).await;
                times.push(began.elapsed());
            }
            times
        });
    }
    workers.join_all().await.concat()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "prints figures: cargo xtask bench --manager"]
async fn latency_of_reviews() {
    println!(
        "| definitions | components of an Application | at once | p50 | p99 | reviews a second |\n|---|---|---|---|---|---|"
    );
    for cached in [false, true] {
        latency(cached).await;
    }
}

async fn latency(cached: bool) {
    let (_api, running, client) = serve(cached).await;
    let component = |number: usize| {
        json!({"name": format!("cart-{number}"), "type": "webservice",
            "properties": {"image": "nginx", "ports": [{"port": 80, "expose": true}], "cpu": "500m",
                "env": [{"name": "A", "value": "b"}]},
            "traits": [{"type": "scaler", "properties": {"replicas": 2}}]})
    };
    for components in [1, 10] {
        let body = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {"uid": "1", "operation": "CREATE", "namespace": "default", "object": {
                "apiVersion": "core.oam.dev/v1beta1", "kind": "Application",
                "metadata": {"name": "shop", "namespace": "default"},
                "spec": {"components": (0..components).map(component).collect::<Vec<_>>()},
            }},
        });
        let body = body.to_string();
        let head = format!(
            "POST {APPLICATIONS}?timeout=10s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n",
            body.len()
        );
        let request = Arc::new([head.into_bytes(), body.into_bytes()].concat());
        measure(running.address(), &client, &request, 4, WARM).await;
        for at_once in [1, 8, 64] {
            let began = Instant::now();
            let mut times = measure(running.address(), &client, &request, at_once, REVIEWS).await;
            let took = began.elapsed();
            times.sort_unstable();
            assert_eq!(times.len(), REVIEWS);
            let part = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e3;
            println!(
                "| {} | {components} | {at_once} | {:.2} ms | {:.2} ms | {:.0} |",
                if cached { "from caches" } else { "read for each review" },
                part(50),
                part(99),
                REVIEWS as f64 / took.as_secs_f64()
            );
        }
    }
}
