//! The program itself: flags, start, health, metrics, lease and stop.

use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use http::Method;
use vela_apiserver::ApiServer;
use vela_embedded::send;
use vela_testkit::Process;

use super::cluster::deployment;

const DEADLINE: Duration = Duration::from_secs(60);

fn vela_dapr(flags: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vela-dapr"));
    command.args(flags).env_remove("KUBECONFIG").env_remove("NAMESPACE").stderr(Stdio::piped());
    command
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

async fn until(what: &str, condition: impl AsyncFn() -> bool) {
    let began = Instant::now();
    while !condition().await {
        assert!(began.elapsed() < DEADLINE, "never: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn get(port: u16, path: &str) -> String {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let Ok(mut stream) = tokio::net::TcpStream::connect(("127.0.0.1", port)).await else {
        return String::new();
    };
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    let mut answer = String::new();
    if stream.write_all(request.as_bytes()).await.is_ok() {
        let _ = stream.read_to_string(&mut answer).await;
    }
    answer
}

#[test]
fn wrong_flags_end_the_program_with_a_sentence() {
    for (flags, expected) in [
        (&["--kubeconfig=/none"][..], "the kubeconfig /none cannot be used"),
        (&["--log-level=v=loud"], "--log-level"),
        (&["--health-addr=8080"], ":PORT"),
        (&["--no-such-flag"], "--no-such-flag"),
    ] {
        let output = vela_dapr(flags).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{flags:?}: {text}");
        assert!(text.contains(expected), "{flags:?}: {text}");
    }
    assert_eq!(vela_dapr(&["--version"]).output().unwrap().status.code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_operator_serves_and_gives_its_lease_back() {
    let server = ApiServer::builder().build().unwrap();
    let _workloads = server.run_controllers();
    let served = server.serve("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    std::fs::write(&kubeconfig, served.kubeconfig()).unwrap();
    let (health, metrics) = (free_port(), free_port());
    let child = vela_dapr(&[
        &format!("--kubeconfig={}", kubeconfig.display()),
        &format!("--health-addr=127.0.0.1:{health}"),
        &format!("--metrics-addr=127.0.0.1:{metrics}"),
        "--namespace=default",
    ])
    .stderr(Stdio::null())
    .spawn()
    .unwrap();
    let mut operator = Process::from(child);
    let web = deployment("web", "cart");
    send(&server, Method::POST, "/apis/apps/v1/namespaces/default/deployments", Some(&web));
    let service = || send(&server, Method::GET, "/api/v1/namespaces/default/services/cart-dapr", None);
    until("the Service is there", async || service().0 == 200).await;
    assert!(get(health, "/healthz").await.contains(" 200 "));
    assert!(get(health, "/readyz").await.contains(" 200 "));
    let text = get(metrics, "/metrics").await;
    assert!(text.contains("dapr_operator_service_created_total{app_id=\"cart\"} 1"), "{text}");
    let lease = "/apis/coordination.k8s.io/v1/namespaces/default/leases/operator.dapr.io";
    let holder = || send(&server, Method::GET, lease, None).1["spec"]["holderIdentity"].clone();
    assert!(holder().as_str().is_some_and(|holder| !holder.is_empty()), "{}", holder());
    let stopped = Command::new("kill").arg(operator.id().to_string()).status().unwrap();
    assert!(stopped.success());
    until("the lease is given back", async || holder().as_str().unwrap_or_default().is_empty()).await;
    assert_eq!(operator.wait().unwrap().code(), Some(0));
}
