//! Measures the release binaries for `docs/benchmarks.md`.
//!
//! Whole processes, wall time, minimum and median of many runs: machines are noisy, so compare ratios of one run.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::command;

mod cluster;
mod manager;
mod rollouts;

/// Runs of one command; the minimum is the steady figure, the median what a person meets.
const RUNS: usize = 30;
/// `up` does more work and is run less often.
const RUNS_UP: usize = 5;

/// Prints the figures of the manager and its webhooks.
pub(crate) fn of_the_manager() -> Result<(), String> {
    manager::run()
}

/// Prints the figures of rollouts.
pub(crate) fn of_rollouts() -> Result<(), String> {
    rollouts::run()
}

/// Prints every figure.
pub(crate) fn run() -> Result<(), String> {
    command::cargo(&["build", "--profile", "dist", "--package", "vela-cli", "--package", "vela-core"])?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| command::root().join("target"), PathBuf::from);
    let vela = target.join("dist").join(format!("vela{}", std::env::consts::EXE_SUFFIX));
    let home = target.join("bench-home");
    let app = command::root().join("examples/first-app.yaml");
    let app = app.to_string_lossy();
    println!("| whole process | minimum | median |");
    println!("|---|---|---|");
    time("vela version", &vela, &["version"], &home, RUNS)?;
    time("vela dry-run --offline", &vela, &["dry-run", "--offline", "-f", &app], &home, RUNS)?;
    time("vela up, create to running, sandbox", &vela, &["--sandbox", "up", "-f", &app], &home, RUNS_UP)?;
    let size = std::fs::metadata(&vela).map_err(|e| format!("{}: {e}", vela.display()))?.len();
    println!("\nvela is {:.1} MB", size as f64 / 1e6);
    if let Some(kubeconfig) = std::env::var_os("E2E_KUBECONFIG") {
        cluster::run(&vela, Path::new(&kubeconfig))?;
    } else {
        println!("skipped: figures of a real control plane; run under `e2e/controlplane/with.sh`");
    }
    let figures: [&[&str]; 5] = [
        &["--profile", "dist", "--package", "vela-engine", "--test", "engine", "--", "timed", "--nocapture"],
        &["--profile", "dist", "--package", "vela-cue", "--test", "cue", "--", "--ignored", "--nocapture"],
        &[
            "--profile",
            "dist",
            "--package",
            "vela-apiserver",
            "--test",
            "apiserver",
            "--",
            "latency",
            "--ignored",
            "--nocapture",
        ],
        &["--package", "vela-core", "--test", "core", "--", "counts", "--nocapture"],
        &[
            "--profile",
            "dist",
            "--package",
            "vela-core",
            "--test",
            "core",
            "--",
            "the_price",
            "--ignored",
            "--nocapture",
        ],
    ];
    for arguments in figures {
        command::cargo(&[&["test", "--quiet"], arguments].concat())?;
    }
    command::cargo(&["bench", "--quiet", "--package", "vela-engine"])?;
    manager::run()?;
    rollouts::run()
}

fn time(name: &str, program: &Path, arguments: &[&str], home: &Path, runs: usize) -> Result<(), String> {
    let mut times = Vec::with_capacity(runs);
    for _ in 0..runs {
        // Every run starts as on a fresh machine: no cluster, no data.
        match std::fs::remove_dir_all(home) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(format!("{}: {e}", home.display()));
            }
            _ => {}
        }
        std::fs::create_dir_all(home).map_err(|e| e.to_string())?;
        let started = Instant::now();
        let output = Command::new(program)
            .args(arguments)
            .env("VELA_HOME", home)
            .env("HOME", home)
            .env_remove("KUBECONFIG")
            .stdin(Stdio::null())
            .output()
            .map_err(|e| format!("cannot start {}: {e}", program.display()))?;
        times.push(started.elapsed());
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("`vela {}` failed: {said}", arguments.join(" ")));
        }
    }
    times.sort();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    let minimum = times.first().copied().unwrap_or_default();
    println!("| `{name}` | {} | {} |", milliseconds(minimum), milliseconds(median));
    Ok(())
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}
