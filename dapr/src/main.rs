//! The program `vela-dapr`: reads the flags and runs the Dapr operator against a cluster until SIGTERM.

mod args;
mod injector_args;
mod listen_address;
mod reload;
mod sentry_args;
mod span;
mod watchdog_args;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::Parser as _;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;
use vela_dapr::Stop;
use vela_runtime::RequestLimiter;

use args::Args;

#[tokio::main]
async fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // There is nowhere to report it when the terminal is gone.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
        }
    };
    // All TLS goes through one provider; a second call would only find it already there.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let filter = match EnvFilter::try_new(&args.log_level) {
        Ok(filter) => filter,
        Err(error) => {
            eprintln!(
                "vela-dapr: invalid value for --log-level: {error}; write a level such as info or debug"
            );
            return ExitCode::FAILURE;
        }
    };
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr)
        .init();
    match run(args).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let message =
                vela_runtime::kubeconfig::guarded(error.as_ref()).unwrap_or_else(|| error.to_string());
            tracing::error!("{message}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: Args) -> Result<(), Box<dyn std::error::Error>> {
    let mut process = args.process();
    match args.api()? {
        Some((api, reload)) => {
            process.api = Some(api);
            if let Some(reload) = reload {
                tokio::spawn(reload.run());
            }
        }
        None => tracing::info!(
            "sidecars are not answered; name --sentry-addr, or --tls-cert, --tls-key and --trust-anchors, or --allow-plaintext"
        ),
    }
    process.injector = args.injector()?;
    let config = args.config().await?;
    stop_on_signal(process.stop.clone())?;
    tracing::info!(version = env!("CARGO_PKG_VERSION"), server = %config.cluster_url, "vela-dapr starts");
    let limiter = RequestLimiter::new(args.requests_in_flight);
    process.counts.register(|registry| limiter.register(registry));
    let client = limiter.client(&kube::Client::try_from(config)?);
    vela_dapr::run(client, process).await?;
    tracing::info!("vela-dapr stopped");
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
        std::process::exit(1);
    });
    Ok(())
}
