//! The certificate of the webhook server: waited for, changed, broken, expired.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::json;
use vela_runtime::metrics::Metrics;
use vela_runtime::webhook::{CertificateSource, Config, Directory, Handler, Limits, Reply, Running, Server};

use super::tls::{Authority, Files, connect, review};

struct Yes;

impl Handler for Yes {
    fn answer<'a>(&'a self, _: &'a str, _: &'a [u8]) -> BoxFuture<'a, Reply> {
        Box::pin(async { Reply { status: 200, body: json!({}) } })
    }
}

fn directory(folder: &Path) -> Directory {
    Directory {
        files: ["tls.crt", "tls.key"],
        wait: Duration::from_secs(20),
        ask_every: Duration::from_millis(20),
        reload_every: Duration::from_millis(20),
        ..Directory::from(folder.to_owned())
    }
}

fn server(directory: Directory) -> Server {
    let config = Config {
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        certificates: CertificateSource::Directory(directory),
        bundles: None,
        limits: Limits::default(),
    };
    Server::new(config, Arc::new(Yes))
}

fn write(folder: &Path, files: &Files) {
    std::fs::write(folder.join("tls.crt"), &files.certificate).unwrap();
    std::fs::write(folder.join("tls.key"), &files.key).unwrap();
}

/// Waits until a new connection is trusted with this authority, or is not.
async fn until_trusted(running: &Running, authority: &Authority, trusted: bool) {
    let end = tokio::time::Instant::now() + Duration::from_secs(30);
    while connect(running.address(), &authority.pem(), "http/1.1").await.is_ok() != trusted {
        assert!(tokio::time::Instant::now() < end, "never: trusted is {trusted}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn until_counted(metrics: &Metrics, figure: &str) {
    let end = tokio::time::Instant::now() + Duration::from_secs(30);
    while !metrics.text().lines().any(|line| {
        line.strip_prefix(figure)
            .is_some_and(|count| count.trim().parse::<u64>().is_ok_and(|count| count > 1))
    }) {
        assert!(tokio::time::Instant::now() < end, "never: {figure}\n{}", metrics.text());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn count(metrics: &Metrics, figure: &str) -> u64 {
    let text = metrics.text();
    let count = text.lines().find_map(|line| line.strip_prefix(figure)?.trim().parse().ok());
    count.unwrap_or_default()
}

#[tokio::test]
async fn the_certificate_is_waited_for() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("certs");
    let authority = Authority::new();
    let metrics = Metrics::default();
    let starting = server(directory(&folder)).start(&metrics);
    let filling = async {
        // Nothing tells that the folder was read: each stage lasts longer than the time between two reads.
        let moment = || tokio::time::sleep(Duration::from_millis(60));
        std::fs::create_dir(&folder).unwrap();
        moment().await;
        std::fs::write(folder.join("tls.crt"), "").unwrap();
        moment().await;
        write(&folder, &authority.sign());
    };
    let (running, ()) = tokio::join!(starting, filling);
    let mut stream = connect(running.unwrap().address(), &authority.pem(), "http/1.1").await.unwrap();
    let _ = &mut stream;
}

#[tokio::test]
async fn what_is_missing_is_told() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("certs");
    let why = async || {
        let patience = Directory { wait: Duration::from_millis(50), ..directory(&folder) };
        server(patience).start(&Metrics::default()).await.unwrap_err().to_string()
    };
    assert!(why().await.contains("cannot list the folder"));
    std::fs::create_dir(&folder).unwrap();
    assert!(why().await.contains("is empty; put tls.crt and tls.key there"));
    std::fs::write(folder.join("tls.crt"), "").unwrap();
    assert!(why().await.contains("tls.crt is empty"));
    std::fs::write(folder.join("tls.crt"), "text").unwrap();
    assert!(why().await.contains("cannot read") && why().await.contains("tls.key"));
    std::fs::write(folder.join("tls.key"), "text").unwrap();
    assert!(why().await.contains("the certificate is not usable PEM"));
    let (one, two) = (Authority::new().sign(), Authority::new().sign());
    write(&folder, &Files { certificate: one.certificate, key: "text".to_owned() });
    assert!(why().await.contains("the key is not usable PEM"));
    write(&folder, &Files { certificate: two.certificate, key: one.key });
    assert!(why().await.contains("cannot be used together"));
}

#[tokio::test]
async fn a_new_certificate_is_served_and_no_connection_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (Authority::new(), Authority::new());
    // As a volume of a Secret keeps its files.
    let generation = |name: &str, files: &Files| {
        let inside = folder.path().join(name);
        std::fs::create_dir(&inside).unwrap();
        write(&inside, files);
        std::os::unix::fs::symlink(name, folder.path().join("..new")).unwrap();
        std::fs::rename(folder.path().join("..new"), folder.path().join("..data")).unwrap();
    };
    generation("..1", &old.sign());
    for file in ["tls.crt", "tls.key"] {
        std::os::unix::fs::symlink(Path::new("..data").join(file), folder.path().join(file)).unwrap();
    }
    let running = server(directory(folder.path())).start(&Metrics::default()).await.unwrap();
    let mut stream = connect(running.address(), &old.pem(), "http/1.1").await.unwrap();
    assert_eq!(review(&mut stream, "/", b"{}").await.0, 200);
    generation("..2", &new.sign());
    until_trusted(&running, &new, true).await;
    assert!(connect(running.address(), &old.pem(), "http/1.1").await.is_err(), "the old one is gone");
    assert_eq!(review(&mut stream, "/", b"{}").await.0, 200, "on the connection from before");
}

#[tokio::test]
async fn what_cannot_be_used_leaves_the_former_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (Authority::new(), Authority::new());
    write(folder.path(), &old.sign());
    let metrics = Metrics::default();
    let running = server(directory(folder.path())).start(&metrics).await.unwrap();
    let half = new.sign();
    // The certificate is new, the key is not yet.
    std::fs::write(folder.path().join("tls.crt"), &half.certificate).unwrap();
    until_counted(&metrics, "certwatcher_read_certificate_errors_total").await;
    assert!(connect(running.address(), &old.pem(), "http/1.1").await.is_ok());
    std::fs::remove_file(folder.path().join("tls.key")).unwrap();
    std::fs::create_dir(folder.path().join("tls.key")).unwrap();
    until_counted(&metrics, "certwatcher_read_certificate_errors_total").await;
    assert!(connect(running.address(), &old.pem(), "http/1.1").await.is_ok());
    std::fs::remove_dir(folder.path().join("tls.key")).unwrap();
    // Complete, but no client would accept it.
    write(folder.path(), &old.sign_until(2021));
    let whole = || count(&metrics, "certwatcher_read_certificate_total");
    let errors = || count(&metrics, "certwatcher_read_certificate_errors_total");
    let end = tokio::time::Instant::now() + Duration::from_secs(30);
    let good = |before: (u64, u64)| whole() - before.0 > errors() - before.1 + 1;
    let before = (whole(), errors());
    while !good(before) {
        assert!(tokio::time::Instant::now() < end, "the expired one was never read");
        assert!(connect(running.address(), &old.pem(), "http/1.1").await.is_ok());
    }
    assert!(connect(running.address(), &old.pem(), "http/1.1").await.is_ok());
    write(folder.path(), &half);
    until_trusted(&running, &new, true).await;
}

#[tokio::test]
async fn an_expired_certificate_is_served_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    let expired = authority.sign_until(2021);
    let now = jiff::Timestamp::now();
    assert!(expired.pair().out_of_date(now).unwrap().contains("expired at 2021-01-01T00:00:00Z"));
    assert_eq!(authority.sign().pair().out_of_date(now), None);
    write(folder.path(), &expired);
    let metrics = Metrics::default();
    let running = server(directory(folder.path())).start(&metrics).await.unwrap();
    let error = connect(running.address(), &authority.pem(), "http/1.1").await.unwrap_err();
    assert!(error.to_string().contains("expired"), "{error}");
    assert!(metrics.text().contains("webhook_certificate_expiration_timestamp_seconds 1609459200"));
    write(folder.path(), &authority.sign());
    until_trusted(&running, &authority, true).await;
}
