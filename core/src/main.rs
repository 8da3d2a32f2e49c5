//! `vela-core`: flags in → the controllers running against a cluster until SIGTERM.

mod args;
mod log_file;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;
use vela_core::{Controllers, Options, Stop};

use args::{Args, LogArgs, LogFormat};
use log_file::{LogFile, Rotation};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const MEGABYTE: u64 = 1024 * 1024;

#[tokio::main]
async fn main() -> ExitCode {
    let args = match Args::read(std::env::args_os()) {
        Ok(args) => args,
        Err(error) => {
            // Nobody is left to tell when the terminal is gone.
            let _ = error.print();
            return if error.use_stderr() { ExitCode::FAILURE } else { ExitCode::SUCCESS };
        }
    };
    if let Err(error) = start_log(&args.log) {
        eprintln!("vela-core: {error}");
        return ExitCode::FAILURE;
    }
    match run(args).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn start_log(args: &LogArgs) -> Result<(), String> {
    let level = if args.log_debug { "debug" } else { args.log_level.as_str() };
    let filter = EnvFilter::try_new(level).map_err(|error| {
        format!("invalid value for --log-level: {error}; write a level such as info or debug")
    })?;
    let log = tracing_subscriber::fmt().with_env_filter(filter);
    if args.log_file_path.is_empty() {
        let log = log.with_writer(std::io::stderr);
        match args.log_format {
            LogFormat::Text => log.init(),
            LogFormat::Json => log.json().init(),
        }
        return Ok(());
    }
    let some = |number: u32| (number > 0).then_some(number);
    let rotation = Rotation {
        size: some(args.log_file_max_size).map(|size| u64::from(size) * MEGABYTE),
        keep: some(args.log_retain_date).map(|days| DAY * days),
        compress: args.log_compress,
    };
    let file = LogFile::open(Path::new(&args.log_file_path), rotation)
        .map_err(|error| format!("cannot write the log file {}: {error}", args.log_file_path))?;
    let log = log.with_ansi(false).with_writer(Mutex::new(file));
    match args.log_format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().init(),
    }
    Ok(())
}

async fn run(args: Args) -> Result<(), Box<dyn std::error::Error>> {
    let process = args.process()?;
    announce(&process.options);
    for sentence in args.without_effect() {
        tracing::warn!("{sentence}");
    }
    // All TLS goes through one provider; a second call would only find it already there.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = args.config().await?;
    stop_on_signal(process.stop.clone())?;
    tracing::info!(server = %config.cluster_url, "vela-core starts");
    Controllers::run(kube::Client::try_from(config)?, process).await?;
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
