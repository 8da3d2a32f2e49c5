//! The program `vela-harbor`: reads the flags and runs the controllers of goharbor.io against a cluster until SIGTERM.

use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use clap::Parser;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use vela_harbor::controller::Operator;
use vela_harbor::parts::Settings;
use vela_harbor::passwords::Chance;
use vela_harbor::webhooks::Webhooks;
use vela_runtime::lease::Config as LeaseConfig;
use vela_runtime::{Cache, Manager, RequestLimiter};

/// Bytes of a random uuid that say its version and are not random.
const FIXED: [usize; 2] = [6, 8];

/// Reconciles the kinds of goharbor.io
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    /// The kubeconfig of the cluster [default: as kubectl chooses it, else that of the pod]
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Objects of one kind that are reconciled at the same time
    #[arg(long, default_value_t = 2, value_name = "NUMBER")]
    workers: usize,
    /// Where images come from, unless a Harbor says otherwise
    #[arg(long, env = "IMAGE_SOURCE_REPOSITORY", default_value = "goharbor", value_name = "REPOSITORY")]
    image_repository: String,
    /// Suffix of the tag of each image
    #[arg(long, env = "IMAGE_SOURCE_TAG_SUFFIX", default_value = "", value_name = "TEXT")]
    image_tag_suffix: String,
    /// The class that is written on every child
    #[arg(long, default_value = "", value_name = "NAME")]
    class: String,
    /// Write network policies for every Harbor
    #[arg(long)]
    network_policies: bool,
    /// Requests in flight at most
    #[arg(long, default_value_t = 50, value_name = "NUMBER")]
    requests_in_flight: usize,
    /// Where health is served
    #[arg(long, value_name = "ADDRESS")]
    health_addr: Option<SocketAddr>,
    /// Where metrics are served
    #[arg(long, value_name = "ADDRESS")]
    metrics_addr: Option<SocketAddr>,
    /// Judge, complete and convert objects here, for the Service vela-harbor-webhook; without it, only conditions say what is wrong
    #[arg(long, value_name = "ADDRESS")]
    webhook_addr: Option<SocketAddr>,
    /// The namespace of that Service and of the Secret with its certificate
    #[arg(long, default_value = "harbor-operator", env = "NAMESPACE", value_name = "NAMESPACE")]
    namespace: String,
    /// Reconcile only while holding the lease of this namespace
    #[arg(long, value_name = "NAMESPACE")]
    leader_election_namespace: Option<String>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    // All TLS goes through one provider; a second call would only find it already there.
    let _ = rustls::crypto::ring::default_provider().install_default();
    tracing_subscriber::fmt().with_ansi(std::io::stderr().is_terminal()).with_writer(std::io::stderr).init();
    match run(args).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let said = vela_runtime::kubeconfig::guarded(error.as_ref()).unwrap_or_else(|| error.to_string());
            tracing::error!("{said}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: Args) -> Result<(), Box<dyn std::error::Error>> {
    let mut config = match &args.kubeconfig {
        Some(file) => {
            let kubeconfig = Kubeconfig::read_from(file)?;
            kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?
        }
        // The log lines of kube's own choice quote the file, so the choice is made here.
        None => match kube::Config::from_kubeconfig(&KubeConfigOptions::default()).await {
            Ok(config) => config,
            Err(_) => kube::Config::incluster()?,
        },
    };
    // The limiter sends a request again that the server puts off, so it has to hear of it.
    config.default_retry = false;
    let client = RequestLimiter::new(args.requests_in_flight).client(&kube::Client::try_from(config)?);
    let settings = Settings {
        repository: args.image_repository,
        tag_suffix: args.image_tag_suffix,
        class: args.class,
        network_policies: args.network_policies,
        ..Settings::default()
    };
    let cache = Cache::new(client.clone());
    let operator = Operator::new(client.clone(), cache.clone(), settings, chance())?;
    let identity = uuid::Uuid::new_v4().to_string();
    let lease = args.leader_election_namespace.map(|namespace| LeaseConfig {
        namespace,
        name: "vela-harbor".to_owned(),
        identity,
    });
    let webhooks = args.webhook_addr.map(|address| Webhooks { address, namespace: args.namespace });
    let mut manager = Manager::new(client.clone(), cache)
        .health(args.health_addr.map(Into::into))
        .metrics_address(args.metrics_addr.map(Into::into))
        .lease(lease);
    if let Some(webhooks) = webhooks {
        let server = webhooks.server(client.clone())?;
        manager = manager.webhooks([server]).beside(move |stop| webhooks.register(client, stop));
    }
    for controller in operator.controllers(args.workers) {
        manager = manager.with(controller);
    }
    manager.run(stop_on_signal()?).await?;
    Ok(())
}

/// The first SIGTERM or Ctrl-C lets running reconciles end.
fn stop_on_signal() -> std::io::Result<CancellationToken> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let stop = CancellationToken::new();
    let asked = stop.clone();
    tokio::spawn(async move {
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        asked.cancel();
    });
    Ok(stop)
}

/// The bytes of random uuids, which come from the system.
fn chance() -> Chance {
    let left: Mutex<Vec<u8>> = Mutex::default();
    Arc::new(move || {
        let mut left = left.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(byte) = left.pop() {
                return byte;
            }
            let bytes = uuid::Uuid::new_v4().into_bytes().into_iter().enumerate();
            left.extend(bytes.filter(|(at, _)| !FIXED.contains(at)).map(|(_, byte)| byte));
        }
    })
}
