//! The program `vela-core`: reads the flags and runs the controllers against a cluster until SIGTERM.

mod args;
mod log_file;
mod otlp;

use std::io::IsTerminal as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer, Registry};
use vela_core::{Controllers, Options, Stop, log_filter};

use args::{Args, LogArgs, LogFormat};
use log_file::{LogFile, Rotation};
use otlp::Exporter;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const MEGABYTE: u64 = 1024 * 1024;

#[tokio::main]
async fn main() -> ExitCode {
    let args = match Args::read(std::env::args_os()) {
        Ok(args) => args,
        Err(error) => {
            // No reader is left when the terminal is gone.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
        }
    };
    // All TLS goes through one provider; a second call would only find it already there.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let exporter = match start_log(&args.log) {
        Ok(exporter) => exporter,
        Err(error) => {
            eprintln!("vela-core: {error}");
            return ExitCode::FAILURE;
        }
    };
    let outcome = run(args).await;
    if let Err(error) = &outcome {
        let said = vela_runtime::kubeconfig::guarded(error.as_ref()).unwrap_or_else(|| error.to_string());
        tracing::error!("{said}");
    }
    if let Some(exporter) = exporter {
        exporter.end().await;
    }
    if outcome.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Log lines, and spans for a collector if one was named.
fn start_log(args: &LogArgs) -> Result<Option<Exporter>, String> {
    let level = if args.log_debug { "debug" } else { args.log_level.as_str() };
    let filter = log_filter::filter(level).map_err(|error| {
        format!("invalid value for --log-level: {error}; write a level such as info or debug")
    })?;
    let (exporter, spans) = match args.otlp_endpoint.as_str() {
        "" => (None, None),
        endpoint => Exporter::start(endpoint).map(|(exporter, spans)| (Some(exporter), Some(spans)))?,
    };
    // Of our own rooms only: the exporter's requests would become spans that have to be exported.
    let ours = Targets::new().with_target("vela", LevelFilter::INFO);
    let lines = log_lines(args)?.with_filter(filter);
    tracing_subscriber::registry().with(lines).with(spans.map(|spans| spans.with_filter(ours))).init();
    Ok(exporter)
}

fn log_lines(args: &LogArgs) -> Result<Box<dyn Layer<Registry> + Send + Sync>, String> {
    let lines = tracing_subscriber::fmt::layer();
    if args.log_file_path.is_empty() {
        // Files and pipes hold text only.
        let lines = lines.with_ansi(std::io::stderr().is_terminal()).with_writer(std::io::stderr);
        return Ok(match args.log_format {
            LogFormat::Text => lines.boxed(),
            LogFormat::Json => lines.json().boxed(),
        });
    }
    let some = |number: u32| (number > 0).then_some(number);
    let rotation = Rotation {
        size: some(args.log_file_max_size).map(|size| u64::from(size) * MEGABYTE),
        max_age: some(args.log_retain_date).map(|days| DAY * days),
        compress: args.log_compress,
    };
    let file = LogFile::open(Path::new(&args.log_file_path), rotation)
        .map_err(|error| format!("cannot write the log file {}: {error}", args.log_file_path))?;
    let lines = lines.with_ansi(false).with_writer(Mutex::new(file));
    Ok(match args.log_format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().boxed(),
    })
}

async fn run(args: Args) -> Result<(), Box<dyn std::error::Error>> {
    let process = args.process()?;
    announce(&process.options);
    for sentence in args.without_effect() {
        tracing::warn!("{sentence}");
    }
    let config = args.config().await?;
    stop_on_signal(process.stop.clone())?;
    tracing::info!(server = %config.cluster_url, "vela-core starts");
    let limiter = args.limiter();
    process.counts.register(|registry| limiter.register(registry));
    let client = limiter.client(&kube::Client::try_from(config)?);
    Controllers::run(client, process).await?;
    tracing::info!("vela-core stopped");
    Ok(())
}

fn announce(options: &Options) {
    let disabled: Vec<_> = options.disabled.iter().map(ToString::to_string).collect();
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        disabled = disabled.join(","),
        apply_once = ?options.apply_once,
        workers = options.concurrent_reconciles,
        "vela-core"
    );
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
