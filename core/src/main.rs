//! `vela-core`: flags in → the controllers running against a cluster until SIGTERM.

mod args;

use std::process::ExitCode;

use clap::Parser as _;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;
use vela_core::{Controllers, LeaseConfig, Options, Stop};

use args::{Args, LogFormat};

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    let filter = EnvFilter::new(&args.log_level);
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match args.log_format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().init(),
    }
    match run(args).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: Args) -> Result<(), Box<dyn std::error::Error>> {
    // All TLS goes through one provider; a second call would only find it already there.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = args.config().await?;
    let lease = args.leader_elect.then(|| LeaseConfig {
        namespace: args.leader_election_namespace.clone(),
        name: args.leader_election_id.clone(),
        identity: args::identity(),
    });
    let stop = Stop::new();
    stop_on_signal(stop.clone())?;
    tracing::info!(server = %config.cluster_url, workers = args.workers, "vela-core starts");
    let options = Options {
        workers: args.workers,
        health: args.health_address,
        metrics: args.metrics_address,
        lease,
        stop,
        ..Options::default()
    };
    Controllers::run(kube::Client::try_from(config)?, options).await?;
    tracing::info!("vela-core stopped");
    Ok(())
}

/// The first SIGTERM or Ctrl-C lets running reconciles end; the second one ends the process at once.
fn stop_on_signal(stop: Stop) -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::spawn(async move {
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        tracing::info!("asked to stop; running reconciles end first");
        stop.cancel();
        tokio::select! { _ = terminate.recv() => {}, _ = interrupt.recv() => {} }
        std::process::exit(130);
    });
    Ok(())
}
